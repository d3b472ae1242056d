"""What callers give, as what the extension module takes.

Numbers are read exactly, columns of any library as lists. Errors name a parameter and a place, never a value.
"""

from __future__ import annotations

import math

from deniable._errors import ParameterError
from deniable._numbers import text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def optional(name: str, value: Any) -> str | None:
    """The same, where None is no number at all."""
    return None if value is None else text_of(name, value)


def whole(name: str, value: Any, least: int, most: int) -> int:
    """A whole number within bounds."""
    from numbers import Integral

    if isinstance(value, bool) or not isinstance(value, Integral) or not least <= int(value) <= most:
        raise ParameterError(f"{name} must be a whole number from {least} to {most}", f"write it as {name}={least}")
    return int(value)


def probability(name: str, value: Any) -> float:
    """A number strictly between 0 and 1."""
    number = one_float(name, value)
    if not 0.0 < number < 1.0:
        raise ParameterError(f"{name} must lie strictly between 0 and 1", f"write it as {name}=0.95")
    return number


def one_float(name: str, value: Any) -> float:
    """A number that may be rounded."""
    try:
        if isinstance(value, (bool, str, bytes)):
            raise TypeError
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise ParameterError(f"{name} must be a number", f"write it as {name}=0.5") from None
    if math.isnan(number):
        raise ParameterError(f"{name} is not a number", f"write it as {name}=0.5")
    return number


def clean(text: str) -> str:
    """Text that can leave Python: a lone half of a pair of surrogates, which no error may quote, becomes a question mark."""
    return text.encode("utf-8", "replace").decode("utf-8")


def items(name: str, values: Any) -> list[Any]:
    """The entries of a list, an array, or a column of any library."""
    if isinstance(values, (str, bytes, dict)) or values is None:
        raise ParameterError(f"{name} must be a list or a column", "give a list, a NumPy array, or a column of a table")
    for method in ("to_pylist", "tolist", "to_list"):
        made = getattr(values, method, None)
        if callable(made):
            values = made()
            break
    try:
        return list(values)
    except TypeError:
        raise ParameterError(
            f"{name} must be a list or a column", "give a list, a NumPy array, or a column of a table"
        ) from None


def floats(name: str, values: Any) -> list[float]:
    """Numbers that may be rounded and are all finite."""
    numbers = []
    for place, value in enumerate(items(name, values)):
        try:
            if isinstance(value, (str, bytes)):
                raise TypeError
            number = float(value)
        except (TypeError, ValueError, OverflowError):
            number = math.nan
        if not math.isfinite(number):
            raise ParameterError(
                f"{name} has no finite number in place {place}", "places are counted from 0; leave out what is missing"
            )
        numbers.append(number)
    return numbers


def flags(name: str, values: Any) -> list[bool]:
    """True and False, or 1 and 0."""
    read = []
    for place, value in enumerate(items(name, values)):
        if value is True or value is False:
            read.append(value)
            continue
        try:
            known = not isinstance(value, (str, bytes)) and value in (0, 1)
        except (TypeError, ValueError):
            known = False
        if not known:
            raise ParameterError(
                f"{name} is neither true nor false in place {place}", "places are counted from 0; write True and False, or 1 and 0"
            )
        read.append(bool(value))
    return read
