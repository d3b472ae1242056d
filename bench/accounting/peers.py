"""The peers: Google's dp-accounting (PLD and RDP) and Microsoft's prv-accountant, on the cases of cases.json.

Prints one JSON object a line, in the form of `Row` in src/main.rs. A call goes from the parameters to the answer, with a
fresh accountant each time. With BENCH_FULL set, the one setting that takes minutes is measured too.
"""

import json
import math
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from fractions import Fraction
from importlib.metadata import version
from pathlib import Path

import dp_accounting
import numpy
from dp_accounting.pld import PLDAccountant
from dp_accounting.rdp import RdpAccountant
from prv_accountant import GaussianMechanism, LaplaceMechanism, PoissonSubsampledGaussianMechanism, PRVAccountant
from prv_accountant.dpsgd import find_noise_multiplier

FULL = bool(os.environ.get("BENCH_FULL"))
# Calls after the first, unless they take longer than this. The same in src/ours.rs.
CALLS = 7
ENOUGH_SECONDS = 2.0

Answer = dict[str, float]
Job = tuple[str, Callable[[], Answer]]


def number(text: str) -> float:
    return float(Fraction(text))


def upper(value: float) -> Answer:
    return {"upper": value}


def interval(ends: tuple[float, float, float]) -> Answer:
    return dict(zip(("lower", "estimate", "upper"), ends))


def pld(interval: float) -> Callable[[], PLDAccountant]:
    return lambda: PLDAccountant(value_discretization_interval=interval)


def training_event(rate: float, multiplier: float, steps: int) -> dp_accounting.DpEvent:
    step = dp_accounting.PoissonSampledDpEvent(rate, dp_accounting.GaussianDpEvent(multiplier))
    return dp_accounting.SelfComposedDpEvent(step, steps)


def prv(mechanisms: Callable[[], list], steps: list[int], delta: float, error: float) -> Answer:
    # A thousandth of δ is the error in δ that the library's documentation recommends.
    accountant = PRVAccountant(mechanisms(), eps_error=error, delta_error=delta / 1000, max_self_compositions=steps)
    return interval(accountant.compute_epsilon(delta, steps))


def training(case: dict, delta: float) -> Iterator[Job]:
    rate, multiplier, steps = number(case["rate"]), number(case["multiplier"]), case["steps"]
    event = training_event(rate, multiplier, steps)
    yield "dp-accounting PLD 1e-4", lambda: upper(pld(1e-4)().compose(event).get_epsilon(delta))
    yield "dp-accounting RDP", lambda: upper(RdpAccountant().compose(event).get_epsilon(delta))
    mechanism = lambda: [PoissonSubsampledGaussianMechanism(noise_multiplier=multiplier, sampling_probability=rate)]
    yield "prv-accountant 0.01", lambda: prv(mechanism, [steps], delta, 0.01)


def mixed(case: dict, delta: float) -> Iterator[Job]:
    line = lambda spec: numpy.linspace(number(spec["from"]), number(spec["to"]), spec["count"])
    laplaces, gaussians = line(case["laplace"]), line(case["gaussian"])
    event = dp_accounting.ComposedDpEvent(
        [dp_accounting.LaplaceDpEvent(1 / epsilon) for epsilon in laplaces]
        + [dp_accounting.GaussianDpEvent(multiplier) for multiplier in gaussians]
    )
    yield "dp-accounting PLD 1e-3", lambda: upper(pld(1e-3)().compose(event).get_epsilon(delta))
    yield "dp-accounting PLD 1e-4", lambda: upper(pld(1e-4)().compose(event).get_epsilon(delta))
    yield "dp-accounting RDP", lambda: upper(RdpAccountant().compose(event).get_epsilon(delta))
    mechanisms = lambda: [LaplaceMechanism(epsilon) for epsilon in laplaces] + [GaussianMechanism(s) for s in gaussians]
    # Not 0.01, also not in full: it keeps 1200 grids at once, more than 9 GB of them.
    yield "prv-accountant 0.1", lambda: prv(mechanisms, [1] * (len(laplaces) + len(gaussians)), delta, 0.1)


def calibration(case: dict, delta: float) -> Iterator[Job]:
    rate, steps, epsilon = number(case["rate"]), case["steps"], number(case["epsilon"])
    event = lambda multiplier: training_event(rate, multiplier, steps)
    calibrate = lambda accountant: upper(dp_accounting.calibrate_dp_mechanism(accountant, event, epsilon, delta))
    yield "dp-accounting PLD 1e-4", lambda: calibrate(pld(1e-4))
    yield "dp-accounting RDP", lambda: calibrate(RdpAccountant)
    for error in (0.1, 0.01) if FULL else (0.1,):
        search = lambda error=error: upper(find_noise_multiplier(rate, steps, epsilon, delta, eps_error=error))
        yield f"prv-accountant {error}", search


def measure(case: str, tool: str, call: Callable[[], Answer]) -> None:
    """Times `call` and prints the row; that a peer has no answer is a row too."""
    row = dict(case=case, tool=tool, version=version(tool.split()[0]), lower=None, estimate=None, upper=None, error=None)
    seconds = []
    try:
        while not seconds or len(seconds) <= CALLS and sum(seconds) < ENOUGH_SECONDS:
            start = time.process_time()
            answer = call()
            seconds.append(time.process_time() - start)
        if not all(map(math.isfinite, answer.values())):
            raise ArithmeticError(f"the answer is {answer}")
        row.update({end: float(value) for end, value in answer.items()})
    except Exception as error:
        seconds = seconds or [time.process_time() - start]
        row["error"] = f"{type(error).__name__}: {error}"
    print(json.dumps(row | {"seconds": seconds}), flush=True)
    print(f"  {case:<14} {tool:<26} {min(seconds) * 1e3:>9.1f} ms", file=sys.stderr)


if __name__ == "__main__":
    # Overflow in tails that do not matter; the peers warn by the page.
    warnings.simplefilter("ignore")
    plans = {"training": training, "mixed": mixed, "calibration": calibration}
    for case in json.loads(Path(__file__).with_name("cases.json").read_text(encoding="utf-8")):
        for tool, call in plans[case["plan"]](case, number(case["delta"])):
            measure(case["name"], tool, call)
