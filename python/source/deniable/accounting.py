"""What releases cost together: the certified accountant.

An :class:`Accountant` is told what runs, as events, and says what ε that is for a δ. The answer is an interval that
certainly holds the smallest ε; :meth:`Accountant.get_epsilon` is its upper end, so that it is never below the truth.

>>> from deniable.accounting import Accountant, Gaussian, PoissonSampled
>>> step = PoissonSampled(256 / 60000, Gaussian(1.1))
>>> training = Accountant().compose(step, 14_062)
>>> round(training.get_epsilon(1e-5), 6)
2.381597
>>> low, high = training.epsilon_interval(1e-5)
>>> high - low < 1e-6
True

The names are those of Google's dp-accounting, and its trees of events are read as they are
(:func:`from_dp_event`). The other way around, :func:`calibrate_noise` finds the least noise that keeps a target.

A parameter is read as it is written: a float stands for the decimal that Python prints for it, and text such as
``"1/3"``, a ``Fraction`` or a ``Decimal`` for exactly what it says.

Whose privacy it is about is a property of the accountant. ``neighbors="add_remove"`` protects a unit that is added or
removed, which is what Poisson samples are proved for; ``neighbors="change_one"`` one whose data may change, which is
what batches of a fixed size and shuffled batches are proved for. The noise multiplier of an event is the noise over
what *such* a unit can change: with gradients clipped to C that is C for one that is added or removed, and 2C for one
that changes.

What is composed here was fixed before it ran. Where the next question depends on earlier answers, an account holds the
budget: :mod:`deniable.mechanisms`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Callable, Iterable, Sequence

from deniable import _deniable
from deniable._errors import ParameterError
from deniable._numbers import count_of, text_of

if TYPE_CHECKING:
    from deniable._numbers import Number

__all__ = [
    "Accountant",
    "Approximate",
    "Composed",
    "ComposedDpEvent",
    "Concentrated",
    "DiscreteLaplace",
    "DiscreteLaplaceDpEvent",
    "EpsilonDeltaDpEvent",
    "Event",
    "Exponential",
    "Gaussian",
    "GaussianDpEvent",
    "Laplace",
    "LaplaceDpEvent",
    "NoOp",
    "NoOpDpEvent",
    "PoissonSampled",
    "PoissonSampledDpEvent",
    "Pure",
    "RandomizedResponse",
    "SampledWithoutReplacement",
    "SampledWithoutReplacementDpEvent",
    "SelfComposed",
    "SelfComposedDpEvent",
    "ShuffledEpoch",
    "ZCDpEvent",
    "calibrate",
    "calibrate_gaussian",
    "calibrate_noise",
    "from_dp_event",
]

METHODS = ("basic", "advanced", "optimal", "zcdp", "renyi", "gdp", "numerical")


class Event:
    """Something that runs, as parameters: never data.

    Events are made by the classes below, by ``+`` and by ``*``, and compare by what they say.

    >>> from deniable.accounting import Gaussian, Pure
    >>> 3 * Pure(0.5) + Gaussian(2) == Gaussian(2) + Pure("1/2") * 3
    True
    """

    __slots__ = ("_leaves",)

    # The simple events in it, each as a ledger writes it, with how often it runs.
    _leaves: dict[str, int]

    def __init__(self) -> None:
        raise ParameterError("an event has no general form", "make one such as Gaussian(1.1) or Pure(0.5)")

    @classmethod
    def from_json(cls, text: str) -> Event:
        """Reads an event as a ledger writes it.

        >>> Event.from_json('{"pure": {"epsilon": "0.5"}}') == Pure(0.5)
        True
        """
        return _made(_leaves_of(json.loads(_deniable.event_checked(text))))

    def to_json(self) -> str:
        """The event as a ledger writes it, and as ``deniable account`` reads it.

        >>> Pure(0.5).to_json()
        '{"pure":{"epsilon":"0.5"}}'
        """
        parts = [
            leaf if times == 1 else f'{{"repeated":{{"event":{leaf},"times":{times}}}}}'
            for leaf, times in self._leaves.items()
        ]
        return parts[0] if len(parts) == 1 else f'{{"composed":[{",".join(parts)}]}}'

    def __add__(self, other: Event) -> Event:
        if not isinstance(other, Event):
            return NotImplemented
        return Composed([self, other])

    def __mul__(self, count: int) -> Event:
        if isinstance(count, bool) or not hasattr(count, "__index__"):
            return NotImplemented
        return SelfComposed(self, count)

    __rmul__ = __mul__

    def __eq__(self, other: object) -> bool:
        return self._leaves == other._leaves if isinstance(other, Event) else NotImplemented

    def __hash__(self) -> int:
        return hash(frozenset(self._leaves.items()))

    def __repr__(self) -> str:
        return f"Event.from_json({self.to_json()!r})"

    def __reduce__(self) -> tuple[Callable[[str], Event], tuple[str]]:
        return Event.from_json, (self.to_json(),)


def _made(leaves: dict[str, int]) -> Event:
    event = object.__new__(Event)
    event._leaves = leaves
    return event


def _add(leaves: dict[str, int], more: dict[str, int], times: int = 1) -> None:
    for leaf, often in more.items():
        total = leaves.get(leaf, 0) + often * times
        if total >= 2**63:
            raise ParameterError("an event is repeated more than 9e18 times", "nothing runs that often; check the number")
        if total:
            leaves[leaf] = total


def _leaves_of(tree: dict[str, Any]) -> dict[str, int]:
    leaves: dict[str, int] = {}
    ((kind, inner),) = tree.items()
    if kind == "composed":
        for part in inner:
            _add(leaves, _leaves_of(part))
    elif kind == "repeated":
        _add(leaves, _leaves_of(inner["event"]), inner["times"])
    else:
        leaves[json.dumps(tree, separators=(",", ":"))] = 1
    return leaves


def _leaf(kind: str, **inner: Any) -> dict[str, int]:
    text = json.dumps({kind: inner}, separators=(",", ":"))
    return {_deniable.event_checked(text): 1}


def _inverse(name: str, number: Number) -> str:
    from fractions import Fraction

    value = _fraction(name, number)
    if value <= 0:
        raise ParameterError(f"{name} is not positive", "it is the scale of the noise over the sensitivity, such as 2")
    inverse = Fraction(1) / value
    return f"{inverse.numerator}/{inverse.denominator}"


def _fraction(name: str, number: Number) -> Any:
    from fractions import Fraction

    try:
        return Fraction(text_of(name, number))
    except (ValueError, ZeroDivisionError):
        raise ParameterError(f"{name} is not a number", "give a number such as 0.5, or its text such as '1/3'") from None


class Gaussian(Event):
    """Gaussian noise, on a number or a vector.

    ``noise_multiplier`` is its standard deviation over the ℓ₂ sensitivity. For the discrete Gaussian on the integers
    say ``discrete=True``: its curve is another.

    >>> round(Accountant().compose(Gaussian(2)).get_epsilon(1e-6), 4)
    2.2541
    """

    __slots__ = ()

    def __init__(self, noise_multiplier: Number, *, discrete: bool = False) -> None:
        square = _deniable.multiplier_squared(text_of("noise_multiplier", noise_multiplier))
        self._leaves = _leaf("gaussian", multiplier_squared=square, on="discrete" if discrete else "rounded")


class Laplace(Event):
    """Laplace noise where one number can change.

    ``noise_multiplier`` is its scale over the ℓ₁ sensitivity, that is 1/ε; or give ``epsilon``. Where a unit can change
    several coordinates of a vector, say ``vector=True``: then what is known is that it is ε-DP, which costs a little
    more.

    >>> many = Accountant().compose(Laplace(epsilon=0.1), 1000)
    >>> many.get_epsilon(0), round(many.get_epsilon(1e-6), 3)
    (100.0, 18.95)
    """

    __slots__ = ()

    def __init__(
        self, noise_multiplier: Number | None = None, *, epsilon: Number | None = None, vector: bool = False
    ) -> None:
        if (noise_multiplier is None) == (epsilon is None):
            raise ParameterError("Laplace noise has a noise multiplier or an ε", "give one of the two")
        ratio = (
            text_of("epsilon", epsilon)
            if epsilon is not None
            else _inverse("noise_multiplier", noise_multiplier)  # type: ignore[arg-type]
        )
        self._leaves = _leaf("laplace", ratio=ratio, on="discrete" if vector else "rounded")


class DiscreteLaplace(Event):
    """Discrete Laplace (geometric) noise on the integers: the probability of x falls as exp(−noise_parameter·|x|).

    ``sensitivity`` is the whole number of steps by which one unit can move the value.
    """

    __slots__ = ()

    def __init__(self, noise_parameter: Number, sensitivity: int = 1, *, vector: bool = False) -> None:
        steps = count_of("sensitivity", sensitivity, 1)
        ratio = _fraction("noise_parameter", noise_parameter) * steps
        on: Any = "discrete" if vector else {"discrete_scalar": {"sensitivity": steps}}
        self._leaves = _leaf("laplace", ratio=f"{ratio.numerator}/{ratio.denominator}", on=on)


class Pure(Event):
    """Anything that is ε-DP.

    >>> Accountant().compose(Pure(0.25), 4).get_epsilon(0)
    1.0
    """

    __slots__ = ()

    def __init__(self, epsilon: Number) -> None:
        self._leaves = _leaf("pure", epsilon=text_of("epsilon", epsilon))


class Approximate(Event):
    """Anything that is (ε, δ)-DP."""

    __slots__ = ()

    def __init__(self, epsilon: Number, delta: Number) -> None:
        self._leaves = _leaf(
            "approximate", epsilon=text_of("epsilon", epsilon), delta=text_of("delta", delta)
        )


class Concentrated(Event):
    """Anything that is ρ-zCDP. Its curve is not known, so an accountant with one in it answers by Rényi divergences."""

    __slots__ = ()

    def __init__(self, rho: Number) -> None:
        self._leaves = _leaf("concentrated", rho=text_of("rho", rho))


class Exponential(Event):
    """The exponential mechanism, or anything whose privacy losses lie in a range of width ε."""

    __slots__ = ()

    def __init__(self, epsilon: Number) -> None:
        self._leaves = _leaf("exponential", epsilon=text_of("epsilon", epsilon))


class RandomizedResponse(Event):
    """Randomized response among ``answers`` answers, for a unit whose answer may change."""

    __slots__ = ()

    def __init__(self, epsilon: Number, answers: int = 2) -> None:
        self._leaves = _leaf(
            "randomized_response", answers=count_of("answers", answers, 2), epsilon=text_of("epsilon", epsilon)
        )


class NoOp(Event):
    """Nothing at all."""

    __slots__ = ()

    def __init__(self) -> None:
        self._leaves = {}


class Composed(Event):
    """All of these, each possibly looking at the answers of the earlier ones."""

    __slots__ = ()

    def __init__(self, events: Iterable[Event]) -> None:
        self._leaves = {}
        for event in events:
            _add(self._leaves, _event(event)._leaves)


class SelfComposed(Event):
    """The same event ``count`` times."""

    __slots__ = ()

    def __init__(self, event: Event, count: int) -> None:
        self._leaves = {}
        _add(self._leaves, _event(event)._leaves, count_of("count", count))


class PoissonSampled(Event):
    """An event on a sample that holds each unit with this probability, independently of all others.

    Gaussian noise on a sample is one step of private training. Proved for a unit that is added or removed.
    Several Gaussians on one sample count as one. Anything else counts as if it ran on all of the data.

    >>> step = PoissonSampled(0.01, Gaussian(1.0))
    >>> round(Accountant().compose(step, 1000).get_epsilon(1e-5), 6)
    1.828237
    """

    __slots__ = ()

    def __init__(self, sampling_probability: Number, event: Event) -> None:
        rate = text_of("sampling_probability", sampling_probability)
        value = _fraction("sampling_probability", sampling_probability)
        if not 0 <= value <= 1:
            raise ParameterError("sampling_probability is not between 0 and 1", "give a rate such as 0.01")
        event = _event(event)
        square = _one_gaussian(event)
        if square is not None:
            self._leaves = _leaf(
                "sampled_gaussian", sampler={"poisson": {"rate": rate}}, multiplier_squared=square
            )
        else:
            # A mixture of pairs that are as close as the event says is as close (divergences are jointly convex), for either kind of neighbors. That a sample hides
            # more is proved for units that are added or removed alone, and an ε by itself does not say which units it is about.
            self._leaves = dict(event._leaves)


class SampledWithoutReplacement(Event):
    """An event on a batch of a fixed size, each set of that many units equally likely, drawn anew each time.

    Proved for Gaussian noise and a unit whose data may change (``neighbors="change_one"``).
    """

    __slots__ = ()

    def __init__(self, source_dataset_size: int, sample_size: int, event: Event) -> None:
        size = count_of("source_dataset_size", source_dataset_size, 1)
        batch = count_of("sample_size", sample_size)
        if batch > size:
            raise ParameterError("the sample is larger than the data", "give the size of the data first")
        square = _one_gaussian(_event(event))
        if square is None:
            raise ParameterError(
                "on batches of a fixed size, only Gaussian noise is accounted for",
                "use PoissonSampled for other events, or count the event as if it ran on all of the data",
            )
        self._leaves = _leaf(
            "sampled_gaussian", sampler={"fixed_size": {"batch": batch, "of": size}}, multiplier_squared=square
        )


class ShuffledEpoch(Event):
    """One epoch of steps on the batches of a shuffled list, as most data loaders make them.

    Each unit is in one batch of an epoch, so an epoch costs one Gaussian, and the order is credited with nothing. Proved
    for a unit whose data may change (``neighbors="change_one"``).
    """

    __slots__ = ()

    def __init__(self, noise_multiplier: Number) -> None:
        square = _deniable.multiplier_squared(text_of("noise_multiplier", noise_multiplier))
        self._leaves = _leaf("sampled_gaussian", sampler="shuffled", multiplier_squared=square)


def _event(event: Any) -> Event:
    return event if isinstance(event, Event) else from_dp_event(event)


def _one_gaussian(event: Event) -> str | None:
    """The squared noise multiplier of the one Gaussian that is the same as all in the event, if it is Gaussian alone.

    Several Gaussians on the same data are one on a longer vector, and the squares of distance over noise add up.
    """
    from fractions import Fraction

    total = Fraction(0)
    for leaf, times in event._leaves.items():
        ((kind, inner),) = json.loads(leaf).items()
        if kind != "gaussian" or inner["on"] != "rounded":
            return None
        if len(event._leaves) == 1 and times == 1:
            return str(inner["multiplier_squared"])
        total += times / Fraction(inner["multiplier_squared"])
    if not total:
        return None
    square = 1 / total
    # What an event keeps has at most 300 characters. Rounded down, which is more cost.
    if len(str(square)) > 250:
        places = 10**60
        square = Fraction(int(square * places), places)
    return f"{square.numerator}/{square.denominator}"


# The names of dp-accounting.
GaussianDpEvent = Gaussian
LaplaceDpEvent = Laplace
DiscreteLaplaceDpEvent = DiscreteLaplace
EpsilonDeltaDpEvent = Approximate
ZCDpEvent = Concentrated
NoOpDpEvent = NoOp
ComposedDpEvent = Composed
SelfComposedDpEvent = SelfComposed
PoissonSampledDpEvent = PoissonSampled
SampledWithoutReplacementDpEvent = SampledWithoutReplacement


def from_dp_event(event: Any, *, one_number: bool = False) -> Event:
    """Reads a tree of events of Google's dp-accounting.

    Its objects are read by the names of their classes and attributes; the package itself is not needed. A class that is
    not known, or that promises nothing, is refused by its name.

    Laplace noise there may be on a vector, of which only ε is known here. Say ``one_number=True`` when a unit changes
    one number of it at most, as in a count: then it has its own curve, and costs a little less.

    >>> class GaussianDpEvent:  # as in dp_accounting.dp_event
    ...     noise_multiplier = 2.0
    >>> from_dp_event(GaussianDpEvent()) == Gaussian(2)
    True
    """
    return _read(event, one_number, 0)


_DEEPEST = 200


def _read(event: Any, one_number: bool, depth: int) -> Event:
    if isinstance(event, Event):
        return event
    if depth > _DEEPEST:
        raise ParameterError("the events nest too deeply", "list them side by side in one ComposedDpEvent")
    name = type(event).__name__

    def inner(child: Any) -> Event:
        return _read(child, one_number, depth + 1)

    def part(attribute: str) -> Any:
        try:
            return getattr(event, attribute)
        except AttributeError:
            raise ParameterError(
                f"a {name} has no {attribute}", "give an event of dp-accounting, or one of deniable.accounting"
            ) from None

    if name == "NoOpDpEvent":
        return NoOp()
    if name == "GaussianDpEvent":
        return Gaussian(part("noise_multiplier"))
    if name == "LaplaceDpEvent":
        return Laplace(part("noise_multiplier"), vector=not one_number)
    if name == "DiscreteLaplaceDpEvent":
        return DiscreteLaplace(part("noise_parameter"), part("sensitivity"), vector=not one_number)
    if name == "EpsilonDeltaDpEvent":
        return Approximate(part("epsilon"), part("delta"))
    if name == "ZCDpEvent":
        if getattr(event, "xi", 0):
            raise ParameterError(
                "a ZCDpEvent with xi is not accounted for", "state it with xi = 0 and a larger rho, if it has one"
            )
        return Concentrated(part("rho"))
    if name == "RandomizedResponseDpEvent":
        return _randomized_response(part("noise_parameter"), part("num_buckets"))
    if name == "ComposedDpEvent":
        return Composed([inner(child) for child in part("events")])
    if name == "SelfComposedDpEvent":
        return SelfComposed(inner(part("event")), part("count"))
    if name == "PoissonSampledDpEvent":
        return PoissonSampled(part("sampling_probability"), inner(part("event")))
    if name == "SampledWithoutReplacementDpEvent":
        return SampledWithoutReplacement(part("source_dataset_size"), part("sample_size"), inner(part("event")))
    if name == "NonPrivateDpEvent":
        raise ParameterError(
            "a NonPrivateDpEvent promises nothing, so no ε holds", "leave out what is not private, or make it private"
        )
    raise ParameterError(
        f"an event of the class {name} is not accounted for here",
        "state what it promises, with Pure(ε), Approximate(ε, δ) or Concentrated(ρ)",
    )


def _randomized_response(noise_parameter: Any, buckets: Any) -> Event:
    """With probability p a bucket that is drawn evenly, and otherwise the true one."""
    noise = _fraction("noise_parameter", noise_parameter)
    answers = count_of("num_buckets", buckets, 1)
    if not 0 <= noise <= 1:
        raise ParameterError("noise_parameter is not between 0 and 1", "it is the probability of a random answer")
    if noise == 1 or answers == 1:
        return NoOp()
    if noise == 0:
        raise ParameterError(
            "a RandomizedResponseDpEvent without noise promises nothing", "give a noise_parameter such as 0.5"
        )
    other = noise / answers
    ratio = (1 - noise + other) / other
    epsilon = _deniable.logarithm_up(f"{ratio.numerator}/{ratio.denominator}")
    return RandomizedResponse(epsilon, answers)


def _neighbors(neighbors: Any) -> str:
    name = neighbors if isinstance(neighbors, str) else getattr(neighbors, "name", None)
    known = {
        "add_remove": "add_remove",
        "add_or_remove_one": "add_remove",
        "change_one": "change_one",
        "replace_one": "change_one",
    }
    found = known.get(str(name).lower())
    if found is None:
        raise ParameterError(
            "neighbors is neither 'add_remove' nor 'change_one'",
            "'add_remove' where one unit is added or removed, 'change_one' where one unit's data may change",
        )
    return found


class Accountant:
    """Adds up what runs, and says what it costs.

    >>> accountant = Accountant().compose(Gaussian(20), 100).compose(Laplace(epsilon=0.1), 10)
    >>> accountant.get_epsilon(1e-6) < 4.2
    True
    >>> accountant.get_delta(3.0) < 1e-3
    True
    """

    def __init__(self, *, neighbors: Any = "add_remove", unit: str = "person") -> None:
        self._neighbors = _neighbors(neighbors)
        self._unit = str(unit)
        self._leaves: dict[str, int] = {}
        self._known: _deniable.PrivacyCurve | None = None

    @property
    def neighbors(self) -> str:
        """``"add_remove"`` or ``"change_one"``."""
        return self._neighbors

    @property
    def unit(self) -> str:
        """Whose privacy it is about."""
        return self._unit

    @property
    def ledger(self) -> Event:
        """Everything that was composed, as one event."""
        return _made(dict(self._leaves))

    def compose(self, event: Any, count: int = 1) -> Accountant:
        """Adds an event that runs ``count`` times, and returns the accountant.

        Events of dp-accounting are read with :func:`from_dp_event`.
        """
        more = _event(event)._leaves
        leaves = dict(self._leaves)
        _add(leaves, more, count_of("count", count))
        self._leaves = leaves
        self._known = None
        return self

    def supports(self, event: Any) -> bool:
        """Whether this event can be composed under these neighbours.

        >>> Accountant(neighbors="change_one").supports(PoissonSampled(0.01, Gaussian(1)))
        False
        """
        try:
            leaves = dict(self._leaves)
            _add(leaves, _event(event)._leaves)
            self._curve_of(leaves)
        except ParameterError:
            return False
        return True

    def get_epsilon(self, target_delta: Number, *, method: str | None = None) -> float:
        """An ε that certainly holds with this δ: the upper end of :meth:`epsilon_interval`.

        ``method`` asks one accountant instead: "basic", "advanced", "optimal", "zcdp", "renyi", "gdp" or "numerical".
        """
        delta = text_of("target_delta", target_delta)
        if method is None:
            return self._curve().epsilon(delta)[1]
        return self._curve().epsilon_by(method, delta)

    def get_delta(self, target_epsilon: Number, *, method: str | None = None) -> float:
        """A δ that certainly holds with this ε: the upper end of :meth:`delta_interval`."""
        epsilon = text_of("target_epsilon", target_epsilon)
        if method is None:
            return self._curve().delta(epsilon)[1]
        return self._curve().delta_by(method, epsilon)

    def epsilon_interval(self, target_delta: Number) -> tuple[float, float]:
        """Two ends between which the smallest ε for this δ certainly lies.

        Where an event is known by its ρ alone, nothing is known from below, and the lower end is zero.
        """
        return self._curve().epsilon(text_of("target_delta", target_delta))

    def delta_interval(self, target_epsilon: Number) -> tuple[float, float]:
        """Two ends between which the smallest δ for this ε certainly lies."""
        return self._curve().delta(text_of("target_epsilon", target_epsilon))

    def is_attained(self) -> bool:
        """Whether a mechanism that the events describe really has the ε and δ of the lower ends, and no smaller ones."""
        return self._curve().is_attained()

    def get_rdp(self, orders: Sequence[float]) -> list[float]:
        """At least the Rényi divergence of each of these orders above 1.

        >>> [round(found, 9) for found in Accountant().compose(Gaussian(2)).get_rdp([2, 8])]
        [0.25, 1.0]
        """
        return self._curve().renyi([float(order) for order in orders])

    def get_rho(self) -> float:
        """A ρ such that everything together is ρ-zCDP.

        >>> Accountant().compose(Gaussian(2), 8).get_rho()
        1.0
        """
        return self._curve().rho()

    def compare(self, target_delta: Number) -> dict[str, float | None]:
        """The ε of every accountant, from the loosest; None where one has nothing to say.

        >>> found = Accountant().compose(Laplace(epsilon=0.1), 1000).compare(1e-6)
        >>> found["basic"], round(found["numerical"], 2)
        (100.0, 18.95)
        """
        delta = text_of("target_delta", target_delta)
        curve = self._curve()

        def by(method: str) -> float | None:
            try:
                return curve.epsilon_by(method, delta)
            except ParameterError:
                return None

        return {method: by(method) for method in METHODS}

    def __len__(self) -> int:
        return sum(self._leaves.values())

    def __repr__(self) -> str:
        how = "added or removed" if self._neighbors == "add_remove" else "whose data may change"
        return f"<Accountant of {len(self)} events, for each {self._unit}, {how}>"

    def _curve(self) -> _deniable.PrivacyCurve:
        # Two threads may both make it, and then both are right.
        known = self._known
        if known is None:
            known = self._known = self._curve_of(self._leaves)
        return known

    def _curve_of(self, leaves: dict[str, int]) -> _deniable.PrivacyCurve:
        return _deniable.PrivacyCurve(_made(leaves).to_json(), self._unit, self._neighbors)


def calibrate_noise(
    target_epsilon: Number,
    target_delta: Number,
    *,
    steps: int,
    sample_rate: Number | None = None,
    batch_size: int | None = None,
    dataset_size: int | None = None,
    sampler: str = "poisson",
) -> float:
    """The least noise multiplier with which private training keeps (ε, δ).

    ``sampler="poisson"`` takes ``sample_rate``, or the expected ``batch_size`` and the ``dataset_size``;
    ``"fixed_size"`` takes the latter two; with ``"shuffled"``, ``steps`` counts epochs. What is returned was certified to
    keep the target, and rounded up. It is the noise over what one unit can change: see the head of this module.

    >>> sigma = calibrate_noise(3, 1e-5, sample_rate=0.01, steps=10_000)
    >>> round(sigma, 6)
    1.564966
    >>> Accountant().compose(PoissonSampled(0.01, Gaussian(sigma)), 10_000).get_epsilon(1e-5) <= 3
    True
    """
    if sampler == "poisson":
        if sample_rate is not None:
            rate = text_of("sample_rate", sample_rate)
        else:
            size = count_of("dataset_size", dataset_size, 1)
            rate = f"{count_of('batch_size', batch_size)}/{size}"
        how: Any = {"poisson": {"rate": rate}}
    elif sampler == "fixed_size":
        how = {
            "fixed_size": {
                "batch": count_of("batch_size", batch_size),
                "of": count_of("dataset_size", dataset_size, 1),
            }
        }
    elif sampler == "shuffled":
        how = "shuffled"
    else:
        raise ParameterError("there is no such sampler", "one of 'poisson', 'fixed_size' and 'shuffled'")
    return _deniable.training_multiplier(
        json.dumps(how),
        count_of("steps", steps),
        text_of("target_epsilon", target_epsilon),
        text_of("target_delta", target_delta),
    )


def calibrate_gaussian(target_epsilon: Number, target_delta: Number) -> float:
    """The least noise multiplier of one Gaussian release that keeps (ε, δ), rounded up.

    >>> round(calibrate_gaussian(1, 1e-6), 4)
    4.2247
    """
    return _deniable.gaussian_multiplier(
        text_of("target_epsilon", target_epsilon), text_of("target_delta", target_delta)
    )


def calibrate(
    make_event: Callable[[float], Any],
    target_epsilon: Number,
    target_delta: Number,
    *,
    between: tuple[float, float],
    neighbors: Any = "add_remove",
    tolerance: float = 1e-6,
) -> float:
    """The parameter of an event at which it just keeps (ε, δ), for events whose ε only grows or only falls with it.

    ``between`` are two values of the parameter, of which one keeps the target. What is returned keeps it, certified, and
    is within the relative ``tolerance`` of one that does not.

    >>> def releases(sigma):
    ...     return 10 * Gaussian(sigma) + Laplace(epsilon=0.1)
    >>> sigma = calibrate(releases, 1, 1e-6, between=(1, 100))
    >>> Accountant().compose(releases(sigma)).get_epsilon(1e-6) <= 1
    True
    """
    from fractions import Fraction

    target = Fraction(text_of("target_epsilon", target_epsilon))

    def keeps(parameter: float) -> bool:
        accountant = Accountant(neighbors=neighbors).compose(make_event(parameter))
        return Fraction(accountant.get_epsilon(target_delta)) <= target

    first, second = (float(end) for end in between)
    good, bad = (first, second) if keeps(first) else (second, first)
    if good == second and not keeps(second):
        raise ParameterError("neither end of `between` keeps the target", "give a wider range")
    if keeps(bad):
        # Both do: which of the two has more noise only the caller knows, and the search has nothing to find.
        raise ParameterError(
            "both ends of `between` keep the target", "give a range of which one end has too little noise"
        )
    while abs(good - bad) > tolerance * max(abs(good), abs(bad)):
        middle = (good + bad) / 2
        if middle in (good, bad):
            break
        if keeps(middle):
            good = middle
        else:
            bad = middle
    return good
