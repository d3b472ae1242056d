"""Attacks by asking: noisy counts of subsets, one query many times, two queries that differ in one person."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from deniable import _deniable, _read
from deniable._errors import BudgetError, ParameterError
from deniable._numbers import shown
from deniable._progress import Progress
from deniable.attack.result import Result


def right_guesses(epsilon: float, delta: float = 0.0) -> float:
    """How often a guess between two equally likely facts about a person can be right at most, under (ε, δ).

    >>> from math import log
    >>> from deniable import attack
    >>> round(attack.right_guesses(log(3)), 12)
    0.75
    """
    return _deniable.attack_right_guesses(_read.one_float("epsilon", epsilon), _read.one_float("delta", delta))


@dataclass(frozen=True, repr=False)
class Linear(Result):
    """Bits rebuilt from noisy answers.

    ``bits`` is the guess for each person and ``estimates`` what was rounded to it. ``answered`` queries were answered before
    one was refused or all were asked. ``right`` is how many bits are right, where the truth was given, and None otherwise;
    half of them is what a coin gets right. ``allowed`` is the share of right guesses that (ε, δ) allows at most, where an ε
    was stated.
    """

    bits: list[bool]
    estimates: list[float]
    answered: int
    asked: int
    right: int | None
    allowed: float | None

    @property
    def share(self) -> float | None:
        """The share of bits that are right."""
        return None if self.right is None else self.right / len(self.bits)

    def _title(self) -> str:
        return "bits rebuilt from noisy answers"

    def _lines(self) -> list[tuple[Any, Any]]:
        lines: list[tuple[Any, Any]] = [("people", len(self.bits)), ("answers", f"{self.answered} of {self.asked}")]
        if self.right is not None:
            lines.append(("right", f"{self.right}, which is {100 * self.right / len(self.bits):.1f} %"))
        if self.allowed is not None:
            lines.append(("allowed by privacy, on average", f"{100 * self.allowed:.1f} %"))
        return lines


def linear(
    ask: Callable[[list[int]], float | None],
    people: int,
    *,
    queries: int | None = None,
    method: str = "least-squares",
    within: float | None = None,
    truth: Any = None,
    epsilon: float | None = None,
    delta: float = 0.0,
    seed: int | None = None,
    progress: bool | None = None,
) -> Linear:
    """Rebuilds everybody's secret bit from noisy answers to random subset queries (Dinur and Nissim 2003).

    ``ask`` is called with a list of people, by their places from 0, and answers about how many of them have their bit set;
    None, or a BudgetError, is a refusal and ends the questions. ``queries`` is four times ``people`` unless said otherwise.
    ``method`` is ``"least-squares"``, ``"least-absolute"`` (a linear program, robust) or ``"within"`` for noise that is
    known to be at most ``within``. ``truth`` is everybody's bit, to count how many are right; ``epsilon`` and ``delta`` what
    all answers together promise. ``seed`` makes the questions the same again.

    >>> from deniable import attack
    >>> secret = [i % 3 == 0 for i in range(40)]
    >>> found = attack.linear(lambda who: sum(secret[i] for i in who) + (len(who) % 3 - 1), 40, truth=secret, seed=1)
    >>> found.right
    40
    """
    _check_callable(ask, "a list of people")
    people = _read.whole("people", people, 1, 16_384)
    count = 4 * people if queries is None else _read.whole("queries", queries, 1, 131_072)
    secrets = None if truth is None else _read.flags("truth", truth)
    if secrets is not None and len(secrets) != people:
        raise ParameterError("truth does not have one bit for each person", "give as many as people")
    if method == "within" and within is None:
        raise ParameterError("the method within needs a distance", "add within=5 for noise of at most 5")
    distance = None if within is None else _read.one_float("within", within)
    allowed = None if epsilon is None else right_guesses(epsilon, delta)
    asked = _deniable.SubsetQueries(people, count, None if seed is None else _read.whole("seed", seed, 0, 2**64 - 1))
    answers: list[float] = []
    with Progress("asking", progress) as bar:
        for index in range(count):
            answer = _answered(ask, asked.subset(index))
            if answer is None:
                break
            answers.append(answer)
            bar(index + 1, count)
    estimates, bits = asked.estimate(answers, str(method), distance)
    right = None if secrets is None else sum(guess == bit for guess, bit in zip(bits, secrets, strict=True))
    return Linear(bits=bits, estimates=estimates, answered=len(answers), asked=count, right=right, allowed=allowed)


def _check_callable(ask: Any, of: str) -> None:
    if not callable(ask):
        raise ParameterError("ask cannot be called", f"give a function of {of} that answers with a number")


def _answered(ask: Callable[..., Any], *question: Any) -> float | None:
    """A finite number, or None for a refusal."""
    try:
        answer = ask(*question)
    except BudgetError:
        return None
    if answer is None:
        return None
    try:
        number = float(answer)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise ParameterError("an answer is no finite number", "return a number, or None for a refusal")
    return number


class Repeated(float):
    """An answer that was given before: it teaches nothing new. For the callables of :func:`average`."""


@dataclass(frozen=True, repr=False)
class Averaging(Result):
    """How asking many times went.

    ``averages`` is the average of the fresh answers after each question, None before the first; ``fresh``, ``repeated`` and
    ``refused`` count the replies. ``estimate`` is the last average, and ``error`` how far it is from the truth, where that
    was given.
    """

    averages: list[float | None]
    fresh: int
    repeated: int
    refused: int
    error: float | None

    @property
    def estimate(self) -> float | None:
        """The average of all fresh answers."""
        return self.averages[-1] if self.averages else None

    def _title(self) -> str:
        return "one question, asked many times"

    def _lines(self) -> list[tuple[Any, Any]]:
        lines: list[tuple[Any, Any]] = [("fresh answers", self.fresh), ("repeated", self.repeated), ("refused", self.refused)]
        if self.error is not None:
            lines.append(("off by", shown(self.error)))
        return lines


def average(
    ask: Callable[[str], float | None],
    questions: Iterable[str],
    *,
    truth: float | None = None,
    progress: bool | None = None,
) -> Averaging:
    """Asks questions that all have the same answer, and averages what is new in the replies.

    ``ask`` is called with each question and returns a number; None, or a BudgetError, is a refusal, and a
    :class:`Repeated` number one that was given before. Noise that is drawn anew each time averages out; a ledger that gives
    the same answer to the same question, and charges for other forms of it, is what prevents that. :func:`rewritings`
    writes one question in many forms.

    >>> import random
    >>> from deniable import attack
    >>> found = attack.average(lambda _: 100 + random.choice([-10, 10]), ["how many?"] * 4000, truth=100)
    >>> found.fresh, found.error < 1
    (4000, True)
    """
    _check_callable(ask, "a question")
    texts = _read.items("questions", questions)
    if not texts or not all(isinstance(text, str) for text in texts):
        raise ParameterError("questions must be texts, and at least one", 'write ["SELECT COUNT(*) FROM visits"] * 100')
    true = None if truth is None else _read.one_float("truth", truth)
    done = 0
    with Progress("asking", progress) as bar:

        def reply(_: int, question: str) -> tuple[str, float]:
            nonlocal done
            kind, number = _reply(ask, question)
            done += 1
            bar(done, len(texts))
            return kind, number

        found = _deniable.attack_average(reply, texts, 1)
    last = found["averages"][-1]
    error = None if true is None or last is None else abs(last - true)
    return Averaging(error=error, **found)


def _reply(ask: Callable[[str], Any], question: str) -> tuple[str, float]:
    kind = "fresh"

    def once(text: str) -> Any:
        nonlocal kind
        answer = ask(text)
        if isinstance(answer, Repeated):
            kind = "repeated"
        return answer

    number = _answered(once, question)
    return ("refused", 0.0) if number is None else (kind, number)


def rewritings(table: str, conditions: Sequence[str], never_negative: str, count: int) -> list[str]:
    """One count in SQL, written in ``count`` different forms that all ask the same.

    ``never_negative`` is a column that is never below zero, for conditions that always hold.

    >>> from deniable import attack
    >>> attack.rewritings("people", ["age > 40", "ill"], "age", 2)[1]
    'SELECT COUNT(*) FROM people WHERE age > 40 AND ill AND TRUE'
    """
    listed = _read.items("conditions", conditions)
    if not listed or not all(isinstance(text, str) for text in [table, never_negative, *listed]):
        raise ParameterError("a question is a table and conditions in SQL", 'write rewritings("people", ["age > 40"], "age", 10)')
    return _deniable.attack_rewritings(table, listed, never_negative, _read.whole("count", count, 1, 1_000_000))


def difference(ask: Callable[[str], float | None], with_her: str, without_her: str) -> bool | None:
    """What two counts say about the one person in whom they differ; None if one of them is refused.

    >>> from deniable import attack
    >>> counts = {"all who are ill": 8, "all who are ill but Ada": 7}
    >>> attack.difference(counts.__getitem__, "all who are ill", "all who are ill but Ada")
    True
    """
    _check_callable(ask, "a question")
    if not isinstance(with_her, str) or not isinstance(without_her, str):
        raise ParameterError("both questions must be texts", "write two counts that differ in one person")
    return _deniable.attack_difference(lambda _, question: _reply(ask, question), with_her, without_her)
