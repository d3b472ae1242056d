"""The peers that are called from Python: numpy's floating-point generators and OpenDP's measurements.

Prints one JSON object a line, in the form of `Row` in src/measure.rs. A `scalar` row makes one call a
sample, a `vector` row one call for a whole array: the difference is what crossing into Rust costs.
"""

import json
import sys
import time
from collections.abc import Callable
from fractions import Fraction

import numpy
import opendp.prelude as dp

REPETITIONS = 5
REPETITION_SECONDS = 0.2
GRID_EXPONENT = -20
SCALES = {
    "1": Fraction(1),
    "10": Fraction(10),
    "1000": Fraction(1000),
    "12345.678": Fraction(12345678, 1000),
    "1e9/7": Fraction(10**9, 7),
}

dp.enable_features("contrib")


def measure(library: str, sampler: str, noise: str, scale: str, call: Callable[[], object], samples: int) -> None:
    """Times `call`, which makes `samples` samples, and prints the row."""
    calls = 0
    start = time.perf_counter()
    while time.perf_counter() - start < REPETITION_SECONDS:
        call()
        calls += 1
    seconds = []
    for _ in range(REPETITIONS):
        start = time.perf_counter()
        for _ in range(calls):
            call()
        seconds.append(time.perf_counter() - start)
    total = calls * samples
    row = dict(library=library, sampler=sampler, noise=noise, scale=scale, samples=total, seconds=seconds)
    print(json.dumps(row), flush=True)
    print(f"  {library:<14} {sampler:<32} {scale:>10} {total / min(seconds) / 1e6:>10.3f} M/s", file=sys.stderr)


def numpy_rows() -> None:
    """Floating-point noise: fast, and not private in its low bits. It is here as the speed people are used to."""
    generator = numpy.random.default_rng()
    size = 1 << 14
    for scale, exact in SCALES.items():
        nearest = float(exact)
        measure(
            "numpy", "laplace (float)", "laplace", scale, lambda: generator.laplace(0.0, nearest, size), size
        )
        measure(
            "numpy", "normal (float)", "gaussian", scale, lambda: generator.normal(0.0, nearest, size), size
        )


def opendp_rows() -> None:
    """OpenDP as its users call it, with the OpenSSL entropy of its wheels."""
    size = 1 << 10
    # Off its finest grid OpenDP must know the length of a vector of floats.
    integers, reals = dp.atom_domain(T=int), dp.atom_domain(T=float, nan=False)
    vector_of = dp.vector_domain
    jobs = [
        ("make_laplace", "laplace", dp.m.make_laplace, dp.absolute_distance, dp.l1_distance),
        ("make_gaussian", "gaussian", dp.m.make_gaussian, dp.absolute_distance, dp.l2_distance),
    ]
    for name, noise, make, scalar_metric, vector_metric in jobs:
        for scale, exact in SCALES.items():
            nearest = float(exact)
            scalar = make(integers, scalar_metric(T=int), nearest)
            measure("OpenDP Python", f"{name}, int scalar", noise, scale, lambda: scalar(0), 1)
            vector = make(vector_of(integers), vector_metric(T=int), nearest)
            zeros = [0] * size
            measure("OpenDP Python", f"{name}, int vector", noise, scale, lambda: vector(zeros), size)
            real = make(vector_of(reals, size=size), vector_metric(T=float), nearest, k=GRID_EXPONENT)
            values = [1234.5] * size
            measure("OpenDP Python", f"{name}, float vector", f"real {noise}", scale, lambda: real(values), size)


if __name__ == "__main__":
    numpy_rows()
    opendp_rows()
