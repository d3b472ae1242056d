"""Columns of any library, as a run reads them. They are private: no value in them raises an error, and no message quotes one."""

from __future__ import annotations

import array
import math
import sys

from deniable import _arrays, _deniable
from deniable._errors import ParameterError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from deniable._deniable import TrainingColumns


class Rows:
    """Columns of X, under names, whatever X is. Holds private data, so it says nothing about it."""

    def __init__(self, X: Any) -> None:
        self.names: list[Any]
        self.named = True
        self.table: TrainingColumns | None = None
        self.matrix: Any = None
        self.frame: Any = None
        if hasattr(X, "toarray") and hasattr(X, "nnz"):
            raise ParameterError("X is sparse, and sparse data is not read", "give X.toarray()")
        if type(X).__module__.partition(".")[0] == "pandas" and hasattr(X, "columns"):
            self.frame, self.names = X, list(X.columns)
            self.named = all(isinstance(name, str) for name in self.names)
            self.count = len(X)
        elif hasattr(X, "__arrow_c_stream__") or hasattr(X, "__arrow_c_array__"):
            self.table = _deniable.TrainingColumns.of_table(X)
            self.names = list(self.table.names())
            self.count = len(self.table)
        else:
            self.matrix, self.count, width = _matrix(X)
            self.named = False
            self.names = list(range(width))
        if not self.names:
            raise ParameterError("0 feature(s) while a minimum of 1 is required.", "give columns")

    def public_name(self, place: int) -> str:
        """What a column is called in the model."""
        return str(self.names[place]) if self.named else f"x{place}"

    def add(self, columns: TrainingColumns, place: int, name: str, values: Sequence[Any] | None) -> None:
        """Adds a column: numbers, or texts where the values are listed."""
        if self.table is not None:
            columns.copy_from(self.table, place, name, values is None)
            return
        column = self.frame.iloc[:, place] if self.frame is not None else self.matrix[place]
        if values is None:
            columns.numbers(name, floats(column))
        else:
            columns.codes(name, codes(column, values), [text(value) for value in values])


def _matrix(X: Any) -> tuple[Any, int, int]:
    """The columns of a matrix, the number of rows, and the number of columns."""
    numpy = _arrays.numpy()
    if numpy is not None:
        try:
            # Lists have no type by themselves: one text among numbers must not turn everybody's numbers into texts.
            found = numpy.asarray(X) if hasattr(X, "dtype") or hasattr(X, "__array__") else numpy.asarray(X, dtype=object)
        except ValueError:
            # Its message tells how many rows there are.
            raise ParameterError("the rows of X are not equally long", "give one number for each column") from None
        if found.dtype.kind == "c":
            raise ParameterError("Complex data not supported", "give real numbers")
        if found.ndim != 2:
            raise ParameterError(
                f"Expected 2D array, got {found.ndim}D array instead", "Reshape your data: a row a unit, a column a feature"
            )
        return found.T, found.shape[0], found.shape[1]
    rows = [list(row) for row in X]
    width = len(rows[0]) if rows else 0
    if any(len(row) != width for row in rows):
        raise ParameterError("the rows of X are not equally long", "give one number for each column")
    return [[row[place] for row in rows] for place in range(width)], len(rows), width


def as_float(value: Any) -> float:
    """A number, or NaN: no value of private data raises."""
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def floats(column: Any) -> bytes:
    """The bytes of 64-bit floats; what is no number is missing."""
    numpy = _arrays.numpy()
    if numpy is not None and hasattr(column, "dtype"):
        if hasattr(column, "to_numpy"):
            try:
                return bytes(column.to_numpy(dtype="float64", na_value=math.nan).tobytes())
            except (TypeError, ValueError, OverflowError):
                column = column.to_numpy(dtype=object)
        if column.dtype.kind in "fiub":
            return bytes(numpy.ascontiguousarray(column, dtype="float64").tobytes())
        if column.dtype.kind not in "OUS":
            raise ParameterError("a column of X is of a type that is no number", "give numbers, or declare categories")
    return array.array("d", map(as_float, column)).tobytes()


def codes(column: Any, values: Sequence[Any]) -> bytes:
    """The places of values in a list, as bytes of 32-bit integers; -1 for what is not in it."""
    numpy = _arrays.numpy()
    if numpy is not None and hasattr(column, "dtype"):
        if hasattr(column, "to_numpy"):
            column = column.to_numpy()
        if getattr(column.dtype, "kind", "O") in "fiub" and all(isinstance(value, (int, float)) for value in values):
            found = numpy.full(len(column), -1, dtype="int32")
            for place, value in enumerate(values):
                found[column == value] = place
            return bytes(found.tobytes())
        column = column.tolist()
    elif hasattr(column, "to_pylist"):
        column = column.to_pylist()
    elif hasattr(column, "to_list"):
        column = column.to_list()
    places = {value: place for place, value in enumerate(values)}

    def place_of(value: Any) -> int:
        try:
            return places.get(value, -1)
        except TypeError:
            return -1

    return array.array("i", map(place_of, column)).tobytes()


def text(value: Any) -> str:
    """A declared value as a catalog writes it."""
    if isinstance(value, bool) or type(value).__name__ in ("bool_", "bool"):
        return "true" if value else "false"
    return str(value)


def plain(values: Any) -> list[Any]:
    """A list of values as Python's own."""
    for method in ("to_pylist", "tolist"):
        if hasattr(values, method):
            return list(getattr(values, method)())
    return list(values)


def one_column(y: Any, what: str) -> Any:
    """y as one column: an array, a series, a list."""
    if y is None:
        raise ParameterError(
            "requires y to be passed, but the target y is None", "Expected array-like (array or non-string sequence), got None"
        )
    if hasattr(y, "toarray") and hasattr(y, "nnz"):
        raise ParameterError(f"{what} is sparse, and sparse data is not read", f"give {what}.toarray()")
    shape = getattr(y, "shape", None)
    if shape is not None and len(shape) == 2:
        if shape[1] != 1:
            raise ParameterError(f"bad input shape: {what} has several columns", f"give one column as {what}")
        y = y.to_numpy().ravel() if hasattr(y, "to_numpy") else y.ravel()
        warnings = sys.modules.get("sklearn.exceptions")
        if warnings is not None:
            import warnings as python_warnings

            python_warnings.warn(
                "A column-vector y was passed when a 1d array was expected. Please change the shape of y to (n_samples,)",
                warnings.DataConversionWarning,
                stacklevel=4,
            )
    if hasattr(y, "to_pylist"):
        y = y.to_pylist()
    elif hasattr(y, "__array__") and not hasattr(y, "dtype") and _arrays.numpy() is not None:
        return _arrays.numpy().asarray(y)
    elif hasattr(y, "to_numpy"):
        return y.to_numpy()
    elif hasattr(y, "dtype"):
        return y
    listed, numpy = list(y), _arrays.numpy()
    if numpy is None:
        return listed
    found = numpy.asarray(listed)
    return found if found.dtype.kind in "fiub" else numpy.asarray(listed, dtype=object)


def group_column(columns: TrainingColumns, name: str, groups: Any) -> None:
    """Whose each row is, as text."""
    columns.texts(name, [identifier(value) for value in plain(groups)])


def identifier(value: Any) -> str | None:
    """Whose row it is, as text; None where it is nobody's.

    Values that Python calls equal are one text, and others are different ones: one person is never two units, and two are
    never one. So 1, 1.0, True and Decimal("1.00") are one person, and "1" is another. Nobody's are rows with a float that
    is not whole, an empty text, or a type that is not named here.
    """
    if missing(value):
        return None
    if isinstance(value, str):
        if not value or any("\ud800" <= letter <= "\udfff" for letter in value):
            return None
        # Other types begin with a mark that no text begins with.
        return "#" + value if value[0] in "#@" else str(value)
    if hasattr(value, "dtype") and hasattr(value, "item"):
        value = value.item()
    if isinstance(value, int):
        return f"@{int(value)}"
    if isinstance(value, float):
        return f"@{int(value)}" if value.is_integer() and abs(value) < 2**53 else None
    # A program that has a value of such a type has loaded its module.
    if _is(value, "decimal", "Decimal"):
        # As many digits as a number has, and not as many as its exponent says.
        if not value.is_finite() or abs(value.adjusted()) > 99:
            return None if value else "@0"
        digits = f"{value:f}"
        return "@" + (digits.rstrip("0").rstrip(".") if "." in digits else digits) if value else "@0"
    if _is(value, "datetime", "datetime"):
        moment = value if value.tzinfo is None else value.astimezone(sys.modules["datetime"].timezone.utc)
        return f"@{moment.isoformat()}"
    if _is(value, "datetime", "date") or _is(value, "uuid", "UUID"):
        return f"@{value}"
    if isinstance(value, bytes):
        return f"@0x{value.hex()}"
    return None


def _is(value: Any, module: str, name: str) -> bool:
    kind = getattr(sys.modules.get(module), name, None)
    return kind is not None and isinstance(value, kind)


def missing(value: Any) -> bool:
    """Whether it is None or no number, whatever library it is of."""
    try:
        return value is None or bool(value != value)
    except (TypeError, ValueError):
        # The missing value of pandas is neither equal to itself nor not.
        return True


def fresh(name: str, names: Iterable[str]) -> str:
    """A name that no column has, in any case."""
    taken = {other.lower() for other in names}
    while name in taken:
        name += "_"
    return name
