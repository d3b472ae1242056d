"""The simple events in an event, each as a ledger writes it, with how often it runs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from deniable import _deniable
from deniable._errors import ParameterError
from deniable._numbers import text_of

if TYPE_CHECKING:
    from fractions import Fraction

    from deniable._numbers import Number

# What runs, and how often.
Leaves = dict[str, int]


def add(leaves: Leaves, more: Leaves, times: int = 1) -> None:
    """Adds ``more``, so many times, to ``leaves``."""
    for leaf, often in more.items():
        total = leaves.get(leaf, 0) + often * times
        if total >= 2**63:
            raise ParameterError("an event is repeated more than 9e18 times", "nothing runs that often; check the number")
        if total:
            leaves[leaf] = total


def leaves_of(tree: dict[str, Any]) -> Leaves:
    """Those of an event as a ledger writes it."""
    leaves: Leaves = {}
    ((kind, inner),) = tree.items()
    if kind == "composed":
        for part in inner:
            add(leaves, leaves_of(part))
    elif kind == "repeated":
        add(leaves, leaves_of(inner["event"]), inner["times"])
    else:
        leaves[json.dumps(tree, separators=(",", ":"))] = 1
    return leaves


def leaf(kind: str, **inner: Any) -> Leaves:
    """One simple event, checked."""
    text = json.dumps({kind: inner}, separators=(",", ":"))
    return {_deniable.event_checked(text): 1}


def inverse(name: str, number: Number) -> str:
    """One over a positive number, exactly."""
    value = fraction(name, number)
    if value <= 0:
        raise ParameterError(f"{name} is not positive", "it is the scale of the noise over the sensitivity, such as 2")
    found = 1 / value
    return f"{found.numerator}/{found.denominator}"


def fraction(name: str, number: Number) -> Fraction:
    """A number, exactly."""
    from fractions import Fraction

    try:
        return Fraction(text_of(name, number))
    except (ValueError, ZeroDivisionError):
        raise ParameterError(f"{name} is not a number", "give a number such as 0.5, or its text such as '1/3'") from None


def one_gaussian(leaves: Leaves) -> str | None:
    """The squared noise multiplier of the one Gaussian that is the same as all of these, if they are Gaussian alone.

    Several Gaussians on the same data are one on a longer vector, and the squares of distance over noise add up.
    """
    from fractions import Fraction

    total = Fraction(0)
    for leaf, times in leaves.items():
        ((kind, inner),) = json.loads(leaf).items()
        if kind != "gaussian" or inner["on"] != "rounded":
            return None
        if len(leaves) == 1 and times == 1:
            return str(inner["multiplier_squared"])
        total += times / Fraction(inner["multiplier_squared"])
    if not total:
        return None
    square = 1 / total
    # What an event keeps has at most 300 characters. Rounded down, which is more cost.
    if len(str(square)) > 250:
        places = 10**60
        square = Fraction(int(square * places), places)
    return f"{square.numerator}/{square.denominator}"
