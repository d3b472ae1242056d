"""Adds up events, and states what they cost together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Sequence

from deniable import _deniable
from deniable._errors import ParameterError
from deniable._numbers import count_of, text_of
from deniable.accounting.events import Event, as_event, made
from deniable.accounting.leaves import add

if TYPE_CHECKING:
    from deniable._numbers import Number
    from deniable.accounting.leaves import Leaves

METHODS = ("basic", "advanced", "optimal", "zcdp", "renyi", "gdp", "numerical")


def neighbors_of(neighbors: Any) -> str:
    """``"add_remove"`` or ``"change_one"``, under any name that either has."""
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

    >>> from deniable.accounting import Accountant, Gaussian, Laplace
    >>> accountant = Accountant().compose(Gaussian(20), 100).compose(Laplace(epsilon=0.1), 10)
    >>> accountant.get_epsilon(1e-6) < 4.2
    True
    >>> accountant.get_delta(3.0) < 1e-3
    True
    """

    def __init__(self, *, neighbors: Any = "add_remove", unit: str = "person") -> None:
        self._neighbors = neighbors_of(neighbors)
        self._unit = str(unit)
        self._leaves: Leaves = {}
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
        return made(dict(self._leaves))

    def compose(self, event: Any, count: int = 1) -> Accountant:
        """Adds an event that runs ``count`` times, and returns the accountant.

        Events of dp-accounting are read with :func:`from_dp_event`.
        """
        more = as_event(event)._leaves
        leaves = dict(self._leaves)
        add(leaves, more, count_of("count", count))
        self._leaves = leaves
        self._known = None
        return self

    def supports(self, event: Any) -> bool:
        """Whether this event can be composed under these neighbours.

        >>> from deniable.accounting import Accountant, Gaussian, PoissonSampled
        >>> Accountant(neighbors="change_one").supports(PoissonSampled(0.01, Gaussian(1)))
        False
        """
        try:
            leaves = dict(self._leaves)
            add(leaves, as_event(event)._leaves)
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

        >>> from deniable.accounting import Accountant, Gaussian
        >>> [round(found, 9) for found in Accountant().compose(Gaussian(2)).get_rdp([2, 8])]
        [0.25, 1.0]
        """
        return self._curve().renyi([float(order) for order in orders])

    def get_rho(self) -> float:
        """A ρ such that everything together is ρ-zCDP.

        >>> from deniable.accounting import Accountant, Gaussian
        >>> Accountant().compose(Gaussian(2), 8).get_rho()
        1.0
        """
        return self._curve().rho()

    def compare(self, target_delta: Number) -> dict[str, float | None]:
        """The ε of every accountant, from the loosest; None where one has nothing to say.

        >>> from deniable.accounting import Accountant, Laplace
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

    def _curve_of(self, leaves: Leaves) -> _deniable.PrivacyCurve:
        return _deniable.PrivacyCurve(made(leaves).to_json(), self._unit, self._neighbors)
