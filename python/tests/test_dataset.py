"""Private SQL over tables in memory and catalogs."""

from __future__ import annotations

import datetime
import functools
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import pytest

import deniable

from .conftest import NO_NOISE, declared

COUNT = "SELECT city, COUNT(*) AS n FROM people GROUP BY city ORDER BY city"


def test_counts_are_right_where_the_noise_is_none(exact: deniable.Dataset) -> None:
    answer = exact.sql(COUNT, epsilon=NO_NOISE)
    assert answer.rows == [{"city": "Ash", "n": 20}, {"city": "Bree", "n": 20}]
    assert answer.interval("n") == (20, 20)
    assert len(answer) == 2 and list(answer)[1] == answer[1] == {"city": "Bree", "n": 20}
    assert answer.epsilon == NO_NOISE and answer.delta == 0.0 and not answer.repeated
    assert answer.receipt is not None and answer.receipt["charge"] > 0
    signed = answer.receipt["signed"]
    assert signed["entry"]["number"] == answer.receipt["charge"] and len(signed["signature"]) == 128


def test_the_same_question_again_is_free(exact: deniable.Dataset) -> None:
    first = exact.sql(COUNT, epsilon=1)
    again = exact.sql("select city, count(*) as n from people group by city order by city", epsilon=1)
    assert again.repeated and again.rows == first.rows
    assert [charge["answered"] for charge in exact.budget.charges] == [True]


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow", "duckdb"])
def test_tables_of_every_library_are_taken(library: str, people: dict[str, Any]) -> None:
    module = pytest.importorskip(library)
    if library == "pandas":
        table = module.DataFrame(people)
    elif library == "polars":
        table = module.DataFrame(people)
    elif library == "pyarrow":
        table = module.table(people)
    else:
        pyarrow = pytest.importorskip("pyarrow")
        rows = pyarrow.table(people)  # noqa: F841 - duckdb finds it by its name
        table = module.sql("SELECT * FROM rows")
    answer = declared(table).sql(COUNT, epsilon=NO_NOISE)
    assert [row["n"] for row in answer] == [20, 20]


def test_answers_go_to_every_library(exact: deniable.Dataset) -> None:
    answer = exact.sql(COUNT, epsilon=NO_NOISE)
    names = ["city", "n", "n_low", "n_high"]
    pandas, polars, pyarrow = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    assert list(answer.to_pandas().columns) == names
    assert answer.to_polars().columns == names
    assert answer.to_arrow().column_names == names
    assert pyarrow.table(answer).to_pydict()["n"] == [20, 20]
    assert isinstance(answer.to_pandas(), pandas.DataFrame) and isinstance(answer.to_polars(), polars.DataFrame)


def test_columns_are_not_copied(people: dict[str, Any]) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table(people)
    held = deniable._deniable.ArrowTable(table)
    back = pyarrow.table(held)
    for name in ("person", "age"):
        addresses = [column.chunk(0).buffers()[1].address for column in (table[name], back[name])]
        assert addresses[0] == addresses[1]


def test_categories_days_and_moments(people: dict[str, Any]) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    day = datetime.date(2024, 2, 29)
    table = pyarrow.table(people).append_column("day", pyarrow.array([day] * 40))
    table = table.set_column(1, "city", table["city"].dictionary_encode())
    ds = declared(table, bounds={"age": (0, 100), "day": (datetime.date(2024, 1, 1), datetime.date(2024, 12, 31))})
    assert [row["n"] for row in ds.sql(COUNT, epsilon=NO_NOISE)] == [20, 20]
    months = ds.sql("SELECT date_trunc('month', day) AS m, COUNT(*) AS n FROM people GROUP BY m HAVING COUNT(*) > 20", epsilon=NO_NOISE)
    assert [row["n"] for row in months] == [40]


def test_an_empty_table_is_a_table(people: dict[str, Any]) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    empty = pyarrow.table(people).slice(0, 0)
    assert [row["n"] for row in declared(empty).sql(COUNT, epsilon=NO_NOISE)] == [0, 0]


def test_a_budget_is_kept_in_its_ledger(tmp_path: Path, people: dict[str, Any]) -> None:
    ledger = tmp_path / "people.ledger"
    ds = declared(people, epsilon=3, ledger=ledger)
    ds.sql(COUNT, epsilon=2)
    again = declared(people, epsilon=3, ledger=ledger)
    assert again.budget.left == 1.0
    with pytest.raises(deniable.BudgetError) as refused:
        again.sql("SELECT COUNT(*) AS all_of_them FROM people", epsilon="1.5")
    assert refused.value.left == 1.0 and refused.value.fits == 1.0
    assert "epsilon=1" in refused.value.hint and "--epsilon" not in str(refused.value)
    # What was released is still free.
    assert again.sql(COUNT, epsilon=2).repeated


def test_explaining_is_free(exact: deniable.Dataset) -> None:
    explained = exact.explain(COUNT, epsilon=1)
    assert "ε = 1" in explained.cost and not explained.free and explained.more == 1000
    assert [column["name"] for column in explained.columns] == ["city", "n"]
    assert explained.outputs[0]["half_width"] > 0
    assert exact.budget.charges == []
    epsilon = exact.epsilon_for("SELECT COUNT(*) FROM people", error=10)
    half = exact.explain("SELECT COUNT(*) FROM people", epsilon=epsilon).outputs[0]["expected_error"]
    assert 9 < half <= 10
    assert exact.epsilon_for("SELECT COUNT(*) FROM people", "1%") == epsilon


def test_a_dummy_has_the_tables_and_none_of_the_rows(people: dict[str, Any]) -> None:
    ds = declared(people, epsilon=1)
    dummy = ds.dummy()
    assert dummy.tables == ds.tables
    # A thousand invented people, where the data has forty.
    assert abs(dummy.sql("SELECT COUNT(*) AS n FROM people", epsilon=NO_NOISE)[0]["n"] - 1000) == 0
    assert ds.budget.left == 1.0


def test_the_builder_writes_sql(exact: deniable.Dataset) -> None:
    query = (
        exact["people"]
        .where(deniable.column("age") >= 30, "age < 50")
        .group_by("city", max_groups=1)
        .agg(n=deniable.count(), oldest=deniable.max("age"), mean=deniable.avg("age", bounds=(0, 100)))
        .order_by("city")
    )
    assert query.sql == (
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (max_groups_contributed = 1) "
        '"city", COUNT(*) AS "n", MAX("age") AS "oldest", '
        'AVG("age", contribution_bounds_per_row => (0, 100)) AS "mean" '
        'FROM "people" WHERE ("age" >= 30) AND (age < 50) GROUP BY "city" ORDER BY "city"'
    )
    answer = query.release(epsilon=NO_NOISE)
    assert [(row["city"], row["n"]) for row in answer] == [("Ash", 10), ("Bree", 10)]
    assert abs(answer[0]["mean"] - 39) < 0.1
    assert query.explain(epsilon=1).columns[0]["name"] == "city"


@pytest.mark.parametrize("name", ['a"; DROP TABLE people; --', "' OR 1=1", "x\\", "naïve ☃", "select", ""])
def test_hostile_texts_are_constants(name: str, exact: deniable.Dataset) -> None:
    # A constant, whatever is in it: one that `city` does not have, which is told before anything is spent.
    with pytest.raises(deniable.QueryError, match="is no declared value of `city`"):
        exact["people"].where(deniable.column("city") == name).agg(n=deniable.count()).release(epsilon=NO_NOISE)
    assert exact.budget.charges == []


def test_every_aggregate_of_the_builder_is_answered(exact: deniable.Dataset) -> None:
    for aggregate in (
        deniable.count("age"),
        deniable.count("city", distinct=True),
        deniable.sum("age"),
        deniable.avg("age"),
        deniable.variance("age"),
        deniable.stddev("age"),
        deniable.min("age"),
        deniable.max("age"),
        deniable.median("age"),
        deniable.quantile("age", 0.25),
        deniable.sum(deniable.column("age") * 2, bounds=(0, 200)),
    ):
        assert exact["people"].agg(x=aggregate).release(epsilon=10)[0]["x"] is not None


def test_a_condition_is_no_truth_value() -> None:
    with pytest.raises(deniable.ParameterError):
        bool(deniable.column("a") == 1)
    assert (~(deniable.column("a") == None)).sql == '(NOT ("a" IS NULL))'  # noqa: E711
    assert deniable.column("a").isin(["x", 1]).sql == "(\"a\" IN ('x', 1))"


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"unit": "nobody"}, deniable.ParameterError),
        ({"bounds": {"nothing": (0, 1)}}, deniable.ParameterError),
        ({"bounds": {"age": (0, 1, 2)}}, deniable.ParameterError),
        ({"bounds": {"age": (5, 1)}}, deniable.CatalogError),
        ({"kinds": {"age": "complex"}}, deniable.CatalogError),
        ({"epsilon": -1}, deniable.CatalogError),
        ({"epsilon": float("nan")}, deniable.ParameterError),
        ({"epsilon": True}, deniable.ParameterError),
        ({"rows_per_unit": 0}, deniable.ParameterError),
        ({"neighbors": "friends"}, deniable.CatalogError),
        ({"public": ["elsewhere"]}, deniable.ParameterError),
    ],
)
def test_wrong_declarations_have_a_hint(wrong: dict[str, Any], error: type[deniable.Error], people: dict[str, Any]) -> None:
    with pytest.raises(error) as raised:
        declared(people, **wrong)
    assert raised.value.hint, raised.value


@pytest.mark.parametrize(
    "rows",
    [
        [1, 2, 3],
        {"person": [1, 2], "age": [1]},
        {"person": [1, object()]},
        {"person": [1, "two"]},
        {"person": [True, 2]},
        {"person": 7},
        {7: [1]},
        {},
        None,
    ],
)
def test_what_is_no_table_is_refused(rows: Any) -> None:
    with pytest.raises(deniable.ParameterError) as raised:
        declared(rows)
    assert raised.value.hint


@pytest.mark.parametrize(
    ("sql", "error"),
    [
        ("SELECT * FROM people", deniable.QueryError),
        ("SELECT COUNT(*) FROM strangers", deniable.QueryError),
        ("SELEC", deniable.QueryError),
        ("DROP TABLE people", deniable.QueryError),
        ("SELECT COUNT(*) FROM people; SELECT 1", deniable.QueryError),
        (7, deniable.ParameterError),
    ],
)
def test_refusals_have_a_hint_and_cost_nothing(sql: Any, error: type[deniable.Error], exact: deniable.Dataset) -> None:
    with pytest.raises(error) as raised:
        exact.sql(sql, epsilon=1)
    assert raised.value.hint and isinstance(raised.value, deniable.Error)
    assert exact.budget.charges == []


SECRET = "Quendolina Featherstonehaugh"


def test_no_value_is_in_an_error_or_a_representation(people: dict[str, Any]) -> None:
    people["city"][3] = SECRET
    ds = declared(people)
    said = [repr(ds), repr(ds._backend), repr(deniable._deniable.ArrowTable.of_columns(people))]
    for sql in ("SELECT city FROM people", "SELECT COUNT(*) FROM people WHERE city + 1 > 2", "SELECT 1/0 FROM people"):
        with pytest.raises(deniable.Error) as raised:
            ds.sql(sql, epsilon=1)
        said.append(str(raised.value))
    assert SECRET not in "".join(said)


def test_text_that_is_none_is_found_before_any_question() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    broken = pyarrow.Array.from_buffers(
        pyarrow.string(), 1, [None, pyarrow.py_buffer(b"\0\0\0\0\2\0\0\0"), pyarrow.py_buffer(b"\xff\xfe")]
    )
    with pytest.raises(deniable.ParameterError, match="no text"):
        deniable._deniable.ArrowTable(pyarrow.table({"city": broken}))


def test_names_are_inert_in_html(people: dict[str, Any]) -> None:
    ds = declared(people, values={"city": ["<script>alert(1)</script>", "Ash"]})
    shown = ds.sql('SELECT city AS "<img src=x onerror=alert(1)>", COUNT(*) AS n FROM people GROUP BY city', epsilon=1)
    html = shown._repr_html_()
    assert "<script" not in html and "<img" not in html and "&lt;script" in html and "<svg" in html
    assert "<script" not in ds.explain(COUNT, epsilon=1)._repr_html_()


def test_describing_is_public(exact: deniable.Dataset) -> None:
    tables = exact.sql("SHOW TABLES")
    assert tables.epsilon is None and tables[0]["table"] == "people" and "public" in repr(tables)


def test_numbers_keep_their_digits(exact: deniable.Dataset) -> None:
    from decimal import Decimal

    answer = exact.sql("SELECT COUNT(*) AS n FROM people", epsilon=Decimal("0.1"))
    assert answer.receipt is not None and answer.receipt["epsilon"] == "0.1"


def test_importing_needs_nothing() -> None:
    """No library of others is imported, and no part that is not used."""
    program = """
    import sys, deniable
    loaded = {name.split(".")[0] for name in sys.modules}
    assert not loaded & {"numpy", "pandas", "polars", "pyarrow", "torch", "sklearn", "IPython"}, loaded
    assert "deniable._dataset" not in sys.modules and "deniable.train" not in sys.modules
    assert "from_arrow" in dir(deniable)
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(program)], check=True)


def test_importing_is_quick() -> None:
    """What takes longest to import in the standard library is left alone until it is used."""
    program = """
    import sys
    before = set(sys.modules)
    import deniable.train
    loaded = set(sys.modules) - before
    assert not loaded & {"typing", "re", "json", "tempfile", "shutil", "dataclasses", "decimal", "html"}, loaded
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(program)], check=True)


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_a_question_that_takes_long_says_what_it_does(capsys, monkeypatch) -> None:
    from deniable import _progress

    waiting = functools.partial(_progress.Waiting, True, after=0.0)
    monkeypatch.setattr(_progress, "Waiting", waiting)
    people = {"person": list(range(200_000)), "name": [f"name {n}" for n in range(200_000)]}
    ds = deniable.from_arrow({"people": people}, unit="person", groups=1, rows_per_group=1, epsilon=5, delta="1e-6")
    ds.sql("SELECT COUNT(DISTINCT lower(name) || upper(name)) AS n FROM people", epsilon=1)
    shown = capsys.readouterr().err
    assert "charged; reading the data, " in shown
    # The line is wiped off.
    assert shown.endswith(" \r")


def test_ctrl_c_is_heard_and_loses_nothing(tmp_path: Path) -> None:
    """The question that was interrupted is finished, and free when it is asked again."""
    program = f"""
    import deniable, os, signal, threading, time
    people = {{"person": list(range(400_000)), "name": [f"name {{n}}" for n in range(400_000)]}}
    ds = deniable.from_arrow({{"people": people}}, unit="person", groups=1, rows_per_group=1, epsilon=5,
                             delta="1e-6", ledger={str(tmp_path / "slow.ledger")!r})
    sql = "SELECT COUNT(DISTINCT lower(name) || upper(name)) AS n FROM people"
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        ds.sql(sql, epsilon=1)
        print("finished")
    except KeyboardInterrupt:
        print("interrupted")
    for _ in range(600):
        if any(charge["answered"] for charge in ds.budget.charges):
            break
        time.sleep(0.1)
    assert ds.sql(sql, epsilon=1).repeated
    assert len(ds.budget.charges) == 1
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() in ("interrupted", "finished")


def test_questions_run_beside_each_other(exact: deniable.Dataset) -> None:
    """Threads of Python: the interpreter's lock is not held, and no charge is lost."""
    from concurrent.futures import ThreadPoolExecutor

    questions = [f"SELECT COUNT(*) AS n FROM people WHERE age > {age}" for age in range(16)]
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda sql: exact.sql(sql, epsilon=NO_NOISE)[0]["n"], questions))
    assert answers == [40] * 16
    assert len(exact.budget.charges) == 16


HOSTILE = ["0] }\n[tables.other]\nsource = \"memory\"\npublic = true\n#", "0, 9], nullable = [false", "many", '"0"', ""]


def served_declaration(kind: str, ends: list[str]) -> dict[str, Any]:
    """What a server tells of its tables."""
    columns = [
        {"name": "person", "type": "integer", "nullable": False, "bounds": None, "values": None},
        {"name": "x", "type": kind, "nullable": False, "bounds": ends, "values": None},
    ]
    table = {"name": "people", "private": True, "unit": "person", "rows_per_unit": 1, "columns": columns}
    return {"dataset": "served", "unit": "person (added or removed)", "tables": [table]}


@pytest.mark.parametrize("kind", ["integer", "float"])
@pytest.mark.parametrize("bound", HOSTILE)
def test_a_server_cannot_write_into_the_catalog_of_its_dummy(kind: str, bound: str) -> None:
    from deniable._dummy import dummy_of

    for ends in ([bound, "9"], ["0", bound]):
        with pytest.raises(deniable.ParameterError) as refused:
            dummy_of(served_declaration(kind, ends))
        assert refused.value.hint and "public" not in str(refused.value)


def test_the_dummy_of_a_server_has_the_bounds_that_it_declares() -> None:
    from deniable._dummy import dummy_of

    for kind, ends in (("integer", ["0", "9"]), ("float", ["-0.5", "1e3"]), ("date", ["2020-01-01", "2023-12-31"])):
        tables = json.loads(dummy_of(served_declaration(kind, ends)).tables())["tables"]
        (found,) = (column["bounds"] for column in tables[0]["columns"] if column["name"] == "x")
        assert found is not None and len(found) == 2
