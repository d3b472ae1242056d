"""One private answer by one of the peers, from the start of the process to the answer, as its documentation says to do it.

    peers.py opendp|diffprivlib|smartnoise many|single DATA.parquet|DATA.csv

The job is the same for all: for each of 100 groups a count, a sum of x clamped to 0..100, and an average, with ε = 1 in all.
  many    a person has several rows; counts in at most 4 groups, with at most 5 rows in each; names of groups are private, δ = 1e-7
  single  every row is a person of its own; names of groups are public, δ = 0
An average is the noisy sum over the noisy count everywhere, which costs nobody anything. Prints one JSON object.
"""

import json
import sys
import time
from importlib.metadata import version

BOUNDS = (0.0, 100.0)
EPSILON, DELTA = 1.0, 1e-7
GROUPS, ROWS_PER_GROUP = 4, 5
NAMES = [f"group-{number:02}" for number in range(100)]
# Public: how many rows and how many groups there are at most.
MOST_ROWS, MOST_GROUPS = 1_000_000, 100

Row = tuple[str, float, float, float]


def opendp(case: str, file: str):
    import opendp.prelude as dp
    import polars

    dp.enable_features("contrib")

    def answer() -> list[Row]:
        many = case == "many"
        context = dp.Context.compositor(
            data=polars.scan_csv(file) if file.endswith(".csv") else polars.scan_parquet(file),
            privacy_unit=dp.unit_of(contributions=1, identifier=polars.col("unit")) if many else dp.unit_of(contributions=1),
            privacy_loss=dp.loss_of(epsilon=EPSILON, delta=DELTA) if many else dp.loss_of(epsilon=EPSILON),
            split_evenly_over=1,
            margins=[dp.polars.Margin(by=["grp"], max_length=MOST_ROWS, max_groups=MOST_GROUPS)],
        )
        query = context.query()
        if many:
            # Groups by chance is its default, but fails in this release: its plan has two fields of one name. First ones are no more work.
            query = query.truncate_per_group(ROWS_PER_GROUP, by=["grp"])
            query = query.truncate_num_groups(GROUPS, by=["grp"], keep="first")
        amount = polars.col("x").fill_nan(0.0).fill_null(0.0)
        query = query.group_by("grp").agg(dp.len(signed=False).alias("count"), amount.dp.sum(BOUNDS).alias("sum"))
        if not many:
            query = query.with_keys(polars.LazyFrame({"grp": NAMES}))
        return [(name, count, total, total / count) for name, count, total in query.release().collect().rows()]

    return "opendp", answer


def diffprivlib(case: str, file: str):
    import numpy
    import pandas
    from diffprivlib import BudgetAccountant, tools

    if case == "many":
        raise SystemExit("diffprivlib has no privacy unit but the row")

    def answer() -> list[Row]:
        columns = ["grp", "x"]
        rows = pandas.read_csv(file, usecols=columns) if file.endswith(".csv") else pandas.read_parquet(file, columns=columns)
        # It has no GROUP BY. Groups are disjoint, so each may take the whole budget; a count is the number of places that are not zero.
        amounts = {name: values.to_numpy() for name, values in rows.groupby("grp")["x"]}
        released = []
        for name in NAMES:
            values = amounts.get(name, numpy.empty(0))
            budget = BudgetAccountant(epsilon=EPSILON, delta=0)
            count = tools.count_nonzero(numpy.ones_like(values), epsilon=EPSILON / 2, accountant=budget)
            total = tools.sum(values, epsilon=EPSILON / 2, bounds=BOUNDS, accountant=budget)
            released.append((name, float(count), float(total), float(total) / float(count)))
        return released

    return "diffprivlib", answer


def smartnoise(case: str, file: str):
    import pandas
    import snsql

    many = case == "many"
    table = {
        # What it can bound is the rows of a person, all groups together: the fewest that allow four groups.
        **({"max_ids": GROUPS} if many else {"row_privacy": True, "censor_dims": False}),
        **({"unit": {"type": "int", "private_id": True}} if many else {}),
        "grp": {"type": "string"},
        "x": {"type": "float", "lower": BOUNDS[0], "upper": BOUNDS[1]},
    }
    metadata = {"": {"public": {"visits": table}}, "engine": "pandas"}

    def answer() -> list[Row]:
        columns = ["unit", "grp", "x"] if many else ["grp", "x"]
        rows = pandas.read_csv(file, usecols=columns) if file.endswith(".csv") else pandas.read_parquet(file, columns=columns)
        # Its ε is one of each statistic: a count, a sum, a count of what is averaged, and a count of persons where names are private.
        privacy = snsql.Privacy(epsilon=EPSILON / (4 if many else 3), delta=DELTA if many else 0.0)
        reader = snsql.from_df(rows, privacy=privacy, metadata=metadata)
        sql = "SELECT grp, COUNT(*) AS rows_counted, SUM(x) AS total, AVG(x) AS mean FROM public.visits GROUP BY grp"
        return [tuple(row) for row in reader.execute(sql)[1:]]

    return "smartnoise-sql", answer


if __name__ == "__main__":
    _, tool, case, file = sys.argv
    started = time.perf_counter()
    package, answer = {"opendp": opendp, "diffprivlib": diffprivlib, "smartnoise": smartnoise}[tool](case, file)
    imported = time.perf_counter()
    rows = answer()
    answered = time.perf_counter()
    print(
        json.dumps(
            {
                "version": version(package),
                "import_seconds": imported - started,
                "inside_seconds": answered - imported,
                "groups": len(rows),
                "rows_counted": sum(row[1] for row in rows),
                "mean": sum(row[2] for row in rows) / sum(row[1] for row in rows),
            }
        )
    )
