"""Measures private SQL beside the same engine without privacy, and beside the peers. Started by `bench/sql-run`, which builds what this runs.

Every process is started here and waited for, so that its wall time and its peak memory are what the system says of it. All numbers of a run go to
one JSON file with the machine; a person gets tables.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).resolve().parent
NAMES = [f"group-{number:02}" for number in range(100)]
GIB = 1 << 20  # in KiB, which the system counts memory in
PEERS = {"opendp": "OpenDP (Polars)", "diffprivlib": "diffprivlib", "smartnoise": "SmartNoise SQL (pandas)"}
# How many times as long as the plain query a private one may take, by layout.
TARGETS = {"single": 1.2, "named": 1.2, "clustered": 2.0, "scattered": 4.0}
SHOWN = {
    "single": "each row a person",
    "named": "one row a person, named",
    "clustered": "many rows, clustered",
    "scattered": "many rows, scattered",
}


def question(column: str) -> str:
    return f"SELECT grp, COUNT(*) AS rows_counted, SUM({column}) AS total, AVG({column}) AS mean FROM visits GROUP BY grp"


def catalog(data: Path, layout: str, declared: bool, delta: bool = True) -> str:
    """A dataset of one table. At most 4 groups a person, 5 rows in each."""
    owner = {
        "single": "each_row = true",
        "named": 'unit = "unit"\nrows_per_unit = 1',
        "clustered": 'unit = "unit"\nclustered = true',
        "scattered": 'unit = "unit"',
    }[layout]
    values = f", values = {json.dumps(NAMES)}, nullable = false" if declared else ""
    return f"""name = "bench"
[unit]
whose = "person"
[budget]
epsilon = 10000
delta = {"1e-3" if delta else "0"}
ledger = "ledger"
[budget.query]
epsilon = 1
delta = {"1e-7" if delta else "0"}
[limits]
groups = 4
rows_per_group = 5
[tables.visits]
source = {json.dumps(str(data))}
{owner}
[tables.visits.columns]
unit = {{ kind = "int" }}
grp = {{ kind = "text"{values} }}
x = {{ kind = "float", bounds = [0, 100] }}
n = {{ kind = "int", bounds = [0, 1000] }}
"""


class Bench:
    def __init__(self, arguments: argparse.Namespace) -> None:
        self.arguments = arguments
        self.scratch = arguments.scratch
        self.scratch.mkdir(parents=True, exist_ok=True)

    def process(self, command: list) -> tuple[str, float, int]:
        """Its standard output, its wall time and its peak memory in KiB."""
        words = [str(word) for word in command]
        with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
            start = time.perf_counter()
            child = subprocess.Popen(words, stdout=output, stderr=errors)
            _, status, usage = os.wait4(child.pid, 0)
            seconds = time.perf_counter() - start
            child.returncode = os.waitstatus_to_exitcode(status)
            if child.returncode:
                errors.seek(0)
                said = errors.read().decode(errors="replace")[-2000:]
                raise SystemExit(f"error: {' '.join(words[:3])} … failed with {child.returncode}\n{said}")
            output.seek(0)
            return output.read().decode(), seconds, usage.ru_maxrss

    def data(self, layout: str, rows: int, units: int, ending: str = "parquet") -> Path:
        # A person of one row is the same file, whether the row is named or not.
        layout = "single" if layout == "named" else layout
        size = str(rows) if layout == "single" else f"{rows}-{units}"
        file = self.scratch / f"{layout}-{size}.{ending}"
        command = [sys.executable, HERE / "generate.py", "--layout", layout, "--rows", rows, "--units", units, file]
        self.process(command)
        return file

    @contextmanager
    def dataset(self, text: str) -> Iterator[Path]:
        """A directory with this catalog and no ledger yet, for a while."""
        with tempfile.TemporaryDirectory(prefix="dataset-", dir=self.scratch) as directory:
            path = Path(directory) / "deniable.toml"
            path.write_text(text, encoding="utf-8")
            yield path

    def engine(self, mode: str, text: str, data: Path, sql: str, repetitions: int) -> dict:
        with self.dataset(text) as path:
            output, _, _ = self.process([self.arguments.engine, mode, path, data, sql, repetitions])
        return json.loads(output)

    def layouts(self, rows: int, units: int, repetitions: int) -> list[dict]:
        """Private over plain, for each way in which rows may lie."""
        cases = [(layout, "x", False) for layout in TARGETS]
        cases += [(layout, "n", False) for layout in TARGETS if layout != "named"]
        cases += [(layout, "x", True) for layout in TARGETS if layout != "named"]
        results = []
        for layout, column, declared in cases:
            data, sql = self.data(layout, rows, units), question(column)
            text = catalog(data, layout, declared)
            both = self.engine("compare", text, data, sql, repetitions)
            private, plain = both["private"], both["plain"]
            if set(plain["rows"]) != {len(NAMES)} or min(private["rows"]) < len(NAMES):
                raise SystemExit(f"error: expected {len(NAMES)} groups: {plain['rows']} plain, {private['rows']} private")
            result = {
                "layout": layout,
                "column": column,
                "group_names": "declared" if declared else "private",
                "threads": both["threads"],
                "ratio_of_best": min(private["seconds"]) / min(plain["seconds"]),
                "ratio_of_median": statistics.median(private["seconds"]) / statistics.median(plain["seconds"]),
                "target": TARGETS[layout],
                "peak_kib": self.engine("private", text, data, sql, 1)["peak_kib"],
                "plain_peak_kib": self.engine("plain", text, data, sql, 1)["peak_kib"],
                "private_seconds": private["seconds"],
                "plain_seconds": plain["seconds"],
            }
            results.append(result)
            print_progress(f"{layout} {column} {result['group_names']}: {result['ratio_of_best']:.2f} times plain")
        return results

    def planning(self, repetitions: int) -> dict:
        """What a query takes until it is charged, durably, and what it takes over one row to the end."""
        data = self.data("scattered", 1, 1)
        measured = self.engine("plan", catalog(data, "scattered", False), data, question("x"), repetitions)
        seconds = {f"{what}_seconds": measured[what]["seconds"] for what in ("explain", "charge", "query")}
        return {**seconds, "target": 0.010}

    def side_by_side(self, rows: int, units: int, repetitions: int) -> list[dict]:
        """The same answer from the start of a process to its end, by everybody who can give it."""
        results = []
        for case, layout in (("many", "scattered"), ("single", "single")):
            for ending in ("parquet", "csv"):
                data = self.data(layout, rows, units, ending)
                tools = ["deniable", *(self.arguments.peers or [])]
                for tool in tools:
                    if (tool, case) == ("diffprivlib", "many"):
                        continue  # It has no privacy unit but the row.
                    runs = [self.once(tool, case, layout, data) for _ in range(repetitions)]
                    version = [run.pop("version") for run in runs][0]
                    results.append({"case": case, "format": ending, "tool": tool, "version": version, "runs": runs})
                    print_progress(f"{case} {ending} {tool}: {min(run['seconds'] for run in runs):.2f} s")
        return results

    def once(self, tool: str, case: str, layout: str, data: Path) -> dict:
        if tool != "deniable":
            python = HERE.parent / ".venv" / tool / "bin" / "python"
            output, seconds, peak = self.process([python, HERE / "peers.py", tool, case, data])
            return json.loads(output) | {"seconds": seconds, "peak_kib": peak}
        with self.dataset(catalog(data, layout, declared=case == "single", delta=case == "many")) as path:
            command = [self.arguments.deniable, "query", "--catalog", path, "--json", question("x")]
            output, seconds, peak = self.process(command)
        version = self.process([self.arguments.deniable, "--version"])[0].split()[-1]
        return {"version": version, "seconds": seconds, "peak_kib": peak, "answer_bytes": len(output)}

    def large(self, rows: int, units: int) -> list[dict]:
        results = []
        for layout in ("single", "clustered", "scattered"):
            data, sql = self.data(layout, rows, units), question("x")
            text = catalog(data, layout, False)
            private = self.engine("private", text, data, sql, 1)
            plain = self.engine("plain", text, data, sql, 1)
            results.append(
                {
                    "layout": layout,
                    "seconds": private["private"]["seconds"][0],
                    "plain_seconds": plain["plain"]["seconds"][0],
                    "peak_kib": private["peak_kib"],
                    "plain_peak_kib": plain["peak_kib"],
                    "target_kib": 8 * GIB,
                }
            )
            print_progress(f"{layout}: {results[-1]['seconds']:.1f} s, {results[-1]['peak_kib'] / GIB:.2f} GiB")
            data.unlink()
        return results


def print_progress(line: str) -> None:
    print(f"  {line}", file=sys.stderr, flush=True)


def machine() -> dict:
    cpu = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    names = [line.split(":", 1)[1].strip() for line in cpu.splitlines() if line.startswith("model name")]
    rustc = subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=True).stdout.strip()
    return {
        "processor": names[0] if names else platform.machine(),
        "cores": os.cpu_count(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "load": round(os.getloadavg()[0], 2),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "rustc": rustc,
    }


def verdict(value: float, target: float) -> str:
    return "within" if value <= target else "OVER"


def table(header: list[str], rows: list[list[str]]) -> None:
    widths = [max(len(row[place]) for row in [header, *rows]) for place in range(len(header))]
    for row in [header, *rows]:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())
    print()


def show(report: dict) -> None:
    print()
    table(
        ["rows", "column", "names", "private / plain, best", "median", "target", "", "private s", "plain s", "peak GiB", "target", ""],
        [
            [
                SHOWN[one["layout"]],
                one["column"],
                one["group_names"],
                f"{one['ratio_of_best']:.2f}",
                f"{one['ratio_of_median']:.2f}",
                f"{one['target']:.1f}",
                verdict(one["ratio_of_best"], one["target"]),
                f"{min(one['private_seconds']):.2f}",
                f"{min(one['plain_seconds']):.2f}",
                f"{one['peak_kib'] / GIB:.2f}",
                "1.00",
                verdict(one["peak_kib"], GIB),
            ]
            for one in report.get("layouts", [])
        ],
    )
    if planning := report.get("planning"):
        for what, told in (("explain", "explaining"), ("charge", "planning and charging"), ("query", "all of it, answering over one row")):
            best, median = (function(planning[f"{what}_seconds"]) * 1e3 for function in (min, statistics.median))
            within = f", target 10 ms, {verdict(median / 1e3, planning['target'])}" if what == "charge" else ""
            print(f"{told}: best {best:.1f} ms, median {median:.1f} ms{within}")
        print()
    if report.get("side_by_side"):
        rows = []
        for one in report["side_by_side"]:
            best = min(run["seconds"] for run in one["runs"])
            ours = next(o for o in report["side_by_side"] if (o["tool"], o["case"], o["format"]) == ("deniable", one["case"], one["format"]))
            inside = min((run["inside_seconds"] for run in one["runs"] if "inside_seconds" in run), default=None)
            rows.append(
                [
                    one["case"],
                    one["format"],
                    PEERS.get(one["tool"], "Deniable"),
                    one["version"],
                    f"{best:.2f}",
                    "-" if inside is None else f"{inside:.2f}",
                    f"{best / min(run['seconds'] for run in ours['runs']):.1f}",
                    f"{max(run['peak_kib'] for run in one['runs']) / GIB:.2f}",
                ]
            )
        table(["case", "format", "tool", "version", "process s", "after imports s", "times ours", "peak GiB"], rows)
    if report.get("large"):
        table(
            ["rows", "private s", "plain s", "peak GiB", "target", "", "plain peak GiB"],
            [
                [
                    SHOWN[one["layout"]],
                    f"{one['seconds']:.1f}",
                    f"{one['plain_seconds']:.1f}",
                    f"{one['peak_kib'] / GIB:.2f}",
                    f"{one['target_kib'] / GIB:.0f}",
                    verdict(one["peak_kib"], one["target_kib"]),
                    f"{one['plain_peak_kib'] / GIB:.2f}",
                ]
                for one in report["large"]
            ],
        )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--scratch", type=Path, required=True)
    parser.add_argument("--engine", type=Path, required=True, help="the example sql_bench")
    parser.add_argument("--deniable", type=Path, help="the binary; without it nothing is measured side by side")
    parser.add_argument("--peers", nargs="*", choices=list(PEERS))
    parser.add_argument("--size", choices=["small", "full", "large"], required=True)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    bench = Bench(arguments)
    report = {
        "what": "private SQL over the same query on the same engine without privacy, and beside the peers; all measured in one run",
        "machine": machine(),
        "size": arguments.size,
    }
    if report["machine"]["load"] > 1.5:
        print(f"warning: the load is {report['machine']['load']}, something else is running", file=sys.stderr)
    if arguments.size == "large":
        report |= {"rows": 100_000_000, "units": 5_000_000}
        report["large"] = bench.large(report["rows"], report["units"])
    else:
        small = arguments.size == "small"
        report |= {"rows": 1_000_000 if small else 20_000_000, "units": 50_000 if small else 1_000_000}
        report["planning"] = bench.planning(10 if small else 50)
        report["layouts"] = bench.layouts(report["rows"], report["units"], 3 if small else 5)
        if arguments.deniable:
            report["side_by_side"] = bench.side_by_side(1_000_000, 100_000, 1 if small else 3)
    if arguments.out:
        arguments.out.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    show(report)


if __name__ == "__main__":
    main()
