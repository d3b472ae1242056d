"""A sampler, tested against its distribution."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

from deniable import _deniable, _html, _read
from deniable._errors import ParameterError
from deniable._numbers import shown, text_of


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
        return _html.table(
            "consistent with the distribution" if self.consistent else "not of this distribution",
            [
                ("statistic", shown(self.statistic)),
                ("limit", shown(self.limit)),
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
    # An impossible outcome has probability zero, and occurs too often if it does once.
    return _deniable.audit_fit_categories([*counts.values(), others], [*map(float, masses.values()), 0.0], alarm)


def _fraction(value: Any) -> Fraction:
    try:
        return Fraction(text_of("a probability", value))
    except (ValueError, ZeroDivisionError):
        raise ParameterError("a probability is not a number", "write it as 0.25 or 1/4") from None
