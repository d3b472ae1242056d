"""What an adversary makes of a release.

Every attack here reads what was published and nothing else, and shows what it recovered beside the most that (ε, δ) allows:

- :func:`reconstruct` rebuilds people from a published table of counts, medians and means; :func:`reconstruct_cells` the
  cells of a table from its margins.
- :func:`linear` rebuilds everybody's secret bit from noisy answers to random subset queries; :func:`average` asks one
  question many times; :func:`difference` asks two that differ in one person.
- :func:`membership` asks from published means who was in the data; :func:`membership_scores` judges any such attack, on a
  model for example, by its scores.
- :func:`link` finds the rows of one table in another; :func:`uniqueness` says whom columns single out.

Results are objects with plain attributes. What they show of themselves are numbers of people, never people; what was
recovered is in their attributes and in ``to_dict()``.

>>> from deniable import attack
>>> found = attack.reconstruct(attack.census())
>>> found.unique, len(found.certain)
(True, 7)
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from deniable import _deniable, _read, _show
from deniable._numbers import text_of
from deniable._errors import BudgetError, FileError, ParameterError

__all__ = [
    "Averaging",
    "Cells",
    "Linear",
    "Links",
    "Membership",
    "MembershipScores",
    "Reconstruction",
    "Repeated",
    "Uniqueness",
    "average",
    "census",
    "difference",
    "linear",
    "link",
    "membership",
    "membership_scores",
    "membership_study",
    "reconstruct",
    "reconstruct_cells",
    "rewritings",
    "right_guesses",
    "uniqueness",
]


class _Result:
    """What results have in common."""

    def to_dict(self) -> dict[str, Any]:
        """All of it as a dictionary, with what was recovered."""
        return asdict(self)  # type: ignore[call-overload]

    def __repr__(self) -> str:
        said = ", ".join(f"{name}: {value}" for name, value in self._lines())
        return f"{type(self).__name__}({said})"

    def _repr_html_(self) -> str:
        return _show.table(self._title(), self._lines())

    def _title(self) -> str:
        raise NotImplementedError

    def _lines(self) -> list[tuple[Any, Any]]:
        raise NotImplementedError


def right_guesses(epsilon: float, delta: float = 0.0) -> float:
    """How often a guess between two equally likely facts about a person can be right at most, under (ε, δ).

    >>> from math import log
    >>> from deniable import attack
    >>> round(attack.right_guesses(log(3)), 12)
    0.75
    """
    return _deniable.attack_right_guesses(_read.one_float("epsilon", epsilon), _read.one_float("delta", delta))


# Published tables.


@dataclass(frozen=True, repr=False)
class Reconstruction(_Result):
    """The people behind a published table.

    ``solutions`` are sets of people that the table allows, each a list of dicts; they are all there are where ``complete``.
    ``certain`` are people who are in every solution, found or not: that is proved. ``unique`` says that there is one
    solution: the table has published its people. ``contradiction`` names numbers that cannot all be true, where there is no
    solution. ``influence`` says how many solutions there are without each number (at least, or exactly so many), where it
    was asked for; None where nothing bounds the number of people any more.
    """

    solutions: list[list[dict[str, Any]]]
    complete: bool
    out_of_time: bool
    certain: list[dict[str, Any]]
    contradiction: list[str]
    influence: dict[str, tuple[int | None, bool]]
    seconds: float

    @property
    def unique(self) -> bool:
        """Whether the table allows one set of people only."""
        return self.complete and len(self.solutions) == 1

    def _title(self) -> str:
        if self.contradiction:
            return "the numbers contradict each other"
        return "the table has published its people" if self.unique else "people rebuilt from a published table"

    def _lines(self) -> list[tuple[Any, Any]]:
        most = "all there are, proved" if self.complete else "there may be others"
        lines = [("solutions", f"{len(self.solutions)}, {most}"), ("people who are certain", len(self.certain))]
        if self.contradiction:
            lines.append(("numbers in contradiction", ", ".join(self.contradiction)))
        return lines


def census() -> str:
    """The census example of Garfinkel, Abowd and Martindale (2018), as text that :func:`reconstruct` reads.

    >>> from deniable import attack
    >>> "[attributes]" in attack.census()
    True
    """
    return _deniable.attack_census()


def reconstruct(
    table: str | os.PathLike[str] | Mapping[str, Any],
    *,
    drop: Iterable[str] = (),
    limit: int = 100,
    seconds: float | None = None,
    influence: bool = False,
) -> Reconstruction:
    """Rebuilds people from a published table of counts, medians, means and sums.

    ``table`` is a dict, the text of a TOML document of the same form (:func:`census` is one), or the path of such a file::

        {
            "attributes": {"age": range(0, 100), "sex": ["F", "M"]},
            "groups": [
                {"id": "1A", "count": 3, "median": 30, "mean": 44, "of": "age"},
                {"id": "2A", "where": {"sex": "F"}, "count": 1},
            ],
        }

    A condition is a value, a list of values, or a range. A number that is left out or None was suppressed and says nothing;
    a pair ``[least, greatest]`` has a margin of error. A mean stands for all that rounds to it with the decimals that are
    written, or with those of ``"decimals"``; a Decimal keeps its zeros, a float does not. Further keys: ``"people"``,
    ``"suppressed_below"``, and ``"rules"`` (``{"when": {...}, "then": {...}}``).

    ``drop`` suppresses numbers (``"2A.mean"``) or groups (``"2A"``) first. At most ``limit`` solutions are looked for.

    >>> from deniable import attack
    >>> men = {"attributes": {"age": range(1, 126)}, "decimals": 1,
    ...        "groups": [{"id": "men", "count": 3, "median": 30, "mean": 44}]}
    >>> len(attack.reconstruct(men).solutions)
    30
    """
    names = [drop] if isinstance(drop, str) else _read.items("drop", drop)
    if not all(isinstance(name, str) for name in names):
        raise ParameterError("drop must name numbers of the table", 'write drop=["2A.mean"]')
    found = _deniable.attack_table(
        _document(table, {"rules": "rule", "groups": "group"}),
        names,
        _read.whole("limit", limit, 1, 1_000_000),
        None if seconds is None else _read.one_float("seconds", seconds),
        bool(influence),
    )

    def person(values: list[Any]) -> dict[str, Any]:
        return dict(zip(found["attributes"], values, strict=True))

    return Reconstruction(
        solutions=[[person(values) for values in people] for people in found["solutions"]],
        complete=found["complete"],
        out_of_time=found["out_of_time"],
        certain=[person(values) for values in found["certain"]],
        contradiction=found["contradiction"],
        influence={name: (count, complete) for name, count, complete in found["influence"]},
        seconds=found["seconds"],
    )


@dataclass(frozen=True, repr=False)
class Cells(_Result):
    """What published margins say about every cell of a table.

    ``cells`` has a dict for each: its categories, and the least and the greatest number of people that it can hold (``low``
    and ``high``). Both ends are exact where ``proved``; otherwise nothing outside of them is possible. ``example`` is one
    table with these margins. ``contradiction`` names counts that cannot all be true, where there is no such table; it is
    None where there is one.
    """

    cells: list[dict[str, Any]]
    example: list[int]
    contradiction: list[str] | None

    @property
    def known(self) -> list[dict[str, Any]]:
        """The cells of which one number only is possible."""
        return [cell for cell in self.cells if cell["low"] == cell["high"]]

    def _title(self) -> str:
        return "the margins contradict each other" if self.contradiction is not None else "cells rebuilt from margins"

    def _lines(self) -> list[tuple[Any, Any]]:
        lines: list[tuple[Any, Any]] = [("cells", len(self.cells)), ("known exactly", len(self.known))]
        if self.contradiction is not None:
            lines.append(("counts in contradiction", "; ".join(self.contradiction)))
        return lines


def reconstruct_cells(
    categories: Mapping[str, Sequence[str]], margins: Iterable[Mapping[str, Any]], *, seconds: float | None = None
) -> Cells:
    """What published margins say about each cell of the table behind them.

    ``categories`` are what people are sorted by. A margin is ``{"by": ["sex", "age"], "counts": [[3, 12], [4, 10]]}``, in
    nested lists in the order of ``by``; a count is a number, a range such as ``"10..15"``, or None where it was suppressed.
    ``"rounded_to"`` and ``"error"`` of a margin say how far its counts may be off.

    >>> from deniable import attack
    >>> found = attack.reconstruct_cells(
    ...     {"sex": ["F", "M"], "age": ["young", "old"]},
    ...     [{"by": ["sex"], "counts": [1, 3]}, {"by": ["age"], "counts": [4, 0]}])
    >>> [cell["low"] for cell in found.known]
    [1, 0, 3, 0]
    """
    if not isinstance(categories, Mapping):
        raise ParameterError("categories must be a dict of lists", 'write {"sex": ["F", "M"]}')
    listed = _read.items("margins", margins)
    if not all(isinstance(margin, Mapping) for margin in listed):
        raise ParameterError("a margin must be a dict", 'write {"by": ["sex"], "counts": [1, 3]}')
    text = _document({"categories": categories, "margin": listed}, {}, suppressed='"(D)"')
    found = _deniable.attack_margins(text, None if seconds is None else _read.one_float("seconds", seconds))
    ranges = zip(found["cells"], found["seen"], found["possible"], strict=False)
    cells = [
        {**dict(zip(found["categories"], names, strict=True)), "low": low, "high": high, "proved": seen == (low, high)}
        for names, seen, (low, high) in ranges
    ]
    return Cells(cells=cells, example=found["example"], contradiction=found["contradiction"])


def _document(table: Any, plural: dict[str, str], suppressed: str = "") -> str:
    """A description as TOML."""
    if isinstance(table, os.PathLike) or (isinstance(table, str) and "\n" not in table):
        try:
            with open(table, encoding="utf-8") as file:
                return file.read(1 << 22)
        except (OSError, UnicodeDecodeError):
            raise FileError("the table cannot be read", "give a dict, the text of a TOML document, or the path of one") from None
    if isinstance(table, str):
        return table
    if not isinstance(table, Mapping):
        raise ParameterError("the table must be a dict or a document", "help(deniable.attack.reconstruct) shows its form")
    named = {plural.get(str(key), str(key)): value for key, value in table.items()}
    lines = [f"{_key(key)} = {_toml(value, suppressed)}" for key, value in named.items() if value is not None]
    return "\n".join(lines) + "\n"


def _key(key: Any) -> str:
    return _toml(str(key), "")


def _toml(value: Any, suppressed: str) -> str:
    """A value within one line of TOML; None is left out of tables, and in lists what stands for suppressed."""
    from decimal import Decimal
    from numbers import Integral

    if isinstance(value, str):
        import json

        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if value is True or value is False:
        return "true" if value else "false"
    if isinstance(value, Integral):
        return str(int(value))
    if isinstance(value, Decimal) and value.is_finite():
        return format(value, "f")
    if isinstance(value, float) and math.isfinite(value):
        # Exponents are no way to print a mean.
        return format(Decimal(repr(float(value))), "f")
    if isinstance(value, range) and len(value) > 0 and value.step == 1:
        return f"{{ from = {value[0]}, to = {value[-1]} }}"
    if isinstance(value, Mapping):
        entries = (f"{_key(key)} = {_toml(entry, suppressed)}" for key, entry in value.items() if entry is not None)
        return "{ " + ", ".join(entries) + " }"
    if value is None and suppressed:
        return suppressed
    if isinstance(value, (list, tuple)) or hasattr(value, "tolist"):
        return "[" + ", ".join(_toml(entry, suppressed) for entry in _read.items("the table", value)) + "]"
    raise ParameterError(
        "the table holds a value that no published table has", "write numbers, texts, lists, dicts and ranges; None where it was suppressed"
    )


# Against somebody who answers.


@dataclass(frozen=True, repr=False)
class Linear(_Result):
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
    if not callable(ask):
        raise ParameterError("ask cannot be called", "give a function of a list of people that answers with a number")
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
    with _show.Progress("asking", progress) as bar:
        for index in range(count):
            answer = _answered(ask, asked.subset(index))
            if answer is None:
                break
            answers.append(answer)
            bar(index + 1, count)
    estimates, bits = asked.estimate(answers, str(method), distance)
    right = None if secrets is None else sum(guess == bit for guess, bit in zip(bits, secrets, strict=True))
    return Linear(bits=bits, estimates=estimates, answered=len(answers), asked=count, right=right, allowed=allowed)


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
class Averaging(_Result):
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
            lines.append(("off by", _show.number(self.error)))
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
    if not callable(ask):
        raise ParameterError("ask cannot be called", "give a function of a question that answers with a number")
    texts = _read.items("questions", questions)
    if not texts or not all(isinstance(text, str) for text in texts):
        raise ParameterError("questions must be texts, and at least one", 'write ["SELECT COUNT(*) FROM visits"] * 100')
    true = None if truth is None else _read.one_float("truth", truth)
    done = 0
    with _show.Progress("asking", progress) as bar:

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
    if not callable(ask):
        raise ParameterError("ask cannot be called", "give a function of a question that answers with a number")
    if not isinstance(with_her, str) or not isinstance(without_her, str):
        raise ParameterError("both questions must be texts", "write two counts that differ in one person")
    return _deniable.attack_difference(lambda _, question: _reply(ask, question), with_her, without_her)


# Who was in the data?


@dataclass(frozen=True, repr=False)
class Membership(_Result):
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
        who = _column(targets, names)
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
            attributes = _names(targets)
        columns = [_read.flags("a target", _column(targets, name)) for name in attributes]
        if len({len(column) for column in columns}) > 1:
            raise ParameterError("the columns are not all of one length", "every target needs a value in every column")
        return [list(row) for row in zip(*columns, strict=True)]
    rows = [_read.flags("a target", row) for row in _read.items("targets", targets)]
    if any(len(row) != count for row in rows):
        raise ParameterError("a target does not have one value for each attribute", "give 1 for who has it and 0 for who has not")
    return rows


@dataclass(frozen=True, repr=False)
class MembershipScores(_Result):
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
    # Whom the means exclude has a score of minus infinity; any number below all others says the same.
    finite = [value for value in inside + outside if math.isfinite(value)]
    least = min(finite, default=0.0) - 1.0
    ranked = [[max(value, least) for value in scores] for scores in (inside, outside)]
    return membership_scores(*ranked, epsilon=promise, delta=delta if noise == "gaussian" else 0)


# Who is behind a row?


@dataclass(frozen=True, repr=False)
class Uniqueness(_Result):
    """Whom the columns of a table single out.

    ``groups`` says how many groups of equal rows there are of each size; ``alone`` how many rows are the only ones with
    their values, and ``smallest`` the size of the smallest group, which is the k of k-anonymity. ``sets`` are the smallest
    sets of columns that single out the share of rows that was asked for, each with how many it singles out.
    ``shown_alone`` is the largest probability with which a release with (ε, δ) shows a group of one, where that was asked.
    """

    rows: int
    groups: dict[int, int]
    sets: list[tuple[list[str], int]]
    shown_alone: float | None

    @property
    def alone(self) -> int:
        """How many rows are singled out by all columns together."""
        return self.groups.get(1, 0)

    @property
    def smallest(self) -> int:
        """The size of the smallest group: the k of k-anonymity."""
        return min(self.groups, default=0)

    def _title(self) -> str:
        return "whom the columns single out"

    def _lines(self) -> list[tuple[Any, Any]]:
        lines: list[tuple[Any, Any]] = [
            ("rows", self.rows),
            ("singled out", self.alone),
            ("smallest group", self.smallest),
        ]
        lines += [(" + ".join(columns), f"single out {alone}") for columns, alone in self.sets[:10]]
        if self.shown_alone is not None:
            lines.append(("shown by a private release", f"with probability {self.shown_alone:.2g} at most"))
        return lines


def uniqueness(
    table: Any,
    columns: Sequence[str] | None = None,
    *,
    identifying: float = 0.9,
    largest: int = 3,
    epsilon: Any = None,
    delta: Any = "1e-6",
) -> Uniqueness:
    """How many rows some columns single out, and which columns suffice (Sweeney 2000).

    ``table`` is a data frame of any library that exports Arrow, or a dict of columns; a missing value is a value like
    others. Sets of at most ``largest`` columns are looked for that single out the share ``identifying`` of the rows.

    >>> from deniable import attack
    >>> people = {"zip": [1, 1, 2, 2], "born": [80, 81, 80, 81], "sex": ["F", "F", "F", "F"]}
    >>> found = attack.uniqueness(people)
    >>> found.alone, found.sets
    (4, [(['zip', 'born'], 4)])
    """
    names = _names(table) if columns is None else _named("columns", columns)
    share = _read.one_float("identifying", identifying)
    if not 0 < share <= 1:
        raise ParameterError("identifying must be above 0 and at most 1", "0.9 looks for columns that single out 90 % of the rows")
    coded = _coded(names, [(table, names)])
    found = _deniable.attack_uniqueness(
        coded,
        math.ceil(share * coded.rows()),
        _read.whole("largest", largest, 1, 1000),
        _read.optional("epsilon", epsilon),
        text_of("delta", delta),
    )
    return Uniqueness(**found)


@dataclass(frozen=True, repr=False)
class Links(_Result):
    """Rows of two tables that match each other and nothing else.

    ``pairs`` are places of rows in the first and the second table, from 0. Of the rows of the first table ``alone_in_first``
    are the only ones with their values, ``several`` have more than one candidate, and ``unmatched`` none. Where the truth
    was given, ``right`` and ``wrong`` count the pairs, and ``findable`` those of the first table who are in the second.
    """

    pairs: list[tuple[int, int]]
    alone_in_first: int
    several: int
    unmatched: int
    right: int | None
    wrong: int | None
    findable: int | None

    @property
    def precision(self) -> float | None:
        """Which share of the links is right."""
        if self.right is None or self.wrong is None:
            return None
        return self.right / (self.right + self.wrong) if self.right + self.wrong else 0.0

    @property
    def recall(self) -> float | None:
        """Which share of those who could be found was found."""
        if self.right is None or self.findable is None:
            return None
        return self.right / self.findable if self.findable else 0.0

    def _title(self) -> str:
        return "rows of one table found in another"

    def _lines(self) -> list[tuple[Any, Any]]:
        lines: list[tuple[Any, Any]] = [
            ("linked", len(self.pairs)),
            ("several candidates", self.several),
            ("no candidate", self.unmatched),
        ]
        if self.precision is not None and self.recall is not None:
            lines += [("precision", f"{100 * self.precision:.1f} %"), ("recall", f"{100 * self.recall:.1f} %")]
        return lines


def link(first: Any, second: Any, *, on: Sequence[str] | Mapping[str, str], truth: str | tuple[str, str] | None = None) -> Links:
    """Links the rows of a table without names to those of another, on columns that both have.

    A pair is made where exactly one row of either table has the same values. Tables are data frames of any library that
    exports Arrow, or dicts of columns. ``on`` names the columns, or is a dict from names in the first to names in the
    second; values are compared as text, so that 5 is 5 whether a column holds integers or floats. ``truth`` is a column of
    both tables (or one of each) that says who it is, to count how many links are right.

    >>> from deniable import attack
    >>> patients = {"zip": [1, 1, 2], "born": [80, 81, 80], "ill": [True, False, True]}
    >>> voters = {"zip": [1, 2, 2], "born": [80, 80, 80], "name": ["Ada", "Bea", "Cid"]}
    >>> attack.link(patients, voters, on=["zip", "born"]).pairs
    [(0, 0)]
    """
    if isinstance(on, Mapping):
        left, right = _named("on", list(on)), _named("on", list(on.values()))
    else:
        left = right = _named("on", on)
    both = _coded(left, [(first, left)])
    first_rows = both.rows()
    _push(both, second, right)
    known = None
    if truth is not None:
        people = (truth, truth) if isinstance(truth, str) else tuple(truth)
        if len(people) != 2 or not all(isinstance(name, str) for name in people):
            raise ParameterError("truth must name one column of each table", 'write truth="person" or truth=("id", "person")')
        known = _coded(["person"], [(first, [people[0]]), (second, [people[1]])])
    return Links(**_deniable.attack_link(both, first_rows, known))


def _named(name: str, columns: Any) -> list[str]:
    names = [columns] if isinstance(columns, str) else _read.items(name, columns)
    if not names or not all(isinstance(column, str) for column in names) or len(set(names)) < len(names):
        raise ParameterError(f"{name} must name at least one column, each of them once", f'write {name}=["zip", "born"]')
    return names


def _names(table: Any) -> list[str]:
    """What the columns of a table are called."""
    if isinstance(table, Mapping):
        return _named("the table", list(table))
    for attribute in ("column_names", "columns"):
        names = getattr(table, attribute, None)
        if names is not None and not callable(names):
            listed = list(names)
            if all(isinstance(name, str) for name in listed):
                return _named("the table", listed)
    if hasattr(table, "__arrow_c_stream__"):
        return _named("the table", _deniable.attack_columns(table))
    raise _no_table()


def _no_table() -> ParameterError:
    return ParameterError(
        "this is no table", "give a data frame that exports Arrow (pandas, polars, pyarrow, duckdb), or a dict of columns"
    )


def _column(table: Any, name: str) -> list[Any]:
    try:
        values = table[name]
    except (KeyError, IndexError, TypeError, ValueError):
        values = None
    except Exception as error:  # polars has an exception of its own for a column that is not there
        if type(error).__name__ != "ColumnNotFoundError":
            raise
        values = None
    if values is None:
        raise ParameterError(f"there is no column `{name}`", "names are taken to the letter")
    return _read.items(f"the column `{name}`", values)


def _coded(names: list[str], tables: list[tuple[Any, list[str]]]) -> Any:
    coded = _deniable.CodedTable(names)
    for table, columns in tables:
        _push(coded, table, columns)
    return coded


def _push(coded: Any, table: Any, columns: list[str]) -> None:
    if not isinstance(table, Mapping):
        if not hasattr(table, "__arrow_c_stream__"):
            raise _no_table()
        try:
            coded.push_stream(table, columns)
            return
        except ImportError:
            # pandas exports Arrow only beside pyarrow; its columns can be read without.
            pass
    coded.push_columns([[_read.clean(_text(value)) for value in _column(table, name)] for name in columns])


def _text(value: Any) -> str:
    """A value as Arrow writes it, so that tables of different libraries can be linked."""
    if isinstance(value, str):
        return value
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        if math.isnan(value):
            return ""
        return str(int(value)) if value.is_integer() and abs(value) < 1e16 else repr(float(value))
    if isinstance(value, bytes):
        return value.hex()
    written = getattr(value, "isoformat", None)
    if callable(written):
        return str(written())
    item = getattr(value, "item", None)
    if callable(item) and getattr(value, "shape", None) == ():
        return _text(item())
    return str(value)
