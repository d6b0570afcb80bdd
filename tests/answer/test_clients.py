"""One person, one ledger: nobody gets another's answer, no name is on the disk, an interview ends."""

import os
import threading
import unicodedata

import pytest

from rrcollect import AnswerRefused, Clients, LedgerError, ParameterError, SimulatedCollector
from rrcollect.errors import LedgerUnavailable
from tests.support.devices import POLICY, Clock, client, envelope, question, survey
from tests.support.republishing import CountingSource

SECRET = b"a key of the app's"
PEOPLE = ["alice@example.org", "bob", "Ünal Çağlar", "../../etc/passwd", "x" * 10_000, "\ud800", " ", "al\0ice"]


def never():
    raise AssertionError("the truth was read")


def people(folder, **changes):
    return Clients(folder, **{"key": SECRET, "attributes": ["doped"], "policy": POLICY, "spread": 0, **changes})


def test_each_person_has_a_draw_a_report_and_a_budget_of_their_own(tmp_path):
    """One `Client` for all gave users 2 and 3 user 1's report, and showed them what user 1 had sent."""
    source = CountingSource()
    clients = people(tmp_path, source=source)
    reports = {}
    for person in PEOPLE:
        mine = clients.of(person)
        accepted = mine.accept(envelope())
        assert mine.open_questions(accepted)
        assert mine.budget().reports == ()
        reports[person] = mine.answer(accepted, "q1", True)
    assert source.times == len(PEOPLE)
    assert len({report.id for report in reports.values()}) == len(PEOPLE)
    for person in PEOPLE:
        mine = people(tmp_path, source=source).of(person)
        assert mine.answer(mine.accept(envelope()), "q1", never) == reports[person]
    assert source.times == len(PEOPLE)


def test_one_client_for_all_would_give_everybody_the_first_ones_report(tmp_path):
    """The planted bug, which is why the class is there."""
    shared = client(tmp_path)
    accepted = shared.accept(envelope())
    assert len({shared.answer(accepted, "q1", truth).id for truth in (True, False, True)}) == 1


def test_no_name_is_on_the_disk_and_the_hash_cannot_be_tested_without_the_key(tmp_path):
    import hashlib

    clients = people(tmp_path)
    for person in PEOPLE[:3]:
        mine = clients.of(person)
        mine.answer(mine.accept(envelope()), "q1", True)
    names = " ".join(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*"))
    held = names.encode() + b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    for person in PEOPLE[:3]:
        assert person.encode() not in held
        assert hashlib.sha256(person.encode()).hexdigest()[:16].encode() not in held
    assert SECRET not in held
    assert SECRET.hex().encode() not in held
    assert repr(clients) == f"Clients({tmp_path.name!r})"
    found = sorted(path.relative_to(tmp_path) for path in tmp_path.glob("??/*.sqlite3"))
    assert all(len(path.stem) == 64 and path.stem.startswith(path.parent.name) for path in found)
    assert len(found) == 3


def test_the_same_name_in_other_code_points_is_the_same_person(tmp_path):
    clients = people(tmp_path)
    one, other = (unicodedata.normalize(form, "Zoë") for form in ("NFC", "NFD"))
    assert one != other
    mine = clients.of(one)
    first = mine.answer(mine.accept(envelope()), "q1", True)
    mine = clients.of(other)
    assert mine.answer(mine.accept(envelope()), "q1", never) == first


@pytest.mark.parametrize("key", ["a text of sixteen", b"fifteen bytes..", b"", None, bytearray(32)])
def test_a_key_is_sixteen_bytes_or_more_and_is_not_shown(tmp_path, key):
    with pytest.raises(ParameterError, match="16 bytes or more") as caught:
        people(tmp_path, key=key)
    assert "fifteen" not in str(caught.value)


@pytest.mark.parametrize("person", ["", None, 7, b"alice"])
def test_a_person_is_a_text(tmp_path, person):
    with pytest.raises(ParameterError, match="person"):
        people(tmp_path).of(person)


def test_another_key_is_refused_and_a_lost_check_too(tmp_path):
    """With another key everybody would be somebody new, and draw again."""
    clients = people(tmp_path)
    mine = clients.of("alice")
    mine.answer(mine.accept(envelope()), "q1", True)
    with pytest.raises(ParameterError, match="drawn anew"):
        people(tmp_path, key=b"another key of the app's")
    (tmp_path / "key.check").unlink()
    with pytest.raises(LedgerUnavailable, match=r"key\.check"):
        people(tmp_path, key=b"another key of the app's")
    with pytest.raises(LedgerUnavailable, match=r"key\.check"):
        people(tmp_path)


def test_many_that_begin_a_folder_at_once_agree_on_its_key(tmp_path):
    made, barrier = [], threading.Barrier(8)

    def begin(number):
        barrier.wait()
        try:
            made.append(people(tmp_path / "new", key=bytes([number % 2]) * 16))
        except ParameterError:
            made.append(None)

    threads = [threading.Thread(target=begin, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 8
    assert sum(one is not None for one in made) == 4


def test_settings_are_checked_before_anybody_is_asked(tmp_path):
    for wrong in ({"attributes": "doped"}, {"attributes": [7]}, {"spread": -1}):
        with pytest.raises(ParameterError):
            people(tmp_path, **wrong)
    (tmp_path / "file").write_text("")
    with pytest.raises(LedgerError):
        people(tmp_path / "file")


def test_an_interview_has_a_fresh_ledger_and_ends(tmp_path):
    source = CountingSource()
    clients = people(tmp_path, source=source)
    for number in range(3):
        with clients.interview() as client_:
            accepted = client_.accept(envelope())
            assert client_.open_questions(accepted)
            client_.answer(accepted, "q1", True)
        for late in (
            lambda: client_.accept(envelope()),
            lambda: client_.answer(accepted, "q1", never),  # noqa: B023
            lambda: client_.decline(accepted, "q1"),  # noqa: B023
            lambda: client_.open_questions(accepted),  # noqa: B023
            client_.budget,
            lambda: client_.deliver(SimulatedCollector([])),
        ):
            with pytest.raises(AnswerRefused, match="begin another"):
                late()
        assert clients.interviews == number + 1
    assert source.times == 3
    assert people(tmp_path).interviews == 3


def test_an_interview_that_breaks_off_is_over_and_counted(tmp_path):
    clients = people(tmp_path)
    with pytest.raises(KeyboardInterrupt), clients.interview() as client_:
        raise KeyboardInterrupt
    assert clients.interviews == 1
    with pytest.raises(AnswerRefused):
        client_.budget()


def test_all_ledgers_are_delivered_in_one_pass_and_settled_interviews_are_deleted(tmp_path):
    clock = Clock()
    clients = people(tmp_path, clock=clock, sleep=clock.sleep)
    for person in PEOPLE[:4]:
        mine = clients.of(person)
        mine.answer(mine.accept(envelope()), "q1", True)
    for answers in (1, 0, 1):
        with clients.interview() as asked:
            accepted = asked.accept(envelope())
            if answers:
                asked.answer(accepted, "q1", True)
    running = clients.interview()
    with running as asked:
        asked.answer(asked.accept(envelope()), "q1", True)
        collector = SimulatedCollector([survey()], failures=["before"] * 7)
        assert clients.deliver(collector).waiting == 7
        assert len(list((tmp_path / "interviews").glob("*.sqlite3"))) == 3  # the one without an answer is settled
        assert clients.deliver(collector, within=60).delivered == 7
        (left,) = (tmp_path / "interviews").glob("*.sqlite3")  # the one that goes on
        assert len(asked.budget().reports) == 1
    assert clients.deliver(collector).delivered == 0
    assert os.listdir(tmp_path / "interviews") == []
    assert clients.interviews == 4
    assert len(collector.reports) == 7
    assert clients.of(PEOPLE[0]).budget().reports[0].state == "delivered"
    assert left


def test_people_are_not_sent_one_after_the_other(tmp_path):
    """Reports that wait get their moments together: sent person by person, neighbours in time would be one person.

    12 people with 2 reports each in one pass: all pairs are neighbours with a chance of 1/(23·21·…·1), 3e-12."""
    clock = Clock()
    asked = question(), question(id="q2", attribute="b")
    clients = people(tmp_path, attributes=["doped", "b"], clock=clock, sleep=clock.sleep, spread=3600)
    owner = {}
    for number in range(12):
        mine = clients.of(str(number))
        accepted = mine.accept(envelope(*asked))
        owner |= {mine.answer(accepted, name, True).id: number for name in ("q1", "q2")}
    clock.sleep(7200)  # all are overdue
    collector = SimulatedCollector([survey(*asked)])
    assert clients.deliver(collector, within=10).delivered == 24
    order = [owner[report] for report in collector.reports]
    assert any(one != other for one, other in zip(order[::2], order[1::2], strict=True))


def test_a_ledger_that_cannot_be_used_is_told_when_the_others_are_delivered(tmp_path):
    clients = people(tmp_path)
    for person in PEOPLE[:3]:
        mine = clients.of(person)
        mine.answer(mine.accept(envelope()), "q1", True)
    next(tmp_path.glob("??/*.guard")).unlink()
    collector = SimulatedCollector([survey()])
    with pytest.raises(LedgerError, match="guard is missing"):
        clients.deliver(collector)
    assert len(collector.reports) == 2
