"""A description of what was published, as the TOML that the attacks read."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from typing import Any

from deniable import _read
from deniable._errors import FileError, ParameterError
from deniable._toml import text


def document(table: Any, plural: dict[str, str], suppressed: str = "") -> str:
    """A description as TOML."""
    if isinstance(table, os.PathLike) or (isinstance(table, str) and "\n" not in table):
        try:
            with open(table, encoding="utf-8") as file:
                return file.read(1 << 22)
        except (OSError, UnicodeDecodeError):
            raise FileError("the table cannot be read", "give a dict, the text of a TOML document, or the path of one") from None
    if isinstance(table, str):
        return table
    if not isinstance(table, Mapping):
        raise ParameterError("the table must be a dict or a document", "help(deniable.attack.reconstruct) shows its form")
    named = {plural.get(str(key), str(key)): value for key, value in table.items()}
    lines = [f"{text(str(key))} = {_toml(value, suppressed)}" for key, value in named.items() if value is not None]
    return "\n".join(lines) + "\n"


def _toml(value: Any, suppressed: str) -> str:
    """A value within one line of TOML; None is left out of tables, and in lists what stands for suppressed."""
    from decimal import Decimal
    from numbers import Integral

    if isinstance(value, str):
        return text(value)
    if value is True or value is False:
        return "true" if value else "false"
    if isinstance(value, Integral):
        return str(int(value))
    if isinstance(value, Decimal) and value.is_finite():
        return format(value, "f")
    if isinstance(value, float) and math.isfinite(value):
        # Exponents are no way to print a mean.
        return format(Decimal(repr(float(value))), "f")
    if isinstance(value, range) and len(value) > 0 and value.step == 1:
        return f"{{ from = {value[0]}, to = {value[-1]} }}"
    if isinstance(value, Mapping):
        entries = (f"{text(str(key))} = {_toml(entry, suppressed)}" for key, entry in value.items() if entry is not None)
        return "{ " + ", ".join(entries) + " }"
    if value is None and suppressed:
        return suppressed
    if isinstance(value, (list, tuple)) or hasattr(value, "tolist"):
        return "[" + ", ".join(_toml(entry, suppressed) for entry in _read.items("the table", value)) + "]"
    raise ParameterError(
        "the table holds a value that no published table has", "write numbers, texts, lists, dicts and ranges; None where it was suppressed"
    )
