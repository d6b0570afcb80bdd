"""A collector cannot chain a device's reports by refusing for a while or by delaying its replies.

Forty devices with two reports each send through a relay that mixes them.  The adversary is the collector: it knows when
each report arrived, again and again, and what it replied when, and pairs reports up: the one that came soonest after a
reply belongs to the one that was replied to.

If the moments of two reports have nothing to do with each other, which two belong together is a random matching of 80,
whatever the adversary sees.  Of 40 guessed pairs k are right with a chance of at most C(40, k) / (79·77·…), by the
union over all sets of k: 10 or more with 3.0e-10, which is the rate of false alarms of each test here (4.4e-10 of the
one with real clients, of which there are fewer).
"""

import itertools
import math
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from rrcollect.errors import TransportFailed
from tests.inside.deliver import remaining, schedule
from tests.support.devices import Clock, client, envelope, question

DEVICES, LUCK, HOUR = 40, 10, 3600.0
REAL = 16  # real clients, each with a ledger on the disk: 10 of 16 pairs are right by chance with 4.4e-10
Reply = Callable[[float], tuple[float, bool]]  # the moment a report comes → the moment of the reply, and whether taken


@dataclass
class SeenReport:
    """What a collector knows of one report: when it came, and when it was replied to.  `device` it does not know."""

    device: int
    id: str = field(default_factory=lambda: secrets.token_hex(16))
    came: list[float] = field(default_factory=list)
    replied: list[float] = field(default_factory=list)


def right_pairs(reports: list[SeenReport]) -> int:
    """How many of the adversary's pairs are of one device."""
    costs = []
    for one, other in itertools.permutations(reports, 2):
        before = [moment for moment in one.replied if moment <= other.came[0]]
        if before:
            costs.append((other.came[0] - before[-1], one.id, other.id))
    paired: dict[str, str] = {}
    for _, one_id, other_id in sorted(costs):
        if one_id not in paired and other_id not in paired:
            paired |= {one_id: other_id, other_id: one_id}
    device = {report.id: report.device for report in reports}
    return sum(device[one] == device[other] for one, other in paired.items()) // 2


def busy_for_an_hour(moment: float) -> tuple[float, bool]:
    """503 for a while, then 201; at once."""
    return moment, moment >= HOUR


def slow(moment: float) -> tuple[float, bool]:
    """201, after a while that is another one each time."""
    return moment + 2 + 8 * secrets.randbits(53) / 2**53, True


def in_line(reply: Reply) -> Iterator[SeenReport]:
    """The planted bug: a device sends its reports one after the other, and tries again when the last wait is over."""
    for device in range(DEVICES):
        now = HOUR * secrets.randbits(53) / 2**53
        for report in (SeenReport(device), SeenReport(device)):
            taken, wait = False, 60.0
            while not taken:
                report.came.append(now := now + 0.02 * secrets.randbits(53) / 2**53)  # the way through the relay
                now, taken = reply(now)
                report.replied.append(now)
                now, wait = now + (0 if taken else wait), 2 * wait
            yield report


def scheduled(reply: Reply) -> Iterator[SeenReport]:
    """What the schedule says, with every report on its own (`test_nobody_waits_for_anothers_reply`)."""
    for device in range(DEVICES):
        for report in (SeenReport(device), SeenReport(device)):
            taken, moments = False, schedule(0.0, HOUR)
            while not taken:
                report.came.append(moments[0])
                now, taken = reply(float(moments[0]))
                report.replied.append(now)
                moments = remaining(moments, now, HOUR)
            yield report


@pytest.mark.parametrize("devices", [DEVICES, REAL])
def test_the_rate_of_false_alarms(devices):
    chance = math.comb(devices, LUCK) / math.prod(2 * devices - 1 - 2 * i for i in range(LUCK))
    assert chance < 1e-9


@pytest.mark.parametrize("reply", [busy_for_an_hour, slow])
def test_a_collector_that_refuses_or_delays_cannot_chain_devices(reply):
    assert right_pairs(list(scheduled(reply))) < LUCK


@pytest.mark.parametrize("reply", [busy_for_an_hour, slow])
def test_the_adversary_chains_devices_that_send_in_line(reply):
    assert right_pairs(list(in_line(reply))) > 2 * LUCK


def by_clients(folder: Path, reply: Reply) -> Iterator[SeenReport]:
    """Real clients with ledgers of their own, each by a clock that starts at the same moment."""
    signed = envelope(question(), question(id="q2", attribute="b"))
    for device in range(REAL):
        clock, seen = Clock(), dict[bytes, SeenReport]()
        start = clock()
        (folder / str(device)).mkdir()
        mine = client(folder / str(device), attributes=["doped", "b"], clock=clock, sleep=clock.sleep, spread=HOUR)
        accepted = mine.accept(signed)
        for name in ("q1", "q2"):
            mine.answer(accepted, name, True)

        class Relay:
            def send(self, destination: str, body: bytes, clock=clock, seen=seen, start=start, device=device) -> None:
                now = (clock() - start).total_seconds()
                report = seen.setdefault(body, SeenReport(device))
                report.came.append(now)
                report.replied.append(reply(now)[0])
                if not reply(now)[1]:
                    raise TransportFailed("503")

        assert mine.deliver(Relay(), within=4 * HOUR).delivered == 2
        yield from seen.values()


def test_the_same_with_real_clients(tmp_path):
    reports = list(by_clients(tmp_path, busy_for_an_hour))
    assert len(reports) == 2 * REAL
    assert max(len(report.came) for report in reports) > 1  # many were refused, and came again
    assert right_pairs(reports) < LUCK
