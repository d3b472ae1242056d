"""How much noise, within what bounds and about what threshold, as the extension takes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable._errors import ParameterError
from deniable._numbers import count_of, text_of

if TYPE_CHECKING:
    from deniable._numbers import Number

# A kind of noise and its parameters.
Noise = tuple[str, list[str]]


def gaussian(
    epsilon: Number | None, delta: Number | None, noise_multiplier: Number | None, rho: Number | None
) -> Noise:
    """Gaussian noise, in one of the three ways to say how much."""
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


def laplace_or_gaussian(
    epsilon: Number | None, delta: Number | None, noise_multiplier: Number | None, rho: Number | None
) -> Noise:
    """Laplace noise where ε alone is given, and Gaussian noise otherwise."""
    if epsilon is not None and delta is None and noise_multiplier is None and rho is None:
        return "laplace", [text_of("epsilon", epsilon)]
    if epsilon is None and delta is None and noise_multiplier is None and rho is None:
        raise ParameterError("how much noise is not said", "give epsilon, such as epsilon=0.5")
    return gaussian(epsilon, delta, noise_multiplier, rho)


def bounds_of(bounds: tuple[float, float]) -> tuple[float, float]:
    """Two floats, in whatever order."""
    try:
        low, high = bounds
        return float(low), float(high)
    except (TypeError, ValueError, OverflowError):
        raise ParameterError("bounds are not two numbers", "give them as bounds=(0, 100)") from None


def threshold_of(
    positives: int, monotone: bool, sensitivity: Number, epsilon: Number, purpose: str
) -> tuple[tuple[int, bool], str, str, str]:
    """What is stated of numbers that are compared with a threshold, at once or one by one."""
    most = count_of("positives", positives, 1)
    if most >= 2**32:
        raise ParameterError("positives is too large", "give a number such as 1 or 10")
    return (most, bool(monotone)), text_of("sensitivity", sensitivity), text_of("epsilon", epsilon), str(purpose)
