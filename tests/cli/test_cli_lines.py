"""No line that a command prints changes unnoticed."""

from tests.cli.lines import KEPT, said


def test_commands_print_what_is_kept():
    """If not, and it is meant: python -m tests.cli.lines, and read the difference"""
    assert said().splitlines() == KEPT.read_text(encoding="utf-8").splitlines()
