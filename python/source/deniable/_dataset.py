"""Datasets: the same object for a catalog, for tables in memory and for a server."""

from __future__ import annotations

import getpass
import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from deniable._answer import Answer
from deniable._deniable import ArrowTable, LocalDataset
from deniable._deniable import sample as _sample
from deniable._errors import ParameterError
from deniable._html import lines
from deniable._numbers import at_least, at_most, optional_text, text_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from deniable._numbers import Number
    from deniable._query import Query
    from deniable._regression import HypothesisTest, Regression
    from deniable._release import Plan, _Made
    from deniable._synthetic import Synthetic, SyntheticExplanation
    from deniable._synthetic import _Made as _Measured


class _Backend(Protocol):
    """What a dataset needs: on this machine, or through a server. Objects are JSON."""

    @property
    def name(self) -> str: ...

    def query(
        self,
        sql: str,
        epsilon: str | None,
        delta: str | None,
        cut_estimate: bool,
        purpose: str | None,
        watch: Callable[[str], None],
    ) -> tuple[str, ArrowTable]: ...

    def explain(
        self,
        sql: str,
        epsilon: str | None,
        delta: str | None,
        cut_estimate: bool,
        error: str | None,
        group_size: int,
    ) -> str: ...

    def budget(self) -> str: ...

    def tables(self) -> str: ...

    def dummy(self) -> _Backend: ...

    def releases(self) -> str: ...

    def plan(self, name: str, epsilon: str | None, error: str | None, cell_size: int) -> str: ...

    def release(self, name: str, epsilon: str | None, watch: Callable[[str], None]) -> _Made: ...

    def explain_synthesis(self, asked: str) -> str: ...

    def synthesize(self, asked: str, watch: Callable[[str], None]) -> _Measured: ...

    def measured_by(self, asked: str) -> str: ...

    def regress(self, asked: str, watch: Callable[[str], None]) -> str: ...


def open(catalog: str | os.PathLike[str], *, analyst: str | None = None) -> Dataset:
    """Opens the dataset that a catalog declares.

    ``analyst`` is who asks, for the ledger; else the user of this machine. Whoever can read the catalog's files has the
    data: this is the way of curators. Analysts get an account on a server and :func:`connect`.
    """
    return Dataset(LocalDataset.open(os.fspath(catalog), _analyst(analyst)))


def sample(directory: str | os.PathLike[str] | None = None, *, analyst: str | None = None) -> Dataset:
    """Opens the built-in sample: 300,000 invented people and their visits to a clinic, made on first use.

    It is kept in ``directory``, else in the user's folder for data, together with its ledger.
    """
    if directory is None:
        home = os.environ.get("XDG_DATA_HOME") or os.path.join(os.path.expanduser("~"), ".local", "share")
        directory = os.path.join(home, "deniable", "sample")
    return open(_sample(os.fspath(directory)), analyst=analyst)


def from_arrow(
    tables: Mapping[str, Any],
    *,
    unit: str | None,
    epsilon: Number,
    delta: Number = 0,
    bounds: Mapping[str, Sequence[Any]] | None = None,
    values: Mapping[str, Iterable[Any]] | None = None,
    kinds: Mapping[str, str] | None = None,
    not_null: Iterable[str] = (),
    rows_per_unit: int | None = None,
    groups: int | None = None,
    rows_per_group: int | None = None,
    public: Iterable[str] = (),
    whose: str = "person",
    neighbors: str = "add_remove",
    name: str = "data",
    version: str | None = None,
    ledger: str | os.PathLike[str] | None = None,
    analyst: str | None = None,
) -> Dataset:
    """A dataset of tables in memory, by name: data frames of pandas, polars, pyarrow or duckdb, or dictionaries of lists.

    Columns are not copied, so the tables must not be changed while the dataset is used. Lists are for small examples: the
    type of a column follows from all of its values, so one person's value may decide it. Data frames have types.

    What is declared here is public, and nothing of it is taken from the rows:

    - ``unit``: the column that names whose row it is, in every private table; None if each row is a unit of its own.
    - ``epsilon``, ``delta``: the budget of everything that will ever be asked.
    - ``bounds``: the least and largest value of a numeric column, ``{"age": (0, 100)}``. Values outside are clamped.
    - ``values``: all values that a column can have, where they are public: then groups by it are free.
    - ``kinds``: ``int``, ``float``, ``text``, ``bool``, ``date`` or ``timestamp``, where it is not to follow from the type
      of the table's column. Names and types of columns are taken as public; state them here if they come from the data.
    - ``not_null``: columns that are never NULL; a group by any other has a group of NULL.
    - ``rows_per_unit``: your word that a unit has at most so many rows. ``groups`` and ``rows_per_group``: in how many
      groups, and with how many rows in each, a unit counts.
    - ``public``: tables that hold nobody's rows.
    - ``whose``, ``neighbors``: whose privacy it is, and ``"add_remove"`` or ``"change_one"``.
    - ``ledger``: the file that remembers what was spent. **Without one the budget is that of this object alone**: another
      object with the same rows starts anew, and together they spend more. Name a file for data that is asked more than once.

    >>> import deniable
    >>> ds = deniable.from_arrow({"t": {"id": [1, 2], "x": [0.5, 0.7]}}, unit="id", rows_per_unit=1, epsilon=1,
    ...                          bounds={"x": (0, 1)})
    >>> ds.sql("SELECT SUM(x) AS s FROM t", epsilon=0.5).epsilon
    0.5
    """
    from deniable._catalog import Declared

    if not isinstance(tables, Mapping) or not tables:
        raise ParameterError("tables are no dictionary of tables", "write {'people': data_frame}")
    public_names = set(public)
    unknown = public_names - set(tables)
    if unknown:
        raise ParameterError("public= names a table that is not given", "give its rows too, or leave it out")
    place = None if ledger is None else os.path.abspath(os.fspath(ledger))
    declared = Declared(
        name=name,
        whose=whose,
        neighbors=neighbors,
        epsilon=epsilon,
        delta=delta,
        ledger="data.ledger" if place is None else place,
        groups=groups,
        rows_per_group=rows_per_group,
        version=version,
    )
    given = {}
    for table_name, rows in tables.items():
        given[table_name] = ArrowTable.of_columns(rows) if isinstance(rows, dict) else ArrowTable(rows)
    named = {column for table in given.values() for column, _ in table.columns()}
    never_null = frozenset(not_null)
    for what, columns in (("bounds", bounds), ("values", values), ("kinds", kinds), ("not_null", never_null)):
        for column in columns or ():
            if column not in named:
                raise ParameterError(
                    f"{what}= names a column {column!r} that no table has", "names are compared as written"
                )
    for table_name, table in given.items():
        declared.table(
            table_name,
            table,
            unit=unit,
            public=table_name in public_names,
            rows_per_unit=rows_per_unit,
            bounds=bounds or {},
            values=values or {},
            kinds=kinds or {},
            not_null=never_null,
        )
    directory = None if place is None else os.path.dirname(place)
    return Dataset(LocalDataset.of_tables(str(declared), list(given.items()), directory, _analyst(analyst)))


def connect(
    address: str,
    *,
    token: str | None = None,
    user: str | None = None,
    password: str | None = None,
    certificate: str | os.PathLike[str] | None = None,
) -> Dataset:
    """A dataset on a server, asked over HTTPS. The data stays there.

    Sign in with a ``token`` (else that of the environment's DENIABLE_TOKEN), or with ``user`` and ``password``.
    ``certificate`` is a PEM file to trust beside the system's, as for a server that signed its own.
    """
    from deniable._remote import RemoteDataset

    return Dataset(
        RemoteDataset(
            address,
            token=token,
            user=user,
            password=password,
            certificate=None if certificate is None else os.fspath(certificate),
        )
    )


class Dataset:
    """Private data that can be asked in SQL, under a budget.

    Made by :func:`deniable.open`, :func:`deniable.from_arrow`, :func:`deniable.connect` or :func:`deniable.sample`.
    """

    def __init__(self, backend: _Backend) -> None:
        self._backend = backend

    @property
    def name(self) -> str:
        """The dataset's name."""
        return self._backend.name

    def sql(
        self,
        sql: str,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        cut_estimate: bool = True,
        purpose: str | None = None,
    ) -> Answer:
        """Answers a question. It is charged before the data is read, and the same question again is free.

        ``epsilon`` and ``delta`` are what it may cost, where the SQL does not say; else the catalog's default holds. With
        ``cut_estimate`` a twentieth of ε estimates what the limits cut. ``purpose`` is what the ledger says it was for.

        A question that takes longer than a second shows what is being done, in a terminal and in a notebook.
        Ctrl-C ends the waiting: what was charged is finished and saved, and asking the same again finds it for free.
        """
        from deniable._progress import Waiting

        asked = (_sql(sql), optional_text(epsilon, "ε"), optional_text(delta, "δ"), cut_estimate, purpose)
        with Waiting() as watch:
            told, table = self._backend.query(*asked, watch)
        return Answer(json.loads(told), table)

    def explain(
        self,
        sql: str,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        cut_estimate: bool = True,
        group_size: int = 1000,
    ) -> Explanation:
        """What a question would do and cost, and how precise it would be for groups of this many rows. Free."""
        told = self._backend.explain(
            _sql(sql), optional_text(epsilon, "ε"), optional_text(delta, "δ"), cut_estimate, None, _size(group_size)
        )
        return Explanation(json.loads(told))

    def epsilon_for(
        self, sql: str, error: Number | str, *, delta: Number | None = None, group_size: int = 1000
    ) -> float:
        """The smallest ε, to three digits, for which every column's expected error is at most ``error``: a number, or a
        part of the largest possible value such as ``"2%"``. Free.
        """
        # Not a decimal: it may end in a percent sign.
        wanted = text_of("the wanted error", error)
        told = self._backend.explain(_sql(sql), None, optional_text(delta, "δ"), True, wanted, _size(group_size))
        return at_least(json.loads(told)["epsilon"])

    @property
    def budget(self) -> Budget:
        """What was spent and what is left, now."""
        return Budget(json.loads(self._backend.budget()))

    @property
    def tables(self) -> dict[str, Any]:
        """The tables with their columns, kinds, bounds and values, as the catalog declares them."""
        return {table["name"]: table for table in json.loads(self._backend.tables())["tables"]}

    @property
    def releases(self) -> dict[str, Any]:
        """The releases that the catalog plans: attributes, how many tables and cells, price, and whether each was made."""
        return {release["name"]: release for release in json.loads(self._backend.releases())["releases"]}

    def plan(self, name: str) -> Plan:
        """A release that the catalog plans: many tables from one charge, which can be explained, made and read."""
        from deniable._release import Plan

        planned = self.releases
        if name not in planned:
            hint = f"there are {', '.join(planned)}" if planned else "declare one in the catalog, as [releases.census]"
            raise ParameterError(f"the catalog plans no release {name!r}", hint)
        return Plan(self._backend, name)

    def synthesize(
        self,
        table: str,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rows: int | None = None,
        method: str = "aim",
        workload: Iterable[str | Sequence[str]] = (),
        columns: Iterable[str] = (),
        bins: Mapping[str, int] | None = None,
        where: str | None = None,
        rows_per_unit: int | None = None,
        model_cells: int | None = None,
        output: str | os.PathLike[str] | None = None,
    ) -> Synthetic:
        """Rows that look like a private table and belong to nobody: safe to hand out, from one charge.

        It is charged once, before the data is read. The same again is free and gives the same rows; so are more rows of it,
        by ``rows=`` or :meth:`deniable.Synthetic.with_rows`. ``output`` is a file for them that ends in .csv or .parquet.

        - ``epsilon``, ``delta``: what all of it may cost; else what a query costs in the catalog. A δ is needed.
        - ``rows``: how many rows; else as many as there seem to be.
        - ``method``: ``"aim"`` measures, round by round, the table that is fitted worst; ``"mst"`` a tree of pairs of
          columns; ``"independent"`` each column alone.
        - ``workload``: the tables that matter, ``[("age", "income")]``; else all by three columns.
        - ``columns``: only these; else all with declared values or bounds. ``bins``: how many bins of equal width a column of
          numbers has. ``where``: an SQL condition of the rows that count.
        - ``rows_per_unit``: how many rows of one unit count, where the catalog does not say.
        - ``model_cells``: how large the model may be; larger ones take longer.

        On a server a curator makes them, and this finds them.
        """
        from deniable._numbers import count_of
        from deniable._progress import Waiting
        from deniable._synthetic import Synthetic, asked_for

        asked = asked_for(
            table,
            epsilon=epsilon,
            delta=delta,
            method=method,
            workload=workload,
            columns=columns,
            bins=bins,
            where=where,
            rows_per_unit=rows_per_unit,
            model_cells=model_cells,
        )
        count = None if rows is None else count_of("rows", rows, 1)
        # Whatever can be wrong with a file is found out before anything is charged.
        if output is not None and not os.fspath(output).lower().endswith((".csv", ".parquet")):
            raise ParameterError("output ends in neither .csv nor .parquet", "name a file such as people.csv")
        if output is not None and not os.path.isdir(os.path.dirname(os.path.abspath(os.fspath(output)))):
            raise ParameterError("the folder of output does not exist", "make it first; nothing was charged")
        with Waiting() as watch:
            made = Synthetic(self._backend.synthesize(asked, watch), count)
        if output is not None:
            made.write(output)
        return made

    def explain_synthesis(
        self,
        table: str,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        method: str = "aim",
        workload: Iterable[str | Sequence[str]] = (),
        columns: Iterable[str] = (),
        bins: Mapping[str, int] | None = None,
        where: str | None = None,
        rows_per_unit: int | None = None,
        model_cells: int | None = None,
    ) -> SyntheticExplanation:
        """What synthetic rows would be made of and what they would cost. Free: nothing private is read."""
        from deniable._synthetic import SyntheticExplanation, asked_for

        asked = asked_for(
            table,
            epsilon=epsilon,
            delta=delta,
            method=method,
            workload=workload,
            columns=columns,
            bins=bins,
            where=where,
            rows_per_unit=rows_per_unit,
            model_cells=model_cells,
        )
        return SyntheticExplanation(json.loads(self._backend.explain_synthesis(asked)))

    def regress(
        self,
        formula: str,
        *,
        table: str | None = None,
        epsilon: Number | None = None,
        delta: Number | None = None,
        family: str = "linear",
        where: str | None = None,
        reference: Mapping[str, Any] | None = None,
        bins: Mapping[str, Number] | None = None,
        release: str | None = None,
    ) -> Regression:
        """Fits a model, ``ds.regress("income ~ age + education", epsilon=1)``, whose standard errors and p-values count the noise.

        It is one ordinary query, charged once, and the same again is free; from a planned ``release`` that was made it is
        free at all. The formula is R's: ``a + b``, ``a:b``, ``a * b``, ``factor(age)``, ``smoker = true ~ age``.

        - ``table``: the table, where there are several private ones.
        - ``family``: ``"linear"``, ``"logistic"`` or ``"poisson"``.
        - ``where``: an SQL condition of the rows that count.
        - ``reference``: the values that others are compared with, ``{"education": "bachelor"}``; else the first.
        - ``bins``: how wide the bins of a number are, where rows are counted by it, ``{"age": 5}``.

        A model for which the noise is too large is refused after its charge, and says how much ε would do.
        """
        from deniable._regression import Regression, asked_for

        asked = asked_for(
            formula,
            table=table,
            epsilon=epsilon,
            delta=delta,
            where=where,
            reference=reference,
            bins=bins,
            release=release,
            family=family,
        )
        return Regression(self._fitted(asked))

    def explain_regression(
        self,
        formula: str,
        *,
        table: str | None = None,
        epsilon: Number | None = None,
        delta: Number | None = None,
        family: str = "linear",
        where: str | None = None,
        reference: Mapping[str, Any] | None = None,
        bins: Mapping[str, Number] | None = None,
    ) -> Explanation:
        """What the query of a model would do and cost; :attr:`deniable.Explanation.sql` is the query. Free."""
        from deniable._regression import asked_for

        asked = asked_for(
            formula,
            table=table,
            epsilon=epsilon,
            delta=delta,
            where=where,
            reference=reference,
            bins=bins,
            release=None,
            family=family,
        )
        sql = self._backend.measured_by(asked)
        explained = self.explain(sql, epsilon=epsilon, delta=delta, cut_estimate=False)
        explained.sql = sql
        return explained

    def test(
        self,
        formula: str,
        test: str = "independence",
        *,
        groups: Sequence[str] | None = None,
        table: str | None = None,
        epsilon: Number | None = None,
        delta: Number | None = None,
        where: str | None = None,
        bins: Mapping[str, Number] | None = None,
        release: str | None = None,
    ) -> HypothesisTest:
        """Tests a hypothesis with a p-value that counts the noise.

        - ``ds.test("smoker ~ education")``: whether two columns are independent (χ²);
        - ``ds.test("smoker = true ~ sex", "proportions")``: whether a share is the same in two groups;
        - ``ds.test("income ~ sex", "means")``: whether a mean is (Welch).

        ``groups=("female", "male")`` names the two groups, where there are more. It is charged as :meth:`regress` is.
        """
        from deniable._regression import HypothesisTest, asked_for

        asked = asked_for(
            formula,
            table=table,
            epsilon=epsilon,
            delta=delta,
            where=where,
            reference=None,
            bins=bins,
            release=release,
            test=test,
            groups=groups,
        )
        return HypothesisTest(self._fitted(asked))

    def _fitted(self, asked: str) -> dict[str, Any]:
        from deniable._progress import Waiting

        with Waiting() as watch:
            told: dict[str, Any] = json.loads(self._backend.regress(asked, watch))
        return told

    def dummy(self) -> Dataset:
        """The same tables with invented rows, made from the catalog alone: to try any query for free."""
        return Dataset(self._backend.dummy())

    def __getitem__(self, table: str) -> Query:
        """Begins a query about a table; see :mod:`deniable._query`."""
        from deniable._query import Query

        if table not in self.tables:
            raise ParameterError(f"there is no table {table!r}", f"there are {', '.join(self.tables)}")
        return Query(self, table)

    def _ipython_key_completions_(self) -> list[str]:
        return list(self.tables)

    def __repr__(self) -> str:
        return f"Dataset({self.name!r})"


class Explanation:
    """What a question would do and cost, before it does anything."""

    #: The query that a model is measured by, where it is about a model.
    sql: str | None = None

    def __init__(self, told: dict[str, Any]) -> None:
        self._told = told

    @property
    def cost(self) -> str:
        """What it costs, in words."""
        return self._told["explanation"]["guarantee"]

    @property
    def free(self) -> bool:
        """Whether it was asked before, so that it costs nothing."""
        return bool(self._told["forecast"]["free"])

    @property
    def more(self) -> int:
        """How many questions like this one fit, if nobody asks anything else; at most 1,000 are counted."""
        return int(self._told["forecast"]["more"])

    @property
    def left(self) -> float:
        """The largest ε of one further release of any kind."""
        return at_most(self._told["forecast"]["left"])

    @property
    def fits(self) -> float | None:
        """The largest ε with which the question fits now, where as it stands it does not."""
        fits = self._told["forecast"]["fits"]
        return None if fits is None else at_most(fits)

    @property
    def columns(self) -> list[dict[str, Any]]:
        """The columns that the answer will have."""
        return self._told["columns"]

    @property
    def outputs(self) -> list[dict[str, Any]]:
        """Expected error and half of the width of the interval of each released column, where they do not depend on data."""
        return [output for part in self._told["explanation"]["parts"] for output in part["outputs"]]

    @property
    def hints(self) -> list[str]:
        """What could be done better."""
        return self._told["explanation"]["hints"]

    def to_dict(self) -> dict[str, Any]:
        """Everything, as the server writes it."""
        return json.loads(json.dumps(self._told))

    def __repr__(self) -> str:
        said = [f"cost: {'nothing, it was asked before' if self.free else self.cost}"]
        for output in self.outputs:
            width = output["half_width"]
            said.append(f"{output['name']}: ± {width:.4g}" if width is not None else f"{output['name']}: depends on the data")
        at_least = "at least " if self._told["forecast"]["at_least"] else ""
        said.append(f"{at_least}{self.more} such questions fit; left: ε = {self._told['forecast']['left']}")
        return "\n".join(said + self.hints)

    def _repr_html_(self) -> str:
        return lines(repr(self).splitlines())


class Budget:
    """What was spent and what is left."""

    def __init__(self, told: dict[str, Any]) -> None:
        self._told = told

    @property
    def left(self) -> float:
        """The largest ε of one further release by whoever asks."""
        return at_most(self._told["left"])

    @property
    def rules(self) -> str:
        """The budget, in words."""
        return self._told["rules"]

    @property
    def charges(self) -> list[dict[str, Any]]:
        """Every charge, in order; a server does not tell those of others, and this is empty."""
        return self._told.get("charges", [])

    def to_dict(self) -> dict[str, Any]:
        """Everything."""
        return json.loads(json.dumps(self._told))

    def __repr__(self) -> str:
        spent = self._told.get("spent")
        words = [self.rules] + ([f"spent: {spent}"] if spent else []) + [f"left: ε = {self._told['left']}"]
        return "\n".join(words)

    def _repr_html_(self) -> str:
        return lines(repr(self).splitlines())


def _analyst(name: str | None) -> str:
    if name is not None:
        return name
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return "me"


def _sql(sql: str) -> str:
    if not isinstance(sql, str):
        raise ParameterError("the question is no text", "give SQL as text")
    return sql


def _size(group_size: int) -> int:
    if isinstance(group_size, bool) or not isinstance(group_size, int) or group_size < 1:
        raise ParameterError("group_size is no count", "give the number of rows in a typical group, as in 1000")
    return min(group_size, sys.maxsize)
