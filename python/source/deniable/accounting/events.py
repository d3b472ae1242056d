"""What runs, as parameters: events, how they are put together, and those of dp-accounting."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Callable, Iterable

from deniable import _deniable
from deniable._errors import ParameterError
from deniable._numbers import count_of, text_of
from deniable.accounting.leaves import add, fraction, inverse, leaf, leaves_of, one_gaussian

if TYPE_CHECKING:
    from deniable._numbers import Number
    from deniable.accounting.leaves import Leaves


class Event:
    """Something that runs, as parameters: never data.

    Events are made by the classes below, by ``+`` and by ``*``, and compare by what they say.

    >>> from deniable.accounting import Gaussian, Pure
    >>> 3 * Pure(0.5) + Gaussian(2) == Gaussian(2) + Pure("1/2") * 3
    True
    """

    __slots__ = ("_leaves",)

    # The simple events in it, each as a ledger writes it, with how often it runs.
    _leaves: Leaves

    def __init__(self) -> None:
        raise ParameterError("an event has no general form", "make one such as Gaussian(1.1) or Pure(0.5)")

    @classmethod
    def from_json(cls, text: str) -> Event:
        """Reads an event as a ledger writes it.

        >>> Event.from_json('{"pure": {"epsilon": "0.5"}}') == Pure(0.5)
        True
        """
        return made(leaves_of(json.loads(_deniable.event_checked(text))))

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


def made(leaves: Leaves) -> Event:
    """The event that all of these are together."""
    event = object.__new__(Event)
    event._leaves = leaves
    return event


class Gaussian(Event):
    """Gaussian noise, on a number or a vector.

    ``noise_multiplier`` is its standard deviation over the ℓ₂ sensitivity. For the discrete Gaussian on the integers
    say ``discrete=True``: its curve is another.

    >>> from deniable.accounting import Accountant, Gaussian
    >>> round(Accountant().compose(Gaussian(2)).get_epsilon(1e-6), 4)
    2.2541
    """

    __slots__ = ()

    def __init__(self, noise_multiplier: Number, *, discrete: bool = False) -> None:
        square = _deniable.multiplier_squared(text_of("noise_multiplier", noise_multiplier))
        self._leaves = leaf("gaussian", multiplier_squared=square, on="discrete" if discrete else "rounded")


class Laplace(Event):
    """Laplace noise where one number can change.

    ``noise_multiplier`` is its scale over the ℓ₁ sensitivity, that is 1/ε; or give ``epsilon``. Where a unit can change
    several coordinates of a vector, say ``vector=True``: then what is known is that it is ε-DP, which costs a little
    more.

    >>> from deniable.accounting import Accountant, Laplace
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
            else inverse("noise_multiplier", noise_multiplier)  # type: ignore[arg-type]
        )
        self._leaves = leaf("laplace", ratio=ratio, on="discrete" if vector else "rounded")


class DiscreteLaplace(Event):
    """Discrete Laplace (geometric) noise on the integers: the probability of x falls as exp(−noise_parameter·|x|).

    ``sensitivity`` is the whole number of steps by which one unit can move the value.
    """

    __slots__ = ()

    def __init__(self, noise_parameter: Number, sensitivity: int = 1, *, vector: bool = False) -> None:
        steps = count_of("sensitivity", sensitivity, 1)
        ratio = fraction("noise_parameter", noise_parameter) * steps
        on: Any = "discrete" if vector else {"discrete_scalar": {"sensitivity": steps}}
        self._leaves = leaf("laplace", ratio=f"{ratio.numerator}/{ratio.denominator}", on=on)


class Pure(Event):
    """Anything that is ε-DP.

    >>> from deniable.accounting import Accountant, Pure
    >>> Accountant().compose(Pure(0.25), 4).get_epsilon(0)
    1.0
    """

    __slots__ = ()

    def __init__(self, epsilon: Number) -> None:
        self._leaves = leaf("pure", epsilon=text_of("epsilon", epsilon))


class Approximate(Event):
    """Anything that is (ε, δ)-DP."""

    __slots__ = ()

    def __init__(self, epsilon: Number, delta: Number) -> None:
        self._leaves = leaf(
            "approximate", epsilon=text_of("epsilon", epsilon), delta=text_of("delta", delta)
        )


class Concentrated(Event):
    """Anything that is ρ-zCDP. Its curve is not known, so an accountant with one in it answers by Rényi divergences."""

    __slots__ = ()

    def __init__(self, rho: Number) -> None:
        self._leaves = leaf("concentrated", rho=text_of("rho", rho))


class Exponential(Event):
    """The exponential mechanism, or anything whose privacy losses lie in a range of width ε."""

    __slots__ = ()

    def __init__(self, epsilon: Number) -> None:
        self._leaves = leaf("exponential", epsilon=text_of("epsilon", epsilon))


class RandomizedResponse(Event):
    """Randomized response among ``answers`` answers, for a unit whose answer may change."""

    __slots__ = ()

    def __init__(self, epsilon: Number, answers: int = 2) -> None:
        self._leaves = leaf(
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
            add(self._leaves, as_event(event)._leaves)


class SelfComposed(Event):
    """The same event ``count`` times."""

    __slots__ = ()

    def __init__(self, event: Event, count: int) -> None:
        self._leaves = {}
        add(self._leaves, as_event(event)._leaves, count_of("count", count))


class PoissonSampled(Event):
    """An event on a sample that holds each unit with this probability, independently of all others.

    Gaussian noise on a sample is one step of private training. Proved for a unit that is added or removed.
    Several Gaussians on one sample count as one. Anything else counts as if it ran on all of the data.

    >>> from deniable.accounting import Accountant, Gaussian, PoissonSampled
    >>> step = PoissonSampled(0.01, Gaussian(1.0))
    >>> round(Accountant().compose(step, 1000).get_epsilon(1e-5), 6)
    1.828237
    """

    __slots__ = ()

    def __init__(self, sampling_probability: Number, event: Event) -> None:
        rate = text_of("sampling_probability", sampling_probability)
        value = fraction("sampling_probability", sampling_probability)
        if not 0 <= value <= 1:
            raise ParameterError("sampling_probability is not between 0 and 1", "give a rate such as 0.01")
        event = as_event(event)
        square = one_gaussian(event._leaves)
        if square is not None:
            self._leaves = leaf(
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
        square = one_gaussian(as_event(event)._leaves)
        if square is None:
            raise ParameterError(
                "on batches of a fixed size, only Gaussian noise is accounted for",
                "use PoissonSampled for other events, or count the event as if it ran on all of the data",
            )
        self._leaves = leaf(
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
        self._leaves = leaf("sampled_gaussian", sampler="shuffled", multiplier_squared=square)


def as_event(event: Any) -> Event:
    """An event of this package, from one of either."""
    return event if isinstance(event, Event) else from_dp_event(event)


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
    noise = fraction("noise_parameter", noise_parameter)
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
