"""Runs each kind of step in processes of its own, in turn and several times, and compares them.

In turn, so that a machine that gets busier does so for all; a row's time is the best step of all its rounds, since what others do on the machine only adds.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
from pathlib import Path

MODELS = ("lstm", "transformer")
ROUNDS = 2
# What the figure is at most, or at least.
TARGETS = {
    ("lstm", "private / plain"): ("at most", 1.2),
    ("transformer", "private / plain"): ("at most", 1.3),
    ("lstm", "whole step, private / plain"): ("at most", 1.2),
    ("transformer", "whole step, private / plain"): ("at most", 1.3),
    ("lstm", "plain / PyTorch plain"): ("at most", 1.1),
    ("transformer", "plain / PyTorch plain"): ("at most", 1.1),
    ("lstm", "Opacus hooks / private"): ("at least", 6.0),
    ("lstm", "Opacus ghost / private"): ("at least", 5.0),
    ("transformer", "Opacus hooks / private"): ("at least", 6.0),
    ("transformer", "Opacus ghost / private"): ("at least", 5.0),
    ("lstm", "memory private / plain"): ("at most", 1.2),
    ("transformer", "memory private / plain"): ("at most", 1.2),
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--ours", required=True)
    parser.add_argument("--python")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    peers = [options.python, str(Path(__file__).parent / "peers.py")] if options.python else None

    load_before = os.getloadavg()[0]
    runs: list[dict] = []
    for _ in range(ROUNDS):
        for model in MODELS:
            for what in ("plain", "private", "pairs", "whole") + (("whole-exact",) if model == "lstm" else ()):
                runs.append(run([options.ours, model, what]))
            for what in ("imported", "plain", "hooks", "ghost") if peers else ():
                runs.append(run([*peers, model, what]))
    best: dict[tuple[str, str, str], dict] = {}
    # The two kinds are close, so they are compared step by step in one process; the worst median of the rounds counts.
    pairs: dict[tuple[str, str], float] = {}
    for row in runs:
        if "pairs" in row:
            key = (row["model"], row["what"])
            pairs[key] = max(pairs.get(key, 0), row["median"])
            continue
        key = (row["model"], row["library"], row["what"])
        if key not in best or (row["best_ms"] or 0) < (best[key]["best_ms"] or 0):
            best[key] = row
    ratios = [ratio for model in MODELS for ratio in compare(model, best, pairs)]

    print(f"{'model':<12} {'library':<9} {'step':<9} {'best ms':>9} {'peak MiB':>9}")
    for (model, library, what), row in best.items():
        time = f"{row['best_ms']:.2f}" if row["best_ms"] else ""
        print(f"{model:<12} {library:<9} {what:<9} {time:>9} {row['peak_bytes'] / 2**20:>9.0f}")
    print()
    for ratio in ratios:
        target = f"{ratio['target']:<13} {'within' if ratio['within'] else 'MISSED'}" if "target" in ratio else ""
        print(f"{ratio['model']:<12} {ratio['ratio']:<34} {ratio['value']:>6.2f}  {target}")
    if options.out:
        report = {
            "what": "CPU milliseconds of one step (forward, backward, clipping, summing; a whole step has sampling, noise and update too) on one thread, best of all rounds",
            "shapes": {
                "lstm": "985 tokens, embedding 50, LSTM 100, batch 100, 20 steps",
                "transformer": "1000 tokens, 4 blocks, width 256, 4 heads, batch 16, 128 steps",
            },
            "machine": machine(load_before),
            "ratios": ratios,
            "runs": runs,
        }
        options.out.write_text(json.dumps(report, indent=2) + "\n")


def run(command: list[str]) -> dict:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"error: {' '.join(command)} failed\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def compare(model: str, best: dict, pairs: dict) -> list[dict]:
    def time(library: str, what: str) -> float | None:
        row = best.get((model, library, what))
        return row and row["best_ms"]

    def memory(what: str) -> int:
        return best[(model, "deniable", what)]["peak_bytes"]

    private, plain = time("deniable", "private"), time("deniable", "plain")
    ratios = {
        "private / plain": pairs[(model, "pairs")],
        "whole step, private / plain": pairs[(model, "whole")],
        "memory private / plain": memory("private") / memory("plain"),
    }
    if (model, "whole-exact") in pairs:
        ratios["whole step, exact sums / plain"] = pairs[(model, "whole-exact")]
    if time("pytorch", "plain"):
        ratios["plain / PyTorch plain"] = plain / time("pytorch", "plain")
        ratios["private / PyTorch plain"] = private / time("pytorch", "plain")
        ratios["Opacus hooks / private"] = time("opacus", "hooks") / private
        ratios["Opacus ghost / private"] = time("opacus", "ghost") / private
    rows = []
    for name, value in ratios.items():
        row = {"model": model, "ratio": name, "value": round(value, 3)}
        if (model, name) in TARGETS:
            direction, limit = TARGETS[(model, name)]
            row["target"] = f"{direction} {limit}"
            row["within"] = value <= limit if direction == "at most" else value >= limit
        rows.append(row)
    return rows


def machine(load_before: float) -> dict:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return {
        "processor": names[0] if names else "unknown",
        "cores": os.cpu_count(),
        "load_before": load_before,
        "load_after": os.getloadavg()[0],
        "system": f"{platform.system()} {platform.release()}",
        "rustc": subprocess.run(["rustc", "--version"], capture_output=True, text=True).stdout.strip(),
    }


if __name__ == "__main__":
    main()
