"""Numbers of any library, as the extension takes them. Their values never decide whether something fails."""

from __future__ import annotations

from typing import Any, Iterator, Sequence

from deniable._errors import ParameterError

_FORMATS = {"d": "f8", "f": "f4", "?": "b1"}
_SIGNED = "bhilqn"
_UNSIGNED = "BHILQN"


def numbers_of(value: Any) -> tuple[Any, tuple[int, ...] | None]:
    """Numbers as the extension takes them, and the shape of an array; None for one number."""
    if isinstance(value, (int, float)):
        return _scalar(value), None
    if getattr(value, "shape", None) == () or not _is_column(value):
        if hasattr(value, "__index__"):
            return _scalar(value.__index__()), None
        if hasattr(value, "__float__"):
            return _scalar(float(value)), None
    return column_of(value)


def _is_column(value: Any) -> bool:
    return any(hasattr(value, name) for name in ("__len__", "__arrow_c_array__", "__arrow_c_stream__"))


def _scalar(value: int | float) -> tuple[str, bytes]:
    import struct

    if isinstance(value, int):
        # A number that is too large is clamped, as everywhere: an error must not tell that it was.
        return "i8", struct.pack("=q", min(max(int(value), -(2**63)), 2**63 - 1))
    return "f8", struct.pack("=d", _or_infinite(value))


def rows_of(values: Any) -> Any:
    """One value of each unit. A list has no type by itself, and its values are private: it is floats."""
    numbers, shape = column_of(values, whole=False)
    # In a table with several columns each cell would count as a unit, and a row would move the result more than is charged.
    if len(shape) > 1 and shape[1:] != (1,) * (len(shape) - 1):
        raise ParameterError(
            "these are several columns, and one value of each unit is wanted", "give one column, and the others by themselves"
        )
    return numbers


def column_of(values: Any, whole: bool = True) -> tuple[Any, tuple[int, ...]]:
    """A column as the extension takes it, and its shape. Lists of whole numbers are whole numbers, unless ``whole`` is false."""
    if isinstance(values, (list, tuple, range)):
        return _of_list(values, whole)
    try:
        view = memoryview(values)
    except (TypeError, ValueError, BufferError):
        pass
    else:
        return (_format(view), view.tobytes()), tuple(view.shape or (view.nbytes // max(view.itemsize, 1),))
    if hasattr(values, "__arrow_c_array__") or hasattr(values, "__arrow_c_stream__"):
        if not hasattr(values, "to_numpy") or not type(values).__module__.startswith("pandas"):
            return values, (len(values),)
    if hasattr(values, "to_numpy"):
        if hasattr(getattr(values, "dtype", None), "na_value"):
            # A type of pandas that has missing values: they become NaN in an array of floats.
            try:
                return column_of(values.to_numpy(dtype="float64", na_value=float("nan")))
            except (TypeError, ValueError, OverflowError):
                # Its message quotes a value.
                raise ParameterError("the column does not hold numbers", "convert it to floats or whole numbers") from None
        return column_of(values.to_numpy())
    if hasattr(values, "detach"):
        return column_of(values.detach().cpu().numpy())
    if hasattr(values, "__iter__"):
        return _of_list(list(values), whole)
    raise ParameterError(
        "these are not numbers", "give a number, a list, a NumPy array, or an Arrow array of pyarrow, polars or pandas"
    )


def _format(view: memoryview) -> str:
    code = view.format
    if code[:1] in "@=<" and len(code) == 2:
        import sys

        if code[0] != "<" or sys.byteorder == "little":
            code = code[1]
    if code in _FORMATS:
        return _FORMATS[code]
    if code in _SIGNED:
        return f"i{view.itemsize}"
    if code in _UNSIGNED:
        return f"u{view.itemsize}"
    raise ParameterError(
        "the array is not of numbers that are read here", "convert it to floats or whole numbers, such as .astype(float)"
    )


def _of_list(values: Sequence[Any], whole: bool) -> tuple[Any, tuple[int, ...]]:
    from array import array

    if any(isinstance(value, (list, tuple)) or getattr(value, "ndim", 0) for value in values):
        raise ParameterError("the list holds lists", "give one value of each unit")
    known = [0 if value is None else value for value in values]
    if whole and all(hasattr(value, "__index__") for value in known):
        cut = (min(max(int(value), -(2**63)), 2**63 - 1) for value in known)
        return ("i8", array("q", cut).tobytes()), (len(known),)
    if whole:
        # Above this a float is not every whole number, and two of them would move apart when they are rounded.
        known = [min(max(value, -(2**53)), 2**53) if isinstance(value, int) else value for value in known]
    try:
        return ("f8", array("d", known).tobytes()), (len(known),)
    except OverflowError:
        # A number that is too large is infinite: an error must not tell that it was, and the others stay what they are.
        return ("f8", array("d", map(_or_infinite, known)).tobytes()), (len(known),)
    except TypeError:
        raise ParameterError("the list holds something that is not a number", "give numbers alone") from None


def _or_infinite(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def listed(values: Any) -> Iterator[Any]:
    """The values of a column, one by one."""
    if hasattr(values, "to_pylist"):
        return iter(values.to_pylist())
    if hasattr(values, "tolist"):
        return iter(values.tolist())
    return iter(values)
