"""A server that asks one question again and again, as if it were always another."""

import os

from rrcollect import optimal_design
from rrcollect.errors import AlreadyAnswered, OverPolicy
from tests.support.devices import envelope, question


class CountingSource:
    """A source that counts how often it is asked."""

    def __init__(self, data=None):
        self.data, self.times = data, 0

    def __call__(self, n):
        self.times += 1
        return os.urandom(n) if self.data is None else self.data


def attack(device_path, make_client, rounds) -> int:
    """Republish the question again and again under new ids, texts, versions, names and designs; count the draws."""
    source = CountingSource()
    device = make_client(device_path, source=source)
    for i in range(rounds):
        design = question().design if i % 3 else optimal_design(f"{1 + i % 7}/5")
        signed = envelope(
            question(id=f"q{i}", text=f"Wording {i}?", design=design), version=i + 1, name=f"survey-{i % 10}"
        )
        try:
            device.answer(device.accept(signed), f"q{i}", True)
        except (AlreadyAnswered, OverPolicy):
            continue
    return source.times
