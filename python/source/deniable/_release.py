"""Planned releases: many tables from one charge, explained before, and read as data frames after."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Protocol

from deniable._answer import Answer
from deniable._errors import ParameterError
from deniable._html import lines
from deniable._numbers import at_least, optional_text, text_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from deniable._deniable import ArrowTable
    from deniable._numbers import Number

_LISTED = 60


class _Made(Protocol):
    """A release that was made, here or on a server. Objects are JSON."""

    def told(self) -> str: ...

    def table(self, by: list[str]) -> tuple[str, ArrowTable]: ...

    def everything(self) -> str: ...


class _Backend(Protocol):
    """What a plan needs of a dataset."""

    def plan(self, name: str, epsilon: str | None, error: str | None, cell_size: int) -> str: ...

    def release(self, name: str, epsilon: str | None, watch: Callable[[str], None]) -> _Made: ...


class Plan:
    """A release that the catalog plans. Made by :meth:`deniable.Dataset.plan`.

    Its tables are measured together under one charge, so each errs less than if it were asked alone, and their totals
    agree::

        plan = ds.plan("census")
        plan.explain()                      # the error of every table; free
        census = plan.release()             # charged once, whatever happens; the same again is free
        census["region", "age"].to_pandas()
    """

    def __init__(self, backend: _Backend, name: str) -> None:
        self._backend = backend
        self.name = name

    def explain(self, *, epsilon: Number | None = None) -> ReleaseExplanation:
        """What it costs, the expected error of every table, and where the budget goes. Free: nothing private is read.

        ``epsilon`` is another price than the catalog's, to see what it would bring.
        """
        told = self._backend.plan(self.name, optional_text(epsilon, "ε"), None, 1000)
        return ReleaseExplanation(json.loads(told))

    def epsilon_for(self, error: Number | str, *, cell_size: int = 1000) -> float:
        """The smallest ε, to three digits, for which the expected error of a cell of every table is at most ``error``:
        a number of rows, or ``"2%"`` of a cell of ``cell_size`` rows. Free.
        """
        if isinstance(cell_size, bool) or not isinstance(cell_size, int) or cell_size < 1:
            raise ParameterError("cell_size is no number of rows", "write 1000")
        wanted = text_of("the wanted error", error)
        told = self._backend.plan(self.name, None, wanted, cell_size)
        return at_least(json.loads(told)["found_epsilon"])

    def release(self, *, epsilon: Number | None = None) -> Release:
        """Makes the release, or finds it: charged once, before the data is read, and the same for nothing ever after.

        A run that was interrupted is finished under its charge. On a server a curator makes it, and this finds it.
        ``epsilon`` is another price than the catalog's; that is another release.
        """
        from deniable._progress import Waiting

        with Waiting() as watch:
            made = self._backend.release(self.name, optional_text(epsilon, "ε"), watch)
        return Release(made)

    def __repr__(self) -> str:
        return f"Plan({self.name!r})"


class ReleaseExplanation:
    """What a release will be like, before anything is spent."""

    def __init__(self, told: dict[str, Any]) -> None:
        self._told = told

    @property
    def cost(self) -> str:
        """What it costs, in words."""
        guarantee: str = self._told["guarantee"]
        return guarantee

    @property
    def tables(self) -> list[dict[str, Any]]:
        """For each table its name, what it is ``by``, its ``cells``, the ``expected_error`` of a cell and the ``half_width``
        of its 95 % interval.
        """
        tables: list[dict[str, Any]] = self._told["tables"]
        return tables

    @property
    def shares(self) -> list[dict[str, Any]]:
        """Where the budget goes: what is ``measured``, and its ``share`` of the cost; the largest first."""
        shares: list[dict[str, Any]] = self._told["shares"]
        return shares

    @property
    def made(self) -> bool:
        """Whether it was made for this price already, so that it costs nothing."""
        return self._told["made_by_charge"] is not None

    def to_dict(self) -> dict[str, Any]:
        """Everything, as the command line and the server write it."""
        copied: dict[str, Any] = json.loads(json.dumps(self._told))
        return copied

    def __repr__(self) -> str:
        cost = "nothing, it was made already" if self.made else self.cost
        said = [f"{len(self.tables)} tables, {self._told['cells']} cells; cost: {cost}"]
        width = max((len(table["name"]) for table in self.tables[:_LISTED]), default=0)
        for table in self.tables[:_LISTED]:
            said.append(f"{table['name'].ljust(width)}  ± {table['half_width']:.4g}")
        if len(self.tables) > _LISTED:
            said.append(f"… and {len(self.tables) - _LISTED} more tables")
        return "\n".join(said)

    def _repr_html_(self) -> str:
        return lines(repr(self).splitlines())


class Release:
    """A release that was made: everything in it is public, and what follows from it is free.

    ``release["region", "age"]`` is the table by these attributes, or levels of them, as an :class:`deniable.Answer`: rows
    with intervals, and a data frame by ``to_pandas()``, ``to_polars()`` or ``to_arrow()``. Any table that follows from the
    released ones can be read so; ``release["total"]`` is the one number of all rows.
    """

    def __init__(self, made: _Made) -> None:
        self._made = made
        self._told: dict[str, Any] = json.loads(made.told())

    @property
    def name(self) -> str:
        """Its name in the catalog."""
        name: str = self._told["release"]
        return name

    @property
    def tables(self) -> list[str]:
        """The names of its tables: what each is by, with ``×`` between."""
        tables: list[str] = self._told["tables"]
        return tables

    @property
    def cost(self) -> str:
        """What it cost, in words."""
        guarantee: str = self._told["guarantee"]
        return guarantee

    @property
    def charge(self) -> int:
        """The number of the charge in the ledger that paid for it."""
        return int(self._told["charge"])

    @property
    def repeated(self) -> bool:
        """Whether it was made before, so that it cost nothing now."""
        return bool(self._told["repeated"])

    @property
    def receipt(self) -> dict[str, Any] | None:
        """The signed receipt, if there is one."""
        receipt: dict[str, Any] | None = self._told.get("receipt")
        return receipt

    def table(self, *by: str) -> Answer:
        """The table by these attributes, or levels of them, in any order."""
        if not all(isinstance(name, str) for name in by):
            raise ParameterError("the attributes of a table are named by text", "write release['region', 'age']")
        told, table = self._made.table(list(by))
        return Answer(json.loads(told), table)

    def __getitem__(self, by: str | tuple[str, ...]) -> Answer:
        names = (by,) if isinstance(by, str) else by
        if len(names) == 1 and isinstance(names[0], str):
            # As tables are called where they are listed.
            names = tuple(names[0].split(" × ")) if names[0] != "total" else ()
        return self.table(*names)

    def _ipython_key_completions_(self) -> list[str]:
        return self.tables

    def __iter__(self) -> Iterator[str]:
        return iter(self.tables)

    def __len__(self) -> int:
        return len(self.tables)

    def to_dict(self) -> dict[str, Any]:
        """One object with everything: all tables, what was measured, cost and receipt."""
        everything: dict[str, Any] = json.loads(self._made.everything())
        return everything

    def __repr__(self) -> str:
        words = "free: it was made before" if self.repeated else f"charged: {self.cost}"
        return f"Release({self.name!r}): {len(self)} tables; {words}"

    def _repr_html_(self) -> str:
        return lines([repr(self), *self.tables[:_LISTED]])
