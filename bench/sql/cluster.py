"""Measures a cluster of workers on this machine beside the local engine: processor time, memory of the coordinator, and what happens when workers are killed.

    cluster.py --deniable BINARY --scratch DIRECTORY --rows 100000000 --rounds 3 --kill-rows 20000000 --kills 100 [--out FILE]

Answers in which nothing is cut, at negligible noise, are compared with those of the local engine: which groups of a person are cut is drawn anew for each question.
"""

import argparse
import json
import os
import platform
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

WORKERS = (1, 2, 4)
# What the workers and the coordinator may take together, beside the local engine; and what the coordinator may hold, in MB.
MOST_TIME, MOST_MEMORY = 1.3, 300
TICKS = os.sysconf("SC_CLK_TCK")
QUERY = (
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (max_groups_contributed = 4, max_rows_contributed = 5) "
    "grp, COUNT(*) AS rows_counted, SUM(x) AS total FROM visits WHERE n < {beyond} GROUP BY grp"
)
UNCUT = (
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (max_groups_contributed = 60, max_rows_contributed = 60) "
    "grp, COUNT(*) AS rows_counted FROM visits WHERE n < {beyond} GROUP BY grp"
)
CATALOG = """name = "cluster"
[unit]
whose = "person"
[budget]
epsilon = 1000000000000
[tables.visits]
source = "{path}"
unit = "unit"
clustered = {clustered}
[tables.visits.columns]
unit = {{ kind = "int" }}
grp = {{ kind = "text", values = [{groups}] }}
x = {{ kind = "float", bounds = [0, 100] }}
n = {{ kind = "int", bounds = [0, 1000] }}
"""
ENGINE = """[engine]
kind = "cluster"
workers = [{workers}]
authority = "{keys}/authority.pem"
certificate = "{keys}/coordinator.pem"
key = "{keys}/coordinator.key"
"""


class Worker:
    def __init__(self, deniable, keys, data):
        self.command = [deniable, "worker", "--listen", "127.0.0.1:0", "--data", str(data)]
        for option, name in (("authority", "authority.pem"), ("certificate", "worker.pem"), ("key", "worker.key")):
            self.command += [f"--{option}", str(keys / name)]
        self.start()

    def start(self):
        self.process = subprocess.Popen(self.command, stderr=subprocess.PIPE, text=True)
        address = self.process.stderr.readline().strip().removeprefix("worker: https://127.0.0.1:")
        # The same address from now on, so that the catalog stays as it is.
        self.address = f"https://localhost:{address}"
        self.command[3] = f"127.0.0.1:{address}"

    def seconds(self):
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def kill(self):
        self.process.kill()
        self.process.wait()


def asked(deniable, folder, query, beyond):
    """One question: exit status, answer, processor time and largest memory of the process, in MB, and seconds."""
    command = [deniable, "query", "--json", "--quiet", "--no-cut-estimate", "--epsilon", "1000000", query.format(beyond=beyond)]
    start = time.perf_counter()
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    elapsed = time.perf_counter() - start
    code = os.waitstatus_to_exitcode(status)
    return code, output, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1000, elapsed


def rows(output):
    answer = json.loads(output)
    return [{name: cell["value"] for name, cell in row.items()} for row in answer["rows"]]


def folder_with(place, path, engine=""):
    """A folder with a catalog, which says of a table whose rows lie clustered that they do."""
    place.mkdir()
    groups = ", ".join(f'"group-{number:02}"' for number in range(100))
    clustered = str(path.name.startswith("clustered")).lower()
    text = CATALOG.format(path=path, groups=groups, clustered=clustered)
    head, tables = text.split("[tables.visits]\n", 1)
    (place / "deniable.toml").write_text(head + engine + "[tables.visits]\n" + tables)
    return place


def charges(deniable, folder):
    done = subprocess.run([deniable, "budget", "--json"], cwd=folder, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["summary"]["releases"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--deniable", required=True)
    parser.add_argument("--scratch", type=Path, required=True)
    parser.add_argument("--rows", type=int, default=100_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--kill-rows", type=int, default=20_000_000)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    deniable = arguments.deniable
    results = {
        "machine": {"cpus": os.cpu_count(), "processor": platform.processor() or platform.machine()},
        "rows": arguments.rows,
        "rounds": arguments.rounds,
        "layouts": {},
    }
    with tempfile.TemporaryDirectory() as scratch:
        scratch = Path(scratch)
        keys = scratch / "keys"
        subprocess.run([deniable, "worker", "certificates", str(keys), "--host", "localhost"], check=True, stdout=subprocess.DEVNULL)
        workers = [Worker(deniable, keys, arguments.scratch) for _ in range(max(WORKERS))]
        try:
            for layout in ("clustered", "scattered") if arguments.rounds else ():
                path = arguments.scratch / f"{layout}-{arguments.rows}-{arguments.rows // 20}.parquet"
                local = folder_with(scratch / f"{layout}-local", path)
                clusters = {}
                for count in WORKERS:
                    engine = ENGINE.format(workers=", ".join(f'"{worker.address}"' for worker in workers[:count]), keys=keys)
                    clusters[count] = folder_with(scratch / f"{layout}-{count}", path, engine)
                best = {}
                for round_ in range(arguments.rounds):
                    beyond = 1000 + round_
                    code, output, seconds, memory, elapsed = asked(deniable, local, QUERY, beyond)
                    if code != 0:
                        sys.exit(f"error: the local engine failed: {output}")
                    expected = rows(asked(deniable, local, UNCUT, beyond)[1])
                    best["local"] = min(best.get("local", (1e9,)), (seconds, memory, elapsed))
                    for count, folder in clusters.items():
                        before = sum(worker.seconds() for worker in workers)
                        code, output, seconds, memory, elapsed = asked(deniable, folder, QUERY, beyond)
                        if code != 0:
                            sys.exit(f"error: {count} workers failed: {output}")
                        spent = seconds + sum(worker.seconds() for worker in workers) - before
                        best[count] = min(best.get(count, (1e9,)), (spent, memory, elapsed))
                        if rows(asked(deniable, folder, UNCUT, beyond)[1]) != expected:
                            sys.exit(f"error: {count} workers answer something else")
                of_local = best["local"][0]
                shown = {}
                for name, (seconds, memory, elapsed) in best.items():
                    shown[str(name)] = {
                        "cpu_seconds": round(seconds, 2),
                        "of_local": round(seconds / of_local, 2),
                        "coordinator_mb": round(memory),
                        "seconds": round(elapsed, 2),
                    }
                    print(f"{layout:<10} {name!s:>6} {seconds:8.2f} s CPU {seconds / of_local:6.2f} of local, coordinator {memory:6.0f} MB, {elapsed:6.2f} s", flush=True)
                results["layouts"][layout] = shown
            results["goals"] = {"of_local": MOST_TIME, "coordinator_mb": MOST_MEMORY}
            if arguments.kills:
                results["kills"] = {"rows": arguments.kill_rows, **kills(arguments, deniable, scratch, keys, workers)}
        finally:
            for worker in workers:
                worker.kill()
    if arguments.out:
        arguments.out.write_text(json.dumps(results, indent=1) + "\n")


def kills(arguments, deniable, scratch, keys, workers):
    """A worker killed at a random moment of each run, over the two layouts in turn."""
    engine = ENGINE.format(workers=", ".join(f'"{worker.address}"' for worker in workers), keys=keys)
    asked_of = []
    for layout in ("scattered", "clustered"):
        path = arguments.scratch / f"{layout}-{arguments.kill_rows}-{arguments.kill_rows // 20}.parquet"
        folder = folder_with(scratch / f"kills-{layout}", path, engine)
        local = folder_with(scratch / f"kills-{layout}-local", path)
        expected = rows(asked(deniable, local, UNCUT, 1001)[1])
        longest = asked(deniable, folder, UNCUT, 1001)[4]
        asked_of.append((folder, expected, longest))
    before = sum(charges(deniable, folder) for folder, _, _ in asked_of)
    seeded = random.Random(1)
    told = {"runs": arguments.kills, "right": 0, "clean_failures": 0, "wrong": 0}
    for run in range(arguments.kills):
        folder, expected, longest = asked_of[run % len(asked_of)]
        command = [deniable, "query", "--json", "--quiet", "--no-cut-estimate", "--epsilon", "1000000", UNCUT.format(beyond=2000 + run)]
        process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        time.sleep(seeded.uniform(0, longest * 1.2))
        victim = seeded.choice(workers)
        victim.kill()
        output, _ = process.communicate(timeout=600)
        victim.start()
        if process.returncode == 0:
            told["right" if rows(output) == expected else "wrong"] += 1
        else:
            clean = "incident" in output or "nothing was charged" in output
            told["clean_failures" if clean else "wrong"] += 1
    after = sum(charges(deniable, folder) for folder, _, _ in asked_of)
    told["charges_beyond_one_a_run"] = max(0, after - before - arguments.kills)
    print(f"killed workers: {told}", flush=True)
    return told


main()
