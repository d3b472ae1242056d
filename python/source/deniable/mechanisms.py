"""Noise that is exact, and always charged.

Everything here goes through an :class:`Account`: a budget for one kind of privacy unit. A method states what it costs,
the account charges it, and only then is anything drawn, with random bits of the operating system. What comes back is a
:class:`Release`: the value, an interval, what it cost and what is left.

>>> from deniable.mechanisms import Account
>>> account = Account(epsilon=1)
>>> ages = [34, 29, 61, 45, 52, 38]
>>> total = account.sum(ages, bounds=(0, 100), epsilon=0.5)
>>> low, high = total.interval(0.95)
>>> low <= total.value <= high
True
>>> total.cost, account.left
('ε = 0.5', 0.5)

Numbers may be one number, a list, a NumPy array, or anything with the buffer protocol or the Arrow PyCapsule interface
(pyarrow, polars, pandas). What type they have is taken as public. There are two kinds of methods:

- those that compute on the data: :meth:`~Account.count`, :meth:`~Account.sum`, :meth:`~Account.mean`,
  :meth:`~Account.histogram`, :meth:`~Account.quantile`. One row is one unit. They cut values to the bounds that you
  state, and know their sensitivity by that;
- those that add noise to what you computed: :meth:`~Account.laplace`, :meth:`~Account.gaussian` and the choices by score.
  They believe the ``sensitivity`` that you state: how far one unit can move the number, or all numbers together.

What does not follow from the parameters never decides whether a method fails: a value that is missing or not a number
counts as zero, and one that is too large is cut. Whole numbers get noise on the whole numbers. Floats are rounded to a
grid that is some two thousand times finer than the noise, with noise on the same grid: noise that is added in floating
point betrays the number it is added to. The grid reaches to about 2^51 times the sensitivity; what is beyond is cut.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterator, Sequence

from deniable import _deniable
from deniable._errors import ParameterError
from deniable._numbers import count_of, text_of
from deniable.accounting import Event, _neighbors

if TYPE_CHECKING:
    import os

    from deniable._numbers import Number

__all__ = ["Account", "Choice", "Mean", "Release", "Reports", "ThresholdSession"]


class Account:
    """A budget, and everything that is charged to it.

    ``epsilon`` alone is a pure budget, ``epsilon`` with ``delta`` an (ε, δ) budget, and ``rho`` one of zero-concentrated
    differential privacy. Charges to the latter two are counted by a Rényi filter: many small releases fit into an
    (ε, δ) budget that their sum would not.

    ``unit`` is whose privacy it is about, and ``neighbors`` what can happen to one of them: ``"add_remove"`` or
    ``"change_one"``.

    With ``ledger``, a file or the address of a PostgreSQL database, the budget outlives the process and is shared by all who
    open it; ``analyst`` is who asks. Without it the budget ends with this object, and nothing in it protects anybody from
    a second one on the same data.

    >>> account = Account(epsilon=1, delta=1e-6)
    >>> for _ in range(20):
    ...     _ = account.gaussian(100, sensitivity=1, noise_multiplier=40)
    >>> account.left > 0
    True
    """

    def __init__(
        self,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        unit: str = "person",
        neighbors: Any = "add_remove",
        ledger: str | os.PathLike[str] | None = None,
        analyst: str = "analyst",
    ) -> None:
        import os

        def text(name: str, number: Number | None) -> str | None:
            return None if number is None else text_of(name, number)

        self._unit = str(unit)
        self._neighbors = _neighbors(neighbors)
        self._inner = _deniable.Account(
            (text("epsilon", epsilon), text("delta", delta), text("rho", rho)),
            self._unit,
            self._neighbors,
            None if ledger is None else os.fspath(ledger),
            str(analyst),
        )

    @property
    def budget(self) -> str:
        """The limit, in words.

        >>> Account(epsilon=1, delta=1e-6).budget
        'ε = 1, δ = 0.000001 for each person, added or removed'
        """
        limit, unit = self._inner.budget
        return f"{limit} for {unit}"

    @property
    def unit(self) -> str:
        """Whose privacy it is about."""
        return self._unit

    @property
    def neighbors(self) -> str:
        """``"add_remove"`` or ``"change_one"``."""
        return self._neighbors

    @property
    def left(self) -> float:
        """The largest ε of one further release, rounded down.

        Under an (ε, δ) or a ρ budget that is not all that is left: several small releases may have more together.
        """
        return self._inner.left()

    @property
    def charges(self) -> list[dict[str, Any]]:
        """Everything that was charged: ``number``, ``purpose``, ``cost`` and ``event``.

        >>> account = Account(epsilon=1)
        >>> _ = account.laplace(3, sensitivity=1, epsilon=0.25, purpose="a test")
        >>> account.charges[0]["purpose"], account.charges[0]["cost"]
        ('a test', 'ε = 0.25')
        """
        return [
            {"number": number, "purpose": purpose, "cost": cost, "event": Event.from_json(event)}
            for number, purpose, cost, event in self._inner.charges()
        ]

    # Noise on numbers that the caller computed.

    def laplace(
        self,
        value: Any,
        *,
        sensitivity: Number,
        epsilon: Number,
        coordinates: int | None = None,
        purpose: str = "",
    ) -> Release:
        """A number, or an array of numbers, with Laplace noise: ε-DP.

        ``sensitivity`` is how far one unit can move it: of an array, the sum over all numbers in it (ℓ₁). Of an array,
        ``coordinates`` may say how many of the numbers one unit can move at most. How many numbers there are is public.

        >>> release = Account(epsilon=3).laplace(41.5, sensitivity=2, epsilon=1)
        >>> low, high = release.interval(0.95)
        >>> round(release.margin(0.95), 1)
        6.0
        """
        return self._noisy(value, sensitivity, coordinates, ("laplace", [text_of("epsilon", epsilon)]), purpose)

    def gaussian(
        self,
        value: Any,
        *,
        sensitivity: Number,
        epsilon: Number | None = None,
        delta: Number | None = None,
        noise_multiplier: Number | None = None,
        rho: Number | None = None,
        coordinates: int | None = None,
        purpose: str = "",
    ) -> Release:
        """A number, or an array of numbers, with Gaussian noise.

        ``sensitivity`` is how far one unit can move it: of an array, the length of the difference (ℓ₂). How much noise is
        said by ``epsilon`` and ``delta``, which takes the least that keeps them; by ``noise_multiplier``, its standard
        deviation over the sensitivity; or by ``rho``, for discrete Gaussian noise that is ρ-zCDP.

        An array is one release: charged once, and drawn without the interpreter's lock.

        >>> account = Account(epsilon=1, delta=1e-6)
        >>> release = account.gaussian([0.5, 1.5, 2.5], sensitivity=1, epsilon=0.5, delta=1e-7)
        >>> len(release.value)
        3
        """
        noise = _gaussian(epsilon, delta, noise_multiplier, rho)
        return self._noisy(value, sensitivity, coordinates, noise, purpose)

    def _noisy(
        self,
        value: Any,
        sensitivity: Number,
        coordinates: int | None,
        noise: tuple[str, list[str]],
        purpose: str,
    ) -> Release:
        numbers, shape = _numbers(value)
        most = None if coordinates is None else count_of("coordinates", coordinates, 1)
        stated = (text_of("sensitivity", sensitivity), most)
        return Release(self, self._inner.noisy(numbers, shape is None, stated, noise, str(purpose)), shape)

    # Aggregates of a column, whose sensitivity is known here.

    def count(
        self,
        values: Any,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        noise_multiplier: Number | None = None,
        rho: Number | None = None,
        purpose: str = "",
    ) -> Release:
        """How many values are true, with Laplace noise for ``epsilon``, or Gaussian noise as for :meth:`gaussian`.

        >>> account = Account(epsilon=60)
        >>> account.count([True, False, True, True], epsilon=50).value
        3
        """
        noise = _either(epsilon, delta, noise_multiplier, rho)
        numbers, _ = _rows(values)
        return Release(self, self._inner.count(numbers, noise, str(purpose)), None)

    def sum(
        self,
        values: Any,
        *,
        bounds: tuple[float, float],
        epsilon: Number | None = None,
        delta: Number | None = None,
        noise_multiplier: Number | None = None,
        rho: Number | None = None,
        purpose: str = "",
    ) -> Release:
        """The sum of values that are each cut to ``bounds``.

        The bounds must be known without looking at the data: 0 and 120 for an age.
        """
        noise = _either(epsilon, delta, noise_multiplier, rho)
        numbers, _ = _rows(values)
        return Release(self, self._inner.sum(numbers, _bounds(bounds), noise, str(purpose)), None)

    def mean(self, values: Any, *, bounds: tuple[float, float], epsilon: Number, purpose: str = "") -> Mean:
        """The mean of values that are each cut to ``bounds``.

        Where a unit may be added or removed, the number of values is private: then half of ε is spent on it, in the same
        charge.

        >>> account = Account(epsilon=100)
        >>> mean = account.mean([1.0, 2.0, 6.0] * 1000, bounds=(0, 10), epsilon=100)
        >>> abs(mean.value - 3) < 0.1
        True
        """
        ends = _bounds(bounds)
        numbers, _ = _rows(values)
        total, rows, centre, length = self._inner.centred(
            numbers, ends, text_of("epsilon", epsilon), str(purpose)
        )
        return Mean(self, total, rows, centre, length, ends)

    def histogram(
        self,
        values: Any,
        *,
        bins: int,
        epsilon: Number | None = None,
        delta: Number | None = None,
        noise_multiplier: Number | None = None,
        rho: Number | None = None,
        purpose: str = "",
    ) -> Release:
        """How many values are 0, 1, …, ``bins`` − 1; others are not counted.

        >>> release = Account(epsilon=60).histogram([0, 1, 1, 2, 7], bins=3, epsilon=50)
        >>> [int(count) for count in release.value]
        [1, 2, 1]
        """
        noise = _either(epsilon, delta, noise_multiplier, rho)
        numbers, _ = _rows(values)
        wanted = count_of("bins", bins, 1)
        if wanted > 2**26:
            raise ParameterError("there are more than 2^26 bins", "count in coarser bins")
        return Release(self, self._inner.histogram(numbers, wanted, noise, str(purpose)), (wanted,))

    def quantile(
        self,
        values: Any,
        fraction: Number | Sequence[Number] = 0.5,
        *,
        bounds: tuple[float, float],
        epsilon: Number,
        resolution: Number | None = None,
        purpose: str = "",
    ) -> Release:
        """The value below which about this fraction of the values lies, by default the median; or several of them.

        The answer is a point between the bounds, chosen by the exponential mechanism among whole numbers where the
        values and bounds are whole, and otherwise among about a million points, or points that are ``resolution`` apart.
        Several fractions share ε evenly. How far off it is depends on the data, so there is no interval.

        >>> account = Account(epsilon=60)
        >>> release = account.quantile(list(range(1001)), bounds=(0, 1000), epsilon=50)
        >>> 490 < release.value < 510
        True
        """
        one = isinstance(fraction, (str, float, int)) or not hasattr(fraction, "__len__")
        fractions = [fraction] if one else list(fraction)  # type: ignore[arg-type]
        numbers, _ = _rows(values)
        step = None if resolution is None else text_of("resolution", resolution)
        released = self._inner.quantiles(
            numbers,
            [text_of("fraction", part) for part in fractions],
            (_bounds(bounds), step),
            text_of("epsilon", epsilon),
            str(purpose),
        )
        return Release(self, released, None if len(fractions) == 1 and one else (len(fractions),))

    def median(self, values: Any, *, bounds: tuple[float, float], epsilon: Number, purpose: str = "") -> Release:
        """The median: :meth:`quantile` at one half."""
        return self.quantile(values, "1/2", bounds=bounds, epsilon=epsilon, purpose=purpose)

    # Choices.

    def exponential(
        self,
        scores: Any,
        *,
        sensitivity: Number,
        epsilon: Number,
        candidates: Sequence[Any] | None = None,
        monotone: bool = False,
        purpose: str = "",
    ) -> Choice:
        """Chooses one candidate by its score, the better the likelier: the exponential mechanism.

        ``sensitivity`` is how far one unit can move any one score. Say ``monotone=True`` when a unit that is added moves no
        two scores in opposite directions, as with counts: that takes half the noise, and holds for units that are added or
        removed. ``candidates`` names them; without, the choice is the place of its score.

        >>> account = Account(epsilon=60)
        >>> account.exponential([3, 40, 7], sensitivity=1, epsilon=50, candidates=["a", "b", "c"]).value
        'b'
        """
        return self._choose("exponential", scores, sensitivity, epsilon, candidates, monotone, purpose)

    def noisy_max(
        self,
        scores: Any,
        *,
        sensitivity: Number,
        epsilon: Number,
        candidates: Sequence[Any] | None = None,
        monotone: bool = False,
        purpose: str = "",
    ) -> Choice:
        """Adds Laplace noise to each score and tells whose is the largest, not how large: parameters as :meth:`exponential`."""
        return self._choose("noisy_max", scores, sensitivity, epsilon, candidates, monotone, purpose)

    def permute_and_flip(
        self,
        scores: Any,
        *,
        sensitivity: Number,
        epsilon: Number,
        candidates: Sequence[Any] | None = None,
        monotone: bool = False,
        purpose: str = "",
    ) -> Choice:
        """Never worse on average than :meth:`exponential`, with the same parameters."""
        return self._choose("permute_and_flip", scores, sensitivity, epsilon, candidates, monotone, purpose)

    def _choose(
        self,
        how: str,
        scores: Any,
        sensitivity: Number,
        epsilon: Number,
        candidates: Sequence[Any] | None,
        monotone: bool,
        purpose: str,
    ) -> Choice:
        numbers, shape = _column(scores)
        if candidates is not None and len(candidates) != shape[0]:
            raise ParameterError("there are not as many candidates as scores", "give one score for each candidate")
        stated = text_of("sensitivity", sensitivity)
        released = self._inner.choose(
            (how, bool(monotone)), numbers, stated, text_of("epsilon", epsilon), str(purpose)
        )
        return Choice(self, released, candidates)

    def randomized_response(
        self, values: Any, *, answers: int | Sequence[Any] = 2, epsilon: Number, purpose: str = ""
    ) -> Reports:
        """Each unit's answer, truthful with a probability that ε allows and otherwise one of the others.

        ``answers`` is the list of possible answers, or how many there are; then values are their places. A value that is
        no answer counts as the first one. One report a unit tells how many units there are, so this is for an account with
        ``neighbors="change_one"``.

        >>> account = Account(epsilon=2, neighbors="change_one")
        >>> reports = account.randomized_response(["yes", "no"] * 500, answers=["no", "yes"], epsilon=1)
        >>> len(reports.value)
        1000
        >>> [estimate.answer for estimate in reports.estimate(0.95)]
        ['no', 'yes']
        """
        names: Sequence[Any] | None = None
        if isinstance(answers, int):
            most = count_of("answers", answers, 2)
        else:
            names = list(answers)
            most = len(names)
            places = {name: place for place, name in enumerate(names)}
            if len(places) != most:
                raise ParameterError("an answer is listed twice", "list each answer once")
            # What is not in the list is beyond it.
            values = [places.get(value, most) for value in _listed(values)]
        if not 2 <= most <= 2**20:
            raise ParameterError("there are not between 2 and 1048576 answers", "list at least two")
        numbers, _ = _rows(values)
        released = self._inner.randomized_response(numbers, most, text_of("epsilon", epsilon), str(purpose))
        return Reports(self, released, names)

    # Many questions, of which few are answered with yes.

    def above_threshold(
        self,
        values: Any,
        *,
        threshold: Number,
        sensitivity: Number,
        epsilon: Number,
        positives: int = 1,
        monotone: bool = False,
        purpose: str = "",
    ) -> Release:
        """Which of these numbers are about at or above the threshold, until ``positives`` of them are.

        ``sensitivity`` is how far one unit can move any one of them. The cost does not depend on how many there are.

        >>> account = Account(epsilon=200)
        >>> account.above_threshold([1, 2, 90, 3], threshold=50, sensitivity=1, epsilon=100).value
        [False, False, True]
        """
        numbers, _ = _column(values)
        level, _ = _numbers(threshold)
        released = self._inner.above_threshold(
            (numbers, level),
            (_positives(positives), bool(monotone)),
            text_of("sensitivity", sensitivity),
            text_of("epsilon", epsilon),
            str(purpose),
        )
        return Release(self, released, None)

    def threshold_session(
        self,
        *,
        threshold: Number,
        sensitivity: Number,
        epsilon: Number,
        positives: int = 1,
        monotone: bool = False,
        purpose: str = "",
    ) -> ThresholdSession:
        """The same, asked one by one: each number may depend on the answers so far. Charged once, when it is opened.

        >>> session = Account(epsilon=200).threshold_session(threshold=50, sensitivity=1, epsilon=100)
        >>> session.ask(3), session.ask(90), session.ask(90)
        (False, True, None)
        """
        level, _ = _numbers(threshold)
        most = _positives(positives)
        opened = self._inner.threshold_session(
            level,
            (most, bool(monotone)),
            text_of("sensitivity", sensitivity),
            text_of("epsilon", epsilon),
            str(purpose),
        )
        return ThresholdSession(self, opened, most)

    def __repr__(self) -> str:
        return f"<Account: {self.budget}>"

    def __reduce__(self) -> Any:
        raise ParameterError(
            "an account is not copied: two copies would spend one budget twice",
            "open another account on a ledger in a file",
        )


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
    @property
    def event(self) -> Event:
        """What ran, for an accountant."""
        return Event.from_json(self._inner.event)


class Release(_Run):
    """A public answer: its value, how far it may be off, and what it cost."""

    def __init__(self, account: Account, inner: Any, shape: tuple[int, ...] | None) -> None:
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
        numbers, _ = _numbers(value)
        found = self._inner.ask(numbers)
        if found:
            self._positives -= 1
        return found

    def __repr__(self) -> str:
        return f"<ThresholdSession: {self._positives} positive answers left, {self.cost}>"


def _positives(positives: int) -> int:
    most = count_of("positives", positives, 1)
    if most >= 2**32:
        raise ParameterError("positives is too large", "give a number such as 1 or 10")
    return most


def _bounds(bounds: tuple[float, float]) -> tuple[float, float]:
    try:
        low, high = bounds
        return float(low), float(high)
    except (TypeError, ValueError, OverflowError):
        raise ParameterError("bounds are not two numbers", "give them as bounds=(0, 100)") from None


def _gaussian(
    epsilon: Number | None, delta: Number | None, noise_multiplier: Number | None, rho: Number | None
) -> tuple[str, list[str]]:
    given = (epsilon is not None, delta is not None, noise_multiplier is not None, rho is not None)
    if given == (True, True, False, False):
        return "gaussian", [text_of("epsilon", epsilon), text_of("delta", delta)]
    if given == (False, False, True, False):
        return "multiplier", [text_of("noise_multiplier", noise_multiplier)]
    if given == (False, False, False, True):
        return "rho", [text_of("rho", rho)]
    raise ParameterError(
        "how much Gaussian noise is not said, or said twice",
        "give epsilon and delta, or noise_multiplier, or rho",
    )


def _either(
    epsilon: Number | None, delta: Number | None, noise_multiplier: Number | None, rho: Number | None
) -> tuple[str, list[str]]:
    if epsilon is not None and delta is None and noise_multiplier is None and rho is None:
        return "laplace", [text_of("epsilon", epsilon)]
    if epsilon is None and delta is None and noise_multiplier is None and rho is None:
        raise ParameterError("how much noise is not said", "give epsilon, such as epsilon=0.5")
    return _gaussian(epsilon, delta, noise_multiplier, rho)


_FORMATS = {"d": "f8", "f": "f4", "?": "b1"}
_SIGNED = "bhilqn"
_UNSIGNED = "BHILQN"


def _numbers(value: Any) -> tuple[Any, tuple[int, ...] | None]:
    """Numbers as the extension takes them, and the shape of an array; None for one number."""
    if isinstance(value, (int, float)):
        return _scalar(value), None
    if getattr(value, "shape", None) == () or not _is_column(value):
        if hasattr(value, "__index__"):
            return _scalar(value.__index__()), None
        if hasattr(value, "__float__"):
            return _scalar(float(value)), None
    return _column(value)


def _is_column(value: Any) -> bool:
    return any(hasattr(value, name) for name in ("__len__", "__arrow_c_array__", "__arrow_c_stream__"))


def _scalar(value: int | float) -> tuple[str, bytes]:
    import struct

    if isinstance(value, int):
        # What is too large is cut, as everywhere: whether it is must not be told by an error.
        return "i8", struct.pack("=q", min(max(int(value), -(2**63)), 2**63 - 1))
    return "f8", struct.pack("=d", _or_infinite(value))


def _rows(values: Any) -> tuple[Any, tuple[int, ...]]:
    """One value of each unit. A list has no type by itself, and its values are private: it is floats."""
    numbers, shape = _column(values, whole=False)
    # Of a table with several columns each cell would be taken for a unit, and a row would move the result more than is charged.
    if len(shape) > 1 and shape[1:] != (1,) * (len(shape) - 1):
        raise ParameterError(
            "these are several columns, and one value of each unit is wanted", "give one column, and the others by themselves"
        )
    return numbers, shape


def _column(values: Any, whole: bool = True) -> tuple[Any, tuple[int, ...]]:
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
            # A type of pandas that has missing values: they are none in an array of floats.
            try:
                return _column(values.to_numpy(dtype="float64", na_value=float("nan")))
            except (TypeError, ValueError, OverflowError):
                # What it says quotes a value.
                raise ParameterError("the column does not hold numbers", "convert it to floats or whole numbers") from None
        return _column(values.to_numpy())
    if hasattr(values, "detach"):
        return _column(values.detach().cpu().numpy())
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
        # What is too large is infinite: whether it is must not be told by an error, and the others stay what they are.
        return ("f8", array("d", map(_or_infinite, known)).tobytes()), (len(known),)
    except TypeError:
        raise ParameterError("the list holds something that is not a number", "give numbers alone") from None


def _or_infinite(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _listed(values: Any) -> Iterator[Any]:
    if hasattr(values, "to_pylist"):
        return iter(values.to_pylist())
    if hasattr(values, "tolist"):
        return iter(values.tolist())
    return iter(values)


def _packed(value: Any, whole: bool) -> bytearray:
    import struct

    return bytearray(struct.pack("=q" if whole else "=d", value))


def _array(buffer: bytearray, whole: bool, shape: tuple[int, ...] | None) -> Any:
    """A NumPy array on the buffer, or a view of it where there is no NumPy."""
    try:
        import numpy
    except ImportError:
        return memoryview(buffer).cast("q" if whole else "d")
    array = numpy.frombuffer(buffer, dtype=numpy.int64 if whole else numpy.float64)
    return array if shape is None else array.reshape(shape)
