"""The answer to a query."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from deniable._errors import ParameterError
from deniable._html import ROWS_SHOWN, answer_html
from deniable._numbers import at_least, at_most

if TYPE_CHECKING:
    from deniable._deniable import ArrowTable


class Answer:
    """A private answer: rows with intervals, what it cost, and what is left.

    Everything in it is public: noise was added before it came here. Rows are dictionaries of plain values; the whole is
    also a table for any library that speaks Arrow, with two further columns ``x_low`` and ``x_high`` for each noisy ``x``
    that has an interval::

        pandas.DataFrame = answer.to_pandas()
        polars.DataFrame = answer.to_polars()
        pyarrow.table(answer)
    """

    def __init__(self, told: dict[str, Any], table: ArrowTable) -> None:
        self._told = told
        self._table = table
        self._names = _distinct([column["name"] for column in told["columns"]])

    @property
    def columns(self) -> list[dict[str, Any]]:
        """Name, kind, and whether it is ``noisy``, of each column.

        Noise has a part in a noisy column: in its values, or only in which rows are there (then it is also ``chosen``, and each value is right for its row).
        ``no_interval`` says why a noisy column has no intervals.
        """
        return self._told["columns"]

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The values, row by row."""
        return [{name: row[name]["value"] for name in self._names} for row in self._told["rows"]]

    def interval(self, column: str, row: int = 0) -> tuple[float, float] | None:
        """The ends of the interval around a value; None where it has none."""
        if column not in self._names:
            raise ParameterError(f"the answer has no column {column!r}", f"it has {', '.join(self._names)}")
        cell = self._told["rows"][row][column]
        low, high = cell.get("low"), cell.get("high")
        return None if low is None or high is None else (low, high)

    @property
    def confidence(self) -> float:
        """How likely each interval holds the truth; :attr:`bounds` says of which data."""
        return self._told["confidence"]

    @property
    def bounds(self) -> list[dict[str, Any]]:
        """What bounds one unit's part in each column."""
        return self._told["bounds"]

    @property
    def cut(self) -> list[dict[str, Any]]:
        """Private estimates of how much the bounds cut, where they were asked for."""
        return self._told["cut"]

    @property
    def notes(self) -> list[str]:
        """What else there is to know, such as which groups appear."""
        return self._told["notes"]

    @property
    def epsilon(self) -> float | None:
        """The ε of this answer alone; None where all of it is public."""
        cost = self._told["cost"]
        return None if cost is None or cost["epsilon"] is None else at_least(cost["epsilon"])

    @property
    def delta(self) -> float:
        """The δ of this answer alone."""
        cost = self._told["cost"]
        return 0.0 if cost is None else at_least(cost["delta"])

    @property
    def receipt(self) -> dict[str, Any] | None:
        """The guarantee in words and exact decimals, the number of the charge in the ledger, and as ``signed`` the signed receipt that ``deniable receipt verify`` checks.

        ``signed`` is None where there is no place for a key, or the server is of an earlier version.
        """
        cost = self._told["cost"]
        return None if cost is None else {**cost, "signed": self._told.get("receipt")}

    @property
    def repeated(self) -> bool:
        """Whether the same was released before, so that it cost nothing now."""
        return bool(self._told.get("repeated", False))

    @property
    def left(self) -> float | None:
        """The largest ε of one further release by whoever asked."""
        left = self._told.get("left")
        return None if left is None else at_most(left["epsilon"])

    def to_dict(self) -> dict[str, Any]:
        """Everything, as the command line and the server write it in JSON."""
        return json.loads(json.dumps(self._told))

    def to_pandas(self) -> Any:
        """A data frame of pandas, with the ends of intervals as columns."""
        pandas = _needed("pandas")
        if hasattr(pandas.DataFrame, "from_arrow"):
            return pandas.DataFrame.from_arrow(self)
        # Older ones have no such constructor. The table is small: its columns as they are.
        return pandas.DataFrame(self._by_column())

    def to_polars(self) -> Any:
        """A data frame of polars, with the ends of intervals as columns."""
        return _needed("polars").DataFrame(self)

    def to_arrow(self) -> Any:
        """A table of pyarrow, with the ends of intervals as columns."""
        return _needed("pyarrow").table(self)

    def _by_column(self) -> dict[str, list[Any]]:
        by_column: dict[str, list[Any]] = {}
        for name, column in zip(self._names, self.columns):
            cells = [row[name] for row in self._told["rows"]]
            by_column[name] = [cell["value"] for cell in cells]
            if column["noisy"] and column.get("no_interval") is None:
                by_column[f"{name}_low"] = [cell.get("low") for cell in cells]
                by_column[f"{name}_high"] = [cell.get("high") for cell in cells]
        return by_column

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        return self._table.__arrow_c_schema__()

    def __len__(self) -> int:
        return len(self._told["rows"])

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows)

    def __getitem__(self, row: int) -> dict[str, Any]:
        cells: Mapping[str, Any] = self._told["rows"][row]
        return {name: cells[name]["value"] for name in self._names}

    def __repr__(self) -> str:
        widths = [len(name) for name in self._names]
        lines: list[list[str]] = []
        for row in self._told["rows"][:ROWS_SHOWN]:
            line = [_cell_text(row[name]) for name in self._names]
            widths = [max(width, len(text)) for width, text in zip(widths, line)]
            lines.append(line)
        said = ["  ".join(name.ljust(width) for name, width in zip(self._names, widths)).rstrip()]
        said += ["  ".join(text.ljust(width) for text, width in zip(line, widths)).rstrip() for line in lines]
        if len(self) > ROWS_SHOWN:
            said.append(f"… and {len(self) - ROWS_SHOWN} more rows")
        said.append(self._cost_words())
        return "\n".join(said)

    def _cost_words(self) -> str:
        cost = self._told["cost"]
        if cost is None:
            return "public: nothing was charged"
        words = "free: the same was released before" if self.repeated else f"charged: {cost['guarantee']}"
        return words if self.left is None else f"{words}; left: ε = {self._told['left']['epsilon']}"

    def _repr_html_(self) -> str:
        return answer_html(self)


def _cell_text(cell: dict[str, Any]) -> str:
    value = cell["value"]
    text = "NULL" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)
    low, high = cell.get("low"), cell.get("high")
    return text if low is None or high is None else f"{text} [{low:.6g}, {high:.6g}]"


def _distinct(names: list[str]) -> list[str]:
    """Of columns of the same name, the second is ``name_2``, as in the JSON."""
    distinct: list[str] = []
    for name in names:
        candidate, number = name, 2
        while candidate in distinct:
            candidate, number = f"{name}_{number}", number + 1
        distinct.append(candidate)
    return distinct


def _needed(name: str) -> Any:
    import importlib

    try:
        return importlib.import_module(name)
    except ImportError:
        raise ParameterError(f"{name} is not installed", f"pip install {name}") from None
