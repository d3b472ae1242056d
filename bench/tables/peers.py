"""The authors' ResidualPlanner+ on the same jobs: prints one JSON object a line.

RESIDUALPLANNER names a checkout of github.com/cmla-psu/ResidualPlannerPlus. Its noise is floating point, so it promises nothing exactly.
"""

import contextlib
import itertools
import json
import os
import resource
import sys
import time

import numpy as np
import pandas as pd

checkout = os.environ["RESIDUALPLANNER"]
sys.path.insert(0, checkout)
with contextlib.redirect_stdout(sys.stderr):
    from resplan import ResPlanSum

ADULT = [100, 100, 100, 99, 85, 42, 16, 15, 9, 7, 6, 5, 2, 2]
ROWS = 1_000_000


def plan(sizes, bases, ways):
    system = ResPlanSum(sizes, bases)
    cells = 0
    for count in range(ways[0], ways[1] + 1):
        for subset in itertools.combinations(range(len(sizes)), count):
            system.input_mech(subset)
            cells += float(np.prod([float(sizes[place]) for place in subset]))
    variances = system.get_noise_level()
    return system, float(np.sqrt(variances / cells))


def show(job, seconds, error=None):
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    row = {"library": "ResidualPlanner+", "job": job, "seconds": seconds, "error": error, "memory": memory}
    print(json.dumps(row), flush=True)


def fastest(work, runs=3):
    best, made = float("inf"), None
    for _ in range(runs):
        start = time.perf_counter()
        with contextlib.redirect_stdout(sys.stderr):
            made = work()
        best = min(best, time.perf_counter() - start)
    return best, made


plain, prefixes = ["I"] * 14, ["P"] * 5 + ["I"] * 9
for job, bases, ways in [
    ("plan Adult, 1-way", plain, (1, 1)),
    ("plan Adult, 2-way", plain, (2, 2)),
    ("plan Adult, 3-way", plain, (3, 3)),
    ("plan Adult, up to 3-way", plain, (0, 3)),
    ("plan Adult, prefixes up to 3-way", prefixes, (0, 3)),
]:
    seconds, (_, error) = fastest(lambda: plan(ADULT, bases, ways), runs=1 if bases is prefixes else 3)
    show(job, seconds, error)
seconds, (_, error) = fastest(lambda: plan([10] * 100, ["I"] * 100, (0, 3)), runs=1)
show("plan 100 attributes of 10 values, up to 3-way", seconds, error)

random = np.random.default_rng(1)
columns = {
    str(place): (random.random(ROWS) * random.random(ROWS) * size).astype(int) for place, size in enumerate(ADULT)
}
data = pd.DataFrame(columns)
for kind, bases in [("", plain), ("prefixes ", prefixes)]:
    with contextlib.redirect_stdout(sys.stderr):
        system, _ = plan(ADULT, bases, (0, 3))
    system.input_data(data, list(data.columns))
    seconds, _ = fastest(system.measurement, runs=1)
    show(f"measure 1,000,000 rows, {kind}up to 3-way", seconds)
    seconds, _ = fastest(system.reconstruction, runs=1)
    show(f"reconstruct 470 tables, {kind}up to 3-way", seconds)
