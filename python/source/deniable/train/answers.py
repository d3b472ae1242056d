"""Outputs of a model: NumPy arrays, or lists if NumPy is not installed."""

from __future__ import annotations

import array

from deniable import _arrays

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def tensors(file: bytes) -> dict[str, Any]:
    """The parameters in a file of the format safetensors, by name."""
    import json
    import struct

    (length,) = struct.unpack("<Q", file[:8])
    header = json.loads(file[8 : 8 + length])
    numpy = _arrays.numpy()
    found: dict[str, Any] = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        start, end = entry["data_offsets"]
        data = file[8 + length + start : 8 + length + end]
        if numpy is not None:
            found[name] = numpy.frombuffer(data, dtype="<f4").reshape(entry["shape"]).copy()
        else:
            values = list(struct.unpack(f"<{len(data) // 4}f", data))
            for size in reversed(entry["shape"][1:]):
                values = [values[place : place + size] for place in range(0, len(values), size)]
            found[name] = values
    return found


def array_of(values: list[Any]) -> Any:
    """A list as an array of one dimension, whatever is in it."""
    numpy = _arrays.numpy()
    if numpy is None:
        return values
    found = numpy.asarray(values)
    return found if len(found) == len(values) and found.ndim == 1 else numpy.asarray(values, dtype=object)


def numbers_of(answers: bytes) -> Any:
    """What a model says of each row, as numbers."""
    numpy = _arrays.numpy()
    if numpy is not None:
        return numpy.frombuffer(answers).copy()
    numbers = array.array("d")
    numbers.frombytes(answers)
    return list(numbers)


def shaped(answers: bytes, width: int) -> Any:
    """The same with ``width`` numbers a row."""
    numbers = numbers_of(answers)
    if _arrays.numpy() is not None:
        return numbers.reshape(-1, width)
    return [numbers[place : place + width] for place in range(0, len(numbers), width)]
