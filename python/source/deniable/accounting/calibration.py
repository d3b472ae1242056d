"""The least noise that keeps a target."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Callable

from deniable import _deniable
from deniable._errors import ParameterError
from deniable._numbers import count_of, text_of
from deniable.accounting.accountant import Accountant

if TYPE_CHECKING:
    from deniable._numbers import Number


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

    >>> from deniable.accounting import Accountant, Gaussian, PoissonSampled, calibrate_noise
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

    >>> from deniable.accounting import calibrate_gaussian
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

    >>> from deniable.accounting import Accountant, Gaussian, Laplace, calibrate
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
        # Both do: only the caller knows which of the two has more noise, and the search has nothing to find.
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
