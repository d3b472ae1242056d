"""The audit for code alone: runs a callable on two neighbouring data sets, and looks for an event that refutes the claim."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from deniable import _deniable, _html, _read
from deniable._errors import ParameterError
from deniable._numbers import shown_down, shown_up, text_of
from deniable._progress import Progress
from deniable.audit.judgement import judged

#: One minus the false-alarm rate of a black-box audit: a private mechanism is refuted once in a billion audits.
CONFIDENCE = 0.999999999


@dataclass(frozen=True)
class BlackBox:
    """What running a mechanism proved.

    ``epsilon_lower`` is certified: with probability ``confidence`` the true ε at the claimed δ is at least this.
    ``refuted`` says whether that is above the claim; it is None where nothing was claimed. That a claim is not refuted
    proves nothing: it means that no event was found against it.

    ``event`` is what gave the mechanism away, in words; it happened ``hits[0]`` times in ``draws[0]`` calls on the data set
    ``likelier`` ("a" or "b"), and ``hits[1]`` times in ``draws[1]`` calls on the other. ``mirror`` is an event that was
    counted with it the other way round, if there is one.
    """

    refuted: bool | None
    epsilon_lower: float
    event: str
    mirror: str | None
    likelier: str
    hits: tuple[int, int]
    draws: tuple[int, int]
    epsilon: str | None
    delta: str
    confidence: float
    calls: int
    seconds: float

    def __repr__(self) -> str:
        # The event quotes outputs, which may be data where somebody audits on data of their own.
        return (
            f"BlackBox(refuted={self.refuted}, epsilon_lower={shown_down(self.epsilon_lower)}, epsilon={self.epsilon}, "
            f"delta={self.delta}, confidence={self.confidence})"
        )

    def to_dict(self) -> dict[str, Any]:
        """All of it as a dictionary."""
        return asdict(self)

    def _repr_html_(self) -> str:
        rows: list[tuple[Any, Any]] = [
            ("ε is at least", shown_down(self.epsilon_lower)),
            ("event", self.event),
            ("on the likelier data set", f"{self.hits[0]} of {self.draws[0]}, data set {self.likelier}"),
            ("on the other", f"{self.hits[1]} of {self.draws[1]}"),
            ("probability of a false alarm", f"at most {shown_up(1 - self.confidence, 2)}"),
        ]
        if self.mirror is not None:
            rows.insert(2, ("counted with it, exchanged", self.mirror))
        return _html.table(judged(self.refuted, self.epsilon, self.delta), rows)


def black_box(
    mechanism: Callable[[Any], Any],
    a: Any,
    b: Any,
    *,
    epsilon: Any = None,
    delta: Any = 0,
    samples: int = 200_000,
    confidence: float = CONFIDENCE,
    look: str = "everything",
    seconds: float | None = None,
    progress: bool | None = None,
) -> BlackBox:
    """Tries to refute that a callable is (``epsilon``, ``delta``)-differentially private, by running it.

    ``mechanism`` is called with the data set ``a`` or with its neighbour ``b``, about ``samples`` times each, and returns
    what an observer sees: a number, a label, or a flat list of them. Its outputs must be independent, and it must leave its
    argument as it is. Half of the calls serve to learn an event that is likelier on one of the two, the other half to count
    that one event. A mechanism that keeps its claim is refuted with probability at most 1 − ``confidence``.

    ``look`` is what is looked at: ``"everything"``, ``"values"`` (the low bits of floats are left out) or ``"bits"``. With
    ``seconds`` a few calls are timed first, and no more are made than fit into about that time. Without ``epsilon`` nothing is judged, and the
    lower bound is all there is. ``progress`` shows a bar; unless told, in a terminal or notebook and after a second.

    >>> import random
    >>> from deniable import audit
    >>> def broken(count):
    ...     return count + random.choice([-1, 0, 1])
    >>> found = audit.black_box(broken, 10, 11, epsilon=1, samples=2_000)
    >>> found.refuted
    True
    """
    if not callable(mechanism):
        raise ParameterError(
            "the mechanism cannot be called", "give a function of one argument, the data set: lambda data: data.sum() + noise()"
        )
    how = {
        "epsilon": _read.optional("epsilon", epsilon),
        "delta": text_of("delta", delta),
        "samples": _read.whole("samples", samples, 64, 10_000_000),
        "confidence": _read.probability("confidence", confidence),
        "look": look,
        "seconds": None if seconds is None else _seconds(seconds),
    }
    if not isinstance(look, str):
        raise ParameterError("look must be everything, values or bits", "values leaves the low bits of floats out of account")
    with Progress("auditing", progress) as bar:
        found = _deniable.audit_black_box(mechanism, a, b, how, bar)
    return BlackBox(
        refuted=found["refuted"],
        epsilon_lower=found["epsilon_lower"],
        event=found["event"],
        mirror=found["mirror"],
        likelier="a" if found["likely_first"] else "b",
        hits=tuple(found["hits"]),
        draws=tuple(found["draws"]),
        epsilon=how["epsilon"],
        delta=how["delta"],
        confidence=found["confidence"],
        calls=found["made"],
        seconds=found["seconds"],
    )


def _seconds(seconds: Any) -> float:
    number = _read.one_float("seconds", seconds)
    if not 0 < number < 1e9:
        raise ParameterError("seconds must be positive", "leave it out to wait for as long as it takes")
    return number
