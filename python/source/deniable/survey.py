"""Surveys in which everybody can deny their answer.

Each respondent's answer is randomized where it is given, so that any report could have come from any answer: nobody who
reads the reports, not even who asks, learns what somebody answered. From many reports the fractions can be estimated.

The client calls :func:`randomize` (or :meth:`Survey.randomize`), the server :func:`estimate`; both with the same answers,
mechanism and noise.

>>> from deniable.survey import Survey
>>> question = Survey(["yes", "no"], gamma="1/4")
>>> round(question.epsilon, 6)
1.098612
>>> reports = [question.randomize("yes") for _ in range(400)]
>>> found = question.estimate(reports)
>>> found["yes"].low < found["yes"].high
True
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from deniable import _deniable, _html, _read
from deniable._errors import ParameterError
from deniable._numbers import shown_up

__all__ = ["Estimate", "Estimates", "Reports", "Survey", "estimate", "randomize"]


@dataclass(frozen=True)
class Estimate:
    """How common one answer is.

    ``fraction`` is right on average, and may be below 0 or above 1; ``deviation`` is its standard deviation. The truth lies
    between ``low`` and ``high``, for all answers together, with the stated confidence.
    """

    fraction: float
    deviation: float
    low: float
    high: float


class Estimates(Mapping[str, Estimate]):
    """What reports say about each answer: a mapping from answers to :class:`Estimate`.

    ``reports`` is how many there were, ``epsilon`` what each of them cost its respondent, ``confidence`` the probability
    with which all intervals hold together, provided that every report was randomized as stated; no approximation is made.
    ``half_width`` is how far estimates from so many reports are off at most, known before any is drawn.
    """

    def __init__(
        self, estimates: dict[str, Estimate], reports: int, epsilon: float, confidence: float, half_width: float
    ) -> None:
        self._estimates = estimates
        self.reports = reports
        self.epsilon = epsilon
        self.confidence = confidence
        self.half_width = half_width

    def __getitem__(self, answer: str) -> Estimate:
        return self._estimates[answer]

    def __iter__(self) -> Iterator[str]:
        return iter(self._estimates)

    def __len__(self) -> int:
        return len(self._estimates)

    def __repr__(self) -> str:
        said = ", ".join(f"{name!r}: {one.fraction:.3f} [{one.low:.3f}, {one.high:.3f}]" for name, one in self.items())
        return f"Estimates({{{said}}}, reports={self.reports}, confidence={self.confidence})"

    def to_dict(self) -> dict[str, Any]:
        """All of it as a dictionary."""
        return {
            "estimates": {answer: asdict(one) for answer, one in self.items()},
            "reports": self.reports,
            "epsilon": self.epsilon,
            "confidence": self.confidence,
            "half_width": self.half_width,
        }

    def _repr_html_(self) -> str:
        rows = [
            [
                answer,
                f"{one.fraction:.3f}",
                f"{one.low:.3f}",
                f"{one.high:.3f}",
                _html.whisker(one.fraction, one.low, one.high),
            ]
            for answer, one in self.items()
        ]
        return _html.grid(
            f"{self.reports} reports with ε = {shown_up(self.epsilon)} for each respondent",
            ["answer", "estimate", "from", "to", ""],
            rows,
            [f"All intervals hold together with probability {self.confidence}."],
        )


class Reports(Sequence[str]):
    """Reports of many respondents, which are public; and ``guarantee``, what they cost each of them."""

    def __init__(self, reports: list[str], guarantee: str) -> None:
        self._reports = reports
        self.guarantee = guarantee

    def __getitem__(self, place: Any) -> Any:
        return self._reports[place]

    def __len__(self) -> int:
        return len(self._reports)

    def __repr__(self) -> str:
        return f"Reports({len(self)} reports; {self.guarantee})"


class Survey:
    """A question with its possible answers, and how answers are randomized.

    ``epsilon`` is how much one report may tell about its respondent: the logarithm of the largest likelihood ratio. Between
    two answers ``gamma`` says it otherwise: the truth with probability 1/2 + γ, which is ε = ln((1+2γ)/(1−2γ)).

    ``mechanism`` is one of

    - ``"randomized-response"``: the truth with a stated probability, otherwise any other answer. Best for few answers.
    - ``"unary"``: a random bit for each answer (optimized unary encoding). Best for many answers.
    - ``"unary-symmetric"``: a random bit for each answer, flipped alike (basic RAPPOR).
    - ``"local-hashing"``: a random hash of the answer. As good as unary, in short reports.

    >>> from deniable.survey import Survey
    >>> Survey(["red", "green", "blue"], epsilon=2).answers
    ('red', 'green', 'blue')
    """

    def __init__(
        self,
        answers: Sequence[str] = ("yes", "no"),
        *,
        epsilon: Any = None,
        gamma: Any = None,
        mechanism: str = "randomized-response",
    ) -> None:
        listed = [_read.clean(answer) if isinstance(answer, str) else answer for answer in _read.items("answers", answers)]
        if not all(isinstance(answer, str) for answer in listed):
            raise ParameterError("answers must be texts", 'write answers=("yes", "no")')
        self._question = _deniable.SurveyQuestion(
            listed, str(mechanism), _read.optional("epsilon", epsilon), _read.optional("gamma", gamma)
        )
        self._mechanism = mechanism

    @property
    def answers(self) -> tuple[str, ...]:
        """The possible answers. What is none of them counts as the last."""
        return tuple(self._question.answers())

    @property
    def epsilon(self) -> float:
        """What one report costs its respondent."""
        return self._question.epsilon()[1]

    @property
    def mechanism(self) -> str:
        """How answers are randomized."""
        return self._mechanism

    @property
    def supports(self) -> tuple[float, float]:
        """With what probability a report supports the true answer of its respondent, and any one other answer."""
        return self._question.supports()

    def __repr__(self) -> str:
        return f"Survey({list(self.answers)!r}, epsilon={shown_up(self.epsilon, 6)}, mechanism={self._mechanism!r})"

    def half_width(self, reports: int, *, confidence: float = 0.95) -> float:
        """How far estimates from so many reports are off at most, all of them together, with this probability.

        >>> from deniable.survey import Survey
        >>> Survey(epsilon=1).half_width(10_000) < 0.04
        True
        """
        count = _read.whole("reports", reports, 1, 2**62)
        return self._question.half_width(count, _read.probability("confidence", confidence))

    def randomize(self, answer: Any, *, purpose: str = "survey") -> str:
        """One report for one answer, charged to the respondent: asking the same person again costs ε again.

        An answer that is none of the possible ones, spelled exactly so but for spaces around it, counts as the last of them,
        whatever it is: no error tells what somebody answered.

        >>> from deniable.survey import Survey
        >>> Survey(["yes", "no"], epsilon=1).randomize("yes") in ("yes", "no")
        True
        """
        reports, _ = self._question.randomize([_answer(answer)], str(purpose))
        return reports[0]

    def randomize_all(self, answers: Any, *, purpose: str = "survey") -> Reports:
        """A report for each of many respondents, in one release. Keep the reports, and delete the answers.

        >>> from deniable.survey import Survey
        >>> len(Survey(["yes", "no"], epsilon=1).randomize_all(["yes", "no", "no"]))
        3
        """
        listed = _read.items("answers", answers)
        if not listed:
            raise ParameterError("there are no answers", "give one for each respondent")
        return Reports(*self._question.randomize([_answer(answer) for answer in listed], str(purpose)))

    def estimate(self, reports: Any, *, confidence: float = 0.95) -> Estimates:
        """How common each answer is, from reports. They are public, so this costs nothing.

        >>> from deniable.survey import Survey
        >>> question = Survey(["yes", "no"], gamma="1/4")
        >>> question.estimate(["yes"] * 60 + ["no"] * 40)["yes"].fraction
        0.7
        """
        sure = _read.probability("confidence", confidence)
        listed = _read.items("reports", reports)
        if not listed:
            raise ParameterError("there are no reports", "give one for each respondent")
        for place, report in enumerate(listed):
            if not isinstance(report, str):
                raise ParameterError(
                    f"the report in place {place} is no text", "give the reports as randomize returned them; places are counted from 0"
                )
        found = self._question.estimate([_read.clean(report) for report in listed], sure)
        estimates = {
            answer: Estimate(fraction, deviation, low, high)
            for answer, (fraction, deviation, low, high) in zip(self.answers, found, strict=True)
        }
        return Estimates(estimates, len(listed), self.epsilon, sure, self._question.half_width(len(listed), sure))


def _answer(answer: Any) -> str:
    """Whatever was answered as text: what is no answer counts as the last one, and is no error."""
    try:
        return _read.clean(str(answer))
    except Exception:
        return ""


def randomize(
    answer: Any,
    answers: Sequence[str] = ("yes", "no"),
    *,
    epsilon: Any = None,
    gamma: Any = None,
    mechanism: str = "randomized-response",
) -> str:
    """The client's side: one report for one answer. See :meth:`Survey.randomize`.

    >>> from deniable import survey
    >>> survey.randomize("no", epsilon=1) in ("yes", "no")
    True
    """
    return Survey(answers, epsilon=epsilon, gamma=gamma, mechanism=mechanism).randomize(answer)


def estimate(
    reports: Any,
    answers: Sequence[str] = ("yes", "no"),
    *,
    epsilon: Any = None,
    gamma: Any = None,
    mechanism: str = "randomized-response",
    confidence: float = 0.95,
) -> Estimates:
    """The server's side: how common each answer is, from reports. See :meth:`Survey.estimate`.

    >>> from deniable import survey
    >>> survey.estimate(["yes"] * 60 + ["no"] * 40, gamma="1/4")["no"].fraction
    0.3
    """
    question = Survey(answers, epsilon=epsilon, gamma=gamma, mechanism=mechanism)
    return question.estimate(reports, confidence=confidence)
