"""Counts by month of a clinic whose persons have many visits: the error of the default answer beside what peers make of the same rows. See bounding-run.

Peers are told how much of a person counts, and nothing of theirs looks for it. Each gets the limits that err least, which are found here with the truth and cost nothing: better than any of
their users can do. Ours are found by `deniable limits` for ε = 0.1, and its answers are the default's.
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import limits  # noqa: E402

PEERS = {
    "Google (PipelineDP)": (".venv/google", "google"),
    "SmartNoise SQL": (".venv/smartnoise", "smartnoise"),
    "Tumult Analytics": (".venv/tumult", "tumult"),
}
SQL = "SELECT month, COUNT(*) AS v FROM visits GROUP BY month"


def error(answer, truth):
    squares = [(answer.get(month, 0.0) - count) ** 2 for month, count in truth.items()]
    return math.sqrt(statistics.fmean(squares))


def ours(deniable, folder):
    """One run of the default: limits for this grouping for ε = 0.1, then the question."""
    for name in os.listdir(folder):
        if name.startswith("clinic.ledger"):
            os.remove(os.path.join(folder, name))
    with open(os.path.join(folder, "deniable.toml"), "w", encoding="utf-8") as file:
        file.write(limits.CATALOG)
    limits.ask(deniable, folder, "limits", "visits", "--epsilon", "0.1", "--group-by", "month", "--json")
    answer = limits.ask(deniable, folder, "query", "--json", SQL)
    return {row["month"]["value"]: row["v"] for row in answer["rows"]}


def peer(python, name, folder, runs):
    done = subprocess.run(
        [python, str(HERE / "bounding_peers.py"), name, os.path.join(folder, "visits.csv"), str(runs), str(limits.EPSILON), str(limits.DELTA)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        return {"failed": done.stderr.strip().splitlines()[-1:]}
    return json.loads(done.stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--deniable", required=True)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--tail", choices=["heavy", "light", "other"], default="heavy")
    given = parser.parse_args()
    persons = limits.clinic(given.tail)
    truth = limits.truths(persons, limits.KEYS["month"], "COUNT")
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "visits.csv"), "w", encoding="utf-8") as file:
            file.write("person,ward,month,duration_min\n")
            for person, visits in enumerate(persons):
                for ward, month, minutes in visits:
                    file.write(f"{person},{ward},{month},{minutes}\n")
        runs = [ours(os.path.abspath(given.deniable), folder) for _ in range(given.runs)]
        values = [{month: cell["value"] for month, cell in run.items()} for run in runs]
        own = statistics.fmean(error(run, truth) for run in values)
        held = [
            cell.get("low", -math.inf) <= truth[month] <= cell.get("high", math.inf)
            for run in runs
            for month, cell in run.items()
        ]
        figures = {
            "tail": given.tail,
            "runs": given.runs,
            "rows_by_month": statistics.fmean(truth.values()),
            "Deniable": {"error": own, "covered": statistics.fmean(held)},
        }
        print(f"{'Deniable':<22} error {own:>9.1f}   intervals held {100 * figures['Deniable']['covered']:.1f} %", flush=True)
        for name, (place, program) in PEERS.items():
            python = HERE.parent / place / "bin/python"
            if not python.exists():
                print(f"{name:<22} not installed")
                continue
            told = peer(str(python), program, folder, given.runs)
            figures[name] = told
            if "failed" in told:
                print(f"{name:<22} failed: {told['failed']}")
                continue
            best = min(told["settings"], key=lambda setting: statistics.fmean(error(dict(run), truth) for run in setting["answers"]))
            err = statistics.fmean(error(dict(run), truth) for run in best["answers"])
            figures[name] = {"version": told["version"], "best": best["limits"], "error": err, "ours": own / err}
            print(f"{name:<22} error {err:>9.1f}   ours is {own / err:.2f} of it; its best limits: {best['limits']}", flush=True)
    place = HERE.parent / "results" / "bounding.json"
    known = json.loads(place.read_text()) if place.exists() else {}
    known[given.tail] = figures
    place.write_text(json.dumps(known, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
