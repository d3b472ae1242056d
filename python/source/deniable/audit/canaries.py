"""The audit for expensive runs: one training with canaries."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from deniable import _deniable, _html, _read
from deniable._numbers import shown_down, text_of
from deniable.audit.judgement import judged


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
        return _html.table(
            judged(self.refuted, self.epsilon, self.delta),
            [
                ("ε is at least", shown_down(self.epsilon_lower)),
                ("right guesses", f"{self.correct} of {self.guesses}"),
                ("allowed by the claim", "" if self.allowed is None else self.allowed),
                ("canaries", f"{self.canaries}, of which {self.included} were in"),
                ("the largest ε that could be shown", shown_down(self.largest)),
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
