"""Values as TOML writes them, so that each means itself whatever is in it."""

from __future__ import annotations

from typing import Any

from deniable._errors import ParameterError
from deniable._numbers import decimal_text


def text(value: str) -> str:
    """A text of TOML.

    >>> text('a "b"')
    '"a \\\\"b\\\\""'
    """
    if not isinstance(value, str):
        raise ParameterError("a name is no text", "give names of tables, columns and units as text")
    escaped = []
    for character in value:
        if character in '"\\':
            escaped.append("\\" + character)
        elif ord(character) < 32 or ord(character) == 127:
            escaped.append(f"\\u{ord(character):04x}")
        else:
            escaped.append(character)
    return '"' + "".join(escaped) + '"'


def whole(value: int, what: str) -> str:
    """A count."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ParameterError(f"{what} is no count", "give a whole number from 1 on")
    return str(value)


def constant(value: Any) -> str:
    """A public value: a number, a truth value, a text, a day or a moment."""
    import datetime

    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return text(value)
    if isinstance(value, (datetime.datetime, datetime.date)):
        return text(value.isoformat(" ") if isinstance(value, datetime.datetime) else value.isoformat())
    # TOML writes an exponent after a fraction or a whole number, as Python does.
    return decimal_text(value, "a declared value")
