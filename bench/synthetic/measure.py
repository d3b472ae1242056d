"""Runs our methods, and those of peers that can be imported, on one table of codes; writes one object with all runs."""

import json
import os
import platform
import re
import resource
import subprocess
import sys
import time
from collections import Counter
from itertools import combinations
from pathlib import Path

EPSILON, DELTA, SEEDS = "1", "1e-9", 5


def ours(score: str, table: str, method: str, seed: int) -> dict[str, object]:
    """One run of our example: its own scores, and the time and memory of the whole process."""
    before = time.perf_counter()
    printed = subprocess.run([score, table, EPSILON, DELTA, method, str(seed)], check=True, capture_output=True, text=True)
    found = re.search(r"score ([\d.]+) by pairs, ([\d.]+) by three", printed.stdout)
    assert found, printed.stdout
    return {
        "library": "deniable", "method": method, "seed": seed, "pairs": float(found[1]), "three": float(found[2]),
        "seconds": time.perf_counter() - before,
    }  # fmt: skip


def read(table: str) -> tuple[list[str], list[tuple[int, ...]], dict[str, str]]:
    """The columns' names, the rows, and what is said of a column: `number`, or `group`."""
    lines = Path(table).read_text().splitlines()
    columns = [column.split(":") for column in lines[0].split(",")]
    said = {name: words[0] for name, _, *words in columns if words}
    return [column[0] for column in columns], [tuple(map(int, line.split(","))) for line in lines[1:]], said


def twentieths(codes: list[int]) -> dict[int, int]:
    """The twentieth of the rows that each code is in, by its mean rank; a code that no row has is in that of the next one."""
    counts, below, parts = Counter(codes), 0, {}
    for code in range(max(codes) + 1):
        parts[code] = min(19, int(20 * (below + (counts[code] + 1) / 2) / len(codes)))
        below += counts[code]
    for code in range(max(codes) - 1, -1, -1):
        if not counts[code]:
            parts[code] = parts[code + 1]
    return parts


class Scored:
    """SDNist's score: 1000 times one less the mean distance of all tables by so many columns, and by the group, if there is one."""

    def __init__(self, names: list[str], rows: list[tuple[int, ...]], said: dict[str, str]) -> None:
        numbers = [place for place, name in enumerate(names) if said.get(name) == "number"]
        self.parts = {place: twentieths([row[place] for row in rows]) for place in numbers}
        self.group = [place for place, name in enumerate(names) if said.get(name) == "group"]
        self.columns = [place for place in range(len(names)) if place not in self.group]

    def part(self, place: int, code: int) -> int:
        return self.parts[place].get(code, 19) if place in self.parts else code

    def distance(self, one: list[tuple[int, ...]], other: list[tuple[int, ...]], ways: int) -> float:
        sets = list(combinations(self.columns, ways))
        total = 0.0
        for chosen in sets:
            shares: dict[tuple[int, ...], float] = {}
            for rows, sign in ((one, 1.0), (other, -1.0)):
                for row in rows:
                    cell = tuple(self.part(place, row[place]) for place in (*chosen, *self.group))
                    shares[cell] = shares.get(cell, 0.0) + sign / len(rows)
            total += sum(map(abs, shares.values())) / 2
        return 1000 * (1 - total / len(sets))


def peers(table: str) -> list[dict[str, object]]:
    """SmartNoise's synthesizers, if they are installed: `pip install smartnoise-synth`."""
    try:
        import pandas  # noqa: PLC0415
        from snsynth import Synthesizer  # noqa: PLC0415
    except ImportError as error:
        print(f"no peers: {error}", file=sys.stderr)
        return []
    names, rows, said = read(table)
    scored = Scored(names, rows, said)
    frame = pandas.DataFrame(rows, columns=names)
    runs: list[dict[str, object]] = []
    for method in ("mst", "aim"):
        for seed in range(SEEDS):
            before = time.perf_counter()
            made = Synthesizer.create(method, epsilon=float(EPSILON), delta=float(DELTA))
            sample = made.fit_sample(frame, categorical_columns=names, preprocessor_eps=0.0)
            seconds = time.perf_counter() - before
            drawn = [tuple(map(int, row)) for row in sample.itertuples(index=False)]
            runs.append({
                "library": "smartnoise", "method": method, "seed": seed, "pairs": scored.distance(rows, drawn, 2),
                "three": scored.distance(rows, drawn, 3), "seconds": seconds,
            })  # fmt: skip
    return runs


def main() -> None:
    score, table, output = sys.argv[1:]
    runs = [ours(score, table, method, seed) for method in ("independent", "mst", "aim") for seed in range(SEEDS)]
    memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    if not os.environ.get("BENCH_NO_PYTHON_PEERS"):
        runs += peers(table)
    names, rows, _ = read(table)
    machine = {"processor": platform.processor() or platform.machine(), "cores": os.cpu_count()}
    written = {
        "table": {"rows": len(rows), "columns": names}, "epsilon": EPSILON, "delta": DELTA, "machine": machine,
        "most_memory_mib": round(memory, 1), "runs": runs,
    }  # fmt: skip
    Path(output).write_text(json.dumps(written, indent=1) + "\n")
    print(f"{'':24}{'by pairs':>10}{'by three':>10}{'seconds':>10}   (medians of {SEEDS} seeds; at most {memory:.0f} MiB)")
    for kind in dict.fromkeys((run["library"], run["method"]) for run in runs):
        own = [run for run in runs if (run["library"], run["method"]) == kind]
        middle = [sorted(float(str(run[what])) for run in own)[len(own) // 2] for what in ("pairs", "three", "seconds")]
        print(f"{' '.join(map(str, kind)):24}{middle[0]:>10.1f}{middle[1]:>10.1f}{middle[2]:>10.1f}")


if __name__ == "__main__":
    main()
