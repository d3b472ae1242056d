"""Counts by month by one of the peers, with a few settings of its limits, several times each.

    bounding_peers.py google|smartnoise|tumult VISITS.csv RUNS EPSILON DELTA

Prints one JSON object: for each setting, the answers as lists of (month, count).
"""

import csv
import json
import sys
from importlib.metadata import version

MONTHS = list(range(1, 13))


def rows(file):
    with open(file, encoding="utf-8") as lines:
        return [(int(row["person"]), int(row["month"])) for row in csv.DictReader(lines)]


def google(file, runs, epsilon, delta):
    import pipeline_dp

    data = rows(file)
    extractors = pipeline_dp.DataExtractors(
        privacy_id_extractor=lambda row: row[0], partition_extractor=lambda row: row[1], value_extractor=lambda row: 1
    )
    for months, visits in [(1, 1), (4, 2), (8, 3), (12, 3), (12, 5), (12, 8)]:
        answers = []
        for _ in range(runs):
            budget = pipeline_dp.NaiveBudgetAccountant(total_epsilon=epsilon, total_delta=delta)
            engine = pipeline_dp.DPEngine(budget, pipeline_dp.LocalBackend())
            params = pipeline_dp.AggregateParams(
                metrics=[pipeline_dp.Metrics.COUNT],
                noise_kind=pipeline_dp.NoiseKind.GAUSSIAN,
                max_partitions_contributed=months,
                max_contributions_per_partition=visits,
            )
            released = engine.aggregate(data, params, extractors, public_partitions=MONTHS)
            budget.compute_budgets()
            answers.append([(month, metrics.count) for month, metrics in released])
        yield {"months": months, "visits a month": visits}, answers


def smartnoise(file, runs, epsilon, delta):
    import pandas
    import snsql

    # `month` is a function there.
    frame = pandas.read_csv(file).rename(columns={"month": "at_month"})
    for visits in (1, 4, 8, 16, 32, 64):
        table = {
            "max_ids": visits,
            "censor_dims": False,
            "person": {"type": "int", "private_id": True},
            "at_month": {"type": "int"},
        }
        reader = snsql.from_df(
            frame, privacy=snsql.Privacy(epsilon=epsilon, delta=delta), metadata={"": {"public": {"visits": table}}, "engine": "pandas"}
        )
        sql = "SELECT at_month, COUNT(*) AS n FROM public.visits GROUP BY at_month"
        answers = [[(int(row[0]), float(row[1])) for row in reader.execute(sql)[1:]] for _ in range(runs)]
        yield {"visits": visits}, answers


def tumult(file, runs, epsilon, delta):
    from pyspark.sql import SparkSession
    from tmlt.analytics import AddRowsWithID, ApproxDPBudget, KeySet, MaxGroupsPerID, MaxRowsPerGroupPerID, MaxRowsPerID, QueryBuilder, Session

    spark = SparkSession.builder.config("spark.ui.enabled", "false").config("spark.sql.shuffle.partitions", "2").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    frame = spark.read.csv(file, header=True, inferSchema=True)
    months = KeySet.from_dict({"month": MONTHS})
    settings = [({"visits": visits}, [MaxRowsPerID(visits)]) for visits in (4, 16, 32)]
    settings += [
        ({"months": most, "visits a month": visits}, [MaxGroupsPerID("month", most), MaxRowsPerGroupPerID("month", visits)])
        for most, visits in [(8, 3), (12, 5)]
    ]
    for told, constraints in settings:
        answers = []
        for _ in range(runs):
            session = Session.from_dataframe(
                privacy_budget=ApproxDPBudget(epsilon, delta), source_id="visits", dataframe=frame, protected_change=AddRowsWithID("person")
            )
            query = QueryBuilder("visits")
            for constraint in constraints:
                query = query.enforce(constraint)
            released = session.evaluate(query.groupby(months).count(), session.remaining_privacy_budget)
            answers.append([(row["month"], float(row["count"])) for row in released.collect()])
        yield told, answers


if __name__ == "__main__":
    _, tool, file, runs, epsilon, delta = sys.argv
    package = {"google": "pipeline-dp", "smartnoise": "smartnoise-sql", "tumult": "tmlt.analytics"}[tool]
    ways = {"google": google, "smartnoise": smartnoise, "tumult": tumult}[tool]
    settings = [
        {"limits": limits, "answers": answers} for limits, answers in ways(file, int(runs), float(epsilon), float(delta))
    ]
    print(json.dumps({"version": version(package), "settings": settings}))
