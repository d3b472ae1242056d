"""A release of an account: a value, how far it may be off, what it cost and what is left."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Sequence

from deniable import _arrays
from deniable.accounting.events import Event
from deniable.mechanisms.numbers import numbers_of

if TYPE_CHECKING:
    from deniable._numbers import Number
    from deniable.mechanisms.account import Account


class _Charged:
    """What was charged."""

    def __init__(self, account: Account, inner: Any) -> None:
        self._account = account
        self._inner = inner

    @property
    def cost(self) -> str:
        """What it cost, in words."""
        return self._inner.cost

    @property
    def number(self) -> int:
        """The number of its charge in the ledger."""
        return self._inner.number

    @property
    def left(self) -> float:
        """What is left in the account now: the largest ε of one further release."""
        return self._account.left


class _Run(_Charged):
    """What was charged and ran at once, so that it is known as an event."""

    @property
    def event(self) -> Event:
        """What ran, for an accountant."""
        return Event.from_json(self._inner.event)


class Release(_Run):
    """A public answer: its value, how far it may be off, and what it cost."""

    def __init__(self, account: Account, inner: Any, shape: tuple[int, ...] | None = None) -> None:
        super().__init__(account, inner)
        self._shape = shape

    @property
    def value(self) -> Any:
        """A number, or an array: of NumPy if it is installed, and otherwise a ``memoryview``."""
        value = self._inner.value()
        if self._inner.kind != "many":
            return value if self._shape is None else _array(_packed(value, self._inner.whole), self._inner.whole, self._shape)
        return _array(value, self._inner.whole, self._shape)

    def margin(self, confidence: float = 0.95) -> float | None:
        """How far off the value is at most, with this probability; of an array, all values together.

        None where that depends on the data.
        """
        return self._inner.margin(float(confidence))

    def interval(self, confidence: float = 0.95) -> tuple[Any, Any] | None:
        """The ends of an interval that holds the true value with this probability; of an array, all of them together.

        The true value is that of numbers that were cut to their bounds. None where it would depend on the data.
        """
        found = self._inner.interval(float(confidence))
        if found is None or self._inner.kind != "many":
            return found
        low, high = found
        return _array(low, False, self._shape), _array(high, False, self._shape)

    def __arrow_c_array__(self, requested_schema: Any = None) -> Any:
        return self._inner.__arrow_c_array__(requested_schema)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        import numpy

        # The buffer is made anew each time, so nobody else has it.
        return numpy.asarray(self.value, dtype=dtype)

    def __float__(self) -> float:
        return float(self.value)

    def __repr__(self) -> str:
        kind = self._inner.kind
        if kind == "one":
            margin = self.margin(0.95)
            about = "" if margin is None else f" ± {margin:.6g} (95 %)"
            return f"<Release: {self.value}{about}, {self.cost}>"
        what = f"{self._shape} values" if kind == "many" else str(self.value)
        return f"<Release: {what}, {self.cost}>"


class Mean(_Run):
    """A mean, from a noisy sum and, where the number of values is private, a noisy count."""

    def __init__(
        self, account: Account, total: Any, rows: Any, centre: float, length: int, ends: tuple[float, float]
    ) -> None:
        super().__init__(account, total)
        self._rows = rows
        self._centre = centre
        self._length = length
        self._ends = ends

    @property
    def value(self) -> float:
        """The mean, between the bounds."""
        rows = self._length if self._rows is None else self._rows.value()
        return self._cut(self._centre + self._inner.value() / max(rows, 1))

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """The ends of an interval that holds the mean of the values, cut to the bounds, with this probability."""
        if self._rows is None:
            low, high = self._inner.interval(float(confidence))
            rows = max(self._length, 1)
            return self._cut(self._centre + low / rows), self._cut(self._centre + high / rows)
        # Both hold together: each may fail half as often.
        each = (1 + float(confidence)) / 2
        low, high = self._inner.interval(each)
        fewest, most = (max(end, 1.0) for end in self._rows.interval(each))
        return (
            self._cut(self._centre + min(low / fewest, low / most)),
            self._cut(self._centre + max(high / fewest, high / most)),
        )

    def _cut(self, value: float) -> float:
        return min(max(value, self._ends[0]), self._ends[1])

    def __float__(self) -> float:
        return self.value

    def __repr__(self) -> str:
        low, high = self.interval(0.95)
        return f"<Mean: {self.value:.6g}, between {low:.6g} and {high:.6g} (95 %), {self.cost}>"


class Choice(_Run):
    """One of several candidates."""

    def __init__(self, account: Account, inner: Any, candidates: Sequence[Any] | None) -> None:
        super().__init__(account, inner)
        self._candidates = candidates

    @property
    def index(self) -> int:
        """The place of the chosen one."""
        return self._inner.value()

    @property
    def value(self) -> Any:
        """The chosen candidate, or its place where they have no names."""
        return self.index if self._candidates is None else self._candidates[self.index]

    def margin(self, confidence: float = 0.95) -> float:
        """How far its score is below the best at most, with this probability."""
        return self._inner.margin(float(confidence))

    def __repr__(self) -> str:
        return f"<Choice: {self.value!r}, {self.cost}>"


class Estimate:
    """How common one answer is."""

    __slots__ = ("answer", "deviation", "fraction", "high", "low")

    def __init__(self, answer: Any, fraction: float, deviation: float, low: float, high: float) -> None:
        #: Which answer.
        self.answer = answer
        #: The fraction of units with it, without bias; it may be below 0 or above 1.
        self.fraction = fraction
        #: The standard deviation of the fraction.
        self.deviation = deviation
        #: The lower end of the interval.
        self.low = low
        #: The upper end of the interval.
        self.high = high

    def __repr__(self) -> str:
        return f"<Estimate of {self.answer!r}: {self.fraction:.4g}, between {self.low:.4g} and {self.high:.4g}>"


class Reports(_Run):
    """Randomized answers, one of each unit."""

    def __init__(self, account: Account, inner: Any, names: Sequence[Any] | None) -> None:
        super().__init__(account, inner)
        self._names = names

    @property
    def value(self) -> Any:
        """The reported answers; where they have no names an array of their places."""
        codes = self._inner.codes()
        if self._names is None:
            return _array(codes, True, (len(codes) // 8,))
        return [self._names[code] for code in memoryview(codes).cast("q")]

    def estimate(self, confidence: float = 0.95) -> list[Estimate]:
        """How common each answer is, with intervals that all hold together with this probability."""
        found = self._inner.estimate(float(confidence))
        names = range(len(found)) if self._names is None else self._names
        return [Estimate(name, *numbers) for name, numbers in zip(names, found)]

    def __repr__(self) -> str:
        return f"<Reports: {len(self._inner.codes()) // 8} answers, {self.cost}>"


class ThresholdSession(_Charged):
    """Numbers that are compared with one noisy threshold, one by one."""

    def __init__(self, account: Account, inner: Any, positives: int) -> None:
        super().__init__(account, inner)
        self._positives = positives

    @property
    def positives_left(self) -> int:
        """How many positive answers are left."""
        return self._positives

    def ask(self, value: Number) -> bool | None:
        """Whether the number is about at or above the threshold; None when the positive answers are used up."""
        numbers, _ = numbers_of(value)
        found = self._inner.ask(numbers)
        if found:
            self._positives -= 1
        return found

    def __repr__(self) -> str:
        return f"<ThresholdSession: {self._positives} positive answers left, {self.cost}>"


def _packed(value: Any, whole: bool) -> bytearray:
    import struct

    return bytearray(struct.pack("=q" if whole else "=d", value))


def _array(buffer: bytearray, whole: bool, shape: tuple[int, ...] | None) -> Any:
    """A NumPy array on the buffer, or a view of it where there is no NumPy."""
    numpy = _arrays.numpy()
    if numpy is None:
        return memoryview(buffer).cast("q" if whole else "d")
    array = numpy.frombuffer(buffer, dtype=numpy.int64 if whole else numpy.float64)
    return array if shape is None else array.reshape(shape)
