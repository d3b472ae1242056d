"""Who is behind a row?"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from deniable import _deniable, _read
from deniable._errors import ParameterError
from deniable._numbers import text_of
from deniable.attack.result import Result
from deniable.attack.tables import coded_table, named, names_of, push


@dataclass(frozen=True, repr=False)
class Uniqueness(Result):
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
    names = names_of(table) if columns is None else named("columns", columns)
    share = _read.one_float("identifying", identifying)
    if not 0 < share <= 1:
        raise ParameterError("identifying must be above 0 and at most 1", "0.9 looks for columns that single out 90 % of the rows")
    coded = coded_table(names, [(table, names)])
    found = _deniable.attack_uniqueness(
        coded,
        math.ceil(share * coded.rows()),
        _read.whole("largest", largest, 1, 1000),
        _read.optional("epsilon", epsilon),
        text_of("delta", delta),
    )
    return Uniqueness(**found)


@dataclass(frozen=True, repr=False)
class Links(Result):
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
        left, right = named("on", list(on)), named("on", list(on.values()))
    else:
        left = right = named("on", on)
    both = coded_table(left, [(first, left)])
    first_rows = both.rows()
    push(both, second, right)
    known = None
    if truth is not None:
        people = (truth, truth) if isinstance(truth, str) else tuple(truth)
        if len(people) != 2 or not all(isinstance(name, str) for name in people):
            raise ParameterError("truth must name one column of each table", 'write truth="person" or truth=("id", "person")')
        known = coded_table(["person"], [(first, [people[0]]), (second, [people[1]])])
    return Links(**_deniable.attack_link(both, first_rows, known))
