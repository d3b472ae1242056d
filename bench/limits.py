"""Found limits beside the best fixed ones, and intervals beside the raw truth. See limits-run."""

import argparse
import json
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile

PERSONS, VISITS = 20_000, 200_000
WARDS = ["emergency", "surgery", "cardiology", "maternity", "oncology", "neurology", "pediatrics", "geriatrics"]
MONTHS = list(range(1, 13))
HIGH = 240
EPSILON, DELTA = 1.0, 1e-9

CATALOG = f"""
name = "clinic"
[unit]
whose = "person"
neighbors = "add_remove"
[budget]
epsilon = 1000
delta = 1e-6
ledger = "clinic.ledger"
[budget.query]
epsilon = {EPSILON}
delta = {DELTA}
[limits]
groups = 3
rows_per_group = 4
[tables.visits]
source = "visits.csv"
unit = "person"
clustered = true
[tables.visits.columns]
person = {{ kind = "int", nullable = false }}
ward = {{ kind = "text", values = {json.dumps(WARDS)}, nullable = false }}
month = {{ kind = "int", values = {json.dumps(MONTHS)}, nullable = false }}
duration_min = {{ kind = "int", bounds = [0, {HIGH}], nullable = false }}
"""


def other_clinic():
    """Another one, on which nothing was developed: a power law of visits, wards that are sought unequally and persons who return to theirs, seasons, minutes that depend on the ward."""
    source = random.Random(77_003)
    weights = [source.paretovariate(2.2) for _ in range(PERSONS)]
    counts = [1] * PERSONS
    for person in source.choices(range(PERSONS), weights=weights, k=VISITS - PERSONS):
        counts[person] += 1
    sought = [1 / (1 + place) for place in range(len(WARDS))]
    seasons = [1 + 0.5 * math.cos(2 * math.pi * (month - 1) / 12) for month in MONTHS]
    persons = []
    for count in counts:
        usual = source.choices(WARDS, weights=sought)[0]
        visits = []
        for _ in range(count):
            ward = usual if source.random() < 0.6 else source.choices(WARDS, weights=sought)[0]
            minutes = source.lognormvariate(3.5 + 0.15 * WARDS.index(ward), 0.6)
            visits.append((ward, source.choices(MONTHS, weights=seasons)[0], max(5, min(HIGH, round(minutes)))))
        persons.append(visits)
    return persons


def clinic(tail):
    """Persons with their visits: (ward, month, minutes)."""
    if tail == "other":
        return other_clinic()
    source = random.Random(20_261)
    deviation = 0.9 if tail == "heavy" else 0.3
    weights = [math.exp(source.gauss(0, deviation)) for _ in range(PERSONS)]
    counts = [1] * PERSONS
    for person in source.choices(range(PERSONS), weights=weights, k=VISITS - PERSONS):
        counts[person] += 1
    persons = []
    for count in counts:
        wards = source.sample(WARDS, 1 + source.randrange(4))
        persons.append(
            [
                (
                    source.choice(wards),
                    source.choice(MONTHS),
                    max(5, min(HIGH, round(source.gammavariate(6, 20)))),
                )
                for _ in range(count)
            ]
        )
    return persons


def gaussian_multiplier():
    """The least σ with δ(σ) ≤ DELTA at EPSILON, for a Gaussian of sensitivity 1."""
    normal = lambda x: math.erfc(-x / math.sqrt(2)) / 2
    delta = lambda s: normal(1 / (2 * s) - EPSILON * s) - math.exp(EPSILON) * normal(-1 / (2 * s) - EPSILON * s)
    low, high = 0.1, 100.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if delta(middle) > DELTA else (low, middle)
    return high


SIGMA = gaussian_multiplier()


def noise(groups, step):
    """The deviation of the noise where a person moves so many numbers by `step`."""
    return step * min(math.sqrt(2) * groups / EPSILON, math.sqrt(groups) * SIGMA)


def grid(most):
    values, limit = [], 1.0
    while limit < most * 1.05:
        values.append(limit)
        limit = max(limit + 1, limit * 1.04) if limit < 64 else limit * 1.04
    return values


def best_fixed(persons, key, value):
    """The root mean squared error of a cell under the best limits for this very question: its truth is known here, and nothing is spent on looking."""
    parts = []
    for visits in persons:
        groups = {}
        for visit in visits:
            groups[key(visit)] = groups.get(key(visit), 0) + value(visit)
        parts.append(groups)
    cells = sorted({cell for groups in parts for cell in groups}, key=str)
    most = max(amount for groups in parts for amount in groups.values())
    best = math.inf
    by_size = {}
    for groups in parts:
        by_size.setdefault(len(groups), []).extend(groups.items())
    for limit in grid(most):
        noises = noise(1, limit)
        if noises > best:
            break
        # What each cell keeps, and has, of persons in so many groups.
        kept = {}
        for size, items in by_size.items():
            sums = dict.fromkeys(cells, 0.0)
            for cell, amount in items:
                sums[cell] += min(amount, limit)
            kept[size] = sums
        truth = dict.fromkeys(cells, 0.0)
        for items in by_size.values():
            for cell, amount in items:
                truth[cell] += amount
        for count in range(1, max(by_size) + 1):
            squares = 0.0
            for cell in cells:
                cut = truth[cell] - sum(kept[size][cell] * min(1, count / size) for size in kept)
                squares += cut * cut
            best = min(best, math.sqrt(squares / len(cells) + noise(count, limit) ** 2))
    return best


def truths(persons, key, kind):
    cells = {}
    for visits in persons:
        for visit in visits:
            count, total = cells.get(key(visit), (0, 0))
            cells[key(visit)] = (count + 1, total + visit[2])
    pick = {"COUNT": lambda c, s: c, "SUM": lambda c, s: s, "AVG": lambda c, s: s / c}[kind]
    return {cell: pick(*sums) for cell, sums in cells.items()}


KEYS = {None: lambda visit: None, "ward": lambda visit: visit[0], "month": lambda visit: visit[1]}
CALLS = {"COUNT": "COUNT(*)", "SUM": "SUM(duration_min)", "AVG": "AVG(duration_min)"}


def ask(deniable, folder, *arguments):
    done = subprocess.run([deniable, *arguments], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"error: {done.stderr.strip()}")
    return json.loads(done.stdout)


def ratio_of_run(squares, bests):
    """The error of one run beside the best limits: the root of the mean, over questions, of the squared error of a cell in parts of the best."""
    parts = [statistics.fmean(squares[question]) / best**2 for question, best in bests.items()]
    return math.sqrt(statistics.fmean(parts))


def save(arguments, squares, held, bests, runs):
    told = {}
    for (kind, column), cells in squares.items():
        error = math.sqrt(statistics.fmean(cells))
        best = bests.get((kind, column))
        hits, all_cells = held[kind, column]
        told[kind + (f" by {column}" if column else "")] = {
            "covered": hits / all_cells,
            "cells": all_cells,
            "error": error,
            "best": best,
            "ratio": error / best if best else None,
        }
    with open(arguments.save, "w", encoding="utf-8") as file:
        json.dump({"tail": arguments.tail, "questions": told, "runs": runs}, file, indent=1)
        file.write("\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--deniable", required=True)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--tail", choices=["heavy", "light", "other"], default="heavy")
    parser.add_argument("--save", help="write what was measured into this file, after each run")
    parser.add_argument("--untuned", action="store_true", help="leave the limits as they are: 3 groups, 4 rows a group")
    arguments = parser.parse_args()
    deniable = os.path.abspath(arguments.deniable)
    persons = clinic(arguments.tail)
    questions = [(kind, column) for column in KEYS for kind in CALLS]
    squares = {question: [] for question in questions}
    # Of each run: limits, and for each question the squared errors of its cells.
    runs = []
    bests = {}
    for kind, column in questions:
        if kind != "AVG":
            value = (lambda visit: 1) if kind == "COUNT" else (lambda visit: visit[2])
            bests[kind, column] = best_fixed(persons, KEYS[column], value)
    held = {question: [0, 0] for question in questions}
    # Half of each interval, in parts of the truth.
    widths = {question: [] for question in questions}
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "visits.csv"), "w", encoding="utf-8") as file:
            file.write("person,ward,month,duration_min\n")
            for person, visits in enumerate(persons):
                for visit in visits:
                    file.write(f"{person},{visit[0]},{visit[1]},{visit[2]}\n")
        for run in range(arguments.runs):
            for name in os.listdir(folder):
                if name.startswith("clinic.ledger"):
                    os.remove(os.path.join(folder, name))
            with open(os.path.join(folder, "deniable.toml"), "w", encoding="utf-8") as file:
                file.write(CATALOG)
            here = {question: [] for question in questions}
            limits = None
            if not arguments.untuned:
                found = ask(deniable, folder, "limits", "visits", "--epsilon", "0.1", "--json")
                limits = found["limits"]
                if run == 0:
                    print("found:", json.dumps(limits), flush=True)
            for kind, column in questions:
                call = CALLS[kind]
                sql = f"SELECT {call} AS v FROM visits"
                if column:
                    sql = f"SELECT {column}, {call} AS v FROM visits GROUP BY {column}"
                answer = ask(deniable, folder, "query", "--json", sql)
                truth = truths(persons, KEYS[column], kind)
                for row in answer["rows"]:
                    cell = row[column]["value"] if column else None
                    value = row["v"]
                    if cell not in truth:
                        continue
                    here[kind, column].append((value["value"] - truth[cell]) ** 2)
                    # An end that is not told says nothing, and so holds.
                    # An end that says nothing is left open.
                    low, high = (value.get(end) for end in ("low", "high"))
                    low, high = -math.inf if low is None else low, math.inf if high is None else high
                    held[kind, column][0] += low <= truth[cell] <= high
                    held[kind, column][1] += 1
                    widths[kind, column].append((high - low) / 2 / truth[cell])
            for question in questions:
                squares[question] += here[question]
            runs.append({"limits": limits, "ratio": ratio_of_run(here, bests)})
            if arguments.save:
                save(arguments, squares, held, bests, runs)
    print(f"{'question':<16} {'covered':>9} {'± of truth':>11} {'error':>12} {'best':>12} {'ratio':>6}")
    ratios = []
    for kind, column in questions:
        error = math.sqrt(sum(squares[kind, column]) / len(squares[kind, column]))
        best = bests.get((kind, column))
        if best:
            ratios.append(error / best)
        hits, all_cells = held[kind, column]
        told = f"{best:>12.1f} {error / best:>6.2f}" if best else ""
        half = statistics.median(widths[kind, column])
        name = kind + (" by " + column if column else "")
        print(f"{name:<16} {100 * hits / all_cells:>7.1f} % {100 * half:>9.1f} % {error:>12.3f} {told}")
    hits, all_cells = (sum(held[question][place] for question in questions) for place in (0, 1))
    print(f"coverage of the raw truth: {100 * hits / all_cells:.1f} % of {all_cells} cells")
    of_runs = sorted(run["ratio"] for run in runs)
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    print(f"error beside the best fixed limits: {mean:.2f} times in the geometric mean, {max(ratios):.2f} at most")
    print(f"the same of single runs, over all questions: {statistics.median(of_runs):.2f} in the median, {of_runs[-1]:.2f} at worst")


if __name__ == "__main__":
    main()
