"""Synthetic rows: made of noisy counts alone, so safe to hand out; as many as wanted from one charge."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from deniable._answer import _needed
from deniable._errors import FileError, ParameterError
from deniable._html import ROWS_SHOWN, grid, lines
from deniable._numbers import at_least, at_most, count_of, optional_text

if TYPE_CHECKING:
    from deniable._deniable import ArrowTable
    from deniable._numbers import Number

_HEAD = 10
_BATCH = 1000
_METHODS = ("aim", "mst", "independent")


class _Rows(Protocol):
    """Rows that were drawn, here or on a server. Objects are JSON."""

    def told(self) -> str: ...

    def everything(self) -> str: ...

    def count(self) -> int: ...

    def slice(self, start: int, end: int) -> str: ...

    def table(self) -> ArrowTable: ...

    def written(self, parquet: bool) -> bytes: ...

    def page(self) -> str: ...


class _Made(Protocol):
    """What was measured, here or on a server."""

    def rows(self, count: int | None) -> _Rows: ...


def asked_for(
    table: str,
    *,
    epsilon: Number | None,
    delta: Number | None,
    method: str,
    workload: Iterable[str | Sequence[str]],
    columns: Iterable[str],
    bins: Mapping[str, int] | None,
    where: str | None,
    rows_per_unit: int | None,
    model_cells: int | None,
) -> str:
    """The request, as it is sent."""
    if not isinstance(table, str):
        raise ParameterError("the name of a table is no text", "write ds.synthesize('people', epsilon=1)")
    if method not in _METHODS:
        raise ParameterError("there is no such method", f"there are {', '.join(_METHODS)}")
    if isinstance(columns, str) or isinstance(workload, str):
        raise ParameterError("columns and workload are lists", "write columns=['age'], workload=[('age', 'income')]")
    tables = [[name] if isinstance(name, str) else list(name) for name in workload]
    asked: dict[str, Any] = {
        "table": table,
        "where": where,
        "columns": list(columns),
        "bins": {name: count_of("a number of bins", count, 1) for name, count in (bins or {}).items()},
        "workload": tables,
        "method": method,
        "model_cells": None if model_cells is None else count_of("model_cells", model_cells, 1),
        "rows_per_unit": None if rows_per_unit is None else count_of("rows_per_unit", rows_per_unit, 1),
        "epsilon": optional_text(epsilon, "ε"),
        "delta": optional_text(delta, "δ"),
    }
    names = [*asked["columns"], *(name for by in tables for name in by), *asked["bins"]]
    if not all(isinstance(name, str) for name in names):
        raise ParameterError("the name of a column is no text", "name columns by text")
    return json.dumps(asked)


class Synthetic:
    """Synthetic rows of a private table. Made by :meth:`deniable.Dataset.synthesize`.

    They follow from what was released and from nothing else, so they may be handed out, and more of them are free::

        made = ds.synthesize("people", epsilon=1)
        made.to_pandas()                    # also to_polars(), to_arrow(), pyarrow.table(made)
        made.write("people.parquet")
        made.with_rows(1_000_000)           # from the same charge
        made.report                         # which tables of them are good, and to which error
    """

    def __init__(self, made: _Made, count: int | None) -> None:
        self._made = made
        self._rows = made.rows(count)
        self._told: dict[str, Any] = json.loads(self._rows.told())

    def with_rows(self, rows: int | None) -> Synthetic:
        """So many rows of the same release; None for as many as there seem to be. Free, and the same number gives the same rows."""
        return Synthetic(self._made, None if rows is None else count_of("the number of rows", rows, 1))

    @property
    def table(self) -> str:
        """The private table."""
        table: str = self._told["table"]
        return table

    @property
    def columns(self) -> list[dict[str, str]]:
        """Name and kind of each column."""
        columns: list[dict[str, str]] = self._told["columns"]
        return columns

    @property
    def left_out(self) -> dict[str, str]:
        """Columns of the table of which no rows are made, each with the reason."""
        left_out: dict[str, str] = self._told["left_out"]
        return left_out

    @property
    def report(self) -> SyntheticReport:
        """How the rows compare with what was measured. The data is not looked at, so it is free."""
        return SyntheticReport(self._told, self._rows)

    @property
    def cost(self) -> str:
        """What it cost, in words."""
        guarantee: str = self._told["guarantee"]
        return guarantee

    @property
    def epsilon(self) -> float:
        """The ε of it."""
        return at_least(self._told["epsilon"])

    @property
    def delta(self) -> float:
        """The δ for which ε holds."""
        return at_least(self._told["delta"])

    @property
    def charge(self) -> int:
        """The number of the charge in the ledger that paid for it."""
        return int(self._told["cost"]["charge"])

    @property
    def repeated(self) -> bool:
        """Whether the same was measured before, so that it cost nothing now."""
        return bool(self._told["repeated"])

    @property
    def left(self) -> float:
        """The largest ε of one further release by whoever asked."""
        return at_most(self._told["left"]["epsilon"])

    @property
    def receipt(self) -> dict[str, Any] | None:
        """The signed receipt, if there is one."""
        receipt: dict[str, Any] | None = self._told.get("receipt")
        return receipt

    def head(self, rows: int = _HEAD) -> list[dict[str, Any]]:
        """The first rows, as dictionaries. Days and moments are text."""
        first: list[dict[str, Any]] = json.loads(self._rows.slice(0, count_of("the number of rows", rows)))
        return first

    def to_pandas(self) -> Any:
        """A data frame of pandas."""
        pandas = _needed("pandas")
        if hasattr(pandas.DataFrame, "from_arrow"):
            return pandas.DataFrame.from_arrow(self)
        return pandas.DataFrame(list(self), columns=[column["name"] for column in self.columns])

    def to_polars(self) -> Any:
        """A data frame of polars."""
        return _needed("polars").DataFrame(self)

    def to_arrow(self) -> Any:
        """A table of pyarrow."""
        return _needed("pyarrow").table(self)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Writes a file that ends in .csv or .parquet, whole or not at all."""
        name = os.fspath(path)
        ending = os.path.splitext(name)[1].lower()
        if ending not in (".csv", ".parquet"):
            raise ParameterError("the file ends in neither .csv nor .parquet", "write people.csv or people.parquet")
        write_whole(name, self._rows.written(ending == ".parquet"))

    def to_dict(self) -> dict[str, Any]:
        """Everything but the rows, as the command line writes it: cost, report, what was measured, and receipt."""
        everything: dict[str, Any] = json.loads(self._rows.everything())
        return everything

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._rows.table().__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        return self._rows.table().__arrow_c_schema__()

    def __len__(self) -> int:
        return self._rows.count()

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for start in range(0, len(self), _BATCH):
            yield from json.loads(self._rows.slice(start, start + _BATCH))

    def _cost_words(self) -> str:
        price = f"ε = {self._told['epsilon']}, δ = {self._told['delta']}"
        words = "free: it was measured before" if self.repeated else f"charged: {price}"
        return f"{words}; more rows of it are free; left: ε = {self._told['left']['epsilon']}"

    def __repr__(self) -> str:
        return f"Synthetic({self.table!r}): {len(self):,} rows of {len(self.columns)} columns; {self._cost_words()}"

    def _repr_html_(self) -> str:
        names = [column["name"] for column in self.columns]
        rows = [["NULL" if row[name] is None else row[name] for name in names] for row in self.head(ROWS_SHOWN)]
        below = [f"… and {len(self) - ROWS_SHOWN:,} more rows"] if len(self) > ROWS_SHOWN else []
        return grid(f"Synthetic rows of {self.table}", names, rows, [*below, self._cost_words()])


class SyntheticReport:
    """How far synthetic rows are to be trusted: compared with the noisy counts that were measured, never with the data."""

    def __init__(self, told: dict[str, Any], rows: _Rows) -> None:
        self._told = told["report"]
        self._text: str = told["text"]
        self._rows = rows

    @property
    def measured(self) -> list[dict[str, Any]]:
        """The tables that were measured, those that the rows fit worst first: what each is ``by``, the ``deviation`` of the
        noise on a count, the ``distance`` of the rows from it, and the ``distance_of_noise`` alone.

        A distance is half the sum of the differences of shares: 0.02 means that two rows of a hundred would have to move.
        ``standing`` is ``good``, ``noisy`` (as good as its noise), or ``off`` (further off than noise explains).
        """
        measured: list[dict[str, Any]] = self._told["measured"]
        return measured

    @property
    def never_measured(self) -> list[list[str]]:
        """Tables that matter and were never measured: in the rows they follow from smaller ones."""
        return [table["by"] for table in self._told["never_measured"]]

    @property
    def estimated_rows(self) -> float:
        """How many rows there seem to be in the data: from the noisy counts."""
        return float(self._told["estimated_rows"])

    def connection(self, first: str, second: str) -> str:
        """What stands behind two columns together: ``measured``, connected ``through`` others, or ``independent`` in the
        rows, whatever the data.
        """
        for pair in self._told["pairs"]:
            if set(pair["by"]) == {first, second}:
                connection: str = pair["connection"]
                return connection
        names = sorted({name for pair in self._told["pairs"] for name in pair["by"]})
        raise ParameterError("these are no two columns of the rows", f"there are {', '.join(names)}")

    def to_pandas(self) -> Any:
        """The measured tables as a data frame of pandas."""
        return _needed("pandas").DataFrame([{**table, "by": " × ".join(table["by"])} for table in self.measured])

    def to_html(self, path: str | os.PathLike[str]) -> None:
        """Writes a page with all of it and a map of what stands behind each pair of columns."""
        write_whole(os.fspath(path), self._rows.page().encode())

    def to_dict(self) -> dict[str, Any]:
        """Everything, as the command line and the server write it."""
        copied: dict[str, Any] = json.loads(json.dumps(self._told))
        return copied

    def __repr__(self) -> str:
        return self._text.rstrip()

    def _repr_html_(self) -> str:
        rows = [
            [
                " × ".join(table["by"]),
                f"{table['cells']:,}",
                f"± {table['deviation']:.3g}",
                f"{table['distance']:.2%}",
                f"{table['distance_of_noise']:.2%}",
                table["standing"],
            ]
            for table in self.measured[:ROWS_SHOWN]
        ]
        header = ["by", "cells", "noise of a count", "distance", "of noise alone", ""]
        return grid("What was measured", header, rows, [line for line in self._text.splitlines() if line.startswith("- ")])


class SyntheticExplanation:
    """What synthetic rows would be made of, before anything is spent."""

    def __init__(self, told: dict[str, Any]) -> None:
        self._told = told

    @property
    def cost(self) -> str:
        """What all rounds together cost, in words."""
        guarantee: str = self._told["guarantee"]
        return guarantee

    @property
    def columns(self) -> list[dict[str, Any]]:
        """The columns that the rows will have, each with its number of ``cells``, and whether each cell is one value (``exact``)."""
        columns: list[dict[str, Any]] = self._told["columns"]
        return columns

    @property
    def left_out(self) -> dict[str, str]:
        """Columns of which no rows are made, each with the reason."""
        return {column["name"]: column["reason"] for column in self._told["left_out"]}

    @property
    def made(self) -> bool:
        """Whether it was measured already, so that the rows cost nothing."""
        return self._told["made_by_charge"] is not None

    def to_dict(self) -> dict[str, Any]:
        """Everything."""
        copied: dict[str, Any] = json.loads(json.dumps(self._told))
        return copied

    def __repr__(self) -> str:
        text: str = self._told["text"].rstrip()
        return f"{text}\nmeasured already: the rows are free" if self.made else text

    def _repr_html_(self) -> str:
        return lines(repr(self).splitlines())


def write_whole(path: str, content: bytes) -> None:
    """Writes a file that is never seen half written."""
    import secrets

    written = f"{path}.{secrets.token_hex(8)}"
    try:
        try:
            with open(written, "xb") as file:
                file.write(content)
            os.replace(written, path)
        except BaseException:
            if os.path.exists(written):
                os.unlink(written)
            raise
    except OSError as failed:
        raise FileError(
            f"the file cannot be written: {failed.strerror}", "does its folder exist, and may you write there?"
        ) from None
