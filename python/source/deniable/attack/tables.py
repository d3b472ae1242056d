"""Columns of tables of any library."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from deniable import _deniable, _read
from deniable._errors import ParameterError


def named(name: str, columns: Any) -> list[str]:
    """Names of columns that the caller lists."""
    names = [columns] if isinstance(columns, str) else _read.items(name, columns)
    if not names or not all(isinstance(column, str) for column in names) or len(set(names)) < len(names):
        raise ParameterError(f"{name} must name at least one column, each of them once", f'write {name}=["zip", "born"]')
    return names


def names_of(table: Any) -> list[str]:
    """What the columns of a table are called."""
    if isinstance(table, Mapping):
        return named("the table", list(table))
    for attribute in ("column_names", "columns"):
        names = getattr(table, attribute, None)
        if names is not None and not callable(names):
            listed = list(names)
            if all(isinstance(name, str) for name in listed):
                return named("the table", listed)
    if hasattr(table, "__arrow_c_stream__"):
        return named("the table", _deniable.attack_columns(table))
    raise _no_table()


def _no_table() -> ParameterError:
    return ParameterError(
        "this is no table", "give a data frame that exports Arrow (pandas, polars, pyarrow, duckdb), or a dict of columns"
    )


def column_of(table: Any, name: str) -> list[Any]:
    """The values of one column."""
    try:
        values = table[name]
    except (KeyError, IndexError, TypeError, ValueError):
        values = None
    except Exception as error:  # polars has its own exception for a missing column
        if type(error).__name__ != "ColumnNotFoundError":
            raise
        values = None
    if values is None:
        raise ParameterError(f"there is no column `{name}`", "names are taken to the letter")
    return _read.items(f"the column `{name}`", values)


def coded_table(names: list[str], tables: list[tuple[Any, list[str]]]) -> _deniable.CodedTable:
    """Rows of these columns of several tables, below one another, as numbers that are equal where values are."""
    coded = _deniable.CodedTable(names)
    for table, columns in tables:
        push(coded, table, columns)
    return coded


def push(coded: _deniable.CodedTable, table: Any, columns: list[str]) -> None:
    """Adds the rows of one more table."""
    if not isinstance(table, Mapping):
        if not hasattr(table, "__arrow_c_stream__"):
            raise _no_table()
        try:
            coded.push_stream(table, columns)
            return
        except ImportError:
            # pandas exports Arrow only beside pyarrow; its columns can be read without.
            pass
    coded.push_columns([[_read.clean(_text(value)) for value in column_of(table, name)] for name in columns])


def _text(value: Any) -> str:
    """A value as Arrow writes it, so that tables of different libraries can be linked."""
    if isinstance(value, str):
        return value
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        if math.isnan(value):
            return ""
        return str(int(value)) if value.is_integer() and abs(value) < 1e16 else repr(float(value))
    if isinstance(value, bytes):
        return value.hex()
    written = getattr(value, "isoformat", None)
    if callable(written):
        return str(written())
    item = getattr(value, "item", None)
    if callable(item) and getattr(value, "shape", None) == ():
        return _text(item())
    return str(value)
