"""The catalog of tables in memory, written as the text that a file would hold."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from deniable._deniable import ArrowTable
from deniable._errors import ParameterError
from deniable._numbers import decimal_text
from deniable._toml import constant, text, whole

if TYPE_CHECKING:
    from deniable._numbers import Number


class Declared:
    """What is declared of tables in memory."""

    def __init__(
        self,
        *,
        name: str,
        whose: str,
        neighbors: str,
        epsilon: Number,
        delta: Number,
        ledger: str,
        groups: int | None,
        rows_per_group: int | None,
        version: str | None,
    ) -> None:
        lines = [
            f"name = {text(name)}",
            "[unit]",
            f"whose = {text(whose)}",
            f"neighbors = {text(neighbors)}",
            "[budget]",
            f"epsilon = {text(decimal_text(epsilon, 'ε'))}",
            f"delta = {text(decimal_text(delta, 'δ'))}",
            f"ledger = {text(ledger)}",
        ]
        if version is not None:
            lines += ["[data]", f"version = {text(version)}"]
        limits = {"groups": groups, "rows_per_group": rows_per_group}
        lines.append("[limits]")
        lines += [f"{key} = {whole(value, key)}" for key, value in limits.items() if value is not None]
        self._lines = lines

    def table(
        self,
        name: str,
        table: ArrowTable,
        *,
        unit: str | None,
        public: bool,
        rows_per_unit: int | None,
        bounds: Mapping[str, Sequence[Any]],
        values: Mapping[str, Iterable[Any]],
        kinds: Mapping[str, str],
        not_null: Collection[str],
    ) -> None:
        """Declares one table with all of its columns that can be."""
        found = dict(table.columns())
        if not public and unit is not None and unit not in found:
            raise ParameterError(
                f"table {name!r} has no column {unit!r}, which names the unit",
                "name the column with unit=, give unit=None where each row is a unit, or list the table in public=",
            )
        lines = [f"[tables.{text(name)}]", 'source = "memory"']
        if public:
            lines.append("public = true")
        elif unit is None:
            lines.append("each_row = true")
        else:
            lines.append(f"unit = {text(unit)}")
            if rows_per_unit is not None:
                lines.append(f"rows_per_unit = {whole(rows_per_unit, 'rows_per_unit')}")
        lines.append(f"[tables.{text(name)}.columns]")
        for column, found_kind in found.items():
            kind = kinds.get(column, found_kind)
            # A column that cannot be declared cannot be used in queries. It is left out, like a column that a file has and a catalog does not.
            if kind is None:
                continue
            facts = [f"kind = {text(kind)}"]
            if column in not_null:
                facts.append("nullable = false")
            if column in bounds:
                ends = list(bounds[column])
                if len(ends) != 2:
                    raise ParameterError(f"the bounds of {column!r} are not two", "write bounds={'age': (0, 100)}")
                facts.append(f"bounds = [{constant(ends[0])}, {constant(ends[1])}]")
            if column in values:
                listed = ", ".join(constant(value) for value in values[column])
                facts.append(f"values = [{listed}]")
            lines.append(f"{text(column)} = {{ {', '.join(facts)} }}")
        self._lines += lines

    def __str__(self) -> str:
        return "\n".join(self._lines) + "\n"
