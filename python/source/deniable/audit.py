"""Is the claim true?

A mechanism says "I am (ε, δ)-differentially private". Three ways to hold it to that:

- :func:`verify` when both output distributions can be written down: a proof or a refutation, by exact arithmetic.
  :func:`smallest_epsilon` and :func:`smallest_delta` say what would be true.
- :func:`black_box` when there is only code: any Python callable is run on two neighbouring data sets, and an event that is
  too likely on one of them refutes the claim.
- :func:`one_run` when running is dear: one training with canaries.

:func:`goodness_of_fit` holds a sampler to its distribution.

>>> from deniable import audit
>>> truth, lie = {"yes": "3/4", "no": "1/4"}, {"yes": "1/4", "no": "3/4"}
>>> audit.verify(truth, lie, epsilon="1.0987").proved
True
>>> audit.verify(truth, lie, epsilon=1).refuted
True
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

from deniable import _deniable, _read, _show
from deniable._numbers import text_of
from deniable._errors import ParameterError

__all__ = [
    "BlackBox",
    "Bound",
    "Fit",
    "Mechanism",
    "OneRun",
    "Verdict",
    "black_box",
    "goodness_of_fit",
    "mechanism",
    "one_run",
    "smallest_delta",
    "smallest_epsilon",
    "verify",
]

#: One minus the false-alarm rate of a black-box audit: a private mechanism is refuted once in a billion audits.
CONFIDENCE = 0.999999999


@dataclass(frozen=True)
class Bound:
    """A number that certainly lies between ``lower`` and ``upper``.

    ``exact`` is the number itself as a fraction where it is known, and None otherwise. ``float()`` of it is ``upper``, which
    is the safe end of an ε or a δ.
    """

    lower: float
    upper: float
    exact: Fraction | None = None

    def __float__(self) -> float:
        return self.upper

    def __str__(self) -> str:
        if self.exact is not None and self.lower == self.upper:
            return f"{self.upper:.12g}"
        return f"between {self.lower:.12g} and {self.upper:.12g}"


@dataclass(frozen=True)
class Verdict:
    """What the exact verifier proved about a claim (``epsilon``, ``delta``).

    ``smallest_epsilon`` is the smallest ε at the claimed δ, infinite where there is none, and ``smallest_delta`` the smallest
    δ at the claimed ε.
    """

    proved: bool
    epsilon: str
    delta: str
    smallest_epsilon: Bound
    smallest_delta: Bound
    about: str

    @property
    def refuted(self) -> bool:
        """Whether the claim is false. Exact arithmetic leaves nothing undecided: it is proved or refuted."""
        return not self.proved

    def to_dict(self) -> dict[str, Any]:
        """All of it as a dictionary."""
        return {**asdict(self), "refuted": self.refuted}

    def _repr_html_(self) -> str:
        return _show.table(
            f"ε = {self.epsilon}, δ = {self.delta} is {'proved' if self.proved else 'refuted'}",
            [
                ("about", self.about),
                (f"smallest ε at δ = {self.delta}", _epsilon_words(self.smallest_epsilon)),
                (f"smallest δ at ε = {self.epsilon}", self.smallest_delta),
            ],
        )


def _epsilon_words(bound: Bound) -> str:
    return "no finite ε" if math.isinf(bound.upper) else str(bound)


class Mechanism:
    """A mechanism by its name and parameters, on two neighbouring inputs. Made by :func:`mechanism`."""

    def __init__(self, kind: str, parameters: dict[str, str]) -> None:
        self.kind = kind
        self.parameters = parameters

    def __repr__(self) -> str:
        given = "".join(f", {name}={value!r}" for name, value in self.parameters.items())
        return f"mechanism({self.kind!r}{given})"


_KINDS = (
    "uniform",
    "laplace",
    "exponential-noise",
    "gaussian",
    "discrete-laplace",
    "geometric",
    "discrete-gaussian",
    "randomized-response",
)


def mechanism(kind: str, **parameters: Any) -> Mechanism:
    """A mechanism whose output distributions are known by name, for :func:`verify` and its kin.

    ============================  =========================================================
    ``uniform``                   noise between ``lower`` and ``upper``
    ``laplace``                   noise of ``scale``
    ``exponential-noise``         one-sided exponential noise of ``scale``
    ``gaussian``                  noise of standard deviation ``sigma``
    ``discrete-laplace``          integer noise of ``scale`` (``geometric`` is another name)
    ``discrete-gaussian``         integer noise of ``sigma``
    ``randomized-response``       ``gamma`` or ``epsilon``, among ``answers`` answers
    ============================  =========================================================

    ``shift`` is how far apart the true values of two neighbours are (1 unless said otherwise); discrete noise lies on a grid
    of ``spacing`` at ``offset``.

    >>> from deniable import audit
    >>> audit.smallest_epsilon(audit.mechanism("laplace", scale=2)).exact
    Fraction(1, 2)
    """
    if kind not in _KINDS:
        raise ParameterError("this mechanism has no name here", f"it is one of {', '.join(_KINDS)}")
    named = {name: text_of(name, value) for name, value in parameters.items()}
    known = {"shift", "scale", "sigma", "lower", "upper", "spacing", "offset", "gamma", "epsilon", "answers"}
    if unknown := sorted(set(named) - known):
        raise ParameterError(f"no mechanism has a parameter `{unknown[0]}`", f"the parameters are {', '.join(sorted(known))}")
    return Mechanism(kind, named)


Masses = Mapping[Hashable, Any] | Sequence[Any]


def _described(first: Masses | Mechanism, second: Masses | None) -> tuple[str, str | None]:
    """A description that the verifier reads, and what it is about in words."""
    import json

    if isinstance(first, Mechanism):
        if second is not None:
            raise ParameterError(
                "a mechanism by its name has both distributions", "leave the second out, or give both as probabilities"
            )
        return json.dumps({"mechanism": {"kind": first.kind, **first.parameters}}), None
    if second is None:
        raise ParameterError(
            "two distributions are compared, and one was given", "give the output distribution on the neighbour as well"
        )
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        outcomes = list(dict.fromkeys([*first, *second]))
        rows = [[text_of("a probability", row.get(outcome, 0)) for outcome in outcomes] for row in (first, second)]
    elif isinstance(first, Mapping) or isinstance(second, Mapping):
        raise ParameterError(
            "one distribution is a dict and the other is not", "give both as dicts, or both as lists in the same order"
        )
    else:
        rows = [[_entry(entry) for entry in _read.items("a distribution", row)] for row in (first, second)]
    if not rows[0] or not rows[1]:
        raise ParameterError("a distribution is empty", "give the probability of each outcome; they add up to exactly 1")
    if any(isinstance(entry, dict) for row in rows for entry in row):
        words = "two densities"
    else:
        words = f"two distributions on {max(len(rows[0]), len(rows[1]))} outcomes"
    return json.dumps({"first": rows[0], "second": rows[1]}), words


def _entry(entry: Any) -> Any:
    """A probability, or a piece of a density."""
    if isinstance(entry, Mapping):
        return {str(name): text_of(str(name), value) for name, value in entry.items() if value is not None}
    return text_of("a probability", entry)


def _bound(found: dict[str, Any] | None) -> Bound:
    if found is None:
        return Bound(math.inf, math.inf)
    exact = found["exact"]
    return Bound(found["lower"], found["upper"], None if exact is None else Fraction(exact))


def smallest_epsilon(first: Masses | Mechanism, second: Masses | None = None, *, delta: Any = 0) -> Bound:
    """The smallest ε for which both distributions are within (ε, δ) of each other, in both directions.

    ``first`` and ``second`` are the output distributions on two neighbouring data sets: dicts of the probability of each
    outcome, or lists of probabilities in the same order, or densities in pieces (dicts with ``left``, ``right``,
    ``coefficient``, ``slope``, ``intercept``: coefficient·e^(slope·x + intercept)). Or ``first`` alone is a
    :func:`mechanism`. Probabilities are read exactly: a float stands for the decimal that it is printed as, and what has no
    short decimal is a Fraction or text such as ``"1/3"``.

    Where an output gives the other data set away with a probability above δ, no finite ε does: the bound is infinite.

    >>> from deniable import audit
    >>> audit.smallest_epsilon({"a": "1/2", "b": "1/2"}, {"a": "1/4", "b": "3/4"}).lower
    0.6931471805599453
    >>> float(audit.smallest_epsilon([1, 0], [0.5, 0.5]))
    inf
    """
    description, words = _described(first, second)
    found = _deniable.audit_exact(description, None, text_of("delta", delta), False, words)
    return _bound(found["epsilon"])


def smallest_delta(first: Masses | Mechanism, second: Masses | None = None, *, epsilon: Any) -> Bound:
    """The smallest δ for which both distributions are within (ε, δ) of each other. See :func:`smallest_epsilon`.

    >>> from deniable import audit
    >>> audit.smallest_delta([1, 0], [0.5, 0.5], epsilon=0).exact
    Fraction(1, 2)
    """
    description, words = _described(first, second)
    found = _deniable.audit_exact(description, text_of("epsilon", epsilon), None, False, words)
    return _bound(found["delta"])


def verify(first: Masses | Mechanism, second: Masses | None = None, *, epsilon: Any, delta: Any = 0) -> Verdict:
    """Proves or refutes that the two distributions are (``epsilon``, ``delta``)-close. See :func:`smallest_epsilon`.

    The verdict is a theorem about the two distributions given, not an estimate.

    >>> from deniable import audit
    >>> verdict = audit.verify(audit.mechanism("gaussian", sigma=4), epsilon=1, delta="1e-6")
    >>> verdict.refuted, verdict.smallest_epsilon.upper < 1.15
    (True, True)
    """
    description, words = _described(first, second)
    claimed = (text_of("epsilon", epsilon), text_of("delta", delta))
    found = _deniable.audit_exact(description, *claimed, True, words)
    return Verdict(
        proved=found["holds"],
        epsilon=claimed[0],
        delta=claimed[1],
        smallest_epsilon=_bound(found["epsilon"]),
        smallest_delta=_bound(found["delta"]),
        about=found["words"],
    )


@dataclass(frozen=True)
class BlackBox:
    """What running a mechanism proved.

    ``epsilon_lower`` is certified: with probability ``confidence`` the true ε at the claimed δ is at least this.
    ``refuted`` says whether that is above the claim; it is None where nothing was claimed. That a claim is not refuted
    proves nothing: it means that no event was found against it.

    ``event`` is what gave the mechanism away, in words; it happened ``hits[0]`` times in ``draws[0]`` calls on the data set
    ``likelier`` ("a" or "b"), and ``hits[1]`` times in ``draws[1]`` calls on the other. ``mirror`` is an event that was
    counted with it the other way round, if there is one.
    """

    refuted: bool | None
    epsilon_lower: float
    event: str
    mirror: str | None
    likelier: str
    hits: tuple[int, int]
    draws: tuple[int, int]
    epsilon: str | None
    delta: str
    confidence: float
    calls: int
    seconds: float

    def __repr__(self) -> str:
        # The event quotes outputs, which may be data where somebody audits on data of their own.
        return (
            f"BlackBox(refuted={self.refuted}, epsilon_lower={self.epsilon_lower:.4g}, epsilon={self.epsilon}, "
            f"delta={self.delta}, confidence={self.confidence})"
        )

    def to_dict(self) -> dict[str, Any]:
        """All of it as a dictionary."""
        return asdict(self)

    def _repr_html_(self) -> str:
        verdict = {True: "refuted", False: "not refuted, which proves nothing", None: "not judged"}[self.refuted]
        claim = "no claim" if self.epsilon is None else f"ε = {self.epsilon}, δ = {self.delta}"
        rows: list[tuple[Any, Any]] = [
            ("ε is at least", _show.number(self.epsilon_lower)),
            ("event", self.event),
            ("on the likelier data set", f"{self.hits[0]} of {self.draws[0]}, data set {self.likelier}"),
            ("on the other", f"{self.hits[1]} of {self.draws[1]}"),
            ("probability of a false alarm", f"at most {_show.number(1 - self.confidence, 2)}"),
        ]
        if self.mirror is not None:
            rows.insert(2, ("counted with it, exchanged", self.mirror))
        return _show.table(f"{claim}: {verdict}", rows)


def black_box(
    mechanism: Callable[[Any], Any],
    a: Any,
    b: Any,
    *,
    epsilon: Any = None,
    delta: Any = 0,
    samples: int = 200_000,
    confidence: float = CONFIDENCE,
    look: str = "everything",
    seconds: float | None = None,
    progress: bool | None = None,
) -> BlackBox:
    """Tries to refute that a callable is (``epsilon``, ``delta``)-differentially private, by running it.

    ``mechanism`` is called with the data set ``a`` or with its neighbour ``b``, about ``samples`` times each, and returns
    what an observer sees: a number, a label, or a flat list of them. Its outputs must be independent, and it must leave its
    argument as it is. Half of the calls serve to learn an event that is likelier on one of the two, the other half to count
    that one event. A mechanism that keeps its claim is refuted with probability at most 1 − ``confidence``.

    ``look`` is what is looked at: ``"everything"``, ``"values"`` (the low bits of floats are left out) or ``"bits"``. With
    ``seconds`` a few calls are timed first, and no more are made than fit into about that time. Without ``epsilon`` nothing is judged, and the
    lower bound is all there is. ``progress`` shows a bar; unless told, in a terminal or notebook and after a second.

    >>> import random
    >>> from deniable import audit
    >>> def broken(count):
    ...     return count + random.choice([-1, 0, 1])
    >>> found = audit.black_box(broken, 10, 11, epsilon=1, samples=2_000)
    >>> found.refuted
    True
    """
    if not callable(mechanism):
        raise ParameterError(
            "the mechanism cannot be called", "give a function of one argument, the data set: lambda data: data.sum() + noise()"
        )
    how = {
        "epsilon": _read.optional("epsilon", epsilon),
        "delta": text_of("delta", delta),
        "samples": _read.whole("samples", samples, 64, 10_000_000),
        "confidence": _read.probability("confidence", confidence),
        "look": look,
        "seconds": None if seconds is None else _seconds(seconds),
    }
    if not isinstance(look, str):
        raise ParameterError("look must be everything, values or bits", "values leaves the low bits of floats out of account")
    with _show.Progress("auditing", progress) as bar:
        found = _deniable.audit_black_box(mechanism, a, b, how, bar)
    return BlackBox(
        refuted=found["refuted"],
        epsilon_lower=found["epsilon_lower"],
        event=found["event"],
        mirror=found["mirror"],
        likelier="a" if found["likely_first"] else "b",
        hits=tuple(found["hits"]),
        draws=tuple(found["draws"]),
        epsilon=how["epsilon"],
        delta=how["delta"],
        confidence=found["confidence"],
        calls=found["made"],
        seconds=found["seconds"],
    )


def _seconds(seconds: Any) -> float:
    number = _read.one_float("seconds", seconds)
    if not 0 < number < 1e9:
        raise ParameterError("seconds must be positive", "leave it out to wait for as long as it takes")
    return number


@dataclass(frozen=True)
class OneRun:
    """What one training with canaries proved.

    ``epsilon_lower`` is at most the true ε at the stated δ, but for the probability 1 − ``confidence``. It rests on
    ``guesses`` guesses of which ``correct`` were right; ``allowed`` is the most that the claim allows. ``largest`` is the
    largest ε that could be shown with so many canaries: a claim above it cannot be refuted.
    """

    refuted: bool | None
    epsilon_lower: float
    guesses: int
    correct: int
    allowed: int | None
    largest: float
    canaries: int
    included: int
    epsilon: str | None
    delta: str
    confidence: float

    def to_dict(self) -> dict[str, Any]:
        """All of it as a dictionary."""
        return asdict(self)

    def _repr_html_(self) -> str:
        verdict = {True: "refuted", False: "not refuted, which proves nothing", None: "not judged"}[self.refuted]
        claim = "no claim" if self.epsilon is None else f"ε = {self.epsilon}, δ = {self.delta}"
        return _show.table(
            f"{claim}: {verdict}",
            [
                ("ε is at least", _show.number(self.epsilon_lower)),
                ("right guesses", f"{self.correct} of {self.guesses}"),
                ("allowed by the claim", "" if self.allowed is None else self.allowed),
                ("canaries", f"{self.canaries}, of which {self.included} were in"),
                ("the largest ε that could be shown", _show.number(self.largest)),
                ("confidence", self.confidence),
            ],
        )


def one_run(
    scores: Any,
    included: Any,
    *,
    epsilon: Any = None,
    delta: Any = 0,
    confidence: float = 0.95,
    guesses: int | None = None,
) -> OneRun:
    """A lower bound on ε from one training run with canaries (Steinke, Nasr and Jagielski 2023).

    Each of many canaries was put into the training data or left out by a fair coin of its own; ``included`` is how the coins
    fell. ``scores`` says how much each canary looks like one that was in, higher for likelier, computed from the finished
    model alone. The highest scores are guessed to be in and the lowest to be out, ``guesses`` on each side; without it
    several numbers are tried, and paid for.

    The bound holds only if the coins were fair and independent: who includes exactly half, or the first ones, has no coins.

    >>> from deniable import audit
    >>> coins = [bool(i * 7 % 5 % 2) for i in range(1000)]
    >>> audit.one_run([float(coin) for coin in coins], coins, epsilon=1).refuted
    True
    """
    values = _read.floats("scores", scores)
    coins = _read.flags("included", included)
    claimed = (_read.optional("epsilon", epsilon), text_of("delta", delta))
    sure = _read.probability("confidence", confidence)
    each = None if guesses is None else _read.whole("guesses", guesses, 1, 1 << 31)
    found = _deniable.audit_one_run(values, coins, *claimed, sure, each)
    return OneRun(epsilon=claimed[0], delta=claimed[1], confidence=sure, **found)


@dataclass(frozen=True)
class Fit:
    """Whether samples follow a distribution.

    A right sampler is rejected with probability at most ``false_alarm``, for every number of samples: the ``limit`` of the
    ``statistic`` comes from an inequality and not from an approximation.
    """

    consistent: bool
    statistic: float
    limit: float
    samples: int
    false_alarm: float

    def to_dict(self) -> dict[str, Any]:
        """All of it as a dictionary."""
        return asdict(self)

    def _repr_html_(self) -> str:
        return _show.table(
            "consistent with the distribution" if self.consistent else "not of this distribution",
            [
                ("statistic", _show.number(self.statistic)),
                ("limit", _show.number(self.limit)),
                ("samples", self.samples),
                ("probability of a false alarm", f"at most {self.false_alarm:g}"),
            ],
        )


def goodness_of_fit(
    samples: Any,
    distribution: str | Mapping[Hashable, Any],
    *,
    scale: Any = None,
    sigma: Any = None,
    false_alarm: float = 1e-9,
) -> Fit:
    """Holds samples to the distribution that they should have.

    ``distribution`` is ``"discrete-laplace"`` of a ``scale``, ``"discrete-gaussian"`` or ``"rounded-gaussian"`` of a
    ``sigma``, all of them on whole numbers around 0; or a dict of the probability of each label.

    >>> from deniable import audit
    >>> audit.goodness_of_fit(["yes"] * 700 + ["no"] * 300, {"yes": 0.5, "no": 0.5}).consistent
    False
    """
    alarm = _read.probability("false_alarm", false_alarm)
    drawn = _read.items("samples", samples)
    if isinstance(distribution, Mapping):
        found = _categories(drawn, distribution, alarm)
    else:
        width = {"discrete-laplace": ("scale", scale)}.get(distribution, ("sigma", sigma))
        if width[1] is None:
            raise ParameterError(f"the distribution needs a {width[0]}", f"add {width[0]}=1")
        wholes = [int(value) if _is_whole(value) else None for value in drawn]
        if None in wholes:
            raise ParameterError(
                "a sample is no whole number of 64 bits", "these distributions are on whole numbers; divide by the step of the grid"
            )
        found = _deniable.audit_fit(wholes, str(distribution), text_of(*width), alarm)
    return Fit(false_alarm=alarm, **found)


def _is_whole(value: Any) -> bool:
    from numbers import Integral

    if isinstance(value, float):
        return value.is_integer() and abs(value) < 2**63
    return isinstance(value, Integral) and not isinstance(value, bool) and -(2**63) <= int(value) < 2**63


def _categories(drawn: list[Any], probabilities: Mapping[Hashable, Any], alarm: float) -> dict[str, Any]:
    masses = {label: _fraction(value) for label, value in probabilities.items()}
    if not masses or any(mass < 0 for mass in masses.values()) or abs(sum(masses.values()) - 1) > Fraction(1, 10**9):
        raise ParameterError("the probabilities do not add up to 1", "name every label that can occur, with its probability")
    counts = dict.fromkeys(masses, 0)
    others = 0
    for value in drawn:
        try:
            counts[value] += 1
        except (KeyError, TypeError):
            others += 1
    # What cannot occur has probability zero, and occurs too often if it does once.
    return _deniable.audit_fit_categories([*counts.values(), others], [*map(float, masses.values()), 0.0], alarm)


def _fraction(value: Any) -> Fraction:
    try:
        return Fraction(text_of("a probability", value))
    except (ValueError, ZeroDivisionError):
        raise ParameterError("a probability is not a number", "write it as 0.25 or 1/4") from None
