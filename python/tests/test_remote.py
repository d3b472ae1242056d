"""The same object, asked through a server on loopback."""

from __future__ import annotations

import pytest

import deniable

from .conftest import NO_NOISE, PASSWORD, Served

COUNT = "SELECT city, COUNT(*) AS n FROM people GROUP BY city ORDER BY city"


def test_a_server_answers_like_a_dataset_here(served: Served) -> None:
    ds = served.connect()
    assert ds.name == "served" and list(ds.tables) == ["people"]
    answer = ds.sql(COUNT, epsilon=NO_NOISE)
    assert answer.rows == [{"city": "Ash", "n": 20}, {"city": "Bree", "n": 20}]
    assert answer.interval("n") == (20, 20)
    assert ds.sql(COUNT, epsilon=NO_NOISE).repeated
    polars = pytest.importorskip("polars")
    assert polars.DataFrame(answer)["n"].to_list() == [20, 20]
    explained = ds.explain("SELECT COUNT(*) FROM people WHERE age > 7", epsilon=1)
    assert explained.more > 0 and not explained.free
    assert ds.budget.left > 0
    assert 0 < ds.epsilon_for("SELECT COUNT(*) FROM people", "1%") < 1
    built = ds["people"].group_by("city").agg(n=deniable.count()).order_by("city").release(epsilon=NO_NOISE)
    assert [row["n"] for row in built] == [20, 20]


def test_a_dummy_of_a_server_is_made_here(served: Served) -> None:
    ds = served.connect()
    left = ds.budget.left
    dummy = ds.dummy()
    assert dummy.sql("SELECT COUNT(*) AS n FROM people WHERE city = 'Ash' OR city = 'Bree'", epsilon=NO_NOISE)[0]["n"] == 1000
    assert ds.budget.left == left


def test_a_person_signs_in_with_a_password(served: Served) -> None:
    ds = served.connect(token=None, user="ann", password=PASSWORD)
    assert ds.budget.to_dict()["account"] == "ann"
    with pytest.raises(deniable.ServerError) as refused:
        served.connect(token=None, user="ann", password="wrong")
    assert refused.value.code == "not-signed-in" and refused.value.hint
    assert "wrong" not in str(refused.value)


def test_refusals_are_the_same_exceptions(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    ds = served.connect()
    for sql, error in (("SELECT * FROM people", deniable.QueryError), ("SELEC", deniable.QueryError)):
        with pytest.raises(error) as raised:
            ds.sql(sql, epsilon=1)
        assert raised.value.hint
    with pytest.raises(deniable.QueryError):
        ds.sql("SELECT COUNT(*) FROM people WHERE age > 99")
    with pytest.raises(deniable.BudgetError) as over:
        ds.sql("SELECT COUNT(*) FROM people WHERE age > 98", epsilon=10**9)
    assert over.value.fits is not None
    with pytest.raises(deniable.ParameterError):
        ds.sql("SELECT COUNT(*) FROM people", epsilon="many")
    with pytest.raises(deniable.ServerError):
        served.connect(token="dnb_nobody")
    monkeypatch.delenv("DENIABLE_TOKEN", raising=False)
    with pytest.raises(deniable.ParameterError):
        deniable.connect(served.address, certificate=served.certificate)


def test_nothing_is_sent_to_a_server_that_is_not_trusted(served: Served) -> None:
    with pytest.raises(deniable.ServerError, match="certificate"):
        deniable.connect(served.address, token=served.token)
    with pytest.raises(deniable.ParameterError):
        deniable.connect(served.address.replace("https", "http"), token=served.token)
