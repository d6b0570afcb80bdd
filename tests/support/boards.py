"""Surveys with answers of every kind, for the pages of results: made by the published designs, put into a store."""

from __future__ import annotations

import random
import secrets
from typing import Any

from rrcollect import Choice, Design, Number, Report, Survey, optimal_design
from server_agg.collect import Store
from tests.inside.collect import incoming
from tests.support.devices import question

CITIES = ("Dublin", "Berlin", "Oslo")
CITY = {"values": [{"value": city} for city in CITIES], "label": {"en": "City"}}
OFTEN = ("Every day", "Every week", "Never")
YES = {"Dublin": 0.6, "Berlin": 0.2, "Oslo": 0.4}


def doped(**changes: Any) -> Any:
    return question(id="doped", attribute="doped", text="Have you ever doped?", **changes)


def often(**changes: Any) -> Any:
    kind, design = Choice(options=[{"en": label} for label in OFTEN]), optimal_design("ln 9", options=3)
    return question(id="often", attribute="often", text="How often do you train?", kind=kind, design=design, **changes)


def hours(**changes: Any) -> Any:
    kind, design = Number(low="0", high="40", unit={"en": "hours"}, clip=False), optimal_design("ln 9")
    return question(id="hours", attribute="hours", text="For how long?", kind=kind, design=design, **changes)


def answered(store: Store, survey: Survey, people: int, cities: tuple[str, ...] = CITIES, seed: int = 1) -> None:
    """So many people answer every question, in turn from each city and in each round; who, is drawn with this seed."""
    draw, rows = random.Random(seed), []
    for number in range(people):
        city = cities[number % len(cities)]
        for asked in survey.questions:
            segments = {"city": city} if survey.segments else {}
            answer = _answer(asked, city, draw)
            of = {"survey": survey.digest, "question": asked.id, "round": number // len(cities) % asked.rounds}
            made = Report(**of, design=asked.design, answer=answer, id=secrets.token_hex(16), segments=segments)
            rows.append(incoming(made.row))
    store.take(rows)


def _answer(asked: Any, city: str, draw: random.Random) -> str:
    design = asked.design
    if isinstance(design, Design):
        truth = draw.random() < YES[city]
        return str(int(draw.random() < float(design.p11 if truth else 1 - design.p00)))
    true = draw.choices(range(design.options), [6, 3, 1])[0]
    others = [option for option in range(design.options) if option != true]
    kept = draw.random() < float(design.p)
    sent = {true, *draw.sample(others, design.size - 1)} if kept else set(draw.sample(others, design.size))
    return "".join(str(int(option in sent)) for option in range(design.options))
