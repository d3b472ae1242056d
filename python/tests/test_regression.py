"""Models and tests: their errors count the noise, and they are charged as the query that they are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import deniable

from .conftest import NO_NOISE, Served, declared, refused

COUNT = 2000


def _rows() -> dict[str, list[Any]]:
    """A known model: income is 20 + 0.5 a year of age + 10 in Bree, and a wave that has nothing to do with either."""
    ages = [20 + number * 7 % 60 for number in range(COUNT)]
    cities = ["Ash" if number % 3 else "Bree" for number in range(COUNT)]
    waves = [(number * 37 % 101) / 50 - 1 for number in range(COUNT)]
    return {
        "person": list(range(COUNT)),
        "age": ages,
        "city": cities,
        "smokes": [wave > (0.4 if city == "Ash" else -0.2) for city, wave in zip(cities, waves)],
        "income": [20 + 0.5 * age + (10 if city == "Bree" else 0) + wave for age, city, wave in zip(ages, cities, waves)],
    }


@pytest.fixture
def incomes() -> deniable.Dataset:
    return declared(
        _rows(),
        bounds={"age": (0, 100), "income": (0, 100)},
        not_null=["city", "age", "income", "smokes"],
    )


def test_a_model_without_noise_is_that_of_the_rows(incomes: deniable.Dataset) -> None:
    numpy = pytest.importorskip("numpy")
    fit = incomes.regress("income ~ age + city", epsilon=NO_NOISE)
    rows = _rows()
    bree = numpy.array([city == "Bree" for city in rows["city"]], dtype=float)
    design = numpy.column_stack([numpy.ones(COUNT), rows["age"], bree])
    expected, residual, _, _ = numpy.linalg.lstsq(design, numpy.array(rows["income"]), rcond=None)
    assert list(fit.params.values()) == pytest.approx(expected, abs=2e-2)
    assert fit.rows == pytest.approx(COUNT, abs=1)
    assert fit.residual_error == pytest.approx((residual[0] / (COUNT - 3)) ** 0.5, rel=0.02)
    assert fit.r_squared is not None and 0.99 < fit.r_squared < 1
    age = fit.coefficients["age"]
    low, high = fit.interval("age")
    assert (low, high) == fit.intervals["age"] and low < 0.5 < high and age["p"] < 1e-6
    assert age["error"] == fit.standard_errors["age"] >= fit.noise_errors["age"] >= 0
    assert fit.p_values["age"] == age["p"] and fit.coefficients[1] == age
    assert fit.family == "linear" and fit.formula == "income ~ age + city" and fit.confidence == 0.95
    refused(fit.interval, "nothing")


def test_a_model_is_charged_once_and_shown_in_many_ways(incomes: deniable.Dataset, tmp_path: Path) -> None:
    explained = incomes.explain_regression("income ~ age + city", epsilon=100)
    assert explained.sql is not None and explained.sql.startswith("SELECT") and not explained.free
    assert incomes.budget.charges == []
    fit = incomes.regress("income ~ age + city", epsilon=100)
    assert not fit.repeated and fit.sql == explained.sql and fit.epsilon is not None and fit.epsilon <= 100
    again = incomes.regress("income ~ city + age", epsilon=100, reference={"city": "Bree"})
    assert again.repeated and again.charge == fit.charge and len(incomes.budget.charges) == 1
    assert again.coefficients["city Ash"]["estimate"] == pytest.approx(-fit.params["city Bree"])
    assert incomes.explain_regression("income ~ age + city", epsilon=100).free

    assert "Pr(>|t|)" in fit.summary() and fit.summary() in repr(fit) and "charged: " in repr(fit)
    assert fit.to_latex().startswith("\\begin{table}") and fit.to_svg().startswith("<svg")
    assert "<table>" in fit._repr_html_() and "<svg" in fit._repr_html_()
    fit.plot(tmp_path / "forest.svg")
    assert (tmp_path / "forest.svg").read_text(encoding="utf-8") == fit.to_svg()
    refused(fit.plot, tmp_path / "forest.png")
    assert json.loads(json.dumps(fit.to_dict()))["formula"] == "income ~ age + city"
    assert fit.receipt is not None and fit.receipt["entry"]["number"] == fit.charge
    pandas = pytest.importorskip("pandas")
    frame = fit.to_dataframe()
    assert isinstance(frame, pandas.DataFrame) and frame.loc["age", "estimate"] == fit.params["age"]
    polars = pytest.importorskip("polars")
    assert polars.DataFrame(fit.coefficients)["name"].to_list() == fit.coefficients.names
    pytest.importorskip("pyarrow")
    assert fit.to_arrow().column_names[:2] == ["name", "estimate"]


def test_noise_widens_errors(incomes: deniable.Dataset) -> None:
    exact = incomes.regress("income ~ age", epsilon=NO_NOISE)
    noisy = incomes.regress("income ~ age", epsilon=20)
    assert noisy.noise_errors["age"] > exact.noise_errors["age"]
    assert noisy.standard_errors["age"] > exact.standard_errors["age"]


def test_groups_families_and_bins(incomes: deniable.Dataset) -> None:
    groups = incomes.regress("income ~ city", epsilon=NO_NOISE)
    assert [group["mean"]["name"] for group in groups.means] == ["Ash", "Bree"]
    assert len(groups.contrasts) == 1 and groups.contrasts[0]["estimate"] == pytest.approx(groups.params["city Bree"])
    logistic = incomes.regress("smokes ~ city", family="logistic", epsilon=NO_NOISE)
    assert logistic.family == "logistic" and logistic.params["city Bree"] > 0
    binned = incomes.regress("smokes = true ~ age", family="logistic", epsilon=NO_NOISE, bins={"age": 20})
    assert any("middle of its bin" in note for note in binned.notes)
    adults = incomes.regress("income ~ age", where="age >= 50", epsilon=NO_NOISE)
    assert adults.rows < COUNT


def test_hypotheses_are_tested(incomes: deniable.Dataset) -> None:
    together = incomes.test("smokes ~ city", epsilon=NO_NOISE)
    # The least that is counted among 9,999 tables.
    assert together.p <= 1e-4 and together.freedom == 1 and together.strength is not None and together.strength > 0
    shares = incomes.test("smokes = true ~ city", "proportions", groups=("Ash", "Bree"), epsilon=NO_NOISE)
    # Measured by the same query.
    assert shares.repeated and shares.p < 1e-6 and shares.estimates[-1]["estimate"] != 0
    means = incomes.test("income ~ city", "means", epsilon=NO_NOISE)
    assert means.p < 1e-6 and "Welch" in means.summary() + means.method + means.name
    assert "p-value" in means._repr_html_() and means.name in repr(means)


def test_what_cannot_be_fitted_is_refused_before_the_charge(incomes: deniable.Dataset) -> None:
    refused(incomes.regress, 7)
    refused(incomes.regress, "income ~ age", family="gamma", epsilon=1)
    refused(incomes.regress, "income ~ age", epsilon="much")
    refused(incomes.regress, "income ~ age", bins={"age": "wide"}, epsilon=1)
    refused(incomes.test, "income ~ city", "luck", epsilon=1)
    refused(incomes.test, "income ~ city", "means", groups="Ash", epsilon=1)
    for formula, more in (
        ("income", {}),
        ("income ~ height", {}),
        ("income ~ age", {"table": "nobody"}),
        ("income ~ age", {"release": "census"}),
        ("income ~ age + city", {"family": "poisson"}),
        ("smokes ~ age", {"family": "logistic"}),
    ):
        if formula.startswith("smokes") or more.get("family"):
            # What is asked may be refused or not; if it is, then in words of Python.
            try:
                incomes.explain_regression(formula, epsilon=1, **more)
            except deniable.Error as error:
                assert "--" not in str(error)
            continue
        with pytest.raises(deniable.Error) as caught:
            incomes.regress(formula, epsilon=1, **more)
        assert caught.value.hint and "--" not in str(caught.value), caught.value
    with pytest.raises(deniable.QueryError) as unclear:
        incomes.test("income ~ city", "means", groups=("Ash", "Cray"), epsilon=1)
    assert "Cray" in str(unclear.value)
    assert incomes.budget.charges == []


def test_a_model_that_noise_hides_is_refused_with_a_price(incomes: deniable.Dataset) -> None:
    with pytest.raises(deniable.QueryError) as caught:
        incomes.regress("income ~ age", epsilon=0.001)
    assert "times the ε" in str(caught.value)
    assert len(incomes.budget.charges) == 1


def test_a_server_fits_models_of_whoever_asks(served: Served) -> None:
    ds = served.connect()
    explained = ds.explain_regression("age ~ city", epsilon=NO_NOISE)
    assert explained.sql is not None and explained.sql.startswith("SELECT")
    fit = ds.regress("age ~ city", epsilon=NO_NOISE)
    assert fit.sql == explained.sql and fit.params["city Bree"] == pytest.approx(1, abs=0.01)
    assert ds.regress("age ~ city", epsilon=NO_NOISE).repeated
    assert "std. error" in fit.summary() and fit.to_latex().startswith("\\begin{table}")
    with pytest.raises(deniable.QueryError) as caught:
        ds.regress("age ~ height", epsilon=1)
    assert "--" not in str(caught.value)
    with pytest.raises(deniable.QueryError):
        ds.regress("age ~ city")
