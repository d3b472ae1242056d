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

from deniable.accounting.accountant import METHODS, Accountant
from deniable.accounting.calibration import calibrate, calibrate_gaussian, calibrate_noise
from deniable.accounting.events import (
    Approximate,
    Composed,
    ComposedDpEvent,
    Concentrated,
    DiscreteLaplace,
    DiscreteLaplaceDpEvent,
    EpsilonDeltaDpEvent,
    Event,
    Exponential,
    Gaussian,
    GaussianDpEvent,
    Laplace,
    LaplaceDpEvent,
    NoOp,
    NoOpDpEvent,
    PoissonSampled,
    PoissonSampledDpEvent,
    Pure,
    RandomizedResponse,
    SampledWithoutReplacement,
    SampledWithoutReplacementDpEvent,
    SelfComposed,
    SelfComposedDpEvent,
    ShuffledEpoch,
    ZCDpEvent,
    from_dp_event,
)

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
