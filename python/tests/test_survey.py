"""Surveys: randomizing answers and estimating from reports."""

from __future__ import annotations

import math

import pytest

from deniable import audit, survey
from deniable.survey import Survey

from .conftest import examples_run, refused

MECHANISMS = ("randomized-response", "unary", "unary-symmetric", "local-hashing")


def test_examples_run():
    examples_run(survey)


def test_randomized_response_at_ln_3():
    question = Survey(["yes", "no"], gamma="1/4")
    assert math.isclose(question.epsilon, math.log(3), rel_tol=1e-9) and question.supports == (0.75, 0.25)
    # (c/n − 1/4)·2 without bias.
    found = question.estimate(["yes"] * 600 + ["no"] * 400)
    assert math.isclose(found["yes"].fraction, 0.7) and math.isclose(found["no"].fraction, 0.3)
    # √(f·p(1−p) + (1−f)·q(1−q)) / (√n·(p−q)) = √(3/16/1000)·2.
    assert math.isclose(found["yes"].deviation, math.sqrt(3 / 16 / 1000) * 2)
    assert found["yes"].low < 0.7 < found["yes"].high and found.reports == 1000
    assert found["yes"].high - found["yes"].low <= 2 * found.half_width + 1e-9
    # Estimates are not cut off.
    assert question.estimate(["no"] * 10)["yes"].fraction == -0.5


def test_reports_have_the_stated_probabilities():
    # 1e-11 is the false-alarm rate of each of the two.
    question = Survey(["yes", "no"], gamma="1/4")
    reports = question.randomize_all(["yes"] * 20_000)
    assert audit.goodness_of_fit(list(reports), {"yes": "3/4", "no": "1/4"}, false_alarm=1e-11).consistent
    three = Survey(["a", "b", "c"], epsilon=1)
    truth, lie = three.supports
    assert math.isclose(truth / lie, math.e, rel_tol=1e-9)
    drawn = [three.randomize("b") for _ in range(3_000)]
    masses = {"a": repr(lie), "b": repr(truth), "c": repr(lie)}
    assert audit.goodness_of_fit(drawn, masses, false_alarm=1e-11).consistent


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_fractions_are_found_again(mechanism):
    answers = [f"answer {i}" for i in range(5)]
    question = Survey(answers, epsilon=2, mechanism=mechanism)
    truth = [answers[min(i % 10, 4)] for i in range(20_000)]
    reports = question.randomize_all(truth)
    assert len(reports) == 20_000 and "respondent" in reports.guarantee and "2" in reports.guarantee
    # All intervals hold together with probability 1 − 1e-11, so this fails at that rate for each mechanism.
    found = question.estimate(reports, confidence=1 - 1e-11)
    for answer in answers:
        share = truth.count(answer) / len(truth)
        assert found[answer].low <= share <= found[answer].high
        assert abs(found[answer].fraction - share) <= found.half_width
    again = survey.estimate(list(reports), answers, epsilon=2, mechanism=mechanism)
    assert list(again) == answers and again.confidence == 0.95 and len(again) == 5
    assert answers[0] in repr(question) and mechanism in repr(question)


def test_no_error_tells_what_somebody_answered():
    question = Survey(["yes", "no"], epsilon=60)
    # At ε = 60 a report is not the truth with probability 1e-26. Anything that is no answer counts as the last one.
    for answer in ["maybe", "", None, 3, float("nan"), object(), [], b"yes", "\udc80", "Yes"]:
        assert question.randomize(answer) == "no"
    assert question.randomize("  yes ") == "yes"
    assert list(question.randomize_all(["yes", None, "no"])) == ["yes", "no", "no"]
    assert survey.randomize("yes", epsilon=60) == "yes"

    class Silent:
        def __str__(self):
            raise RuntimeError("secret")

    assert question.randomize(Silent()) == "no"


def test_columns_of_libraries_are_read():
    question = Survey(["yes", "no"], epsilon=60)
    answers = ["yes", "no", "yes"]
    numpy = pytest.importorskip("numpy")
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    pyarrow = pytest.importorskip("pyarrow")
    for column in (numpy.array(answers), pandas.Series(answers), polars.Series(answers), pyarrow.array(answers)):
        reports = question.randomize_all(column)
        assert list(reports) == answers
        assert question.estimate(column)["yes"].fraction == pytest.approx(2 / 3)


def test_results_show_themselves():
    found = survey.estimate(["yes"] * 60 + ["no"] * 40, gamma=0.25)
    shown = found._repr_html_()
    assert "<svg" in shown and "100 reports" in shown and "0.700" in shown
    assert found.to_dict()["estimates"]["no"]["fraction"] == found["no"].fraction
    assert "0.700" in repr(found)
    evil = Survey(["<script>", "no"], epsilon=1).estimate(["<script>"])
    assert "<script>" not in evil._repr_html_()
    # Text that looks like a drawing of ours is not one.
    drawn = Survey(["<svg onload=alert(1)>", "no"], epsilon=1).estimate(["no"])
    assert "<svg onload" not in drawn._repr_html_() and "<svg xmlns" in drawn._repr_html_()
    reports = Survey(epsilon=1).randomize_all(["yes"])
    assert "1 reports" in repr(reports) and reports[0] in ("yes", "no")


def test_bad_surveys_are_refused():
    nan = float("nan")
    for answers in [[], ["yes"], ["yes", "yes"], ["yes", ""], ["yes", "no\n"[:2] + "\nx"], "yesno", None, [1, 2], 5]:
        refused(Survey, answers, epsilon=1)
    for noise in [
        {},
        {"epsilon": 1, "gamma": "1/4"},
        {"epsilon": nan},
        {"epsilon": 0},
        {"epsilon": -1},
        {"epsilon": 100},
        {"epsilon": "much"},
        {"epsilon": True},
        {"gamma": 0},
        {"gamma": "3/4"},
        {"gamma": nan},
        {"gamma": "1/4", "mechanism": "unary"},
        {"epsilon": 1, "mechanism": "telepathy"},
    ]:
        refused(Survey, ["yes", "no"], **noise)
    refused(Survey, ["a", "b", "c"], gamma="1/4")
    question = Survey(["yes", "no"], epsilon=1)
    refused(question.randomize_all, [])
    refused(question.randomize_all, "yes")
    refused(question.randomize_all, 3)
    refused(question.estimate, [])
    refused(question.estimate, "yes")
    refused(question.estimate, [1])
    said = refused(question.estimate, ["yes", "secret"])
    assert "secret" not in said and "place 1" in said
    refused(question.estimate, ["yes", "\udc80"])
    refused(question.estimate, ["yes"], confidence=1)
    refused(question.estimate, ["yes"], confidence=nan)
    refused(question.half_width, 0)
    unary = Survey(["a", "b", "c"], epsilon=1, mechanism="unary")
    for report in ["1", "1012", "abc", ""]:
        refused(unary.estimate, [report])
    hashing = Survey(["a", "b", "c"], epsilon=1, mechanism="local-hashing")
    for report in ["1", "1:999999", "x:0", "-1:0"]:
        refused(hashing.estimate, [report])
