"""The audit for distributions that can be written down: a proof or a refutation, by exact arithmetic."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

from deniable import _deniable, _html, _read
from deniable._errors import ParameterError
from deniable._numbers import shown_down, shown_up, text_of


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
            return shown_up(self.upper, 12)
        return f"between {shown_down(self.lower, 12)} and {shown_up(self.upper, 12)}"


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
        return _html.table(
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
