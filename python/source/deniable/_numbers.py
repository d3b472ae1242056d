"""Numbers as they were written.

A parameter of a guarantee is kept exactly. A float stands for the decimal that Python prints for it: 0.1 is one tenth,
and not the float next to it.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, SupportsFloat, Union

from deniable._errors import ParameterError

if TYPE_CHECKING:
    from decimal import Decimal
    from fractions import Fraction

    Number = Union[int, float, str, Decimal, Fraction, SupportsFloat]


def text_of(name: str, number: Any) -> str:
    """The exact text of a parameter: ``0.1``, ``1/3``, ``1e-06``."""
    if isinstance(number, str):
        return number.strip()
    if isinstance(number, bool) or number is None:
        raise ParameterError(f"{name} is not a number", "give a number such as 0.5, or its text such as '1/3'")
    if isinstance(number, int):
        return str(number)
    if isinstance(number, float):
        return _of_float(name, float(number))
    if hasattr(number, "__index__"):
        return str(operator.index(number))
    if hasattr(number, "numerator") and hasattr(number, "denominator"):
        return f"{number.numerator}/{number.denominator}"
    if hasattr(number, "as_tuple"):
        return str(number)
    try:
        return _of_float(name, float(number))
    except (TypeError, ValueError):
        raise ParameterError(
            f"{name} is not a number", "give a number such as 0.5, or its text such as '1/3'"
        ) from None


def decimal_text(number: Any, name: str) -> str:
    """The same for places that read decimals alone, as SQL does: there ``1/3`` would be a division of whole numbers.

    >>> decimal_text(0.1, "ε"), decimal_text(1, "ε"), decimal_text("1e-6", "δ")
    ('0.1', '1', '1e-6')
    """
    text = text_of(name, number)
    if "/" in text:
        raise ParameterError(f"{name} is a fraction", "give a decimal such as 0.25")
    return text


def optional_text(number: Any, name: str) -> str | None:
    """A decimal that may be left out."""
    return None if number is None else decimal_text(number, name)


def _of_float(name: str, number: float) -> str:
    if number != number or number in (float("inf"), float("-inf")):
        raise ParameterError(f"{name} is not finite", "give a number such as 0.5")
    return repr(number)


def count_of(name: str, number: Any, least: int = 0) -> int:
    """A whole number that is at least ``least``."""
    try:
        if isinstance(number, bool):
            raise TypeError
        count = number if isinstance(number, int) else operator.index(number)
    except TypeError:
        raise ParameterError(f"{name} is not a whole number", "give a number such as 100") from None
    if not least <= count < 2**63:
        raise ParameterError(f"{name} is below {least} or too large", "give a number such as 100")
    return count
