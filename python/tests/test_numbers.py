"""Numbers of a guarantee: read exactly, and shown on the safe side."""

from __future__ import annotations

from fractions import Fraction

import pytest

import deniable
from deniable import ParameterError, audit
from deniable._answer import Answer
from deniable._dataset import Budget, Explanation
from deniable._numbers import at_least, at_most, decimal_text, shown_down, shown_up
from deniable.survey import Survey

# Each is nearer to a float, or to a number with few digits, on the other side.
EXACT = ["0.1", "1", "1e-6", "0.30000000000000001", "0.12345678901234567891", "0.99999999999999999999", "1/3", "2/3", "7e-310"]


@pytest.mark.parametrize("text", EXACT)
def test_a_float_is_on_the_safe_side_of_what_it_stands_for(text: str) -> None:
    # A float stands for the decimal that it is printed as.
    up, down = Fraction(repr(at_least(text))), Fraction(repr(at_most(text)))
    assert down <= Fraction(text) <= up
    assert up - down <= Fraction(text) / 10**13


@pytest.mark.parametrize("value", [0.5, 0.50001, 0.49999, 1.0986122886681098, 99.996, 1e-7, 123456.7, 2.0, 0.0])
@pytest.mark.parametrize("digits", [1, 2, 4, 12])
def test_few_digits_are_on_the_safe_side(value: float, digits: int) -> None:
    up, down = Fraction(shown_up(value, digits)), Fraction(shown_down(value, digits))
    assert down <= Fraction(repr(value)) <= up
    assert up - down <= Fraction(repr(value)) * Fraction(10) ** (1 - digits)
    assert shown_up(0.5, digits) == shown_down(0.5, digits) == "0.5"


def test_what_has_no_digits_is_shown_as_it_is() -> None:
    assert shown_up(float("inf")) == shown_down(float("inf")) == "inf"


@pytest.mark.parametrize("text", ["many", "1) OR (1 = 1", "0]\nvalues = [1", "", "nan", "inf", "1_000", "0x10", "１", "1 2"])
def test_a_decimal_is_nothing_else(text: str) -> None:
    with pytest.raises(ParameterError) as refused:
        decimal_text(text, "a bound")
    assert refused.value.hint
    with pytest.raises(ParameterError):
        deniable.quantile("age", text)
    with pytest.raises(ParameterError):
        deniable.sum("age", bounds=(0, text))


def test_an_answer_does_not_show_less_than_it_cost_nor_more_than_is_left() -> None:
    # Both are nearer to 0.3 and to 0.7 than to any other float.
    cost, left = "0.30000000000000001", "0.69999999999999999"
    told = {
        "columns": [],
        "rows": [],
        "cost": {"epsilon": cost, "delta": "1.00000000000000000001e-6", "guarantee": f"ε = {cost}"},
        "left": {"epsilon": left},
    }
    answer = Answer(told, None)  # type: ignore[arg-type]
    assert answer.epsilon is not None and Fraction(repr(answer.epsilon)) >= Fraction(cost) and answer.epsilon > 0.3
    assert answer.delta > 1e-6
    assert answer.left is not None and Fraction(repr(answer.left)) <= Fraction(left) and answer.left < 0.7
    assert cost in repr(answer) and left in repr(answer)
    assert Budget({"left": left}).left < 0.7
    explained = Explanation({"forecast": {"left": left, "fits": left}})
    assert explained.left < 0.7 and explained.fits is not None and explained.fits < 0.7


def test_the_cost_of_a_report_is_shown_rounded_up() -> None:
    # ε is ln 3 = 1.09861228…, and of γ = 1/5 it is ln(7/3) = 0.84729786….
    assert "epsilon=1.09862," in repr(Survey(gamma="1/4"))
    assert "epsilon=0.847298," in repr(Survey(gamma="1/5"))
    report = Survey(epsilon="1.00001")
    assert "ε = 1.001 " in report.estimate(["yes", "no"])._repr_html_() and "1.00001" in repr(report)


def test_bounds_are_shown_from_outside() -> None:
    assert str(audit.Bound(0.12345678901289, 0.12345678901211)) == "between 0.123456789012 and 0.123456789013"
    found = audit.BlackBox(
        refuted=True, epsilon_lower=1.99999, event="", mirror=None, likelier="a", hits=(1, 0), draws=(1, 1), epsilon="1",
        delta="0", confidence=0.9, calls=2, seconds=0.1,
    )
    assert "epsilon_lower=1.999," in repr(found) and "1.999<" in found._repr_html_()
