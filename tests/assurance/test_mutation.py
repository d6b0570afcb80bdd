"""The mutation check's own parts: what is changed, what is not, and when a verdict is asked for again."""

from __future__ import annotations

import runpy

import pytest

from assurance import mutation, mutation_verdicts
from assurance.mutant_code import functions_in, mark_lines, replace_code
from assurance.mutant_runs import chosen, within
from assurance.mutant_session import KILLED, TIMEOUT, Reach, in_child
from assurance.mutants import mutants_of
from assurance.mutation_targets import GROUPS, Target
from assurance.mutation_verdicts import Verdicts, tried

SOURCE = '''"""Text."""
from functools import cache
LIMIT = 3
@cache
def below(x: int = 7, *, name: str = "n") -> bool:
    """Text."""
    if x < LIMIT and ready(x):
        raise ValueError(f"{x} is {1 + 1}")
    log(x, key=name)
    return x != LIMIT + 1
'''


@pytest.fixture(scope="module")
def mutants():
    return mutants_of(SOURCE)


def test_every_mutant_differs_compiles_and_has_a_name_of_its_own(mutants):
    assert len({m.source for m in mutants} | {SOURCE}) == len(mutants) + 1
    assert len({m.key for m in mutants}) == len(mutants)
    for mutant in mutants:
        compile(mutant.source, "mutant", "exec")


@pytest.mark.parametrize(
    ("change", "function"),
    [
        ("< LIMIT → <= LIMIT", "below"),
        ("x < LIMIT and ready(x) → x < LIMIT or ready(x)", "below"),
        ("ready(x) → ready(None)", "below"),
        ("log(x, key=name) → log(x, )", "below"),
        ("log(x, key=name) → pass", "below"),
        ("return x != LIMIT + 1 → return None", "below"),
        ("!= LIMIT + 1 → == LIMIT + 1", "below"),
        ("LIMIT + 1 → LIMIT - 1", "below"),
        ("1 → 2", "below"),
        ("1 → 0", "below"),
        ("3 → 4", ""),
        ("LIMIT = 3 → LIMIT = None", ""),
        ("7 → 8", ""),
    ],
)
def test_a_decorated_function_its_defaults_and_constants_are_changed(mutants, change, function):
    assert [m.function for m in mutants if m.change == change] == [function]


def test_a_raise_is_left_out_as_a_whole_and_what_it_says_is_not_changed(mutants):
    assert [m.change.split(" → ")[1] for m in mutants if m.line.startswith("raise")] == ["pass"]
    assert not any(m.line.startswith(('"""', "from", "@")) for m in mutants)


def test_a_condition_that_is_no_comparison_is_negated():
    changes = [m.change for m in mutants_of("def f(x):\n    while x:\n        x = g(x)\n")]
    assert "x → not (x)" in changes


SAMPLE = """import functools
class Sample:
    @property
    def size(self):
        return 1
    @staticmethod
    @functools.lru_cache
    def double(x):
        return x + 1
"""


def test_live_code_is_replaced_behind_decorators(tmp_path):
    file = tmp_path / "sample.py"
    file.write_text(SAMPLE)
    scope = runpy.run_path(str(file))
    live, found = functions_in(str(file)), {m.function: m for m in mutants_of(SAMPLE) if m.change == "1 → 2"}
    assert (scope["Sample"]().size, scope["Sample"].double(1)) == (1, 2)
    assert replace_code(found["Sample.size"], live, str(file))
    assert replace_code(found["Sample.double"], live, str(file))
    assert (scope["Sample"]().size, scope["Sample"].double(2)) == (2, 4)
    assert not replace_code(found["Sample.double"], live, str(file))  # nothing left to change


def test_the_lines_that_are_reached_are_told(tmp_path):
    file, reached = tmp_path / "sample.py", set()
    file.write_text(SAMPLE)
    scope = runpy.run_path(str(file))
    mark_lines(SAMPLE, functions_in(str(file)), str(file), reached)
    assert scope["Sample"].double(1) == 2
    assert reached == {9}
    assert scope["Sample"]().size == 1
    assert reached == {5, 9}


def test_a_child_that_dies_or_does_not_end_says_so():
    assert in_child(lambda: "word") == "word"
    assert in_child(lambda: 1 // 0) == KILLED

    def forever():
        while True:
            pass

    assert in_child(forever, cpu=0) == TIMEOUT


def test_the_tests_that_reach_a_line_are_asked_as_long_as_there_is_time(mutants):
    mutant = next(m for m in mutants if m.change == "3 → 4")
    reach = [Reach(n, f"t{n}", "t.py", 1.0, frozenset({3 if n % 2 else 9})) for n in range(8)]
    assert [r.item for r in chosen(reach, mutant, 2.5)] == [1, 3]
    assert [r.item for r in chosen(reach, mutant, 0.1)] == [1]
    assert [r.item for r in within(reach, 3)] == [0, 1, 2]


@pytest.fixture
def target(tmp_path, monkeypatch):
    monkeypatch.setattr(mutation_verdicts, "ROOT", tmp_path)
    (tmp_path / "module.py").write_text("x = 1\n")
    (tmp_path / "test_module.py").write_text("")
    return Target("module.py", ("test_module.py",))


@pytest.fixture
def asked(monkeypatch):
    """The keys asked about; what sets x to None is killed, unless the tests say that they assert nothing."""
    keys = []

    def answer(target, mutants):
        keys.extend(mutant.key for mutant in mutants)
        blind = "nothing" in (mutation_verdicts.ROOT / target.tests[0]).read_text()
        return ((m.key, "killed" if "None" in m.key and not blind else "survived") for m in mutants)

    monkeypatch.setattr(mutation_verdicts, "asked", answer)
    return keys


ONE, TWO, NONE = "x = 1 | 1 → 0", "x = 1 | 1 → 2", "x = 1 | x = 1 → x = None"


def quiet(done, total):
    """No progress is shown."""


def test_what_is_asked_again(target, tmp_path, asked, monkeypatch):
    path = tmp_path / "kept.json"
    first = tried(target, quiet, path)
    assert first == {TWO: "survived", ONE: "survived", NONE: "killed"}
    assert sorted(asked) == sorted(first)
    asked.clear()
    assert tried(target, quiet, path) == first
    assert asked == []
    for share, again in ((0, [TWO, ONE]), (100, [TWO, ONE, NONE])):
        asked.clear()
        monkeypatch.setattr(mutation_verdicts, "AGAIN", share)
        (tmp_path / "test_module.py").write_text(f"# more {share}\n")
        assert Verdicts(target, path).known() == {}
        assert tried(target, quiet, path) == first
        assert sorted(asked) == sorted(again)
    asked.clear()
    (tmp_path / "module.py").write_text("x = 1 \n")
    assert Verdicts(target, path).killed_before() == {}
    tried(target, quiet, path)
    assert len(asked) == 3


def test_tests_that_no_longer_kill_lose_their_kills(target, tmp_path, asked, monkeypatch):
    path = tmp_path / "kept.json"
    tried(target, quiet, path)
    monkeypatch.setattr(mutation_verdicts, "AGAIN", 100)
    (tmp_path / "test_module.py").write_text("# asserts nothing\n")
    assert set(tried(target, quiet, path).values()) == {"survived"}


def test_what_a_stopped_run_found_is_not_taken_for_the_whole(target, tmp_path, asked):
    store = Verdicts(target, tmp_path / "kept.json")
    store.keep({NONE: "killed", ONE: "survived"}, whole=False)
    assert store.known() == {}
    assert store.killed_before() == {NONE: "killed"}
    assert len(tried(target, quiet, store.path)) == 3


def test_a_survivor_without_a_reason_fails_and_a_reason_without_a_survivor(monkeypatch):
    target = Target("module.py", ())
    monkeypatch.setattr(mutation, "reasons", lambda module: {TWO: mutation.Reason("never read", True)})
    good = mutation.judged(target, {TWO: "survived", "a": "killed", "b": "timeout"})
    assert good.passed
    assert good.figures["survivor 1"] == "`x = 1 | 1 → 2`: never read"
    assert good.figures["of these equivalent to the code"] == 1
    assert (good.figures["mutants"], good.figures["killed"], good.figures["share killed"]) == (3, 2, "66.7%")
    bad = mutation.judged(target, {ONE: "unreached", "a": "killed"})
    assert (bad.passed, bad.remark) == (False, f"no reason for `{ONE}`; a reason but no survivor: `{TWO}`")
    assert not mutation.judged(target, {f"{TWO} | 1": "survived"}).passed


def test_a_group_is_judged_when_all_verdicts_are_there(target, tmp_path, asked, monkeypatch):
    monkeypatch.setattr(mutation, "GROUPS", {"it": (target,)})
    monkeypatch.setattr(mutation, "verdicts_file", lambda target: tmp_path / "kept.json")
    assert mutation.of_group("it").remark == "no verdict yet on 3 mutants"
    tried(target, quiet, tmp_path / "kept.json")
    assert mutation.of_group("it").figures["share killed"] == "33.3%"
    assert not mutation.of_group("it").passed
    monkeypatch.setattr(mutation, "LEAST", 0.3)
    assert mutation.of_group("it").passed
    (tmp_path / "test_module.py").write_text("# more\n")
    assert mutation.of_group("it").remark == "no verdict yet on 3 mutants"


def test_the_reasons_are_for_lines_that_exist():
    """A reason for a line that was changed since would be read by nobody."""
    stale = []
    for target in (target for targets in GROUPS.values() for target in targets):
        lines = {line.strip() for line in (mutation.ROOT / target.module).read_text().splitlines()}
        stale += [
            name for name in mutation.reasons(target.module) if not any(name.startswith(f"{x} | ") for x in lines)
        ]
    assert stale == []
