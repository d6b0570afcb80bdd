"""`rrcollect analyse`: data that this project did not collect, from a file to shares with their bars."""

from __future__ import annotations

import inspect
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from server_agg.cli.output import Incomplete, add_force, write_text
from server_agg.cli.plotting import check_picture, save
from server_agg.cli.terminal import emit, table

if TYPE_CHECKING:
    from rrcollect import Design

SAMPLE = {"north": (48, 72), "south": (41, 99), "east": (25, 65)}  # made up: (yes, no) by the die of the example
TRAIT = "answer to the harmless question"
WAYS = "--epsilon; --forced-yes and --forced-no; --p00 and --p11; or --classic NAME with its numbers"


def add_analyse(parser: ArgumentParser) -> None:
    """Options of `analyse`."""
    parser.add_argument("file", nargs="?", type=Path, help=".csv, .tsv, .jsonl, .parquet, .dta, .sav, .zsav or .por")
    parser.add_argument("--answer", default="answer", metavar="COLUMN", help="the answers (default: answer)")
    parser.add_argument("--by", action="append", default=[], metavar="COLUMN", help="groups; repeatable")
    parser.add_argument("--yes", help="what yes is called, unless it is plain")
    parser.add_argument("--no", help="what no is called")
    parser.add_argument("--encoding", default="utf-8", help="of a text file, e.g. cp1252 (default: utf-8)")
    parser.add_argument("--missing", default="drop", choices=("drop", "refuse"), help="rows without an answer")
    parser.add_argument("--epsilon", help="ε of the strict optimal design")
    parser.add_argument("--forced-yes", help="forced answers: the chance of a forced yes")
    parser.add_argument("--forced-no", help="the chance of a forced no")
    parser.add_argument("--p00", help="the matrix: P(say no | truth no)")
    parser.add_argument("--p11", help="P(say yes | truth yes)")
    parser.add_argument("--classic", nargs="+", metavar=("NAME", "NUMBER"), help="e.g. warner p=0.7, crosswise 1/4")
    parser.add_argument("--level", default="0.95", help="confidence level (default: 0.95)")
    parser.add_argument("--method", default="exact", help="of the bars (default: exact)")
    parser.add_argument("--minimum", type=int, default=30, help="answers a group needs (default: 30)")
    parser.add_argument("--target", default="population", help="population or sample, or without --by a size")
    parser.add_argument("--weights", metavar="COLUMN", help="a complex sample: how many people each row stands for")
    parser.add_argument("--strata", metavar="COLUMN", help="its strata")
    parser.add_argument("--clusters", metavar="COLUMN", help="its clusters, such as villages or schools")
    parser.add_argument("--population", metavar="SIZE", help="its size, or NAME=SIZE,… for strata; counts clusters")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw it, to .png, .svg or .pdf")
    parser.add_argument("--sample", type=Path, metavar="FILE", help="write a made-up .csv to try it with, and end")
    add_force(parser)


def analyse(options: Namespace) -> int:
    """The share over all rows, and by groups."""
    from rrcollect import classic
    from server_agg import analyse as analyse_data

    if options.sample is not None:
        return _write_sample(options)
    if options.file is None:
        raise Incomplete("give the file of your data; --sample FILE writes one to try")
    check_picture(options.plot, force=options.force)
    if any(getattr(options, name) for name in ("weights", "strata", "clusters", "population")):
        return _survey(options)
    found = analyse_data(
        options.file,
        design=_design(options),
        answer=options.answer,
        by=options.by,
        yes=options.yes,
        no=options.no,
        missing=options.missing,
        encoding=options.encoding,
        level=options.level,
        method=options.method,
        minimum=options.minimum,
        target=int(options.target) if options.target.isdigit() else options.target,
    )
    if options.plot is not None:
        save(found.plot().axes, options.plot, force=options.force)
    head, lines = found.cells()
    nominal = options.classic is not None and options.classic[0] in classic.NOMINAL
    said = [*found.notes(), *[f"ε is nominal: it fails against anyone who knows the respondent's {TRAIT}"] * nominal]
    emit(options, found.as_dict(), table(head or [], lines, set(found.numeric)), "\n".join(said))
    return 0


def _survey(options: Namespace) -> int:
    """The same for a complex sample."""
    from server_agg import analyse_survey

    if len(options.by) > 1:
        raise Incomplete("a complex sample has one --by")
    for name, default in (("minimum", 30), ("target", "population"), ("method", "exact")):
        if getattr(options, name) != default:
            raise Incomplete(f"--{name} is not for a complex sample: its bars are korn-graubard, each for itself")
    found = analyse_survey(
        options.file,
        design=_design(options),
        answer=options.answer,
        weights=options.weights,
        strata=options.strata,
        clusters=options.clusters,
        population=_population(options.population),
        by=options.by[0] if options.by else None,
        yes=options.yes,
        no=options.no,
        missing=options.missing,
    )
    if options.plot is not None:
        save(found.plot().axes, options.plot, force=options.force)
    head, lines = found.cells(options.level)
    emit(options, found.as_dict(options.level), table(head or [], lines, set(found.numeric)),
         "\n".join(found.notes(options.level)))  # fmt: skip
    return 0


def _population(text: str | None) -> int | dict[str, int] | None:
    """A size, or one for each stratum."""
    from rrcollect.errors import ParameterError

    if text is None:
        return None
    pairs = [part.rpartition("=") for part in text.split(",")]
    if not all(size.strip().isdigit() for _, _, size in pairs):
        raise ParameterError("--population", text, "a whole number, or NAME=NUMBER,NAME=NUMBER,…")
    if len(pairs) == 1 and not pairs[0][1]:
        return int(text)
    return {name: int(size) for name, _, size in pairs}


def _design(options: Namespace) -> Design:
    """The one design that the options tell."""
    from rrcollect import Design, classic, optimal_design

    given = {name for name in ("epsilon", "forced_yes", "forced_no", "p00", "p11", "classic") if getattr(options, name)}
    if given == {"epsilon"}:
        return optimal_design(options.epsilon)
    if given == {"forced_yes", "forced_no"}:
        return classic.forced_response(yes=options.forced_yes, no=options.forced_no)
    if given == {"p00", "p11"}:
        return Design(options.p00, options.p11)
    if given == {"classic"}:
        return _classic(*options.classic)
    raise Incomplete(f"say once by what design the answers were given: {WAYS}")


def _classic(name: str, *numbers: str) -> Design:
    """A procedure of `rrcollect.classic`, its numbers by name or in their order."""
    from rrcollect import Design, classic
    from rrcollect.classic import procedures
    from rrcollect.errors import ParameterError

    names = [each for each in procedures.__all__ if callable(getattr(classic, each)) and each != "moors"]
    if name not in names:
        hint = " (Moors' two samples: estimate_moors in Python)" if name == "moors" else ""
        raise ParameterError("--classic", name, f"one of {', '.join(names)}{hint}")
    procedure: Any = getattr(classic, name)
    wanted = inspect.signature(procedure)
    placed = [number for number in numbers if "=" not in number]
    named = dict(number.split("=", 1) for number in numbers if "=" in number)
    values: dict[str, Any] = {**named}
    try:
        bound = wanted.bind(*placed, **values)
    except TypeError:
        given = " ".join(numbers) or "nothing"
        allowed = " ".join(f"{each}=…" for each in wanted.parameters)
        raise ParameterError(f"--classic {name}", given, allowed) from None
    for each, value in bound.arguments.items():
        if each == "draws" and value.isdigit():
            bound.arguments[each] = int(value)
    found = procedure(*bound.args, **bound.kwargs)
    if not isinstance(found, Design):
        raise ParameterError(f"--classic {name}", " ".join(numbers), "one draw: answers of yes and no")
    return found


def _write_sample(options: Namespace) -> int:
    rows = [f"{region},{said}" for region, (yes, no) in SAMPLE.items() for said in ["yes"] * yes + ["no"] * no]
    mixed = [rows[9 * place % len(rows)] for place in range(len(rows))]  # all of them: 9 and 350 share no factor
    lines = ["person,region,answer", *(f"{number},{row}" for number, row in enumerate([*mixed, "east,"], 1))]
    write_text(options.sample, "\n".join(lines) + "\n", force=options.force)
    said = f"{options.sample}: {len(lines) - 1} made-up rows; forced yes on a 1, forced no on a 6 of a die"
    emit(options, {"file": str(options.sample), "rows": len(lines) - 1}, said)
    return 0
