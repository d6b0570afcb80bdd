"""`rrcollect completion`: shell completion, generated from the grammar itself, so that it cannot fall behind it.

After a command its options are completed, after an option with choices these, everywhere else files.
"""

from __future__ import annotations

import argparse
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from dataclasses import dataclass

from server_agg.cli.terminal import emit

__all__ = ["add_completion", "completion"]

SHELLS = ("bash", "zsh", "fish")


@dataclass(frozen=True)
class Words:
    """What may follow a command: options with their help, the choices of options, the choices of positionals."""

    options: dict[str, str]
    choices: dict[str, tuple[str, ...]]
    positionals: tuple[str, ...]


def add_completion(parser: ArgumentParser) -> None:
    """Options of `completion`."""
    parser.add_argument("shell", choices=SHELLS, help="the shell that is to complete")


def completion(options: Namespace) -> int:
    """Print the script."""
    script = {"bash": bash, "zsh": zsh, "fish": fish}[options.shell]()
    emit(options, {"shell": options.shell, "script": script}, script)
    return 0


def grammar() -> Iterator[tuple[str, str, Words]]:
    """(command, what it does, its words), in order."""
    from server_agg.cli.main import COMMANDS, parser

    (commands,) = (a for a in parser()._actions if isinstance(a, argparse._SubParsersAction))
    for name, sub in commands.choices.items():
        options: dict[str, str] = {}
        choices: dict[str, tuple[str, ...]] = {}
        positionals: tuple[str, ...] = ()
        for action in sub._actions:
            listed = tuple(map(str, action.choices or ()))
            if not action.option_strings:
                positionals += listed
            for option in action.option_strings:
                if option.startswith("--"):
                    options[option] = (action.help or "").replace("%%", "%")
                    if listed:
                        choices[option] = listed
        yield name, COMMANDS[name].about, Words(options, choices, positionals)


def bash() -> str:
    """For bash (and, through bashcompinit, zsh): plain word lists, no program is started while completing."""
    cases = []
    for name, _, words in grammar():
        for option, listed in words.choices.items():
            cases.append(f'    {name}:{option}) words="{" ".join(listed)}" ;;')
        cases.append(f'    {name}:*) words="{" ".join([*words.positionals, *words.options])}" ;;')
    names = " ".join(name for name, _, _ in grammar())
    lines = "\n".join(cases)
    return f"""# completion of rrcollect for bash; made by `rrcollect completion bash`
_rrcollect() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}" words=""
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "{names} --help --version" -- "$current"))
    return
  fi
  case "${{COMP_WORDS[1]}}:$before" in
{lines}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o default -o bashdefault -F _rrcollect rrcollect
"""


def zsh() -> str:
    """For zsh: the bash script under zsh's own emulation of it."""
    return "autoload -U +X compinit && compinit\nautoload -U +X bashcompinit && bashcompinit\n" + bash()


def fish() -> str:
    """For fish, with what every option does."""

    def quoted(text: str) -> str:
        return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"

    lines = ["# completion of rrcollect for fish; made by `rrcollect completion fish`"]
    for name, about, words in grammar():
        lines.append(f"complete -c rrcollect -n __fish_use_subcommand -f -a {name} -d {quoted(about)}")
        seen = f"-n '__fish_seen_subcommand_from {name}'"
        lines += [f"complete -c rrcollect {seen} -f -a {word}" for word in words.positionals]
        for option, said in words.options.items():
            listed = words.choices.get(option)
            takes = f" -x -a {quoted(' '.join(listed))}" if listed else ""
            lines.append(f"complete -c rrcollect {seen} -l {option[2:]}{takes} -d {quoted(said)}")
    return "\n".join(lines) + "\n"
