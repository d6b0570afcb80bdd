"""What people read of results: the owner what was counted, strangers the last release; as JSON and as CSV.

Rules
1. Strangers' results are computed once per release, however many look.
2. The owner's bars allow for looking while reports come in.
3. Many readers, one count: what was counted is remembered for `results_age` seconds, and each form of it is written
   once.  It is forgotten when something was published, released, closed or withdrawn.
4. CSV is for spreadsheets (`files`): a line for each estimate.
"""

from __future__ import annotations

import asyncio
import io
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from rrcollect.publish.survey import Survey
from server_agg.collect.catalogue import Catalogue
from server_agg.collect.http.bodies import encoded
from server_agg.collect.http.surveys import states_of
from server_agg.collect.settings import CollectorSettings
from server_agg.collect.store.fold import tallies_of
from server_agg.collect.store.release import ReleaseOutcome, last_facts, unreleased
from server_agg.collect.store.store import Store
from server_agg.count.tallies import Tallies
from server_agg.files import write_csv
from server_agg.survey_page.results import released_results, survey_results

HEAD = ("survey", "title", "question", "text", "round", "segment", "group", "option", "n", "estimate", "low", "high",
        "unit", "level", "method", "epsilon", "delta")  # fmt: skip


def as_csv(surveys: Iterable[dict[str, Any]]) -> str:
    """One line for each estimate: the headline (no segment), every round of a trend, every group of a segment; of a
    choice each of these for every option.  A share has no unit."""
    out = io.StringIO()
    asked = ((survey, question) for survey in surveys for question in survey["questions"])
    write_csv(out, HEAD, (line for survey, question in asked for line in _lines(survey, question)))
    return out.getvalue()


def _lines(survey: dict[str, Any], question: dict[str, Any]) -> Iterator[list[object]]:
    head = [survey["digest"], survey["title"], question["id"], question["text"]]
    promise = [question["promise"]["epsilon"], question["promise"]["delta"]]
    result = question["estimate"]
    if result is None:
        return
    unit = question["scale"]["unit"] if question["kind"] == "number" else ""
    how = [unit, result["level"], result["method"], *promise]
    headline = "all" if question["round"] is None else question["round"]
    for option, row in _options(result, lambda whole: [whole]):
        yield [*head, headline, "", "", option, result["n"], *_bar(row), *how]
    for option, row in _options(question["trend"] or {}, lambda whole: whole.get("rounds", ())):
        yield [*head, row["round"], "(round)", "", option, row["n"], *_bar(row), *how]
    for segment in question["segments"]:
        for option, row in _options(segment, lambda whole: whole["rows"]):
            name = " + ".join(row["cells"]) if len(row["cells"]) > 1 else row["label"]
            yield [*head, question["round"], segment["name"], name, option, row["n"], *_bar(row), *how]


def _options(whole: dict[str, Any], rows: Callable[[dict[str, Any]], Iterable[Any]]) -> Iterator[tuple[str, Any]]:
    """The rows of the whole, or those of every option with its label."""
    for part in whole.get("options", [whole]):
        yield from ((part["label"] if "options" in whole else "", row) for row in rows(part))


def _bar(row: dict[str, Any]) -> list[object]:
    return [row["value"], row["low"], row["high"]]


def live_results(store: Store, surveys: Iterable[Survey]) -> list[dict[str, Any]]:
    """What the owner sees of each survey: everything that was counted, with bars that allow for looking, the last
    release, and what a release would add now."""
    counted, last = store.folds.counted(), last_facts(store.database)
    found = []
    for survey in surveys:
        digest, ahead = survey.digest, unreleased(counted, survey)
        crowds = {crowd: held[:2] for crowd, held in counted.get(digest, {}).items()}
        facts, tallies = last.get(digest), tallies_of(crowds, {digest} if survey.pilot else ())
        headline = None if facts is None else facts.headline
        shown = survey_results(tallies, survey, release=facts, headline=headline, method="anytime").page()
        outcome = ReleaseOutcome(facts, ahead.answers, ahead.waiting, survey.minimum)
        found.append(shown | {"next_release": outcome.as_dict()})
    return found


@dataclass(eq=False)
class Findings:
    """What was found, for whoever asks, with what each survey is now."""

    store: Store
    catalogue: Catalogue
    settings: CollectorSettings

    def __post_init__(self) -> None:
        self._public: dict[str, tuple[int, dict[str, Any]]] = {}  # by digest, the number of the release and its results
        self._found: dict[bool, tuple[float, list[dict[str, Any]], dict[tuple[str | None, str], bytes]]] = {}  # live?
        self._counting = asyncio.Lock()

    def forget(self) -> None:
        """Count again when somebody asks."""
        self._found.clear()

    async def written(self, digest: str | None, form: str, *, live: bool) -> bytes:
        """The results of one survey or of all, as "json" or "csv"."""
        async with self._counting:
            found = self._found.get(live)
            if found is None or time.monotonic() - found[0] >= self.settings.results_age:
                counted = await asyncio.to_thread(self._count if live else self._released)
                self._found[live] = found = time.monotonic(), counted, {}
            _, surveys, written = found
            if (digest, form) not in written:
                chosen = [one for one in surveys if digest in (None, one["digest"])]
                written[digest, form] = await asyncio.to_thread(_written, chosen, form)
            return written[digest, form]

    def _count(self) -> list[dict[str, Any]]:
        self.catalogue.refresh()
        self.store.folds.fold_unless_busy()
        found = live_results(self.store, [one.survey for one in self.catalogue.all()])
        states, logged = states_of(self.catalogue, self.settings.grace), self._logged()
        return [noted(one | states[one["digest"]], logged) for one in found]

    def _logged(self) -> dict[str, int]:
        """By digest, how many surveys the log has by the publisher of this one, under its name."""
        listed = [entry.published for entry in self.catalogue.all()]
        return {published.digest: self.catalogue.of_name(published) for published in listed}

    def _released(self) -> list[dict[str, Any]]:
        self.catalogue.refresh()
        states, last = states_of(self.catalogue, self.settings.grace), last_facts(self.store.database)
        shown, logged = [], self._logged()
        for survey in (listed.survey for listed in self.catalogue.all()):
            digest, known = survey.digest, self._public.get(survey.digest)
            if known is None or known[0] != (last[digest].number if digest in last else 0):
                facts, tallies = self.store.last_release(survey) or (None, Tallies({}))
                page = released_results(tallies, survey, facts).page()
                self._public[digest] = known = facts.number if facts else 0, page
            shown.append(noted(known[1] | states[digest], logged))
        return shown


def noted(shown: dict[str, Any], logged: dict[str, int]) -> dict[str, Any]:
    """What is shown of a survey, with what the log says of its publisher."""
    count = logged[shown["digest"]]
    words = f"Surveys that this publisher has put into this collector's log under this name: {count}."
    return shown | {"logged": count, "beside": [*shown["beside"], words], "notes": [*shown["notes"], words]}


def _written(surveys: list[dict[str, Any]], form: str) -> bytes:
    return as_csv(surveys).encode() if form == "csv" else encoded({"surveys": surveys})
