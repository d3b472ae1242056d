"""A query builder that only writes SQL: what it cannot say, SQL can.

    >>> from deniable import avg, count
    >>> from deniable._query import Query
    >>> query = Query(None, "visits").where("cost > 0").group_by("city").agg(n=count(), mean=avg("cost", bounds=(0, 100)))
    >>> print(query.sql)
    SELECT "city", COUNT(*) AS "n", AVG("cost", contribution_bounds_per_row => (0, 100)) AS "mean" FROM "visits" WHERE (cost > 0) GROUP BY "city"
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from deniable._errors import ParameterError
from deniable._numbers import decimal_text

if TYPE_CHECKING:
    from deniable._numbers import Number
    from deniable._answer import Answer
    from deniable._dataset import Dataset, Explanation


class Expression:
    """A piece of SQL. Columns are named by text; :func:`column` makes one that can be compared and computed with."""

    def __init__(self, sql: str) -> None:
        self.sql = sql

    def _with(self, operator: str, other: Any) -> Expression:
        return Expression(f"({self.sql} {operator} {_operand(other)})")

    def __eq__(self, other: Any) -> Expression:  # type: ignore[override]
        if other is None:
            return Expression(f"({self.sql} IS NULL)")
        return self._with("=", other)

    def __ne__(self, other: Any) -> Expression:  # type: ignore[override]
        if other is None:
            return Expression(f"({self.sql} IS NOT NULL)")
        return self._with("<>", other)

    __hash__ = None  # type: ignore[assignment]

    def __lt__(self, other: Any) -> Expression:
        return self._with("<", other)

    def __le__(self, other: Any) -> Expression:
        return self._with("<=", other)

    def __gt__(self, other: Any) -> Expression:
        return self._with(">", other)

    def __ge__(self, other: Any) -> Expression:
        return self._with(">=", other)

    def __add__(self, other: Any) -> Expression:
        return self._with("+", other)

    def __sub__(self, other: Any) -> Expression:
        return self._with("-", other)

    def __mul__(self, other: Any) -> Expression:
        return self._with("*", other)

    def __truediv__(self, other: Any) -> Expression:
        return self._with("/", other)

    def __and__(self, other: Any) -> Expression:
        return self._with("AND", other)

    def __or__(self, other: Any) -> Expression:
        return self._with("OR", other)

    def __invert__(self) -> Expression:
        return Expression(f"(NOT {self.sql})")

    def __bool__(self) -> bool:
        raise ParameterError(
            "a condition of SQL is neither true nor false here",
            "write & and | in place of `and` and `or`, with each side in parentheses",
        )

    def isin(self, values: Sequence[Any]) -> Expression:
        """Whether it is one of these."""
        listed = ", ".join(_operand(value) for value in values)
        if not listed:
            raise ParameterError("isin with no values", "give at least one")
        return Expression(f"({self.sql} IN ({listed}))")

    def __repr__(self) -> str:
        return f"Expression({self.sql!r})"


def column(name: str) -> Expression:
    """A column, to compare and to compute with.

    >>> (column("age") >= 18) & (column("city") == "Ash")
    Expression('(("age" >= 18) AND ("city" = \\'Ash\\'))')
    """
    return Expression(_name(name))


def count(what: str | Expression | None = None, *, distinct: bool = False) -> Expression:
    """How many rows, or how many in which ``what`` is not NULL, or how many different values it has."""
    if what is None:
        if distinct:
            raise ParameterError("count(distinct=True) of nothing", "name the column: count('city', distinct=True)")
        return Expression("COUNT(*)")
    return Expression(f"COUNT({'DISTINCT ' if distinct else ''}{_column(what)})")


def sum(what: str | Expression, *, bounds: Sequence[Number] | None = None) -> Expression:
    """The sum. Without ``bounds`` of one row, those of the catalog hold."""
    return _call("SUM", what, bounds)


def avg(what: str | Expression, *, bounds: Sequence[Number] | None = None) -> Expression:
    """The mean. Without ``bounds`` of one row, those of the catalog hold."""
    return _call("AVG", what, bounds)


def variance(what: str | Expression, *, bounds: Sequence[Number] | None = None) -> Expression:
    """The variance. Without ``bounds`` of one row, those of the catalog hold."""
    return _call("VARIANCE", what, bounds)


def stddev(what: str | Expression, *, bounds: Sequence[Number] | None = None) -> Expression:
    """The standard deviation. Without ``bounds`` of one row, those of the catalog hold."""
    return _call("STDDEV", what, bounds)


def min(what: str | Expression) -> Expression:
    """The smallest value, privately: near it with high probability."""
    return Expression(f"MIN({_column(what)})")


def max(what: str | Expression) -> Expression:
    """The largest value, privately: near it with high probability."""
    return Expression(f"MAX({_column(what)})")


def median(what: str | Expression) -> Expression:
    """The median."""
    return Expression(f"MEDIAN({_column(what)})")


def quantile(what: str | Expression, q: Number) -> Expression:
    """The value that a part ``q`` of the rows is below."""
    return Expression(f"PERCENTILE_CONT({decimal_text(q, 'q')}) WITHIN GROUP (ORDER BY {_column(what)})")


class Query:
    """A question about one table, built step by step. Each step makes a new one; :attr:`sql` is what it will ask."""

    def __init__(
        self,
        dataset: Dataset | None,
        table: str,
        *,
        conditions: tuple[str, ...] = (),
        keys: tuple[tuple[str, str], ...] = (),
        aggregates: tuple[tuple[str, str], ...] = (),
        order: tuple[str, ...] = (),
        options: tuple[tuple[str, str], ...] = (),
    ) -> None:
        self._dataset = dataset
        self._table = table
        self._parts = {
            "conditions": conditions,
            "keys": keys,
            "aggregates": aggregates,
            "order": order,
            "options": options,
        }

    def _but(self, **parts: tuple[Any, ...]) -> Query:
        return Query(self._dataset, self._table, **{**self._parts, **parts})

    def where(self, *conditions: str | Expression) -> Query:
        """Only rows for which all of these hold: expressions, or pieces of SQL as text."""
        written = tuple(
            condition.sql if isinstance(condition, Expression) else f"({condition})" for condition in conditions
        )
        return self._but(conditions=self._parts["conditions"] + written)

    def group_by(self, *keys: str, max_groups: int | None = None, **named: Expression) -> Query:
        """Groups by these columns, or by named expressions. In ``max_groups`` of them one unit counts."""
        written = tuple((_name(key), _name(key)) for key in keys)
        written += tuple((expression.sql, _name(name)) for name, expression in named.items())
        query = self._but(keys=self._parts["keys"] + written)
        return query if max_groups is None else query._option("max_groups_contributed", max_groups)

    def agg(self, max_rows: int | None = None, **aggregates: Expression) -> Query:
        """What is released of each group, by name. Of each unit ``max_rows`` rows count in a group."""
        if not aggregates:
            raise ParameterError("agg with nothing", "name an aggregate, as in agg(n=count())")
        written = tuple((expression.sql, _name(name)) for name, expression in aggregates.items())
        query = self._but(aggregates=self._parts["aggregates"] + written)
        return query if max_rows is None else query._option("max_rows_contributed", max_rows)

    def order_by(self, *columns: str, descending: bool = False) -> Query:
        """The order of the answer's rows."""
        written = tuple(f"{_name(name)}{' DESC' if descending else ''}" for name in columns)
        return self._but(order=self._parts["order"] + written)

    def _option(self, key: str, value: int) -> Query:
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise ParameterError(f"{key} is no count", "give a whole number from 1 on")
        return self._but(options=self._parts["options"] + ((key, str(value)),))

    @property
    def sql(self) -> str:
        """The SQL of it."""
        parts = self._parts
        if not parts["aggregates"]:
            raise ParameterError(
                "the query asks for no aggregate", "add .agg(n=deniable.count()): rows themselves are not released"
            )
        keys = [sql if sql == name else f"{sql} AS {name}" for sql, name in parts["keys"]]
        aggregates = [f"{sql} AS {name}" for sql, name in parts["aggregates"]]
        written = "SELECT "
        if parts["options"]:
            options = ", ".join(f"{key} = {value}" for key, value in parts["options"])
            written += f"WITH DIFFERENTIAL_PRIVACY OPTIONS ({options}) "
        written += f"{', '.join(keys + aggregates)} FROM {_name(self._table)}"
        if parts["conditions"]:
            written += f" WHERE {' AND '.join(parts['conditions'])}"
        if keys:
            written += f" GROUP BY {', '.join(name for _, name in parts['keys'])}"
        if parts["order"]:
            written += f" ORDER BY {', '.join(parts['order'])}"
        return written

    def release(self, epsilon: Number | None = None, **more: Any) -> Answer:
        """Asks it; see :meth:`deniable.Dataset.sql`."""
        return self._asked().sql(self.sql, epsilon=epsilon, **more)

    def explain(self, epsilon: Number | None = None, **more: Any) -> Explanation:
        """What it would do and cost, for free; see :meth:`deniable.Dataset.explain`."""
        return self._asked().explain(self.sql, epsilon=epsilon, **more)

    def _asked(self) -> Dataset:
        if self._dataset is None:
            raise ParameterError("the query belongs to no dataset", "begin it with ds['table']")
        return self._dataset

    def __repr__(self) -> str:
        return f"Query({self.sql!r})" if self._parts["aggregates"] else f"Query on {self._table!r}"


def _call(function: str, what: str | Expression, bounds: Sequence[Number] | None) -> Expression:
    if bounds is None:
        return Expression(f"{function}({_column(what)})")
    if len(bounds) != 2:
        raise ParameterError("bounds are not two numbers", "write bounds=(0, 100)")
    low, high = (decimal_text(end, "a bound") for end in bounds)
    return Expression(f"{function}({_column(what)}, contribution_bounds_per_row => ({low}, {high}))")


def _column(what: str | Expression) -> str:
    return what.sql if isinstance(what, Expression) else _name(what)


def _name(name: str) -> str:
    if not isinstance(name, str) or not name:
        raise ParameterError("a name is no text", "name tables and columns by text")
    return '"' + name.replace('"', '""') + '"'


def _operand(value: Any) -> str:
    """A constant, so that it means itself whatever is in it."""
    import datetime

    if isinstance(value, Expression):
        return value.sql
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if value is None:
        return "NULL"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, datetime.datetime):
        return f"TIMESTAMP '{value.isoformat(' ')}'"
    if isinstance(value, datetime.date):
        return f"DATE '{value.isoformat()}'"
    return decimal_text(value, "a constant")
