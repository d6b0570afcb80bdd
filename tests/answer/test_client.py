"""The client: decide before reading the truth, never draw twice, tell the person, show nothing."""

import asyncio
import functools
import io
import logging
import sqlite3
import traceback
from datetime import UTC, datetime

import pytest

from rrcollect import (
    Attribute,
    Client,
    Disclosure,
    EveryAttributeOf,
    ParameterError,
    Policy,
    RRCollectError,
    SimulatedCollector,
    TrustedPublisher,
    optimal_design,
)
from rrcollect.errors import (
    AlreadyAnswered,
    BadTruth,
    BudgetExhausted,
    CertainDisclosure,
    Expired,
    MalformedReport,
    NoRandomness,
    NotOpen,
    OverPolicy,
    RolledBack,
    RoundClosed,
    UnknownAttribute,
    UntrustedKey,
)
from tests.inside.publish import RoundTimes, new_invite, ticket
from tests.support.devices import KEY, POLICY, PUBLISHER, Clock, client, envelope, question, survey
from tests.support.republishing import CountingSource, attack


def never():
    raise AssertionError("the truth was read")


def test_the_whole_of_it_in_a_few_lines(tmp_path):
    device = client(tmp_path)
    accepted = device.accept(envelope())
    report = device.answer(accepted, "q1", True)
    assert report.answer in ("0", "1")
    assert report.survey == survey().digest
    collector = SimulatedCollector([survey()])
    assert device.deliver(collector).delivered == 1
    assert list(collector.reports.values()) == [report]


def test_asked_again_it_repeats_the_same_bytes_and_reads_no_truth(tmp_path):
    source = CountingSource()
    device = client(tmp_path, source=source)
    accepted = device.accept(envelope())
    first = device.answer(accepted, "q1", True)
    for _ in range(3):
        assert client(tmp_path, source=source).answer(accepted, "q1", never).to_bytes() == first.to_bytes()
    assert source.times == 1


def test_another_survey_about_the_same_attribute_gets_the_same_answer(tmp_path):
    source = CountingSource()
    device = client(tmp_path, source=source)
    first = device.answer(device.accept(envelope()), "q1", True)
    other = device.accept(envelope(question(id="x9", text="Other words?"), name="other"))
    second = device.answer(other, "x9", never)
    assert (second.answer, second.design) == (first.answer, first.design)
    assert second.id != first.id
    assert source.times == 1
    assert str(device.budget().spent.epsilon) == "ln(3)"


def test_another_design_is_refused(tmp_path):
    device = client(tmp_path)
    device.answer(device.accept(envelope()), "q1", True)
    stronger = device.accept(envelope(question(design=optimal_design(2)), name="other"))
    with pytest.raises(AlreadyAnswered, match="no second one is drawn"):
        device.answer(stronger, "q1", never)


@pytest.mark.no_cover
def test_a_server_that_republishes_again_and_again_gets_one_draw(tmp_path):
    """A hundred times here, a thousand times in the long suite (check `ledger`)."""
    assert attack(tmp_path, client, rounds=100) == 1


def test_the_attack_catches_a_redrawing_client(tmp_path):
    """The planted bug: a client that keys its memory by question, as some published ones do."""

    class Redrawing(Client):
        def _request(self, accepted, asked, *given):
            from dataclasses import replace

            return replace(super()._request(accepted, asked, *given), attribute=f"doped-{asked}")

    def make(path, **changes):
        return Redrawing(path / "ledger.sqlite3", **{"attributes": ["doped"], "policy": POLICY, **changes})

    assert attack(tmp_path, make, rounds=6) > 1


# ---- what is decided before the truth is read ---------------------------------------------------------------------


def refusals(tmp_path):
    """(name, error, call): every way to be refused, each with a truth that must not be read."""
    device = client(tmp_path)
    accepted = device.accept(envelope(question(), question(id="q2", attribute="other"), segments={"sport": ["ski"]}))
    invited = device.accept(envelope(name="invited", invite_only=True))
    yield "unregistered", UnknownAttribute, lambda: device.answer(accepted, "q2", never)
    yield "unknown_question", ParameterError, lambda: device.answer(accepted, "q9", never)
    yield "unknown_segment", ParameterError, lambda: device.answer(accepted, "q1", never, segments={"city": "Bern"})
    yield "undeclared_value", ParameterError, lambda: device.answer(accepted, "q1", never, segments={"sport": "go"})
    yield "round_of_the_question", ParameterError, lambda: device.answer(accepted, "q1", never, round=1)
    yield "round_negative", ParameterError, lambda: device.answer(accepted, "q1", never, round=-1)
    yield "no_invite", ParameterError, lambda: device.answer(invited, "q1", never)
    poor = client(tmp_path / "poor", policy=Policy(POLICY.publishers, lifetime_epsilon="1"))
    yield "budget", BudgetExhausted, lambda: poor.answer(poor.accept(envelope()), "q1", never)
    late = client(tmp_path / "late", clock=lambda: datetime(2101, 1, 1, tzinfo=UTC))
    yield "expired", Expired, lambda: late.answer(accepted, "q1", never)
    rounds = device.accept(envelope(question(rounds=5), name="rounds"))
    yield "round_of_the_app", UnknownAttribute, lambda: device.answer(rounds, "q1", never, round=2)


NAMES = [
    "unregistered", "unknown_question", "unknown_segment", "undeclared_value", "round_of_the_question",
    "round_negative", "no_invite", "budget", "expired", "round_of_the_app",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_refused_before_the_truth_is_read_and_nothing_is_drawn(tmp_path, name):
    for folder in ("poor", "late"):
        (tmp_path / folder).mkdir()
    table = {n: (error, call) for n, error, call in refusals(tmp_path)}
    assert set(table) == set(NAMES)
    error, call = table[name]
    with pytest.raises(error) as caught:
        call()
    assert "Bern" not in str(caught.value)
    assert client(tmp_path).budget().draws == ()


def test_an_invalid_or_failing_truth_leaves_no_trace(tmp_path):
    device = client(tmp_path)
    accepted = device.accept(envelope())
    with pytest.raises(BadTruth):
        device.answer(accepted, "q1", "perhaps")
    with pytest.raises(ZeroDivisionError):
        device.answer(accepted, "q1", lambda: 1 / 0)
    assert device.budget().draws == ()
    assert device.budget().reports == ()


def test_no_randomness_no_report(tmp_path):
    def broken(n):
        raise OSError

    device = client(tmp_path, source=broken)
    accepted = device.accept(envelope())
    with pytest.raises(NoRandomness):
        device.answer(accepted, "q1", True)
    assert device.budget().reports == ()
    assert client(tmp_path).answer(accepted, "q1", True).answer in ("0", "1")


# ---- attributes, rounds, budgets ----------------------------------------------------------------------------------


def test_names_belong_to_the_app(tmp_path):
    source = CountingSource()
    device = client(tmp_path, attributes=[Attribute("doping", asked_as=("doped", "ever-doped"))], source=source)
    device.answer(device.accept(envelope()), "q1", True)
    renamed = device.accept(envelope(question(attribute="ever-doped"), name="renamed"))
    device.answer(renamed, "q1", never)
    assert source.times == 1
    assert [d.attribute for d in device.budget().draws] == ["doping"]


def test_a_question_answered_under_another_name_is_not_answered_again(tmp_path):
    """An app that renames an attribute cannot make its device draw twice for one question."""
    signed = envelope()
    before = client(tmp_path)
    before.answer(before.accept(signed), "q1", True)
    renamed = client(tmp_path, attributes=[Attribute("doping", asked_as=("doped",))])
    with pytest.raises(AlreadyAnswered, match="answered before, for the attribute 'doped'"):
        renamed.answer(renamed.accept(signed), "q1", never)
    assert [draw.attribute for draw in renamed.budget().draws] == ["doped"]


def test_every_attribute_of_a_publisher_and_the_cap_that_defends(tmp_path):
    """A survey page: the publisher chooses the names, the lifetime cap bounds what it can learn."""
    source = CountingSource()
    device = client(tmp_path, attributes=[EveryAttributeOf(PUBLISHER)], source=source)
    refused = 0
    for i in range(20):
        accepted = device.accept(envelope(question(attribute=f"doped-{i}"), name=f"s{i}"))
        try:
            device.answer(accepted, "q1", True)
        except BudgetExhausted:
            refused += 1
    assert source.times == 10  # ln 59049 = 10 · ln 3
    assert refused == 10
    assert device.budget().spent.epsilon == POLICY.lifetime_epsilon  # to the last unit
    assert device.budget().draws[0].attribute == f"{PUBLISHER}/doped-0"


def test_rounds_are_explicit_and_debited_for_life(tmp_path):
    source = CountingSource()
    device = client(tmp_path, attributes=[Attribute("crashed", rounds=10, asked_as=("doped",))], source=source)
    accepted = device.accept(envelope(question(rounds=10)))
    for number in range(4):
        device.answer(accepted, "q1", True, round=number)
        device.answer(accepted, "q1", never, round=number)
    assert source.times == 4
    assert device.budget().spent_on("crashed").epsilon == POLICY.attribute_epsilon
    with pytest.raises(BudgetExhausted, match="attribute 'crashed'"):
        device.answer(accepted, "q1", never, round=4)


def test_nothing_renews_by_the_clock(tmp_path):
    now = [datetime(2026, 1, 1, tzinfo=UTC)]
    device = client(
        tmp_path,
        policy=Policy(POLICY.publishers, lifetime_epsilon="ln 3"),
        attributes=["doped", "b"],
        clock=lambda: now[0],
    )
    accepted = device.accept(envelope(question(), question(id="q2", attribute="b")))
    device.answer(accepted, "q1", True)
    for year in (1990, 2026, 2099):
        now[0] = datetime(year, 1, 1, tzinfo=UTC)
        with pytest.raises(BudgetExhausted, match="the lifetime budget is"):
            device.answer(accepted, "q2", never)


def test_a_disclosing_design_needs_both_and_is_charged_as_delta(tmp_path):
    proof = question(
        design=optimal_design(1, "1/128", prevalence="1/1000"), disclosure=Disclosure(exposed=1, respondents=1000)
    )
    signed = envelope(proof)
    with pytest.raises(CertainDisclosure):
        client(tmp_path).accept(signed)
    device = client(tmp_path, policy=Policy(POLICY.publishers, allow_disclosure=True))
    accepted = device.accept(signed)
    assert "If “yes” is sent, this proves that your true answer is “yes”." in accepted.explain()
    device.answer(accepted, "q1", True)
    assert (float(device.budget().spent.epsilon), float(device.budget().spent.delta)) == (0, 1 / 128)
    exact = Policy(POLICY.publishers, allow_disclosure=True, lifetime_delta="1/128", attribute_delta="1/128")
    (tmp_path / "exact").mkdir()
    last = client(tmp_path / "exact", policy=exact)
    last.answer(last.accept(signed), "q1", True)  # to the last unit
    strict = client(
        tmp_path,
        policy=Policy(POLICY.publishers, allow_disclosure=True, lifetime_delta="1/200"),
        attributes=["doped", "b"],
    )
    other = strict.accept(
        envelope(question(id="q2", attribute="b", design=proof.design, disclosure=proof.disclosure), name="b")
    )
    with pytest.raises(BudgetExhausted):
        strict.answer(other, "q2", never)


@pytest.mark.parametrize(
    "make",
    [
        lambda: "doped",
        lambda: [Attribute("a/b")],
        lambda: [Attribute("")],
        lambda: [7],
        lambda: ["a", "a"],
        lambda: [Attribute("a", rounds=0)],
        lambda: [Attribute("a", rounds=2000)],
        lambda: [EveryAttributeOf("p", rounds=2000)],
    ],
)
def test_bad_registrations(tmp_path, make):
    with pytest.raises(ParameterError):
        client(tmp_path, attributes=make())


# ---- versions, declining, telling ---------------------------------------------------------------------------------


def test_rollback_is_remembered_across_restarts(tmp_path):
    client(tmp_path).accept(envelope(version=5))
    with pytest.raises(RolledBack):
        client(tmp_path).accept(envelope(version=4))
    with pytest.raises(RolledBack, match="other content"):
        client(tmp_path).accept(envelope(version=5, title="Other"))
    client(tmp_path).accept(envelope(version=6))
    client(tmp_path).accept(envelope(version=1, name="another"))


def test_declining_stays_on_the_device(tmp_path):
    device = client(tmp_path, attributes=["doped", "b"])
    accepted = device.accept(envelope(question(), question(id="q2", attribute="b")))
    assert [q.id for q in device.open_questions(accepted)] == ["q1", "q2"]
    device.decline(accepted, "q1")
    device.decline(accepted, "q1")
    assert [q.id for q in device.open_questions(accepted)] == ["q2"]
    collector = SimulatedCollector([survey()])
    device.deliver(collector)
    assert collector.requests == []
    device.answer(accepted, "q1", True)  # a change of mind
    assert [q.id for q in device.open_questions(accepted)] == ["q2"]
    with pytest.raises(ParameterError, match="one of this survey's: q1, q2"):
        device.decline(accepted, "q9")


def test_the_budget_in_words_and_as_data(tmp_path):
    import json

    device = client(tmp_path, source=CountingSource(bytes(8)))
    device.answer(device.accept(envelope()), "q1", True)
    device.deliver(SimulatedCollector([device.accept(envelope()).survey]))
    words = device.budget().explain()
    assert "at most 3 times as likely as the other" in words
    assert "> doped\n“yes” was sent or may have been sent, in 1 report." in words
    data = json.loads(json.dumps(device.budget().export()))
    assert data["answers"][0]["cost"] == {"epsilon": "ln(3)", "delta": "0"}
    assert data["reports"][0]["text"] == "Ever doped?"
    assert "changes it by chance in at least 25 of 100 cases" in device.accept(envelope()).explain()


def test_the_budget_word_for_word(tmp_path):
    design, disclosure = optimal_design(1, "1/512", prevalence="1/1000"), Disclosure(exposed=1, respondents=1000)
    asked = [question(id=name, attribute=name, design=design, disclosure=disclosure) for name in ("b", "c")]
    device = client(
        tmp_path,
        attributes=[Attribute("doped", rounds=3), "b", "c"],
        policy=Policy(POLICY.publishers, allow_disclosure=True),
        source=CountingSource(bytes(8)),
    )
    accepted = device.accept(envelope(question(rounds=3), *asked))
    again = device.accept(envelope(question(rounds=3), name="again"))
    device.answer(accepted, "q1", True)
    device.answer(again, "q1", never)
    device.answer(accepted, "q1", True, round=2)
    device.answer(accepted, "b", True)
    device.answer(accepted, "c", False)
    device.deliver(SimulatedCollector([accepted.survey, again.survey]))
    told = device.budget()
    held = "to somebody who thought both equally likely before."
    assert told.explain().split("\n") == [
        "Apart from answers that tell by themselves, somebody who sees all that this device has drawn so far, and who "
        "thought two things about you equally likely before, can come to think one of them at most 9.04 times as "
        "likely as the other.",
        "For your whole life this device stops at 59100 times, not counting answers that disclose more: those depend "
        "on what is true in up to 1 of 100 cases, and otherwise on chance alone. Nothing renews.",
        "So far this device has given away about 40 of 100 parts of what it will ever give away about you.",
        "> doped",
        "“yes” was sent or may have been sent, in 2 reports.",
        f"It can make one answer at most 3 times as likely as the other, {held}",
        "> doped",
        "In round 3, “yes” was sent or may have been sent, in 1 report.",
        f"It can make one answer at most 3 times as likely as the other, {held}",
        "> b",
        "“yes” was sent or may have been sent, in 1 report.",
        "It proves that this is your true answer.",
        "> c",
        "“no” was sent or may have been sent, in 1 report.",
        f"It can make one answer at most 1.01 times as likely as the other, {held}",
    ]
    data = told.export()
    assert data["spent"] == {"epsilon": "ln(9)", "delta": "1/256"}
    assert data["lifetime"] == {"epsilon": str(POLICY.lifetime_epsilon), "delta": str(POLICY.lifetime_delta)}
    assert [(a["attribute"], a["round"], a["sent"]) for a in data["answers"]] == [
        ("doped", 0, "1"),
        ("doped", 2, "1"),
        ("b", 0, "1"),
        ("c", 0, "0"),
    ]
    assert data["answers"][2]["meaning"] == "It proves that this is your true answer."
    assert data["answers"][3]["design"] == {"p00": "1", "p11": "1/512"}
    report = next(r for r in data["reports"] if r["question"] == "b")
    assert " ".join(report) == "id survey question text attribute round segments ticket state reason"
    assert (report["attribute"], report["round"], report["state"], report["ticket"]) == ("b", 0, "delivered", None)


def test_a_survey_must_come_from_accept(tmp_path):
    device = client(tmp_path)
    for call in (device.decline, device.open_questions, device.answer):
        with pytest.raises((ParameterError, TypeError), match="survey|argument"):
            call(survey())
    for call in (device.open_questions, lambda s: device.decline(s, "q1"), lambda s: device.answer(s, "q1", never)):
        with pytest.raises(ParameterError, match="what `accept` returned"):
            call(survey())


def test_what_may_be_declared_is_said_and_what_was_is_not(tmp_path):
    device = client(tmp_path)
    accepted = device.accept(envelope(segments={"sport": ["ski", "row"]}))
    with pytest.raises(ParameterError, match="invite is 'an invite': use no invite: this survey asks for none$"):
        device.answer(accepted, "q1", never, invite="abc")
    invited = device.accept(envelope(name="invited", invite_only=True))
    with pytest.raises(ParameterError, match="^invite is 'none': use the invite this survey requires$"):
        device.answer(invited, "q1", never)
    with pytest.raises(ParameterError, match="another value, not shown': use one of ski, row$") as caught:
        device.answer(accepted, "q1", never, segments={"sport": "chess"})
    assert "chess" not in str(caught.value)


def test_a_survey_changed_after_acceptance_or_no_longer_trusted_is_refused(tmp_path):
    from dataclasses import replace

    from rrcollect.errors import BadSignature

    device = client(tmp_path)
    accepted = device.accept(envelope())
    weaker = replace(accepted, survey=survey(question(design=optimal_design(2))))
    with pytest.raises(BadSignature, match="changed after"):
        device.answer(weaker, "q1", never)
    with pytest.raises(TypeError, match="cannot be changed"):
        accepted.survey.segments["sport"] = survey(segments={"sport": ["ski"]}).segments["sport"]
    copied = accepted.survey.model_copy(update={"segments": survey(segments={"sport": ["ski"]}).segments})
    with pytest.raises(BadSignature):
        device.answer(replace(accepted, survey=copied), "q1", never)
    with pytest.raises(UntrustedKey):
        client(tmp_path, policy=Policy()).answer(accepted, "q1", never)
    assert device.answer(accepted, "q1", True).answer in ("0", "1")


@pytest.mark.parametrize(
    "options",
    [{"invite": "x" * 200}, {"invite": "\ud800"}, {"invite": 5}, {"segments": 5}, {"segments": {"long": "v" * 190}}],
    ids=["long_invite", "half_surrogate", "number", "no_mapping", "oversize"],
)
def test_a_report_that_cannot_be_sent_is_refused_before_the_truth_is_read(tmp_path, options):
    source = CountingSource()
    device = client(tmp_path, source=source)
    names = {"long": ["v" * 190]} | {f"s{i}": [f"{'清' * 190}{i}"] for i in range(15)}
    accepted = device.accept(envelope(segments=names))
    if isinstance(options.get("segments"), dict):  # all of them together: above 8 KiB
        options = {"segments": {name: values[0] for name, values in names.items()}}
    with pytest.raises(RRCollectError):
        device.answer(accepted, "q1", never, **options)
    assert source.times == 0
    assert device.budget().reports == ()


def test_segments_and_invites_are_fixed_by_the_first_answer_and_told(tmp_path):
    device = client(tmp_path)
    accepted = device.accept(envelope(segments={"sport": ["run", "ski"]}))
    assert "Taken together it can point to you:\n> sport: run, ski\n" in accepted.explain()
    first = device.answer(accepted, "q1", True, segments={"sport": "ski"})
    assert device.answer(accepted, "q1", never, segments={"sport": "ski"}) == first
    assert device.answer(accepted, "q1", never) == first
    assert device._ledger.attempt(first.id)
    with pytest.raises(ParameterError, match="first answer"):
        device.answer(accepted, "q1", never, segments={"sport": "run"})
    with pytest.raises(ParameterError, match="no invite") as caught:
        device.answer(accepted, "q1", never, invite="alice@example.org")
    assert "alice" not in str(caught.value)
    assert device.budget().export()["reports"][0]["segments"] == {"sport": "ski"}
    invited = device.accept(envelope(name="invited", invite_only=True))
    assert "Whoever issued the invites can tell which answers came from one invite." in invited.explain()
    invite = new_invite()
    assert device.answer(invited, "q1", never, invite=invite).ticket == ticket(invite, invited.digest, "q1", 0)


def test_two_versions_accepted_at_once_leave_no_way_back(tmp_path, monkeypatch):
    """Check and memory are one transaction: a version read as unseen is refused if a newer one came between."""
    device = client(tmp_path)
    real = device._ledger.seen
    monkeypatch.setattr(device._ledger, "seen", lambda: (client(tmp_path).accept(envelope(version=2)), {})[1])
    with pytest.raises(RolledBack):
        device.accept(envelope(version=1))
    monkeypatch.setattr(device._ledger, "seen", real)


@pytest.mark.parametrize("clock", [lambda: datetime(2026, 1, 1), lambda: "now"], ids=["naive", "text"])
def test_a_clock_without_a_time_zone(tmp_path, clock):
    with pytest.raises(ParameterError, match="time zone"):
        client(tmp_path, clock=clock).accept(envelope())


@pytest.mark.long
@pytest.mark.no_cover
def test_many_rounds_of_a_fine_design_stay_exact(tmp_path):
    """A thousand rounds at ε = 1/100: composition is exact, and the ledger's sums do not outgrow any text."""
    from rrcollect.answer.ledger.making import made_report

    fine = question(design=optimal_design("1/100"), rounds=1000)
    assert float(survey(fine).composition.whole.epsilon) == pytest.approx(10, rel=1e-9)
    rich = Policy(POLICY.publishers, attribute_epsilon=100, lifetime_epsilon=100)
    device = client(tmp_path, attributes=[Attribute("doped", rounds=1000)], policy=rich)
    accepted = device.accept(envelope(fine))
    device.answer(accepted, "q1", True)
    with device._ledger.file.transaction() as connection:  # at once: each answer by itself verifies all before it
        for number in range(1, 249):
            made_report(connection, device._request(accepted, "q1", number), None, lambda: "1")
    device.answer(accepted, "q1", True, round=249)
    assert float(device.budget().spent.epsilon) == pytest.approx(2.5, rel=1e-9)
    assert len(device.budget().export()["spent"]["epsilon"]) > 4300


def test_an_event_loop_answers_in_threads(tmp_path):
    device = client(tmp_path)

    async def go():
        accepted = await asyncio.to_thread(device.accept, envelope())
        reports = await asyncio.gather(
            *(asyncio.to_thread(device.answer, accepted, "q1", lambda: True) for _ in range(5))
        )
        return reports, await asyncio.to_thread(device.deliver, SimulatedCollector([survey()]))

    reports, delivered = asyncio.run(go())
    assert len({r.to_bytes() for r in reports}) == 1
    assert len(device.budget().draws) == 1
    assert delivered.delivered == 1


def foreign_frames_with(tmp_path, truth):
    """The frames outside of rrcollect and of this file that hold a truth when an answer fails after it was read."""
    device = client(tmp_path, source=lambda n: b"")
    accepted = device.accept(envelope())

    async def go():
        await asyncio.to_thread(device.answer, accepted, "q1", truth)

    def holds(value):
        if isinstance(value, functools.partial):
            return holds(value.args) or holds(value.keywords)
        if isinstance(value, dict):
            return holds(tuple(value.values()))
        return any(map(holds, value)) if isinstance(value, tuple) else value is True

    with pytest.raises(NoRandomness) as caught:
        asyncio.run(go())
    frames = [frame for frame, _ in traceback.walk_tb(caught.value.__traceback__)]
    foreign = [f for f in frames if "/rrcollect/" not in f.f_code.co_filename and f.f_code.co_filename != __file__]
    assert any("asyncio" in f.f_code.co_filename for f in foreign)
    return [f.f_code.co_name for f in foreign if any(map(holds, f.f_locals.values()))]


def test_a_callable_keeps_the_truth_out_of_the_frames_of_an_event_loop(tmp_path):
    (tmp_path / "bare").mkdir()
    assert foreign_frames_with(tmp_path, lambda: True) == []
    assert "to_thread" in foreign_frames_with(tmp_path / "bare", True)  # what the guide warns of


# ---- nothing shows the truth or the draw ----------------------------------------------------------------------------


def everything_visible(path, truth, drawn, monkeypatch, make=client) -> str:
    """All that a run leaves behind or shows: reprs, words, errors, logs and the ledger's whole content."""
    import secrets

    ids = iter(f"{i:032x}" for i in range(1000))
    monkeypatch.setattr(secrets, "token_hex", lambda n: next(ids))
    monkeypatch.setattr(secrets, "randbits", lambda n: 1 << (n - 1))  # the moments of sending
    log = io.StringIO()
    handler = logging.StreamHandler(log)
    logging.getLogger().addHandler(handler)
    logging.getLogger().setLevel(logging.DEBUG)
    shown = []
    try:
        device = make(path, source=CountingSource(drawn), attributes=["doped", "b"], clock=Clock())
        accepted = device.accept(envelope(question(), question(id="q2", attribute="b")))
        report = device.answer(accepted, "q1", truth)
        device.answer(accepted, "q2", lambda: truth)
        for call in (
            lambda: device.answer(accepted, "q9", truth),
            lambda: device.answer(device.accept(envelope(question(design=optimal_design(2)), name="x")), "q1", truth),
            lambda: device.answer(accepted, "q1", truth, segments={"a": "b"}),
            lambda: make(path, source=lambda n: drawn[:3], attributes=["c"], clock=Clock()).answer(
                device.accept(envelope(question(attribute="c"), name="c")), "q1", truth
            ),
        ):
            try:
                call()
            except RRCollectError as error:
                shown += [repr(error), str(error), repr(vars(error))]
        budget = device.budget()
        shown += [repr(x) for x in (device, report, accepted, budget.draws, budget.reports, device._ledger)]
        shown += [budget.explain(), str(budget.export()), report.to_bytes().decode()]
    finally:
        logging.getLogger().removeHandler(handler)
        logging.getLogger().setLevel(logging.WARNING)
    connection = sqlite3.connect(path / "ledger.sqlite3")
    shown += list(connection.iterdump())
    connection.close()
    import re

    return re.sub(r"0x[0-9a-f]+", "0x", "\n".join([*shown, log.getvalue()]))


def test_with_the_same_answer_everything_visible_is_the_same_for_both_truths(tmp_path, monkeypatch):
    """Draw 0 says yes whatever the truth: then nothing at all may differ, nor for two draws that say the same."""
    seen = set()
    for i, (truth, drawn) in enumerate(
        [(True, bytes(8)), (False, bytes(8)), (True, b"\0" * 7 + b"\1"), (False, b"\1" * 8)]
    ):
        (tmp_path / str(i)).mkdir()
        seen.add(everything_visible(tmp_path / str(i), truth, drawn, monkeypatch))
    assert len(seen) == 1


def test_the_check_catches_a_client_that_stores_the_truth(tmp_path, monkeypatch):
    class Storing(Client):
        def answer(self, accepted, asked, truth, **options):
            value = truth() if callable(truth) else truth
            logging.getLogger("app").debug("answering %s", value)
            return super().answer(accepted, asked, value, **options)

    def make(path, **changes):
        return Storing(path / "ledger.sqlite3", **{"policy": POLICY, **changes})

    seen = set()
    for i, truth in enumerate([True, False]):
        (tmp_path / str(i)).mkdir()
        seen.add(everything_visible(tmp_path / str(i), truth, bytes(8), monkeypatch, make))
    assert len(seen) == 2


def test_trusting_two_publishers_does_not_mix_their_keys(tmp_path):
    from rrcollect import SigningKey

    other = SigningKey.generate()
    policy = Policy([TrustedPublisher(PUBLISHER, [KEY.public]), TrustedPublisher("Other", [other.public])])
    forged = survey().publish([other]).envelope
    with pytest.raises(UntrustedKey):
        client(tmp_path, policy=policy).accept(forged)


# ---- the way of one answer ------------------------------------------------------------------------------------------


def counted(monkeypatch, owner, name):
    """How often a function is called, from here on."""
    calls, real = [], getattr(owner, name)
    monkeypatch.setattr(owner, name, lambda *given, **named: (calls.append(1), real(*given, **named))[1])
    return calls


@pytest.mark.parametrize("kind", ["a first draw", "another question", "asked again"])
def test_an_answer_is_one_transaction_and_one_spelling(tmp_path, monkeypatch, kind):
    from rrcollect.publish import report as report_module
    from tests.inside.answer import LedgerFile

    device = client(tmp_path)
    accepted = device.accept(envelope())
    if kind != "a first draw":
        device.answer(accepted, "q1", True)
    if kind == "another question":
        accepted = device.accept(envelope(name="another"))
    opened, verified = (counted(monkeypatch, LedgerFile, name) for name in ("open", "verify"))
    spelled = counted(monkeypatch, report_module, "canonical")
    device.answer(accepted, "q1", True if kind == "a first draw" else never)
    assert (len(opened), len(verified)) == (1, 1)
    assert len(spelled) == (2 if kind == "asked again" else 1)  # the old report is read, and compared with its spelling


def test_asking_again_writes_nothing(tmp_path):
    device = client(tmp_path)
    accepted = device.accept(envelope())
    device.answer(accepted, "q1", True)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    device.answer(accepted, "q1", never)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_the_truth_is_read_inside_the_transaction(tmp_path):
    """Another client cannot come between the decision and the draw: it waits, and then repeats the answer."""
    device = client(tmp_path)
    accepted = device.accept(envelope())

    def look_it_up():
        other = sqlite3.connect(tmp_path / "ledger.sqlite3", timeout=0, isolation_level=None)
        try:
            with pytest.raises(sqlite3.OperationalError, match="locked"):
                other.execute("BEGIN IMMEDIATE")
        finally:
            other.close()
        return True

    assert device.answer(accepted, "q1", look_it_up).answer in ("0", "1")


@pytest.mark.parametrize(
    "failure",
    [
        OSError("the app's own file is missing"),
        sqlite3.OperationalError("the app's own database is locked"),
        sqlite3.DatabaseError("the app's own database is damaged"),
        UnicodeDecodeError("utf-8", b"\xff", 0, 1, "of the app"),
        KeyError("looked up"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_what_the_truth_raises_is_not_taken_for_a_fault_of_the_ledger(tmp_path, failure):
    """The app's own error comes out as it was raised, with its cause, and nothing was drawn."""
    cause = ValueError("why")
    device = client(tmp_path)
    accepted = device.accept(envelope())

    def look_it_up():
        raise failure from cause

    with pytest.raises(type(failure)) as caught:
        device.answer(accepted, "q1", look_it_up)
    assert caught.value is failure
    assert failure.__cause__ is cause
    assert device.budget().draws == ()
    assert device.budget().reports == ()
    assert device.answer(accepted, "q1", True).answer in ("0", "1")


def test_of_several_faults_the_earliest_of_the_script_is_told(tmp_path):
    """docs/wire-format.md, "Answering": faults are added from the last step to the first, and each hides the others.

    tests/collect/js/client.test.mjs does the same with the browser client."""
    other = client(tmp_path)
    other.answer(other.accept(envelope(question(design=optimal_design("ln 2")), name="other")), "q1", True)
    fresh = tmp_path / "fresh"
    fresh.mkdir()
    many, long = [f"s{i}" for i in range(16)], "清" * 190  # together more than a report can hold
    opens = "2002-01-01T00:00:00Z"
    times = {"opens": opens, "rounds": [RoundTimes(opens=opens, closes="2096-01-01T00:00:00Z")]}
    accepted = other.accept(envelope(segments={name: [long] for name in many}, invite_only=True, **times))
    policy, device = {}, {"policy": POLICY}
    call = {"question": "q1", "truth": True, "invite": new_invite(), "path": fresh}

    def change(**more):
        policy.update({k: v for k, v in more.items() if k in ("lifetime_epsilon", "max_epsilon")})
        device["policy"] = Policy(more.get("publishers", POLICY.publishers), **policy)
        device.update({k: v for k, v in more.items() if k in ("attributes", "clock")})
        call.update({k: v for k, v in more.items() if k in ("question", "truth", "invite", "segments", "path")})

    script = [
        (BadTruth, {"truth": "perhaps"}),
        (BudgetExhausted, {"lifetime_epsilon": "1"}),
        (AlreadyAnswered, {"path": tmp_path}),
        (MalformedReport, {"segments": dict.fromkeys(many, long)}),
        (ParameterError, {"invite": "mine"}),
        (ParameterError, {"segments": {"sport": "go"}}),
        (OverPolicy, {"max_epsilon": "1/2"}),
        (RoundClosed, {"clock": lambda: datetime(2097, 1, 1, tzinfo=UTC)}),
        (UnknownAttribute, {"attributes": ["other"]}),
        (ParameterError, {"question": "q9"}),
        (NotOpen, {"clock": lambda: datetime(2001, 1, 1, tzinfo=UTC)}),
        (Expired, {"clock": lambda: datetime(2101, 1, 1, tzinfo=UTC)}),
        (UntrustedKey, {"publishers": ()}),
    ]
    for error, fault in script:
        change(**fault)
        given = {k: v for k, v in call.items() if k not in ("question", "truth", "path")}
        with pytest.raises(error) as caught:
            client(call["path"], **device).answer(accepted, call["question"], call["truth"], **given)
        assert type(caught.value) is error
    assert client(fresh).budget().draws == ()
