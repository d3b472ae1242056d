"""Planned releases: explained for nothing, made once, and read as data frames."""

from __future__ import annotations

from pathlib import Path

import pytest

import deniable

from .conftest import PEOPLE, Served

CATALOG = """
name = "planned"
[unit]
whose = "person"
[budget]
epsilon = 10
delta = 1e-6
[tables.people]
source = "people.csv"
unit = "person"
rows_per_unit = 1
[tables.people.columns]
person = { kind = "int" }
city = { kind = "text", values = ["Ash", "Bree"], nullable = false }
age = { kind = "int", bounds = [0, 100], nullable = false }
[releases.census]
table = "people"
up_to = 2
epsilon = 2
delta = 1e-9
[releases.census.attributes]
city = {}
age = { bins = [0, 18, 65, 101] }
"""


@pytest.fixture
def planned(tmp_path: Path) -> deniable.Dataset:
    rows = zip(*PEOPLE.values())
    lines = [",".join(PEOPLE)] + [",".join(map(str, row)) for row in rows]
    (tmp_path / "people.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "deniable.toml").write_text(CATALOG)
    return deniable.open(tmp_path / "deniable.toml", analyst="ann")


def test_a_release_is_planned_made_and_read(planned: deniable.Dataset) -> None:
    assert planned.releases["census"]["tables"] == 4
    assert planned.releases["census"]["made_by_charge"] is None
    plan = planned.plan("census")
    explained = plan.explain()
    assert [table["name"] for table in explained.tables] == ["total", "city", "age", "city × age"]
    assert not explained.made and "city × age" in repr(explained)
    assert abs(sum(share["share"] for share in explained.shares) - 1) < 1e-6
    errors = [table["expected_error"] for table in explained.tables]
    dearer = [table["expected_error"] for table in plan.explain(epsilon=4).tables]
    assert max(dearer) < max(errors)
    wanted = plan.epsilon_for(5)
    assert max(table["expected_error"] for table in plan.explain(epsilon=wanted).tables) <= 5.05
    assert planned.budget.charges == []

    made = plan.release()
    assert not made.repeated and made.tables == [table["name"] for table in explained.tables]
    again = plan.release()
    assert again.repeated and again.charge == made.charge
    assert len(planned.budget.charges) == 1 and plan.explain().made
    assert made.receipt is not None and made.receipt["entry"]["number"] == made.charge

    table = made["city", "age"]
    assert len(table) == 6 and {row["city"] for row in table} == {"Ash", "Bree"}
    assert table.rows == made["city × age"].rows == again.table("city", "age").rows
    total = made["total"]
    assert len(total) == 1
    low, high = total.interval("rows") or (0, 0)
    assert low < total[0]["rows"] < high
    assert abs(sum(row["rows"] for row in table) - total[0]["rows"]) < 1e-6
    assert len(made.to_dict()["tables"]) == 4
    pandas = pytest.importorskip("pandas")
    frame = made["age"].to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame.columns) == ["age", "rows", "rows_low", "rows_high"]


def test_what_cannot_be_planned_is_refused(planned: deniable.Dataset) -> None:
    with pytest.raises(deniable.ParameterError):
        planned.plan("nobody")
    plan = planned.plan("census")
    with pytest.raises(deniable.ParameterError):
        plan.explain(epsilon="much")
    with pytest.raises(deniable.ParameterError):
        plan.epsilon_for("much")
    with pytest.raises(deniable.BudgetError):
        plan.release(epsilon=9.99)
        plan.release(epsilon=9.98)
    with pytest.raises(deniable.QueryError):
        plan.release()["weight"]


def test_a_server_without_releases_says_so(served: Served) -> None:
    ds = served.connect()
    assert ds.releases == {}
    with pytest.raises(deniable.ParameterError) as refused:
        ds.plan("census")
    assert "[releases" in str(refused.value)
