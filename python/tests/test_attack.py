"""Reconstruction, membership and linkage."""

from __future__ import annotations

import json
import math
import random
from decimal import Decimal

import pytest

import deniable
from deniable import attack

from .conftest import examples_run, refused


def test_examples_run():
    examples_run(attack)


# The census example of Garfinkel, Abowd and Martindale, as a dict.
CENSUS = {
    "decimals": 1,
    "attributes": {"age": range(1, 126), "sex": ["F", "M"], "race": ["B", "W"], "status": ["single", "married"]},
    "rules": [{"when": {"status": "married"}, "then": {"age": {"from": 15}}}],
    "groups": [
        {"id": "1A", "count": 7, "median": 30, "mean": 38},
        {"id": "2A", "where": {"sex": "F"}, "count": 4, "median": 30, "mean": 33.5},
        {"id": "2B", "where": {"sex": "M"}, "count": 3, "median": 30, "mean": 44},
        {"id": "2C", "where": {"race": "B"}, "count": 4, "median": 51, "mean": Decimal("48.5")},
        {"id": "2D", "where": {"race": "W"}, "count": 3, "median": 24, "mean": 24},
        {"id": "3A", "where": {"status": "single", "age": range(18, 126)}, "count": None},
        {"id": "3B", "where": {"status": "married", "age": {"from": 18}}, "count": 4, "median": 51, "mean": 54},
        {"id": "4A", "where": {"race": "B", "sex": "F"}, "count": 3, "median": 36, "mean": 36.7},
    ],
}


def test_the_census_gives_its_seven_people_away():
    found = attack.reconstruct(CENSUS)
    assert found.unique and found.complete and not found.out_of_time
    assert len(found.certain) == 7 and found.certain == found.solutions[0]
    assert sorted(person["age"] for person in found.certain) == [8, 18, 24, 30, 36, 66, 84]
    married = [person for person in found.certain if person["status"] == "married"]
    assert len(married) == 4 and all(person["age"] >= 15 for person in married)
    assert found.solutions == attack.reconstruct(attack.census()).solutions
    # With one number less there are three.
    fewer = attack.reconstruct(CENSUS, drop=["3B.mean"])
    assert len(fewer.solutions) == 3 and fewer.complete and not fewer.unique
    assert len(attack.reconstruct(CENSUS, drop="3B.mean", limit=2).solutions) == 2


def test_three_people_from_three_numbers():
    # Two women of 20 and 30, and a man: count, median and mean leave one possibility for him.
    table = {
        "attributes": {"age": range(0, 100), "sex": ["F", "M"]},
        "groups": [
            {"id": "all", "count": 3, "median": 30, "mean": Decimal("40.0")},
            {"id": "women", "where": {"sex": "F"}, "count": 2, "mean": Decimal("25.0"), "median": 25},
        ],
    }
    found = attack.reconstruct(table, influence=True)
    people = {tuple(sorted((person["sex"], person["age"]) for person in people)) for people in found.solutions}
    assert (("F", 20), ("F", 30), ("M", 70)) in people
    assert found.complete and set(found.influence) == {
        "all.count", "all.median", "all.mean", "women.count", "women.median", "women.mean",
    }  # fmt: skip
    # Nothing bounds the men any more.
    assert found.influence["all.count"] == (None, False)


def test_a_contradiction_is_named():
    table = {
        "attributes": {"age": range(0, 10)},
        "groups": [{"id": "all", "count": 2, "mean": 3}, {"id": "old", "where": {"age": range(5, 10)}, "count": 3}],
    }
    found = attack.reconstruct(table)
    assert found.complete and found.solutions == [] and not found.unique
    assert found.contradiction == ["all.count", "old.count"]


def test_a_reconstruction_shows_numbers_and_no_people():
    found = attack.reconstruct(CENSUS)
    for shown in (repr(found), found._repr_html_()):
        assert "married" not in shown and "84" not in shown
    assert json.loads(json.dumps(found.to_dict()))["certain"] == found.certain


def test_tables_come_from_files(tmp_path):
    path = tmp_path / "table.toml"
    path.write_text(attack.census(), encoding="utf-8")
    assert attack.reconstruct(path).unique and attack.reconstruct(str(path)).unique
    with pytest.raises(deniable.FileError) as caught:
        attack.reconstruct(tmp_path / "none.toml")
    assert caught.value.hint


def test_bad_tables_are_refused():
    def with_group(**group):
        return {"attributes": {"age": range(0, 100)}, "groups": [{"id": "all", "count": 2, **group}]}

    assert "group" in refused(attack.reconstruct, {"attributes": {"age": range(3)}})
    for table in [
        {},
        None,
        7,
        [],
        {"attributes": {}, "groups": []},
        {"attributes": {"age": range(0)}, "groups": []},
        {"attributes": {"sex": []}, "groups": []},
        with_group(mean=float("nan")),
        with_group(mean=float("inf")),
        with_group(mean="much"),
        with_group(median=30.25),
        with_group(mean=object()),
        with_group(where={"sex": "F"}),
        with_group(colour="red"),
        with_group(count=-1),
        with_group(count=[3, 2]),
        "no = [document\n",
    ]:
        refused(attack.reconstruct, table)
    refused(attack.reconstruct, CENSUS, drop=["9Z"])
    refused(attack.reconstruct, CENSUS, drop=["2A.mode"])
    refused(attack.reconstruct, CENSUS, drop=[3])
    refused(attack.reconstruct, CENSUS, limit=0)
    refused(attack.reconstruct, CENSUS, seconds=-1)
    refused(attack.reconstruct, CENSUS, seconds=float("nan"))


def test_cells_are_rebuilt_from_margins():
    categories = {"sex": ["F", "M"], "age": ["0-17", "18-64", "65+"]}
    margins = [{"by": ["sex"], "counts": [5, 0]}, {"by": ["age"], "counts": [3, 2, None]}, {"by": [], "counts": 5}]
    found = attack.reconstruct_cells(categories, margins)
    assert found.contradiction is None and len(found.known) == len(found.cells) == 6
    assert [cell["low"] for cell in found.cells] == [3, 2, 0, 0, 0, 0] == found.example
    assert found.cells[0]["sex"] == "F" and all(cell["proved"] for cell in found.cells)
    loose = attack.reconstruct_cells(categories, [{"by": ["sex"], "counts": ["4..6", 3]}])
    assert loose.known == [] and max(cell["high"] for cell in loose.cells) == 6
    clash = attack.reconstruct_cells(categories, [{"by": ["sex"], "counts": [5, 0]}, {"by": [], "counts": 4}])
    assert clash.contradiction is not None and "contradict" in clash._repr_html_()
    assert found.to_dict()["example"] == [3, 2, 0, 0, 0, 0]


def test_bad_margins_are_refused():
    categories = {"sex": ["F", "M"]}
    refused(attack.reconstruct_cells, [], [])
    refused(attack.reconstruct_cells, {}, [])
    refused(attack.reconstruct_cells, {"sex": []}, [{"by": ["sex"], "counts": []}])
    for margins in [
        [{"by": ["sex"], "counts": [1]}],
        [{"by": ["age"], "counts": [1, 2]}],
        [{"by": ["sex"], "counts": [1, -2]}],
        [{"by": ["sex"], "counts": [1, float("nan")]}],
        [{"by": ["sex"], "counts": [None, None]}],
        [{"by": ["sex"]}],
        ["sex"],
        None,
    ]:
        refused(attack.reconstruct_cells, categories, margins)


def test_the_linear_attack_finds_bits_behind_small_noise():
    people = 64
    secret = [i % 3 == 0 for i in range(people)]
    generator = random.Random(1)

    def ask(who):
        return sum(secret[person] for person in who) + generator.uniform(-1, 1)

    # Questions and noise are of fixed seeds, so nothing here is left to chance.
    for method, within in [("least-squares", None), ("least-absolute", None), ("within", 1.0)]:
        found = attack.linear(ask, people, queries=400, method=method, within=within, truth=secret, seed=3)
        assert found.right == people and found.share == 1.0 and found.bits == secret
        assert found.answered == found.asked == 400 and len(found.estimates) == people
    assert attack.linear(ask, people, seed=3).right is None


def test_a_refusal_ends_the_questions():
    left = [5]

    def ask(who):
        left[0] -= 1
        if left[0] < 0:
            raise deniable.BudgetError("spent", "ask for less")
        return float(len(who))

    found = attack.linear(ask, 10, seed=1, truth=[True] * 10, epsilon=1)
    assert found.answered == 5 and found.asked == 40
    assert math.isclose(found.allowed, math.e / (1 + math.e))
    assert "5 of 40" in found._repr_html_()
    silent = attack.linear(lambda _: None, 10, seed=1)
    assert silent.answered == 0 and silent.estimates == [0.5] * 10


def test_bad_linear_attacks_are_refused():
    def ask(who):
        return float(len(who))

    refused(attack.linear, 3, 10)
    refused(attack.linear, ask, 0)
    refused(attack.linear, ask, 10.0)
    refused(attack.linear, ask, 10, queries=0)
    refused(attack.linear, ask, 10, method="magic")
    refused(attack.linear, ask, 10, method="within")
    refused(attack.linear, ask, 10, method="within", within=0)
    refused(attack.linear, ask, 10, truth=[True])
    refused(attack.linear, ask, 2, truth=[True, "no"])
    refused(attack.linear, ask, 10, epsilon=float("nan"))
    refused(attack.linear, lambda _: float("nan"), 10)
    refused(attack.linear, lambda _: "many", 10)


def test_asking_many_times_averages_noise_away():
    generator = random.Random(2)
    found = attack.average(lambda _: 100 + generator.uniform(-5, 5), ["how many?"] * 2000, truth=100)
    assert found.fresh == 2000 and found.error < 0.5 and len(found.averages) == 2000
    assert found.estimate == found.averages[-1]
    same = attack.average(lambda _: attack.Repeated(93), ["how many?"] * 10, truth=100)
    assert (same.fresh, same.repeated, same.estimate, same.error) == (0, 10, None, None)

    def spent(_):
        raise deniable.BudgetError("spent", "wait")

    none = attack.average(spent, ["how many?"] * 3)
    assert none.refused == 3 and "refused" in repr(none)
    forms = attack.rewritings("people", ["age >= 40", "ill = 1"], "age", 20)
    assert len(set(forms)) == 20
    assert attack.difference(lambda question: 3 if question == "with" else 3, "with", "without") is False
    assert attack.difference(lambda _: None, "with", "without") is None
    for bad in [(3, ["a"]), (len, []), (len, "a"), (len, [3])]:
        refused(attack.average, *bad)
    refused(attack.average, lambda _: float("nan"), ["a"])
    refused(attack.rewritings, "people", [], "age", 3)
    refused(attack.difference, lambda _: 1, "with", None)


def study(people=10, attributes=400, seed=5):
    generator = random.Random(seed)
    frequencies = [0.2 + 0.6 * generator.random() for _ in range(attributes)]
    draw = lambda: [int(generator.random() < rate) for rate in frequencies]  # noqa: E731
    members, strangers = [draw() for _ in range(people)], [draw() for _ in range(people)]
    means = [sum(column) / people for column in zip(*members, strict=True)]
    return means, frequencies, members, strangers


def test_members_are_traced_from_means():
    means, frequencies, members, strangers = study()
    found = attack.membership(means, frequencies, members + strangers, people=10)
    assert min(found.above[:10]) > max(found.above[10:])
    assert set(found.suspects(1e-6)) == set(range(10))
    assert found.allowed == 1.0 and min(found.ratio[:10]) > 0
    names = [f"m{i}" for i in range(10)] + [f"s{i}" for i in range(10)]
    named = attack.membership(means, frequencies, members + strangers, people=10, names=names)
    assert set(named.suspects(1e-6)) == {f"m{i}" for i in range(10)}
    assert "m3" not in repr(named) + named._repr_html_()
    private = attack.membership(means, frequencies, members, people=10, epsilon=1)
    # e·0.01 + δ.
    assert math.isclose(private.allowed, math.e * 0.01 + 1e-5, rel_tol=1e-6)


@pytest.mark.parametrize("library", ["dict", "pandas", "polars", "pyarrow"])
def test_targets_come_as_frames(library):
    means, frequencies, members, strangers = study()
    attributes = [f"a{i}" for i in range(len(means))]
    columns = {name: [row[i] for row in members + strangers] for i, name in enumerate(attributes)}
    columns["who"] = [f"p{i}" for i in range(20)]
    found = attack.membership(
        dict(zip(attributes, means, strict=True)),
        dict(zip(attributes, frequencies, strict=True)),
        frame(library, columns),
        people=10,
        names="who",
    )
    assert set(found.suspects(1e-6)) == {f"p{i}" for i in range(10)}


def frame(library, columns):
    if library == "dict":
        return columns
    module = pytest.importorskip(library)
    return module.table(columns) if library == "pyarrow" else module.DataFrame(columns)


def test_bad_memberships_are_refused():
    nan = float("nan")
    for means, frequencies, targets, people in [
        ([], [], [], 10),
        ([0.5], [0.5, 0.5], [[1]], 10),
        ([nan], [0.5], [[1]], 10),
        ([0.5], [nan], [[1]], 10),
        ([0.5], [1.0], [[1]], 10),
        ([0.5], [0.5], [[2]], 10),
        ([0.5], [0.5], [["yes"]], 10),
        ([0.5], [0.5], [[1, 0]], 10),
        ([0.5], [0.5], 7, 10),
        ([0.5], [0.5], [[1]], 0),
        ({"a": 0.5}, {"b": 0.5}, {"a": [1]}, 10),
        ({"a": 0.5}, [0.5], {"a": [1]}, 10),
        ({"a": 0.5}, {"a": 0.5}, {"b": [1]}, 10),
    ]:
        refused(attack.membership, means, frequencies, targets, people=people)
    refused(attack.membership, [0.5], [0.5], [[1]], people=10, epsilon=-1)
    refused(attack.membership, [0.5], [0.5], [[1]], people=10, epsilon=1, delta=0)
    refused(attack.membership, [0.5], [0.5], [[1]], people=10, epsilon=1, noise="pink")
    refused(attack.membership, [0.5], [0.5], [[1]], people=10, names=["a", "b"])


def test_scores_are_judged():
    generator = random.Random(6)
    members = [generator.gauss(1, 1) for _ in range(2000)]
    others = [generator.gauss(0, 1) for _ in range(2000)]
    found = attack.membership_scores(members, others, epsilon=1, delta=1e-5)
    # Φ(1/√2) = 0.7602, with this seed within five of its errors.
    assert abs(found.area - 0.7602) < 5 * found.area_error < 0.05
    assert found.curve[0] == (0.0, 0.0) and found.curve[-1] == (1.0, 1.0)
    assert found.area_allowed is not None and len(found.allowed) == len(found.accusations) == 3
    assert math.isclose(found.allowed[1], math.e * 0.01 + 1e-5, rel_tol=1e-6)
    assert "0.76" in found._repr_html_()
    refused(attack.membership_scores, [1.0], [1.0])
    refused(attack.membership_scores, [1.0, 2.0], [1.0])
    refused(attack.membership_scores, [1.0, float("nan")], [1.0, 2.0])
    refused(attack.membership_scores, members, others, rates=[2])
    refused(attack.membership_scores, members, others, epsilon=-1)


def test_privacy_stops_the_tracing_of_synthetic_studies():
    # Synthetic people of a fixed seed: the same in every run.
    open_means = attack.membership_study(people=50, attributes=500, trials=100)
    private = attack.membership_study(people=50, attributes=500, trials=100, epsilon=1)
    assert open_means.area > 0.95 and private.area < 0.75 <= private.area_allowed + 0.1
    refused(attack.membership_study, trials=3)
    refused(attack.membership_study, score="guess")


PATIENTS = {
    "zip": [10, 10, 20, 20, 30],
    "born": ["1980-01-02", "1981-02-03", "1980-01-02", "1980-01-02", "1990-05-06"],
    "person": ["a", "b", "c", "d", "e"],
}
VOTERS = {
    "postcode": [10.0, 20.0, 30.0, 40.0],
    "birth": ["1980-01-02", "1980-01-02", "1990-05-06", "1970-01-01"],
    "name": ["a", "c", "x", "y"],
}


@pytest.mark.parametrize("library", ["dict", "pandas", "polars", "pyarrow"])
def test_rows_are_linked(library):
    # Integers on one side and floats on the other are the same numbers.
    found = attack.link(
        frame(library, PATIENTS),
        frame(library, VOTERS),
        on={"zip": "postcode", "born": "birth"},
        truth=("person", "name"),
    )
    assert found.pairs == [(0, 0), (4, 2)]
    assert (found.alone_in_first, found.several, found.unmatched) == (3, 2, 1)
    assert (found.right, found.wrong, found.findable) == (1, 1, 2)
    assert found.precision == 0.5 and found.recall == 0.5
    mixed = attack.link(frame(library, PATIENTS), VOTERS, on={"zip": "postcode", "born": "birth"})
    assert mixed.pairs == found.pairs and mixed.precision is None


def test_missing_values_and_types_agree_between_libraries():
    import datetime

    columns = {
        "whole": [1, 2, None],
        "real": [1.5, None, 2.0],
        "yes": [True, False, True],
        "day": [datetime.date(1980, 1, 2), datetime.date(1981, 1, 2), datetime.date(1982, 1, 2)],
        "when": [datetime.datetime(1980, 1, 2, 3, 4, 5)] * 3,
        "word": ["ä", None, "ö"],
    }
    for library in ("polars", "pyarrow", "pandas"):
        linked = attack.link(columns, frame(library, columns), on=list(columns))
        assert linked.pairs == [(0, 0), (1, 1), (2, 2)], library


def test_a_generated_table_is_linked_without_a_mistake():
    # Unique by construction: the number of the row is spread over three columns.
    rows = range(1000)
    released = {"a": [i % 10 for i in rows], "b": [i // 10 % 10 for i in rows], "c": [i // 100 for i in rows], "id": list(rows)}
    known = {name: values[::-1] for name, values in released.items()}
    found = attack.link(released, known, on=["a", "b", "c"], truth="id")
    assert found.right == 1000 and found.wrong == 0 and found.recall == 1.0
    assert "100.0 %" in found._repr_html_()
    alone = attack.uniqueness({name: released[name] for name in "abc"}, epsilon=1, delta="1e-6")
    assert alone.alone == 1000 and alone.smallest == 1 and alone.sets == [(["a", "b", "c"], 1000)]
    assert math.isclose(alone.shown_alone, 1e-6, rel_tol=1e-9)
    two = attack.uniqueness(released, ["a", "b"])
    assert two.alone == 0 and two.smallest == 10 and two.groups == {10: 100} and two.sets == []
    assert "smallest group" in two._repr_html_() and two.to_dict()["rows"] == 1000


def test_bad_links_are_refused():
    for first, second, on in [
        (PATIENTS, VOTERS, []),
        (PATIENTS, VOTERS, ["zip"]),
        (PATIENTS, VOTERS, ["nothing"]),
        (PATIENTS, 7, ["zip"]),
        (None, PATIENTS, ["zip"]),
        (PATIENTS, PATIENTS, ["zip", "zip"]),
        (PATIENTS, PATIENTS, [3]),
        ({"zip": [1, 2], "born": [1]}, PATIENTS, ["zip", "born"]),
        ({"zip": "ab"}, PATIENTS, ["zip"]),
    ]:
        refused(attack.link, first, second, on=on)
    refused(attack.link, PATIENTS, PATIENTS, on=["zip"], truth="nobody")
    refused(attack.link, PATIENTS, PATIENTS, on=["zip"], truth=("person",))
    refused(attack.uniqueness, 3)
    refused(attack.uniqueness, {})
    refused(attack.uniqueness, PATIENTS, identifying=0)
    refused(attack.uniqueness, PATIENTS, identifying=float("nan"))
    refused(attack.uniqueness, PATIENTS, largest=0)
    refused(attack.uniqueness, PATIENTS, epsilon=1, delta=0)
    refused(attack.uniqueness, PATIENTS, epsilon=-1)
    pyarrow = pytest.importorskip("pyarrow")
    refused(attack.uniqueness, pyarrow.table(PATIENTS), ["nothing"])


def test_bounds():
    assert attack.right_guesses(0) == 0.5
    refused(attack.right_guesses, -1)
    refused(attack.right_guesses, float("nan"))
    refused(attack.right_guesses, 1, 2)
