"""Who was in the data?"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from deniable import _deniable, _read
from deniable._errors import ParameterError
from deniable._numbers import text_of
from deniable.attack.result import Result
from deniable.attack.tables import column_of, names_of


@dataclass(frozen=True, repr=False)
class Membership(Result):
    """How people stand to published means.

    ``above`` is for each target how many standard deviations their score is above that of a stranger, ``chance`` how often a
    stranger scores as high (by the normal approximation), and ``ratio`` the likelihood ratio as a power of ten (minus
    infinity where the means exclude somebody). ``allowed`` is the share of members that any test accuses at most which
    accuses one stranger in a hundred.
    """

    names: list[Any]
    above: list[float]
    chance: list[float]
    ratio: list[float]
    allowed: float
    attributes: int

    def suspects(self, chance: float = 1e-3) -> list[Any]:
        """The names of all as high as whom a stranger scores with at most this probability, the highest first."""
        order = sorted(range(len(self.names)), key=lambda place: -self.above[place])
        return [self.names[place] for place in order if self.chance[place] <= chance]

    def _title(self) -> str:
        return "people traced from published means"

    def _lines(self) -> list[tuple[Any, Any]]:
        return [
            ("targets", len(self.names)),
            ("attributes", self.attributes),
            ("higher than 999 of 1000 strangers", len(self.suspects())),
            ("members accused at most with 1 % of strangers", f"{100 * self.allowed:.2g} %"),
        ]


def membership(
    means: Mapping[str, float] | Sequence[float],
    frequencies: Mapping[str, float] | Sequence[float],
    targets: Any,
    *,
    people: int,
    names: Any = None,
    epsilon: Any = None,
    delta: Any = "1e-5",
    noise: str = "gaussian",
) -> Membership:
    """Was she in the data? Traces people from published means (Homer et al. 2008; Dwork et al. 2015).

    ``means`` is how common each attribute was among the ``people`` of the study, ``frequencies`` how common it is in the
    population. ``targets`` are people to trace: a data frame or dict with a column of 0 and 1 for each attribute, or a list
    of rows. ``names`` says who they are: a list, or a column of the targets; otherwise places from 0. With ``epsilon`` the
    means are taken to have been released with ``"gaussian"`` or ``"laplace"`` noise of that (ε, δ) for all of them together.

    >>> from deniable import attack
    >>> means, frequencies = [1.0, 0.0] * 50, [0.5] * 100
    >>> found = attack.membership(means, frequencies, [[1, 0] * 50, [1, 1] * 50], people=4)
    >>> found.suspects()
    [0]
    """
    if isinstance(means, Mapping) != isinstance(frequencies, Mapping):
        raise ParameterError("means and frequencies must be of one kind", "give both as dicts, or both as lists in the same order")
    attributes: list[str] | None = None
    if isinstance(means, Mapping) and isinstance(frequencies, Mapping):
        if set(means) != set(frequencies):
            raise ParameterError("means and frequencies are not of the same attributes", "give each attribute a mean and a frequency")
        attributes = [str(name) for name in means]
        rates = [frequencies[name] for name in means]
        published = list(means.values())
    else:
        published, rates = _read.items("means", means), _read.items("frequencies", frequencies)
    who: Any = None
    if isinstance(names, str):
        who = column_of(targets, names)
    elif names is not None:
        who = _read.items("names", names)
    rows = _rows(targets, attributes, len(published))
    if who is not None and len(who) != len(rows):
        raise ParameterError("there are not as many names as targets", "give each target a name")
    standings, allowed = _deniable.attack_trace(
        _read.whole("people", people, 1, 2**32 - 1),
        _read.floats("means", published),
        _read.floats("frequencies", rates),
        rows,
        str(noise),
        _read.optional("epsilon", epsilon),
        text_of("delta", delta),
    )
    above, chance, ratio = (list(column) for column in zip(*standings, strict=True)) if standings else ([], [], [])
    return Membership(
        names=list(range(len(rows))) if who is None else who,
        above=above,
        chance=chance,
        ratio=ratio,
        allowed=allowed,
        attributes=len(published),
    )


def _rows(targets: Any, attributes: list[str] | None, count: int) -> list[list[bool]]:
    """Rows of bits of whatever holds them."""
    if isinstance(targets, Mapping) or hasattr(targets, "__arrow_c_stream__"):
        if attributes is None:
            attributes = names_of(targets)
        columns = [_read.flags("a target", column_of(targets, name)) for name in attributes]
        if len({len(column) for column in columns}) > 1:
            raise ParameterError("the columns are not all of one length", "every target needs a value in every column")
        return [list(row) for row in zip(*columns, strict=True)]
    rows = [_read.flags("a target", row) for row in _read.items("targets", targets)]
    if any(len(row) != count for row in rows):
        raise ParameterError("a target does not have one value for each attribute", "give 1 for who has it and 0 for who has not")
    return rows


@dataclass(frozen=True, repr=False)
class MembershipScores(Result):
    """How well scores tell members from others.

    ``area`` is how often a member scores higher than somebody else (the area under the curve), with its standard error
    ``area_error``; ``curve`` is the share of others and of members above each threshold. ``accusations`` says for each rate
    of false accusations what a threshold does that half of the scores fixed and the other half counted: members and others
    accused, and of how many each. ``area_allowed`` and ``allowed`` are the most that (ε, δ) allows, where it was stated.
    """

    area: float
    area_error: float
    curve: list[tuple[float, float]]
    rates: list[float]
    accusations: list[tuple[int, int, int]]
    area_allowed: float | None
    allowed: list[float] | None

    def _title(self) -> str:
        return "members told from others by their scores"

    def _lines(self) -> list[tuple[Any, Any]]:
        lines: list[tuple[Any, Any]] = [("area under the curve", f"{self.area:.4f} ± {self.area_error:.4f}")]
        if self.area_allowed is not None:
            lines.append(("allowed", f"{self.area_allowed:.4f}"))
        for place, rate in enumerate(self.rates):
            members, others, trials = self.accusations[place]
            said = f"{members} members and {others} others of {trials} each"
            if self.allowed is not None:
                said += f"; {100 * self.allowed[place]:.3g} % of members are allowed"
            lines.append((f"accused at a false-positive rate of {100 * rate:g} %", said))
        return lines


def membership_scores(
    members: Any, others: Any, *, rates: Sequence[float] = (0.001, 0.01, 0.1), epsilon: Any = None, delta: Any = 0
) -> MembershipScores:
    """Judges an attack that asks who was in the data, by the scores that it gave members and others.

    Scores are higher for whom the attack takes for a member: the loss of a model with its sign changed, for example. There
    are as many of members as of others, in an order that does not depend on them.

    >>> from deniable import attack
    >>> attack.membership_scores([3, 4, 5, 6], [1, 2, 3, 4], epsilon=1).area
    0.875
    """
    shares = _read.floats("rates", rates)
    if any(not 0 <= rate <= 1 for rate in shares):
        raise ParameterError("a rate must lie between 0 and 1", "write rates=(0.001, 0.01)")
    found = _deniable.attack_scores(
        _read.floats("members", members),
        _read.floats("others", others),
        shares,
        _read.optional("epsilon", epsilon),
        text_of("delta", delta),
    )
    return MembershipScores(rates=shares, **found)


def membership_study(
    *,
    people: int = 100,
    attributes: int = 1000,
    trials: int = 500,
    epsilon: Any = None,
    delta: Any = "1e-5",
    noise: str = "gaussian",
    score: str = "likelihood-ratio",
    seed: int = 1,
) -> MembershipScores:
    """Synthetic studies that publish means, each tried on one member and on one stranger.

    Without ``epsilon`` the means are published as they are; with it, with noise of that (ε, δ) for all means together. The
    people are synthetic and drawn from ``seed``.

    >>> from deniable import attack
    >>> attack.membership_study(people=20, attributes=400, trials=50).area > 0.9
    True
    """
    promise = _read.optional("epsilon", epsilon)
    inside, outside = _deniable.attack_study(
        _read.whole("people", people, 1, 2**32 - 1),
        _read.whole("attributes", attributes, 1, 2**26),
        _read.whole("trials", trials, 20, 10**8),
        _read.whole("seed", seed, 0, 2**64 - 1),
        str(score),
        str(noise),
        promise,
        text_of("delta", delta),
    )
    # A person whom the means exclude has a score of minus infinity; any number below all others says the same.
    finite = [value for value in inside + outside if math.isfinite(value)]
    least = min(finite, default=0.0) - 1.0
    ranked = [[max(value, least) for value in scores] for scores in (inside, outside)]
    return membership_scores(*ranked, epsilon=promise, delta=delta if noise == "gaussian" else 0)
