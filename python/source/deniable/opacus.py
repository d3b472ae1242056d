"""Certified ε in Opacus.

.. code-block:: python

    import deniable.opacus
    from opacus import PrivacyEngine

    deniable.opacus.register()
    engine = PrivacyEngine(accountant="deniable")

From then on ``engine.get_epsilon(delta)`` is an upper bound that was proved, and
``make_private_with_epsilon`` finds its noise with it. Opacus 1.6 or newer.

What is certified is Poisson sampling, which is what Opacus does unless ``poisson_sampling=False``: batches of a shuffled
list are not a Poisson sample, and for them the bound does not hold.
"""

from __future__ import annotations

import math
from typing import Any, Callable

from deniable._errors import ParameterError

__all__ = ["register"]

NAME = "deniable"


def register() -> Any:
    """Makes ``PrivacyEngine(accountant="deniable")`` work, and returns the class of the accountant.

    Registering twice is the same as once.
    """
    try:
        from opacus.accountants import IAccountant
        from opacus.accountants.registry import register_accountant
    except ImportError:
        raise ParameterError(
            "there is no Opacus with a registry of accountants", "pip install 'opacus>=1.6'"
        ) from None
    global _registered
    if _registered is None or not issubclass(_registered, IAccountant):
        _registered = _class(IAccountant)
    register_accountant(NAME, _registered, force=True)
    return _registered


_registered: Any = None


def _check(optimizer: Any) -> None:
    """Refuses optimizers whose steps cost more than one Gaussian of their noise multiplier on one sample."""
    names = {kind.__name__ for kind in type(optimizer).__mro__}
    if "AdaClipDPOptimizer" in names or hasattr(optimizer, "unclipped_num_std"):
        raise ParameterError(
            "adaptive clipping releases a noisy count in every step, which is not counted here",
            "use a fixed clipping norm",
        )
    if any("FastGradientClipping" in name for name in names):
        raise ParameterError(
            "ghost clipping does not say how many batches a step has accumulated",
            "use grad_sample_mode='hooks'",
        )


def _class(base: Any) -> Any:
    class DeniableAccountant(base):  # type: ignore[misc]
        """An accountant of Opacus that asks the certified one of Deniable."""

        def __init__(self) -> None:
            super().__init__()

        def step(self, *, noise_multiplier: float, sample_rate: float) -> None:
            """Counts one step of the optimizer."""
            if self.history:
                last_multiplier, last_rate, steps = self.history[-1]
                if (last_multiplier, last_rate) == (noise_multiplier, sample_rate):
                    self.history[-1] = (last_multiplier, last_rate, steps + 1)
                    return
            self.history.append((noise_multiplier, sample_rate, 1))

        def get_optimizer_hook_fn(self, sample_rate: float) -> Callable[[Any], None]:
            """What the optimizer calls after each step.

            Gradients of k sampled batches that were accumulated into one step are counted as k steps with noise that is
            √k times smaller: the sum of those has the same distribution. One step on a sample that is k times as large,
            as the other accountants count it, would be less than it costs, because an example may be in several of the
            batches.
            """

            def hook(optimizer: Any) -> None:
                _check(optimizer)
                batches = max(1, optimizer.accumulated_iterations)
                multiplier = optimizer.noise_multiplier
                if batches > 1:
                    # A little less noise than there is costs more, never less.
                    multiplier = math.nextafter(multiplier / math.sqrt(batches) * (1 - 1e-15), 0.0)
                for _ in range(batches):
                    self.step(noise_multiplier=multiplier, sample_rate=sample_rate)

            return hook

        def get_epsilon(self, delta: float, *args: Any, **kwargs: Any) -> float:
            """An ε that certainly holds with this δ for all steps so far; infinite where a step had no noise."""
            return self.epsilon_interval(delta)[1]

        def epsilon_interval(self, delta: float) -> tuple[float, float]:
            """Two ends between which the smallest ε certainly lies."""
            from deniable.accounting import Accountant, Gaussian, PoissonSampled

            accountant = Accountant(neighbors="add_remove", unit="example")
            for noise_multiplier, sample_rate, steps in self.history:
                if not noise_multiplier > 0 and sample_rate > 0 and steps > 0:
                    return float("inf"), float("inf")
                accountant.compose(PoissonSampled(sample_rate, Gaussian(noise_multiplier)), steps)
            return accountant.epsilon_interval(delta)

        def __len__(self) -> int:
            return sum(steps for _, _, steps in self.history)

        @classmethod
        def mechanism(cls) -> str:
            """The name under which Opacus knows it."""
            return NAME

    return DeniableAccountant
