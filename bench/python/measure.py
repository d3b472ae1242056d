"""Asks Deniable and the peers the same in one run, each figure in processes of their own, in turn, and compares medians.

    measure.py --ours PYTHON --package FOLDER --peers FOLDER --data FOLDER [--wheel FILE] [--out FILE]

Nothing here fails because of a time: a goal is met or missed, and printed.
"""

import argparse
import io
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

HERE = Path(__file__).parent
# Processes of each tool, in turn, so that a machine that gets busier does so for all.
ROUNDS = 3
IMPORTS = 15
# What is asked of which peer, in the environment of that name.
PEERS = [
    ("groups", "opendp"),
    ("groups", "smartnoise"),
    ("groups", "diffprivlib"),
    ("draws", "opendp"),
    ("epsilon", "accounting"),
    ("classifier", "diffprivlib"),
    ("classifier", "opacus"),
]
LONGEST_SECONDS = 900
IN_MEMORY = Path("/dev/shm")
WITHOUT_DISK = ", temporary files in memory"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--ours", required=True)
    parser.add_argument("--package", type=Path, required=True)
    parser.add_argument("--peers", type=Path)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--wheel", type=Path)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    load_before = os.getloadavg()[0]

    runs: list[dict] = []
    missing: dict[str, str] = {}

    def ours(figure: str, *more: str) -> None:
        command = [options.ours, str(HERE / "ours.py"), figure, str(options.data), *more]
        runs.extend(run(command))
        # The same where temporary files need no disk: what is left is what waiting for it took.
        if figure in ("groups", "draws") and IN_MEMORY.is_dir():
            with tempfile.TemporaryDirectory(dir=IN_MEMORY) as place:
                rows = run(command, TMPDIR=place)
            runs.extend({**row, "variant": row["variant"] + WITHOUT_DISK} for row in rows)

    def peer(tool: str, figure: str) -> None:
        if options.peers is None:
            return
        python = options.peers / tool / "bin" / "python"
        if not python.exists():
            missing[tool] = "not installed"
            return
        try:
            runs.extend(run([str(python), str(HERE / "peers.py"), tool, figure, str(options.data)]))
        except Failed as failed:
            missing[f"{tool} {figure}"] = str(failed)

    imports = measure_imports(options)
    # Draws and classifiers take the peers minutes: one round of them.
    for figure, rounds in (("groups", ROUNDS), ("epsilon", ROUNDS), ("draws", 1), ("classifier", 1)):
        for _ in range(rounds):
            ours(figure)
            for asked, tool in PEERS:
                if asked == figure:
                    peer(tool, figure)
        # Ours once more at the end, where the peers' one round was long.
        if rounds == 1:
            ours(figure)
    for _ in range(ROUNDS):
        ours("memory")
        ours("memory", "warm")

    size = wheel_bytes(options)
    figures = compare(runs, imports, size)
    show(figures, missing)
    if options.out:
        report = {
            "what": "wall-clock seconds on one machine, medians over all calls of all processes; a ratio is the peer's median over ours",
            "machine": machine(load_before),
            "figures": figures,
            "not_measured": missing,
            "imports": imports,
            "wheel": size,
            "runs": runs,
        }
        options.out.write_text(json.dumps(report, indent=1) + "\n")


class Spent:
    """What calls took in all processes: the median and the best by the clock, and the median of CPU seconds."""

    def __init__(self, rows: list[dict]) -> None:
        self.wall = statistics.median([one for row in rows for one in row["seconds"]])
        self.best = min(one for row in rows for one in row["seconds"])
        self.cpu = statistics.median([one for row in rows for one in row["cpu_seconds"]])


class Failed(Exception):
    """A peer could not do it; why."""


def run(command: list[str], **environment: str) -> list[dict]:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST_SECONDS, env={**os.environ, **environment})
    except subprocess.TimeoutExpired:
        raise Failed(f"not done after {LONGEST_SECONDS} s") from None
    if done.returncode != 0:
        print(done.stderr[-2000:], file=sys.stderr)
        raise Failed((done.stderr.strip().splitlines() or ["no reason given"])[-1][:200])
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    for row in rows:
        print(f"  {row['tool']:<15} {row['what']:<11} {row.get('variant', ''):<60} {row['median']:.4g} s", file=sys.stderr)
    return rows


def measure_imports(options: argparse.Namespace) -> dict[str, dict]:
    """A fresh interpreter that imports and ends, in turn; the first of each only warms the files."""
    opendp = options.peers / "opendp" / "bin" / "python" if options.peers else None
    commands = {"bare interpreter": [options.ours, "-c", "pass"], "import deniable": [options.ours, "-c", "import deniable"]}
    if opendp and opendp.exists():
        commands["OpenDP's bare interpreter"] = [str(opendp), "-c", "pass"]
        commands["import opendp.prelude"] = [str(opendp), "-c", "import opendp.prelude"]
    seconds: dict[str, list[float]] = {name: [] for name in commands}
    for number in range(IMPORTS + 1):
        for name, command in commands.items():
            before = time.perf_counter()
            subprocess.run(command, check=True)
            if number:
                seconds[name].append(time.perf_counter() - before)
    return {name: {"median": statistics.median(some), "best": min(some), "seconds": some} for name, some in seconds.items()}


def wheel_bytes(options: argparse.Namespace) -> dict:
    """The wheel's bytes; of a folder, what a wheel of it would have: the same files, stripped and deflated."""
    if options.wheel:
        return {"bytes": options.wheel.stat().st_size, "how": "the wheel"}
    package = options.package / "deniable"
    written = io.BytesIO()
    with tempfile.TemporaryDirectory() as place, zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(package.rglob("*")):
            if not file.is_file() or "__pycache__" in file.parts:
                continue
            if file.suffix == ".so":
                copied = Path(place) / file.name
                shutil.copyfile(file, copied)
                subprocess.run(["strip", str(copied)], check=True)
                archive.write(copied, f"deniable/{file.relative_to(package)}")
            else:
                archive.write(file, f"deniable/{file.relative_to(package)}")
    return {"bytes": len(written.getvalue()), "how": "the package's folder, stripped and deflated as a wheel is"}


def compare(runs: list[dict], imports: dict[str, dict], size: dict) -> list[dict]:
    def seconds(what: str, tool: str, variant: str | None = None) -> Spent | None:
        rows = [row for row in runs if (row["what"], row["tool"]) == (what, tool) and variant in (None, row.get("variant"))]
        return Spent(rows) if rows else None

    figures: list[dict] = []

    def figure(name: str, value: float | None, goal: str | None = None, within: bool | None = None, unit: str = "", **more: object) -> None:
        if value is None:
            return
        figures.append({"figure": name, "value": float(f"{value:.4g}"), "unit": unit, "goal": goal, "met": within, **more})

    def ratio(name: str, peer: Spent | None, own: Spent | None, least: float | None) -> None:
        if peer is None or own is None:
            return
        value = peer.wall / own.wall
        goal, within = (None, None) if least is None else (f"at least {least:g}", value >= least)
        beside = {"best_calls": float(f"{peer.best / own.best:.4g}"), "cpu": float(f"{peer.cpu / own.cpu:.4g}")}
        figure(name, value, goal, within, "times", **beside, ours=vars(own), peer=vars(peer))

    def time_of(name: str, spent: Spent) -> None:
        figure(name, 1000 * spent.wall, unit="ms", best_ms=1000 * spent.best, cpu_ms=1000 * spent.cpu)

    # How long it takes to begin.
    bare, imported = imports["bare interpreter"]["median"], imports["import deniable"]["median"]
    figure("import deniable, whole process", 1000 * imported, "at most 50", imported <= 0.05, "ms")
    figure("a bare interpreter", 1000 * bare, unit="ms")
    figure("import deniable beyond it", 1000 * (imported - bare), unit="ms")
    if "import opendp.prelude" in imports:
        figure("import opendp.prelude, whole process", 1000 * imports["import opendp.prelude"]["median"], unit="ms")

    # A question.
    own = seconds("groups", "Deniable", "unit column, one row a unit")
    time_of("count and mean of 100 groups, a million rows", own)
    for variant in ("each row a unit", "unit column, durable ledger", "unit column, a further question"):
        time_of(f"the same, {variant}", seconds("groups", "Deniable", variant))
    quick = seconds("groups", "Deniable", f"unit column, one row a unit{WITHOUT_DISK}")
    if quick:
        time_of("the same, temporary files in memory", quick)
        for tool in ("OpenDP", "SmartNoise SQL", "diffprivlib"):
            ratio(f"groups, temporary files in memory: {tool} / Deniable", seconds("groups", tool), quick, None)
    for tool, least in (("OpenDP", 20), ("SmartNoise SQL", 20), ("diffprivlib", 8)):
        ratio(f"groups: {tool} / Deniable", seconds("groups", tool), own, least)
    for variant in ("cold", "warm"):
        rows = [row for row in runs if row["what"] == "memory" and row["variant"] == variant]
        beyond = statistics.median([(row["peak_bytes"] - row["before_bytes"]) / row["table_bytes"] for row in rows])
        whole = statistics.median([row["peak_bytes"] / row["before_bytes"] for row in rows])
        own_bytes = statistics.median([(row["after_anonymous_bytes"] - row["before_anonymous_bytes"]) / row["table_bytes"] for row in rows])
        figure(f"memory, {variant}: peak of the process / before", whole, "at most 1.2", whole <= 1.2, "times")
        figure(f"memory, {variant}: (peak - before) / table", beyond, "at most 1.2", beyond <= 1.2, "tables")
        figure(f"memory, {variant}: of that not the program's code, kept after the answer", own_bytes, unit="tables")

    # Noise.
    for variant, peers in (("floats", ("floats, grid 2^-20", "floats, default grid")), ("integers", ("integers",))):
        own = seconds("draws", "Deniable", variant)
        time_of(f"a million Gaussian draws, {variant}", own)
        for peer in peers:
            ratio(f"draws: OpenDP {peer} / Deniable", seconds("draws", "OpenDP", peer), own, 50)
        quick = seconds("draws", "Deniable", variant + WITHOUT_DISK)
        if quick:
            time_of(f"a million Gaussian draws, {variant}, temporary files in memory", quick)

    # Accounting.
    own = seconds("epsilon", "Deniable")
    time_of("ε of 14,062 sampled steps", own)
    ratio("ε: dp-accounting PLD / Deniable", seconds("epsilon", "dp-accounting", "PLD"), own, 100)
    ratio("ε: dp-accounting RDP / Deniable", seconds("epsilon", "dp-accounting", "RDP"), own, None)

    # Classifiers: the peer's best setting counts, and its time.
    def settings(tool: str) -> list[tuple[float, str]]:
        found: dict[str, list[float]] = {}
        for row in runs:
            if (row["what"], row["tool"]) == ("classifier", tool):
                found.setdefault(row["variant"], []).extend(row["accuracies"])
        return [(statistics.mean(accuracies), variant) for variant, accuracies in found.items()]

    for accuracy, own_variant in sorted(settings("Deniable"), key=lambda setting: setting[1] != "usual settings"):
        own = seconds("classifier", "Deniable", own_variant)
        usual = own_variant == "usual settings"
        figure(f"classifier: accuracy of Deniable, {own_variant}", 100 * accuracy, unit="%")
        time_of(f"classifier: a fit of Deniable, {own_variant}", own)
        for tool in ("diffprivlib", "Opacus"):
            tried = settings(tool)
            if tried:
                best, variant = max(tried)
                ahead = 100 * (accuracy - best)
                # The goals are for what people get who set nothing.
                goal, within = ("at least 0", ahead >= 0) if usual else (None, None)
                if usual:
                    figure(f"classifier: accuracy of {tool}, best of {len(tried)} settings ({variant})", 100 * best, unit="%")
                figure(f"classifier: Deniable, {own_variant} - {tool}, points of accuracy", ahead, goal, within, "points")
                ratio(f"classifier: time of {tool} / Deniable, {own_variant}", seconds("classifier", tool, variant), own, 1 if usual else None)

    figure("wheel", size["bytes"] / 1e6, "below 40", size["bytes"] < 40e6, "MB")
    return figures


def show(figures: list[dict], missing: dict[str, str]) -> None:
    print(f"{'figure':<100} {'value':>9} {'':<7} {'best':>9} {'CPU':>9} {'goal':<14}")
    for row in figures:
        verdict = "" if row["met"] is None else "met" if row["met"] else "MISSED"
        print(f"{row['figure']:<100} {row['value']:>9.4g} {row['unit']:<7} {beside(row, 'best'):>9} {beside(row, 'cpu'):>9} {row['goal'] or '':<14} {verdict}")
    for what, why in missing.items():
        print(f"not measured: {what}: {why}")


def beside(row: dict, what: str) -> str:
    """The same figure by the best calls or by CPU time."""
    found = [value for name, value in row.items() if name.startswith(what)]
    return f"{found[0]:.4g}" if found else ""


def machine(load_before: float) -> dict:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return {
        "processor": names[0] if names else "unknown",
        "cores": os.cpu_count(),
        "load_before": load_before,
        "load_after": os.getloadavg()[0],
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
    }


if __name__ == "__main__":
    main()
