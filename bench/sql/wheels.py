"""Private SQL of the release build beside plain SQL of DuckDB, DataFusion and Polars from their own wheels, best of five.

Ours is the whole command as a user types it, with the estimate of what the limits cut, the ledger and the start of the
program. Of the peers only the query is timed, from opening the file to the last row: Python's start and the imports
come before. Started by `bench/sql-run --wheels`. Writes results/sql-wheels.json, prints a table.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from measure import SHOWN, catalog, question  # noqa: E402

ROUNDS = 5
PERSONS = 1_000_000
# What a private query may take beside the wheel of the same engine, and beside DuckDB.
GOALS = {"single": (1.2, 2.0), "clustered": (1.5, 2.5), "scattered": (4.0, 6.0)}
# The same for 100 million rows.
LARGE = {"scattered": (6.0, 6.0)}
QUERY = "SELECT grp, COUNT(*) AS rows_counted, SUM(x) AS total, AVG(x) AS mean FROM {table} GROUP BY grp"
# What is imported before the clock starts, and what is timed.
SCRIPTS = {
    "DuckDB": ("import duckdb", "duckdb.sql({duck!r}).fetchall()"),
    "DataFusion": (
        "import datafusion",
        "c = datafusion.SessionContext(); c.register_parquet('visits', {path!r}); c.sql({sql!r}).collect()",
    ),
    "Polars": (
        "import polars as p",
        "p.scan_parquet({path!r}).group_by('grp').agg(p.len(), p.col('x').sum().alias('total'),"
        " p.col('x').mean().alias('mean')).collect(engine='streaming')",
    ),
}


def of_query(imports, query):
    """Seconds of a peer's query, in a fresh process, without the start of Python and its imports."""
    text = f"import time\n{imports}\nstart = time.perf_counter()\n{query}\nprint(time.perf_counter() - start)"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"error: {imports} failed: {done.stderr}")
    return float(done.stdout.split()[-1])


def of_process(command, **options):
    """Seconds of the whole process, and its memory at the peak in GiB."""
    with tempfile.TemporaryFile() as errors:
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors, **options)
        _, status, used = os.wait4(process.pid, 0)
        elapsed = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            errors.seek(0)
            sys.exit(f"error: {command[0]} failed: {errors.read().decode(errors='replace')}")
    return elapsed, used.ru_maxrss / (1 << 20)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--deniable", required=True)
    parser.add_argument("--scratch", type=Path, required=True)
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--only", choices=list(GOALS), help="rows that lie in this way alone")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    files = {
        "single": f"single-{arguments.rows}.parquet",
        "clustered": f"clustered-{arguments.rows}-{arguments.rows // 20}.parquet",
        "scattered": f"scattered-{arguments.rows}-{arguments.rows // 20}.parquet",
    }
    if arguments.only:
        files = {arguments.only: files[arguments.only]}
    results = {"machine": {"cpus": os.cpu_count(), "processor": platform.processor() or platform.machine()}, "rows": arguments.rows, "seconds": {}, "peak_gib": {}}
    print(f"{'rows':<26} {'DuckDB':>8} {'DataFusion':>11} {'Polars':>8} {'Deniable':>9} {'/ DataFusion':>13} {'goal':>5} {'/ DuckDB':>9} {'goal':>5} {'peak GiB':>9}")
    for layout, name in files.items():
        path = str(arguments.scratch / name)
        best = {system: float("inf") for system in [*SCRIPTS, "Deniable"]}
        peak = 0.0
        # All of them in each round, so that a busy moment of the machine meets all.
        for _ in range(ROUNDS):
            for system, (imports, query) in SCRIPTS.items():
                query = query.format(path=path, sql=QUERY.format(table="visits"), duck=QUERY.format(table=f"'{path}'"))
                best[system] = min(best[system], of_query(imports, query))
            with tempfile.TemporaryDirectory() as folder:
                # A ledger of its own each time, so that each is a new question.
                Path(folder, "deniable.toml").write_text(catalog(Path(path), layout, declared=True))
                command = [arguments.deniable, "query", "--quiet", "--format", "csv", question("x")]
                seconds, memory = of_process(command, cwd=folder)
                best["Deniable"], peak = min(best["Deniable"], seconds), max(peak, memory)
        results["seconds"][layout] = {system: round(seconds, 3) for system, seconds in best.items()}
        results["peak_gib"][layout] = round(peak, 2)
        goals = LARGE.get(layout, GOALS[layout]) if arguments.rows >= 100_000_000 else GOALS[layout]
        wheel, duck = best["Deniable"] / best["DataFusion"], best["Deniable"] / best["DuckDB"]
        print(
            f"{SHOWN[layout]:<26} {best['DuckDB']:>8.2f} {best['DataFusion']:>11.2f} {best['Polars']:>8.2f} {best['Deniable']:>9.2f} "
            f"{wheel:>13.2f} {goals[0]:>5} {duck:>9.2f} {goals[1]:>5} {peak:>9.2f}"
        )
    if arguments.out:
        arguments.out.write_text(json.dumps(results, indent=1) + "\n")


main()
