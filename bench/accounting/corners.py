"""Holds the cases that `corners --out` wrote against dp-accounting and prv-accountant.

Both of our ends have to be consistent with theirs: our lower end is not above a peer's upper end, and our upper end is not below
prv-accountant's lower end. dp-accounting's pessimistic PLD is an upper end only. A peer that fails or gives a number that is none says
nothing. Usage: corners.py cases.jsonl [how many, 100 unless told]
"""

import json
import math
import sys
import warnings
from collections.abc import Callable

import dp_accounting
from dp_accounting.pld import PLDAccountant
from prv_accountant import PoissonSubsampledGaussianMechanism, PRVAccountant


def google(case: dict) -> tuple[float, float]:
    step = dp_accounting.PoissonSampledDpEvent(case["rate"], dp_accounting.GaussianDpEvent(case["sigma"]))
    # Fine enough for ε, coarse enough for memory.
    interval = max(1e-5, case["upper"] / 2000)
    accountant = PLDAccountant(value_discretization_interval=interval)
    return -math.inf, accountant.compose(step, case["steps"]).get_epsilon(case["delta"])


def microsoft(case: dict) -> tuple[float, float]:
    mechanism = PoissonSubsampledGaussianMechanism(
        noise_multiplier=case["sigma"], sampling_probability=case["rate"]
    )
    accountant = PRVAccountant(
        [mechanism],
        eps_error=max(0.01, case["upper"] / 100),
        delta_error=case["delta"] / 1000,
        max_self_compositions=[case["steps"]],
    )
    low, _, high = accountant.compute_epsilon(case["delta"], [case["steps"]])
    return low, high


def held(case: dict, peer: Callable[[dict], tuple[float, float]]) -> bool | None:
    try:
        low, high = peer(case)
    except Exception:
        return None
    if math.isnan(low) or math.isnan(high):
        return None
    slack = 1e-9 * (1 + case["upper"])
    return case["lower"] <= high + slack and low <= case["upper"] + slack


def main() -> int:
    warnings.simplefilter("ignore")
    with open(sys.argv[1], encoding="utf-8") as file:
        cases = [json.loads(line) for line in file]
    # Their memory does not suffice for an ε in the thousands.
    cases = [case for case in cases if case["upper"] < 100]
    wrong = 0
    for name, peer in (("dp-accounting", google), ("prv-accountant", microsoft)):
        results = [(case, held(case, peer)) for case in cases[: int(sys.argv[2]) if len(sys.argv) > 2 else 100]]
        known = [result for _, result in results if result is not None]
        print(f"{name}: {len(known)} of {len(results)} cases answered, {known.count(False)} inconsistent")
        for case, result in results:
            if result is False:
                print(f"  {case}: {peer(case)}")
        wrong += known.count(False)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
