"""Numbers on their way to exact arithmetic: as decimals in text, so that none is rounded on the way."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Union

from deniable._errors import ParameterError

Number = Union[int, float, str, Decimal]


def decimal_text(number: Number, what: str) -> str:
    """The number as a decimal: of a float the shortest that means it, so 0.1 is one tenth.

    >>> decimal_text(0.1, "ε"), decimal_text(1, "ε"), decimal_text("1e-6", "δ")
    ('0.1', '1', '1e-6')
    """
    if isinstance(number, str):
        return number.strip()
    # NumPy's scalars are numbers too, and not among Python's own.
    if not isinstance(number, (bool, int, float, Decimal, Fraction)) and hasattr(number, "item"):
        number = number.item()
    if isinstance(number, bool) or not isinstance(number, (int, float, Decimal)):
        raise ParameterError(f"{what} is no number", "give a number or a decimal as text, as in 0.5 or '0.5'")
    if isinstance(number, int):
        return str(number)
    if not math.isfinite(number):
        raise ParameterError(f"{what} is not finite", "give a positive number such as 0.5")
    return repr(number) if isinstance(number, float) else str(number)


def optional_text(number: Number | None, what: str) -> str | None:
    """The same, for what may be left out."""
    return None if number is None else decimal_text(number, what)
