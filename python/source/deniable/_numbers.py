"""Numbers as they were written.

A parameter of a guarantee is kept exactly. A float stands for the decimal that Python prints for it: 0.1 is one tenth,
and not the float next to it.

What a release costs is never shown as less than it is, and what is left never as more: where digits are dropped, a cost is
rounded up and what is left is rounded down.
"""

from __future__ import annotations

import operator

from deniable._errors import ParameterError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from decimal import Decimal
    from fractions import Fraction
    from typing import Any, SupportsFloat, Union

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
    import re

    text = text_of(name, number)
    if "/" in text:
        raise ParameterError(f"{name} is a fraction", "give a decimal such as 0.25")
    # It is written into SQL and catalogs as it stands. So it must not be able to mean anything else there.
    if re.fullmatch(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?", text) is None:
        raise ParameterError(f"{name} is not a decimal", "give a decimal such as 0.25")
    return text


def optional_text(number: Any, name: str) -> str | None:
    """A decimal that may be left out."""
    return None if number is None else decimal_text(number, name)


def _of_float(name: str, number: float) -> str:
    if number != number or number in (float("inf"), float("-inf")):
        raise ParameterError(f"{name} is not finite", "give a number such as 0.5")
    return repr(number)


def at_least(text: Any) -> float:
    """The smallest float that prints as no less than this: for what was spent.

    >>> at_least("0.1"), at_least("0.10000000000000000001")
    (0.1, 0.10000000000000002)
    """
    return _safe(text, up=True)


def at_most(text: Any) -> float:
    """The largest float that prints as no more than this: for what is left.

    >>> at_most("0.1"), at_most("0.09999999999999999999")
    (0.1, 0.09999999999999999)
    """
    return _safe(text, up=False)


def _safe(text: Any, up: bool) -> float:
    import math
    from fractions import Fraction

    written = str(text)
    number = float(Fraction(written)) if "/" in written else float(written)
    if math.isfinite(number):
        printed, exact = Fraction(repr(number)), Fraction(written)
        # Every number that rounds to the next float is beyond those that round to this one, so one step is enough.
        if up and printed < exact:
            return math.nextafter(number, math.inf)
        if not up and printed > exact:
            return math.nextafter(number, -math.inf)
    return number


def shown_up(value: float, digits: int = 4) -> str:
    """A number for people that is not below what it stands for: a cost, an upper bound.

    >>> shown_up(0.50001, 2), shown_up(0.5, 2), shown_up(99.96, 3)
    ('0.51', '0.5', '100')
    """
    return _cut(value, digits, "ROUND_CEILING")


def shown_down(value: float, digits: int = 4) -> str:
    """A number for people that is not above what it stands for: what is left, a lower bound.

    >>> shown_down(0.59999, 2), shown_down(0.5, 2)
    ('0.59', '0.5')
    """
    return _cut(value, digits, "ROUND_FLOOR")


def _cut(value: float, digits: int, rounding: str) -> str:
    from decimal import Context, Decimal

    # With so few digits nothing is left to round when it is printed.
    return f"{float(Context(prec=digits, rounding=rounding).plus(Decimal(repr(float(value))))):.{digits}g}"


def shown(value: float, digits: int = 4) -> str:
    """A number for people, to the nearest. What bounds a guarantee is rounded to its safe side instead: see ``shown_up``."""
    return f"{value:.{digits}g}"


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
