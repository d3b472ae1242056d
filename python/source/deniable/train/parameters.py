"""Parameters of a run as the crates take them. All of them are public."""

from __future__ import annotations

import math
import os

from deniable import _deniable
from deniable._errors import ParameterError
from deniable.train.columns import as_float, identifier, plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def number_of(value: Any, what: str = "this") -> str:
    """A number as the crates read it."""
    if isinstance(value, str):
        return value
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ParameterError(f"{what} is no number", "give a number such as 1.0") from None
    return repr(int(number)) if number.is_integer() and abs(number) < 1e15 else repr(number)


def about(value: Any) -> float:
    """A number that decides about no privacy: 0 for what is none, which is refused where it matters."""
    number = as_float(value)
    return number if math.isfinite(number) and number > 0 else 0.0


def pair(bounds: Any, what: str) -> tuple[float, float]:
    """The lowest and the highest value."""
    try:
        low, high = (float(bound) for bound in bounds)
    except (TypeError, ValueError):
        raise ParameterError(f"{what} are not two numbers", "give the lowest and the highest: (0, 100)") from None
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ParameterError(f"{what} are not in order", "the lowest comes first, and both are finite: (0, 100)")
    return low, high


def usual(size: int | None, epsilon: float) -> tuple[int, int, float]:
    """Steps, batch and the rate of gradient descent for about so many units: what did best on generated tables of 1,000
    to 30,000 rows. The more units and the larger ε, the smaller is the noise beside what there is to learn, and the
    further a run may go. Each unit is expected in twelve or thirteen batches; in fewer, down to six, where there are so
    many that twelve took twice the time for the same accuracy, on the one table of 39,000 rows that was tried."""
    if size is None:
        return 100, 256, 0.5
    signal = size * min(epsilon, 10.0) / 5000 if epsilon > 0 else 0.0
    wanted = max(100 * signal**0.7, 50)
    steps = round(min(wanted, 200))
    batches = 12.5 * min(max(200 / wanted, 0.5), 1)
    batch = min(size, max(1, round(batches * size / steps)))
    return steps, batch, min(max(0.5 * signal**1.3, 0.1), 8.0)


def size_of(size: Any, neighbors: str | None, groups: Any, rows: int) -> int | None:
    """About how many units there are, where a run does not find it out itself."""
    if size is None:
        return None
    if isinstance(size, str):
        if size == "public":
            return None if neighbors == "change_one" else max(1, units_of(groups, rows))
        raise ParameterError("size is neither a number nor \"public\"", "say about how many units there are: size=50000")
    return whole(size, "size")


def units_of(groups: Any, rows: int) -> int:
    """How many units there are: for a caller who declared that this is no secret."""
    if groups is None:
        return rows
    return len({identifier(value) for value in plain(groups)} - {None})


def whole(value: Any, what: str) -> int:
    """A whole number of at least 1."""
    try:
        number = int(value)
    except (TypeError, ValueError):
        raise ParameterError(f"{what} is no whole number", "give one of at least 1") from None
    if number < 1 or number != value:
        raise ParameterError(f"{what} is no whole number of at least 1", "give one, such as 256")
    return number


def seed_of(random_state: Any) -> int:
    """The seed of the initial weights; noise and batches do not follow from it."""
    if random_state is None:
        return 1
    if isinstance(random_state, int) or hasattr(random_state, "__index__"):
        return int(random_state) % 2**63
    if hasattr(random_state, "randint"):
        return int(random_state.randint(2**31 - 1))
    raise ParameterError("random_state is no whole number", "give one, such as 1; noise never follows from it")


def budget_of(budget: Any) -> tuple[str, str] | None:
    """What all releases of a new ledger may cost together."""
    if budget is None:
        return None
    try:
        epsilon, delta = budget
    except (TypeError, ValueError):
        raise ParameterError("budget is not ε and δ", "give what all releases together may cost: (3, 1e-5)") from None
    return number_of(epsilon, "the ε of budget"), number_of(delta, "the δ of budget")


def device_of(device: str, large: bool) -> str:
    """Where a run is computed. A small model is done on a processor before a GPU has started."""
    if device != "auto":
        return device
    return "cuda" if large and _deniable.cuda_is_there() else "cpu"


def analyst_of(name: str | None) -> str:
    """Who trains, for the ledger."""
    if name is not None:
        return name
    for variable in ("DENIABLE_ANALYST", "USER", "LOGNAME"):
        found = os.environ.get(variable, "").strip()
        if found:
            return found
    return "analyst"


def weights_of(sample_weight: Any, count: int) -> list[float]:
    """How much each row counts in a score."""
    return [1.0] * count if sample_weight is None else [float(weight) for weight in sample_weight]
