"""Synthetic rows: explained for nothing, charged once, and then as many as wanted."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import deniable

from .conftest import Served, declared, refused

ROWS = {
    "person": list(range(400)),
    "city": ["Ash", "Bree"] * 200,
    # It follows from the city, so that a model of pairs has something to find.
    "smokes": [True, False] * 200,
    "age": [20 + number % 60 for number in range(400)],
    "secret": [f"secret {number}" for number in range(400)],
}


@pytest.fixture
def many() -> deniable.Dataset:
    return declared(ROWS, epsilon=200, delta=1e-3)


def test_rows_are_explained_made_once_and_drawn_for_nothing(many: deniable.Dataset) -> None:
    wanted: dict[str, Any] = {"epsilon": 20, "delta": 1e-6}
    explained = many.explain_synthesis("people", **wanted)
    assert [column["name"] for column in explained.columns] == ["city", "smokes", "age"]
    assert set(explained.left_out) == {"person", "secret"}
    assert not explained.made and "cost: ε = 20" in repr(explained) and explained.cost
    assert many.budget.charges == []

    made = many.synthesize("people", **wanted)
    assert not made.repeated and made.table == "people" and made.epsilon == 20 and made.delta == 1e-6
    assert made.columns == [
        {"name": "city", "kind": "text"},
        {"name": "smokes", "kind": "bool"},
        {"name": "age", "kind": "int"},
    ]
    assert 380 < len(made) < 420 and abs(made.report.estimated_rows - 400) < 20
    rows = list(made)
    assert len(rows) == len(made) and rows[:3] == made.head(3)
    assert all(set(row) == {"city", "smokes", "age"} and 0 <= row["age"] <= 100 for row in rows)
    pairs = Counter((row["city"], row["smokes"]) for row in rows)
    assert pairs["Ash", True] + pairs["Bree", False] > 0.9 * len(rows)
    assert made.receipt is not None and made.receipt["entry"]["number"] == made.charge
    assert "secret" not in json.dumps(made.to_dict()["release"])

    # The same number of rows again are the same; more of them cost nothing.
    again = many.synthesize("people", **wanted)
    assert again.repeated and again.charge == made.charge and list(again) == rows
    more = again.with_rows(5000)
    assert len(more) == 5000 and list(more) == list(many.synthesize("people", rows=5000, **wanted))
    assert len(many.budget.charges) == 1 and many.explain_synthesis("people", **wanted).made


def test_a_report_says_what_the_rows_are_good_for(many: deniable.Dataset, tmp_path: Path) -> None:
    made = many.synthesize("people", epsilon=20, delta=1e-6, workload=[("city", "smokes")])
    report = made.report
    assert report.connection("smokes", "city") == "measured"
    assert ["city", "smokes"] in [table["by"] for table in report.measured]
    assert all(table["standing"] in ("good", "noisy", "off") for table in report.measured)
    assert "never" in repr(report) or report.never_measured == []
    assert "--" not in repr(report) and "<table>" in report._repr_html_()
    refused(report.connection, "city", "person")
    report.to_html(tmp_path / "report.html")
    assert "Synthetic rows of people" in (tmp_path / "report.html").read_text(encoding="utf-8")
    pandas = pytest.importorskip("pandas")
    assert isinstance(report.to_pandas(), pandas.DataFrame)

    alone = many.synthesize("people", epsilon=1, delta=1e-6, method="independent", columns=["city", "age"], bins={"age": 4})
    assert alone.report.connection("age", "city") == "independent"
    assert {table["cells"] for table in alone.report.measured} == {2, 4}


def test_rows_go_where_tables_go(many: deniable.Dataset, tmp_path: Path) -> None:
    wanted: dict[str, Any] = {"epsilon": 5, "delta": 1e-6, "method": "mst", "rows": 60}
    made = many.synthesize("people", output=tmp_path / "people.csv", **wanted)
    lines = (tmp_path / "people.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "city,smokes,age" and len(lines) == 61
    assert "Synthetic rows of people" in made._repr_html_() and "and 10 more rows" in made._repr_html_()
    made.write(tmp_path / "people.parquet")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["people.csv", "people.parquet"]
    first = list(made)
    polars = pytest.importorskip("polars")
    assert polars.read_parquet(tmp_path / "people.parquet").to_dicts() == first
    assert made.to_polars().to_dicts() == first
    pytest.importorskip("pyarrow")
    assert made.to_arrow().to_pylist() == first
    pytest.importorskip("pandas")
    assert made.to_pandas()["age"].tolist() == [row["age"] for row in first]


def test_a_condition_and_the_rows_of_a_unit_count() -> None:
    twice = {**ROWS, "person": [number // 2 for number in range(400)]}
    ds = declared(twice, epsilon=200, delta=1e-3, rows_per_unit=None)
    made = ds.synthesize("people", epsilon=50, delta=1e-6, where="city = 'Ash'", rows_per_unit=2, method="independent")
    cities = Counter(row["city"] for row in made)
    assert cities["Ash"] > 10 * cities["Bree"]
    assert made.to_dict()["condition"] == "city = 'Ash'" and made.to_dict()["rows_per_unit"] == 2


def test_what_cannot_be_made_is_refused_before_the_charge(many: deniable.Dataset, tmp_path: Path) -> None:
    refused(many.synthesize, "people", epsilon=1, delta=1e-6, method="magic")
    refused(many.synthesize, "people", epsilon=1, delta=1e-6, rows=0)
    refused(many.synthesize, "people", epsilon=1, delta=1e-6, columns="city")
    refused(many.synthesize, "people", epsilon=1, delta=1e-6, bins={"age": 0})
    refused(many.synthesize, "people", epsilon=1, delta=1e-6, output=tmp_path / "people.xlsx")
    refused(many.synthesize, "people", epsilon=1, delta=1e-6, output=tmp_path / "nowhere" / "people.csv")
    refused(many.synthesize, None, epsilon=1)
    for asked in (
        {"table": "nobody", "epsilon": 1, "delta": 1e-6},
        {"table": "people", "epsilon": 1},
        {"table": "people", "delta": 1e-6},
        {"table": "people", "epsilon": 1, "delta": 1e-6, "workload": [("city", "person")]},
        {"table": "people", "epsilon": 1, "delta": 1e-6, "columns": ["secret"]},
    ):
        with pytest.raises(deniable.QueryError) as caught:
            many.synthesize(**asked)
        assert caught.value.hint and "--" not in str(caught.value)
    with pytest.raises(deniable.BudgetError) as over:
        many.synthesize("people", epsilon=500, delta=1e-6)
    assert "--" not in str(over.value)
    assert many.budget.charges == [] and list(tmp_path.iterdir()) == []


def test_rows_that_a_curator_made_are_found_on_a_server(served: Served, tmp_path: Path) -> None:
    ds = served.connect()
    wanted: dict[str, Any] = {"columns": ["city", "age"], "delta": 1e-6}
    assert not ds.explain_synthesis("people", epsilon=50, **wanted).made
    with pytest.raises(deniable.QueryError) as caught:
        ds.synthesize("people", epsilon=50, **wanted)
    assert "curator" in str(caught.value)
    served.curate("/v1/synthetic", {"table": "people", "columns": ["city", "age"], "epsilon": "50", "delta": "0.000001", "rows": 100})
    made = ds.synthesize("PEOPLE", epsilon=50, **wanted)
    assert made.repeated and len(made) == 100 and ds.explain_synthesis("people", epsilon=50, **wanted).made
    rows = list(made)
    assert len(rows) == 100 and {row["city"] for row in rows} == {"Ash", "Bree"}
    assert all(isinstance(row["age"], int) for row in rows)
    assert made.report.connection("age", "city") in ("measured", "through", "independent")
    assert made.receipt is not None and made.receipt["entry"]["number"] == made.charge
    made.write(tmp_path / "rows.csv")
    assert len((tmp_path / "rows.csv").read_text(encoding="utf-8").splitlines()) == 101
    refused(made.with_rows, 7)
    polars = pytest.importorskip("polars")
    assert polars.DataFrame(made).to_dicts() == rows
