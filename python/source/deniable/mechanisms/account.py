"""A budget, and everything that is charged to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Sequence

from deniable import _deniable
from deniable._errors import ParameterError
from deniable._numbers import count_of, text_of
from deniable.accounting.accountant import neighbors_of
from deniable.accounting.events import Event
from deniable.mechanisms.noise import bounds_of, gaussian, laplace_or_gaussian, threshold_of
from deniable.mechanisms.numbers import column_of, listed, numbers_of, rows_of
from deniable.mechanisms.releases import Choice, Mean, Release, Reports, ThresholdSession

if TYPE_CHECKING:
    import os

    from deniable._numbers import Number


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
        self._neighbors = neighbors_of(neighbors)
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
        noise = gaussian(epsilon, delta, noise_multiplier, rho)
        return self._noisy(value, sensitivity, coordinates, noise, purpose)

    def _noisy(
        self,
        value: Any,
        sensitivity: Number,
        coordinates: int | None,
        noise: tuple[str, list[str]],
        purpose: str,
    ) -> Release:
        numbers, shape = numbers_of(value)
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
        noise = laplace_or_gaussian(epsilon, delta, noise_multiplier, rho)
        return Release(self, self._inner.count(rows_of(values), noise, str(purpose)))

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
        noise = laplace_or_gaussian(epsilon, delta, noise_multiplier, rho)
        return Release(self, self._inner.sum(rows_of(values), bounds_of(bounds), noise, str(purpose)))

    def mean(self, values: Any, *, bounds: tuple[float, float], epsilon: Number, purpose: str = "") -> Mean:
        """The mean of values that are each cut to ``bounds``.

        Where a unit may be added or removed, the number of values is private: then half of ε is spent on it, in the same
        charge.

        >>> account = Account(epsilon=100)
        >>> mean = account.mean([1.0, 2.0, 6.0] * 1000, bounds=(0, 10), epsilon=100)
        >>> abs(mean.value - 3) < 0.1
        True
        """
        ends = bounds_of(bounds)
        found = self._inner.centred(rows_of(values), ends, text_of("epsilon", epsilon), str(purpose))
        return Mean(self, *found, ends)

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
        noise = laplace_or_gaussian(epsilon, delta, noise_multiplier, rho)
        numbers, wanted = rows_of(values), count_of("bins", bins, 1)
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
        numbers = rows_of(values)
        step = None if resolution is None else text_of("resolution", resolution)
        released = self._inner.quantiles(
            numbers,
            [text_of("fraction", part) for part in fractions],
            (bounds_of(bounds), step),
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
        numbers, shape = column_of(scores)
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
            # An answer that is not in the list is beyond it.
            values = [places.get(value, most) for value in listed(values)]
        if not 2 <= most <= 2**20:
            raise ParameterError("there are not between 2 and 1048576 answers", "list at least two")
        released = self._inner.randomized_response(rows_of(values), most, text_of("epsilon", epsilon), str(purpose))
        return Reports(self, released, names)

    # Many queries, few of which are answered with yes.

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
        numbers, level = column_of(values)[0], numbers_of(threshold)[0]
        stated = threshold_of(positives, monotone, sensitivity, epsilon, purpose)
        return Release(self, self._inner.above_threshold((numbers, level), *stated))

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
        level, _ = numbers_of(threshold)
        stated = threshold_of(positives, monotone, sensitivity, epsilon, purpose)
        return ThresholdSession(self, self._inner.threshold_session(level, *stated), stated[0][0])

    def __repr__(self) -> str:
        return f"<Account: {self.budget}>"

    def __reduce__(self) -> Any:
        raise ParameterError(
            "an account is not copied: two copies would spend one budget twice",
            "open another account on a ledger in a file",
        )
