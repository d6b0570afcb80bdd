"""`Tallies`: many tallies, keyed by what was asked of whom.

    survey digest (and whether it is a pilot) × question × design × segments × round  →  n and the column sums

Rules
1. A key holds all that a report declares and nothing more; two reports are counted together only if their keys are
   equal.  Which keys belong together is decided later, by `where` and `by`, and never loses a count.
2. `+` merges two collections (two servers, two days); order and grouping do not matter.
3. Answers of a pilot (a trial) are never counted together with real ones: that is refused wherever keys are merged.
4. Reports are anything with the attributes of `ReportLike`: the collection's key is what they declare.
5. Grouping keeps designs apart: a group is a tuple of tallies, one for each design in it, ready for `estimate`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import add
from typing import TYPE_CHECKING, Any, Protocol

from rrcollect.design.mechanism import Mechanism, checked_design
from rrcollect.design.parameters import whole_number
from rrcollect.errors import ParameterError
from server_agg.count.statistics import counts_of_texts
from server_agg.count.tally import Tally, fields, read_json
from server_agg.errors import EmptySelection

if TYPE_CHECKING:
    from rrcollect.publish.survey import Survey

FIELDS = ("counts", "design", "n", "pilot", "question", "round", "segments", "survey")
KEY_FIELDS = ("survey", "question", "design", "round", "pilot")


class ReportLike(Protocol):
    """What a report must have to be counted."""

    @property
    def survey(self) -> str: ...
    @property
    def question(self) -> str: ...
    @property
    def design(self) -> Mechanism: ...
    @property
    def answer(self) -> str: ...
    @property
    def segments(self) -> Mapping[str, str]: ...
    @property
    def round(self) -> int: ...


@dataclass(frozen=True)
class TallyKey:
    """What the counted answers have in common; `segments` is sorted by name."""

    survey: str
    question: str
    design: Mechanism
    segments: tuple[tuple[str, str], ...] = ()
    round: int = 0
    pilot: bool = False

    def __post_init__(self) -> None:
        for name in ("survey", "question"):
            if not isinstance(getattr(self, name), str):
                raise ParameterError(name, getattr(self, name), "a str")
        checked_design(self.design)
        if not isinstance(self.pilot, bool):
            raise ParameterError("pilot", self.pilot, "True or False")
        pairs = tuple(sorted(tuple(pair) for pair in self.segments))
        names = [pair[0] for pair in pairs]
        if any(not isinstance(part, str) for pair in pairs for part in pair) or len(set(names)) != len(names):
            raise ParameterError("segments", self.segments, "pairs of str, each segment named once")
        object.__setattr__(self, "segments", pairs)
        object.__setattr__(self, "round", whole_number("round", self.round, minimum=0))

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:  # of a key that is looked up again and again
        return hash((self.survey, self.question, self.design, self.segments, self.round, self.pilot))

    def part(self, name: str) -> Any:
        """The value of a key field, or of a segment ('segments.region', or 'region'); None if not declared."""
        if name in KEY_FIELDS:
            return getattr(self, name)
        return dict(self.segments).get(name.removeprefix("segments."))

    def order(self) -> tuple[object, ...]:
        """A total order, so that whatever is written is written the same way."""
        return self.survey, self.question, _order(self.design), self.segments, self.round, self.pilot


class Tallies(Mapping[TallyKey, Tally]):
    """A collection of tallies by `TallyKey`.

    >>> from rrcollect import Design
    >>> design = Design("3/4", "3/4")
    >>> north, south = (TallyKey("s1", "tax", design, (("region", r),)) for r in ("north", "south"))
    >>> tallies = Tallies({north: Tally(design, 100, 40), south: Tally(design, 50, 30)})
    >>> tallies.by("region")[("south",)]
    (Tally(design=Design('3/4', '3/4'), n=50, counts=(30,)),)
    >>> tallies.where(question="tax").one()
    Tally(design=Design('3/4', '3/4'), n=150, counts=(70,))
    """

    def __init__(self, given: Mapping[TallyKey, Tally] | None = None) -> None:
        found = dict(given or {})
        for key, tally in found.items():
            checked_entry(key, tally)
        self._tallies = {key: found[key] for key in sorted(found, key=TallyKey.order)}

    @classmethod
    def of(cls, reports: Iterable[ReportLike], surveys: Iterable[Survey] = ()) -> Tallies:
        """Counts reports by survey × question × design × segments × round; a report id counts once.

        Delivery is at least once, so the same report may be there again.  The same id with other content is refused.
        `surveys` say which of the reports are of a pilot, which a report itself does not; they are not judged by them.

        >>> from types import SimpleNamespace
        >>> from rrcollect import Design
        >>> def report(answer, region):
        ...     return SimpleNamespace(survey="s1", question="tax", design=Design("3/4", "3/4"), answer=answer,
        ...                            segments={"region": region}, round=0)
        >>> tallies = Tallies.of([report("1", "north"), report("0", "north"), report("1", "south")])
        >>> [(key.segments, tally.n, tally.ones) for key, tally in tallies.items()]
        [((('region', 'north'),), 2, 1), ((('region', 'south'),), 1, 1)]
        """
        counts: dict[tuple[Any, ...], Counter[str]] = {}
        seen: dict[str, ReportLike] = {}
        for position, report in enumerate(reports):
            if not hasattr(report, "answer"):
                allowed = "a Report (Report.from_bytes(body) reads one)"
                raise ParameterError(f"report {position}", type(report).__name__, allowed)
            report_id = getattr(report, "id", None)
            if report_id is not None:
                if report_id in seen:
                    if seen[report_id] != report:
                        raise ParameterError(f"report {position}", report_id, "one content for one id")
                    continue
                seen[report_id] = report
            if not isinstance(report.answer, str) or not report.design.allows(report.answer):
                raise ParameterError(f"answer of report {position}", report.answer, "text that its design gives")
            segments = tuple(sorted(report.segments.items())) if report.segments else ()
            key = report.survey, report.question, report.design, segments, getattr(report, "round", 0)
            counts.setdefault(key, Counter())[report.answer] += 1
        pilots = {survey.digest: survey.pilot for survey in surveys}
        refuse_mixed({key[0]: pilots[key[0]] for key in counts if key[0] in pilots})
        made = {}
        for (survey, question, design, segments, number), texts in counts.items():
            under = TallyKey(survey, question, design, segments, number, pilots.get(survey, False))
            made[under] = Tally(design, texts.total(), counts_of_texts(texts, design))
        return cls(made)

    def __getitem__(self, key: TallyKey) -> Tally:
        try:
            return self._tallies[key]
        except KeyError:
            raise EmptySelection(f"no answers were counted under {key!r}") from None

    def __iter__(self) -> Iterator[TallyKey]:
        return iter(self._tallies)

    def __len__(self) -> int:
        return len(self._tallies)

    def __contains__(self, key: object) -> bool:
        return key in self._tallies

    def __repr__(self) -> str:
        return f"<Tallies: {len(self)} keys, {self.n} answers>"

    def __add__(self, other: Tallies) -> Tallies:
        if not isinstance(other, Tallies):
            return NotImplemented
        both = dict(self._tallies)
        for key, tally in other.items():
            both[key] = both[key] + tally if key in both else tally
        return Tallies(both)

    @property
    def n(self) -> int:
        """All answers, of every key."""
        return sum(tally.n for tally in self.values())

    def where(self, **wanted: object) -> Tallies:
        """The part whose key fields or segments have these values, e.g. `where(question="tax", region="north")`."""
        self._check_names(wanted)
        return Tallies({k: t for k, t in self.items() if all(k.part(name) == v for name, v in wanted.items())})

    def option(self, option: int) -> Tallies:
        """One option of a choice against the rest: the same keys, under each the yes/no tally of that option.

        Everything that takes yes/no tallies takes these (tables by group, trends, pooled, weighted); ε stays that of
        the whole mechanism.
        """
        for key, tally in self.items():
            if len(tally) == 1:
                raise ParameterError("option", option, f"an option of a choice; {key.question!r} was not one")
        return Tallies({key: tally[option] for key, tally in self.items()})

    def _check_names(self, names: Iterable[str]) -> None:
        known = {*KEY_FIELDS, *(name for key in self for name, _ in key.segments)}
        for name in names:
            if self._tallies and not name.startswith("segments.") and name not in known:
                raise ParameterError("name", name, f"a key field or a segment that was declared: {sorted(known)}")

    def _check_mixture(self, names: Iterable[str] = ()) -> None:
        """Answers to two questions, of one person in two rounds, or of a trial and a real survey are kept apart."""
        if "pilot" not in names:
            refuse_mixed({f"{key.survey[:12]}…": key.pilot for key in self})
        for field in ("question", "round"):
            values = {getattr(key, field) for key in self}
            if len(values) > 1 and field not in names:
                listed = ", ".join(map(str, sorted(values)))
                mixed = f"{len(values)} {field}s ({listed})"
                raise ParameterError(
                    "tallies", mixed, f"one {field}: where({field}=…) selects one, by({field!r}) groups"
                )

    def by(self, *names: str) -> dict[tuple[Any, ...], tuple[Tally, ...]]:
        """Groups by key fields or segments; in each group one tally for each design, all else merged.

        A segment that a key does not declare is None in the group's name; "segments.region" need
        not be declared by any.
        """
        self._check_names(names)
        self._check_mixture(names)
        groups: dict[tuple[Any, ...], list[Tally]] = {}
        for key, tally in self.items():
            groups.setdefault(tuple(key.part(name) for name in names), []).append(tally)
        return {name: merged(tallies) for name, tallies in groups.items()}

    def each_design(self) -> tuple[Tally, ...]:
        """One tally for each design, segments and surveys merged; what `estimate` takes."""
        self._check_mixture()
        return merged(list(self.values()))

    def one(self) -> Tally:
        """Everything as one tally; refused if nothing was counted or several designs were used."""
        tallies = self.each_design()
        if not tallies:
            raise EmptySelection("nothing was counted under what was asked for: select what has answers")
        return reduce(add, tallies)

    def to_json(self) -> str:
        """A list of keys with their counts, in a fixed order, without floats."""
        return json.dumps([_entry(key, tally) for key, tally in self.items()], allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Tallies:
        """The collection written by `to_json`."""
        entries = read_json("tallies", text)
        if not isinstance(entries, list):
            raise ParameterError("tallies", entries, "a list of keys with counts")
        found: dict[TallyKey, Tally] = {}
        for entry in entries:
            given = fields("tallies", entry, FIELDS)
            if not isinstance(given["segments"], dict):
                raise ParameterError("segments", given["segments"], "an object of strings")
            tally = Tally.from_dict({name: given[name] for name in ("counts", "design", "n")})
            segments = tuple(given["segments"].items())
            key = TallyKey(given["survey"], given["question"], tally.design, segments, given["round"], given["pilot"])
            if key in found:
                raise ParameterError("tallies", entry, "each key once")
            found[key] = tally
        return cls(found)


def _entry(key: TallyKey, tally: Tally) -> dict[str, object]:
    if tally.mechanism != key.design or len(tally.counts) != key.design.cells:
        allowed = "tallies of whole answers: of one option alone the privacy could not be read back"
        raise ParameterError("tallies", f"one option of {key.question!r}", allowed)
    asked = {"pilot": key.pilot, "question": key.question, "round": key.round}
    return {**tally.as_dict(), **asked, "segments": dict(key.segments), "survey": key.survey}


def checked_entry(key: object, tally: object) -> None:
    """Refuse what is not a tally of its key's own design."""
    known = isinstance(key, TallyKey) and isinstance(tally, Tally)
    if not known or key.design not in (tally.mechanism, tally.design):  # type: ignore[attr-defined]
        raise ParameterError("tallies", (key, tally), "a Tally of the key's own design under each TallyKey")


def refuse_mixed(pilots: Mapping[str, bool]) -> None:
    """Refuse surveys (a name or digest of each, and whether it is a pilot) of which some are trials and some real."""
    trials, real = ([name for name, pilot in pilots.items() if pilot is kind] for kind in (True, False))
    if trials and real:
        raise ParameterError(
            "surveys",
            f"the pilot {trials[0]} and the real {real[0]}",
            "pilots alone or real surveys alone: trial data is never counted with real answers",
        )


def _order(design: Mechanism) -> tuple[object, ...]:
    """By how many counts there are, then by the chances of one."""
    column = design.column
    return design.cells, column.p00, column.p11


def merged(tallies: list[Tally]) -> tuple[Tally, ...]:
    """One tally for each design, in the order of designs; the same for every order and grouping of the answers."""
    found: dict[tuple[Mechanism, Mechanism], Tally] = {}
    for tally in tallies:
        name = tally.design, tally.mechanism
        found[name] = found[name] + tally if name in found else tally
    return tuple(found[name] for name in sorted(found, key=lambda name: _order(name[0])))
