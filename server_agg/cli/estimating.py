"""`rrcollect estimate`: from typed counts, or from a file of tallies, to a number with its error bar."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

from server_agg.cli.terminal import emit

__all__ = ["add_estimate", "estimate"]


def add_estimate(parser: ArgumentParser) -> None:
    """Options of `estimate`."""
    parser.add_argument("tallies", type=Path, nargs="?", help="a file of tallies as JSON; or type the counts")
    parser.add_argument("--yes", type=int, help="answers that said yes")
    parser.add_argument("--n", type=int, help="all answers")
    parser.add_argument("--epsilon", help="ε of the strict optimal design they were drawn with")
    parser.add_argument("--p00", help="or the matrix: P(say no | truth no)")
    parser.add_argument("--p11", help="or the matrix: P(say yes | truth yes)")
    parser.add_argument("--target", default="population", help="population, sample, or the size of a finite population")
    parser.add_argument("--level", default="0.95", help="confidence level (default: 0.95)")
    parser.add_argument("--method", default="exact", help="of the bar in the sentence (default: exact)")


def estimate(options: Namespace) -> int:
    """One estimate for each question and design."""
    from rrcollect.errors import ParameterError
    from server_agg import Tallies, pool
    from server_agg import estimate as estimate_tally

    target: Any = int(options.target) if options.target.isdigit() else options.target
    if options.tallies is not None:
        try:
            text = options.tallies.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ParameterError("tallies", str(options.tallies), f"a readable file ({type(error).__name__})") from None
        data, words = {}, []
        for (question,), tallies in Tallies.from_json(text).by("question").items():
            found: Any = estimate_tally(tallies[0], target) if len(tallies) == 1 else pool(tallies)
            data[question] = found.as_dict()
            words.append(f"{question}: {found.sentence()}")
        emit(options, data, "\n".join(words))
        return 0
    result = estimate_tally(_typed(options), target)
    words_of_one = f"{result.sentence(options.level, options.method)}\n\n{result.table(options.level)}"
    emit(options, result.as_dict(options.level, options.method), words_of_one)
    return 0


def _typed(options: Namespace) -> Any:
    from rrcollect import Design, optimal_design
    from rrcollect.errors import ParameterError
    from server_agg import Tally

    if options.yes is None or options.n is None:
        raise ParameterError(
            "estimate", "no counts", "a file of tallies, or --yes and --n with --epsilon or --p00, --p11"
        )
    if options.epsilon is not None and options.p00 is None and options.p11 is None:
        return Tally(optimal_design(options.epsilon), options.n, options.yes)
    if options.epsilon is None and options.p00 is not None and options.p11 is not None:
        return Tally(Design(options.p00, options.p11), options.n, options.yes)
    raise ParameterError("design", (options.epsilon, options.p00, options.p11), "--epsilon, or both --p00 and --p11")
