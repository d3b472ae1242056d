"""How long the verifier takes for a question, beside how long its explanation takes as a whole. Started by `bench/verify-run`."""

import argparse
import json
import os
import platform
import statistics
import subprocess
import tempfile
import time
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
QUESTIONS = HERE.parent.parent / "crates/sql/tests/questions"


def questions():
    """Each question on one line; lines of the engine's own words are left out."""
    lines = (QUESTIONS / "asked.sql").read_text().splitlines()
    return [line.rstrip(";") for line in lines if line and not line.startswith("--")]


def prepare(folder):
    """The clinic's catalog with tables that have no rows: explaining reads none."""
    text = (QUESTIONS / "deniable.toml").read_text()
    (folder / "deniable.toml").write_text(text)
    for table in tomllib.loads(text)["tables"].values():
        (folder / table["source"]).write_text(",".join(table["columns"]) + "\n")


def measured(deniable, folder, sql):
    begun = time.monotonic()
    asked = subprocess.run(
        [deniable, "explain", "--verify", "--json", "--catalog", "deniable.toml", sql],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    if asked.returncode != 0:
        return None
    told = json.loads(asked.stdout)
    return told["verified_milliseconds"], len(told["verified"]), time.monotonic() - begun


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--deniable", required=True)
    arguments.add_argument("--repeat", type=int, default=3, help="the best of so many counts")
    given = arguments.parse_args()
    rows, unanswered = [], 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder)
        for sql in questions():
            runs = [measured(given.deniable, folder, sql) for _ in range(given.repeat)]
            if None in runs or not runs[0][1]:
                unanswered += 1
                continue
            rows.append({"question": sql, "milliseconds": min(run[0] for run in runs), "plans": runs[0][1]})
    if not rows:
        raise SystemExit("no question was verified")
    times = sorted(row["milliseconds"] for row in rows)
    figures = {
        "machine": platform.platform(),
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0],
        "questions": len(rows),
        "refused_or_public": unanswered,
        "median_ms": statistics.median(times),
        "p90_ms": times[int(0.9 * (len(times) - 1))],
        "worst_ms": times[-1],
        "rows": rows,
    }
    (HERE.parent / "results" / "verified.json").write_text(json.dumps(figures, indent=1, ensure_ascii=False) + "\n")
    print(f"{len(rows)} questions verified ({unanswered} are refused or read nothing private), load {figures['load']:.1f}")
    print(f"median {figures['median_ms']:.2f} ms, p90 {figures['p90_ms']:.2f} ms, worst {figures['worst_ms']:.2f} ms")


if __name__ == "__main__":
    main()
