"""A pilot's answers are never counted together with real ones, and its results say what they are."""

import secrets

import polars
import pytest

from rrcollect import ParameterError, Report
from server_agg import Tallies, Tally, TallyKey, open_store, survey_results, tally_reports
from tests.inside.collect import Catalogue, IncomingReport
from tests.support.devices import KEY, question, survey

TRIAL, REAL = survey(name="trial", pilot=True), survey(name="real")


def counted(of, n=10):
    return {TallyKey(of.digest, "q1", question().design, pilot=of.pilot): Tally(question().design, n, 4)}


def test_a_pilot_is_kept_apart_wherever_answers_are_merged():
    both = Tallies({**counted(TRIAL), **counted(REAL)})  # a collection may hold both; nothing may be made of both
    for merge in (both.one, both.each_design, lambda: both.by("question"), lambda: survey_results(both).to_json()):
        with pytest.raises(ParameterError, match=f"the pilot {TRIAL.digest[:12]}… and the real {REAL.digest[:12]}…"):
            merge()
    assert both.where(pilot=False).one().n == 10
    assert set(both.by("pilot")) == {(True,), (False,)}
    assert Tallies.from_json(both.to_json()) == both
    with pytest.raises(ParameterError, match="^pilot is"):
        TallyKey("s", "q", question().design, pilot=1)


def test_reports_of_a_pilot_and_of_a_real_survey_are_not_counted_in_one_call():
    reports = [
        Report(survey=of.digest, question="q1", design=question().design, answer="1", id=secrets.token_hex(16))
        for of in (TRIAL, REAL)
    ]
    with pytest.raises(ParameterError, match="trial data is never counted with real answers"):
        Tallies.of(reports, [TRIAL, REAL])
    assert [key.pilot for key in Tallies.of(reports[:1], [TRIAL, REAL])] == [True]
    rows = [report.row._asdict() for report in reports]
    with pytest.raises(ParameterError, match="the pilot 'trial' .* and the real 'real'"):
        tally_reports(polars.DataFrame(rows), [TRIAL, REAL])
    assert all(key.pilot for key in tally_reports(polars.DataFrame(rows[:1]), TRIAL).tallies)


def test_results_of_a_pilot_say_so_first():
    for found in (survey_results(Tallies(counted(TRIAL, 100))), survey_results(Tallies(counted(TRIAL, 100)), TRIAL)):
        assert str(found).startswith("pilot: trial data\n")
        assert found._repr_html_().startswith("<p>pilot: trial data</p>")
        assert found.to_markdown().startswith("pilot: trial data\n\n")
        assert found.to_latex().startswith("pilot: trial data\n\n")
        assert found.as_dict()["pilot"] is True
    real = survey_results(Tallies(counted(REAL, 100)), REAL)
    assert "pilot" not in str(real)
    assert real.as_dict()["pilot"] is False


def test_a_collector_knows_its_pilots(tmp_path):
    store = open_store(tmp_path / "reports.sqlite3")
    for of in (TRIAL, REAL):
        Catalogue(store.shelf).publish(of.publish([KEY]).envelope, [KEY.public.raw.hex()])
        given = {"survey": of.digest, "question": "q1", "design": question().design, "answer": "1"}
        reports = [Report(**given, id=secrets.token_hex(16)) for _ in range(of.minimum)]
        store.take([IncomingReport(report.row) for report in reports])
    assert store.fold() == TRIAL.minimum + REAL.minimum
    found = {key.survey: key.pilot for key in store.tallies()}
    store.disconnect()
    assert found == {TRIAL.digest: True, REAL.digest: False}
