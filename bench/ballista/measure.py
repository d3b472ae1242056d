"""Measures Apache Ballista on this machine: processor time of all processes together beside DataFusion in one process, shuffle files and memory.

    measure.py PROGRAM PARQUET

The query groups by person and group and then by group, as bounding does, with built-in operators alone: no key that chooses groups, no exact sums, no noise.
"""

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")
CORES = os.cpu_count() or 1
QUERIES = {
    "person and group": "SELECT grp, SUM(LEAST(n, 5)) AS c, SUM(s) AS s FROM (SELECT unit, grp, COUNT(*) AS n, SUM(x) AS s FROM visits GROUP BY unit, grp) AS p GROUP BY grp",
    "person": "SELECT SUM(LEAST(n, 5)) AS c FROM (SELECT unit, COUNT(*) AS n FROM visits GROUP BY unit) AS p",
}


def of_children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def of_process(process):
    fields = Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def largest_memory(process):
    lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) // 1024 for line in lines if line.startswith("VmHWM"))


def asked(command):
    """Processor time of a program that is asked and ends, and its wall-clock time."""
    before, start = of_children(), time.time()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return of_children() - before, time.time() - start


def on_executors(program, parquet, query, count):
    work = Path(tempfile.mkdtemp(prefix="ballista-"))
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    processes = [subprocess.Popen([program, "scheduler", "50050"], **quiet)]
    try:
        time.sleep(2)
        for number in range(count):
            folder = work / str(number)
            folder.mkdir()
            ports = [str(50100 + number), str(50200 + number), "50050"]
            processes.append(subprocess.Popen([program, "executor", *ports, str(max(1, CORES // count)), str(folder)], **quiet))
        time.sleep(3)
        before = sum(map(of_process, processes))
        seconds, wall = asked([program, "client", "50050", parquet, query])
        seconds += sum(map(of_process, processes)) - before
        written = sum(file.stat().st_size for file in work.rglob("*") if file.is_file()) / 1e6
        return seconds, wall, written, max(map(largest_memory, processes))
    finally:
        for process in processes:
            process.kill()
            process.wait()
        shutil.rmtree(work)


def main():
    program, parquet = sys.argv[1:]
    for name, query in QUERIES.items():
        local, wall = asked([program, "local", str(CORES), parquet, query])
        print(f"{name}: one process {local:.2f} s CPU, {wall:.2f} s", flush=True)
        for count in (1, 2, 4):
            seconds, wall, written, memory = on_executors(program, parquet, query, count)
            print(f"{name}: {count} executors {seconds:.2f} s CPU, {seconds / local:.2f} of one process, {wall:.2f} s, {written:.0f} MB of shuffle files, {memory} MB in the largest process", flush=True)


main()
