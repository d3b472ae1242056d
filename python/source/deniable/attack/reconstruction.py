"""Rebuilds people, and cells of tables, from what was published about them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from deniable import _deniable, _read
from deniable._errors import ParameterError
from deniable.attack.document import document
from deniable.attack.result import Result

if TYPE_CHECKING:
    import os


@dataclass(frozen=True, repr=False)
class Reconstruction(Result):
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
        document(table, {"rules": "rule", "groups": "group"}),
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
class Cells(Result):
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
    text = document({"categories": categories, "margin": listed}, {}, suppressed='"(D)"')
    found = _deniable.attack_margins(text, None if seconds is None else _read.one_float("seconds", seconds))
    ranges = zip(found["cells"], found["seen"], found["possible"], strict=False)
    cells = [
        {**dict(zip(found["categories"], names, strict=True)), "low": low, "high": high, "proved": seen == (low, high)}
        for names, seen, (low, high) in ranges
    ]
    return Cells(cells=cells, example=found["example"], contradiction=found["contradiction"])
