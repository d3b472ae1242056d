"""Models and tests whose standard errors, intervals and p-values count the noise."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from deniable._answer import _needed
from deniable._deniable import ArrowTable
from deniable._errors import ParameterError
from deniable._html import grid, whisker
from deniable._numbers import at_least, at_most, decimal_text, optional_text

if TYPE_CHECKING:
    import os

    from deniable._html import Drawn
    from deniable._numbers import Number

_FAMILIES = ("linear", "logistic", "poisson")
_TESTS = ("independence", "proportions", "means")
_NUMBERS = ("estimate", "error", "sampling_error", "noise_error", "statistic", "p", "low", "high")


def asked_for(
    formula: str,
    *,
    table: str | None,
    epsilon: Number | None,
    delta: Number | None,
    where: str | None,
    reference: Mapping[str, Any] | None,
    bins: Mapping[str, Number] | None,
    release: str | None,
    family: str = "linear",
    test: str | None = None,
    groups: Sequence[str] | None = None,
) -> str:
    """The request, as it is sent."""
    if not isinstance(formula, str):
        raise ParameterError("the formula is no text", "write ds.regress('income ~ age + education', epsilon=1)")
    if family not in _FAMILIES:
        raise ParameterError("there is no such family", f"there are {', '.join(_FAMILIES)}")
    if test is not None and test not in _TESTS:
        raise ParameterError("there is no such test", f"there are {', '.join(_TESTS)}")
    if groups is not None and (isinstance(groups, str) or len(groups) != 2):
        raise ParameterError("groups are not two values", "write groups=('female', 'male')")
    for name in (table, where, release):
        if name is not None and not isinstance(name, str):
            raise ParameterError("table, where and release are text", "name tables and releases, and write SQL, as text")
    asked: dict[str, Any] = {
        "formula": formula,
        "table": table,
        "family": family,
        "test": test,
        "groups": None if groups is None else [_value(group) for group in groups],
        "where": where,
        "references": {name: _value(value) for name, value in (reference or {}).items()},
        "bins": {name: float(decimal_text(width, "a width of bins")) for name, width in (bins or {}).items()},
        "release": release,
        "epsilon": optional_text(epsilon, "ε"),
        "delta": optional_text(delta, "δ"),
    }
    return json.dumps(asked)


def _value(value: Any) -> str:
    """A value of a factor, as the catalog writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else str(value)


class _Result:
    """What a model and a test have in common."""

    def __init__(self, told: dict[str, Any]) -> None:
        self._told = told

    @property
    def notes(self) -> list[str]:
        """What else there is to know."""
        return [*self._told["notes"], *self._told["about"]]

    @property
    def sql(self) -> str | None:
        """The query that was measured; None from a planned release."""
        sql: str | None = self._told["sql"]
        return sql

    @property
    def cost(self) -> str | None:
        """What it cost, or what its release cost, in words."""
        cost = self._told["cost"]
        return None if cost is None else cost["guarantee"]

    @property
    def epsilon(self) -> float | None:
        """The ε of it."""
        cost = self._told["cost"]
        return None if cost is None or cost.get("epsilon") is None else at_least(cost["epsilon"])

    @property
    def charge(self) -> int | None:
        """The number of the charge in the ledger that paid for it."""
        cost = self._told["cost"]
        return None if cost is None else int(cost["charge"])

    @property
    def repeated(self) -> bool:
        """Whether it was measured before, so that it cost nothing now."""
        return bool(self._told["repeated"])

    @property
    def left(self) -> float:
        """The largest ε of one further release by whoever asked."""
        return at_most(self._told["left"]["epsilon"])

    @property
    def receipt(self) -> dict[str, Any] | None:
        """The signed receipt, if there is one."""
        receipt: dict[str, Any] | None = self._told.get("receipt")
        return receipt

    def summary(self) -> str:
        """The table of results as text, as R prints it."""
        text: str = self._told["text"]
        return text.rstrip()

    def to_dict(self) -> dict[str, Any]:
        """Everything, as the command line and the server write it."""
        copied: dict[str, Any] = json.loads(json.dumps(self._told))
        return copied

    def _cost_words(self) -> str:
        if self.cost is None:
            return "public: nothing was charged"
        if self._told["release"] is not None:
            words = f"free: from the release {self._told['release']}"
        else:
            words = "free: it was measured before" if self.repeated else f"charged: {self.cost}"
        return f"{words}; left: ε = {self._told['left']['epsilon']}"

    def __repr__(self) -> str:
        return f"{self.summary()}\n{self._cost_words()}"


class Coefficients(Sequence[dict[str, Any]]):
    """Coefficients, means or differences: each a dictionary, found by place or by name.

    Each has a ``name``, an ``estimate``, its standard ``error``, and what that would be without noise (``sampling_error``)
    and of noise alone (``noise_error``); the ``statistic``, its ``p``, and the ends of the interval, ``low`` and ``high``.
    As a table, for any library that speaks Arrow, they are its columns.
    """

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self._rows = rows

    @property
    def names(self) -> list[str]:
        """Their names."""
        return [row["name"] for row in self._rows]

    def __getitem__(self, which: Any) -> Any:
        if isinstance(which, str):
            for row in self._rows:
                if row["name"] == which:
                    return dict(row)
            raise ParameterError(f"there is none of the name {which!r}", f"there are {', '.join(self.names)}")
        found = self._rows[which]
        return [dict(row) for row in found] if isinstance(found, list) else dict(found)

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (dict(row) for row in self._rows)

    def to_pandas(self) -> Any:
        """A data frame of pandas, with the names as its index."""
        pandas = _needed("pandas")
        columns = {number: [row[number] for row in self._rows] for number in _NUMBERS}
        return pandas.DataFrame(columns, index=pandas.Index(self.names, name="name"))

    def to_polars(self) -> Any:
        """A data frame of polars."""
        return _needed("polars").DataFrame(self)

    def to_arrow(self) -> Any:
        """A table of pyarrow."""
        return _needed("pyarrow").table(self)

    def _table(self) -> ArrowTable:
        columns: dict[str, Sequence[Any]] = {"name": self.names}
        # A number that is whole in every row is a number all the same.
        columns.update({number: [_float(row[number]) for row in self._rows] for number in _NUMBERS})
        return ArrowTable.of_columns(columns)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._table().__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        return self._table().__arrow_c_schema__()

    def __repr__(self) -> str:
        width = max((len(name) for name in self.names), default=0)
        said = [
            f"{row['name'].ljust(width)}  {row['estimate']:.5g} ± {row['error']:.3g}, p = {row['p']:.3g}"
            for row in self._rows
        ]
        return "\n".join(said)


class Regression(_Result):
    """A fitted model. Made by :meth:`deniable.Dataset.regress`.

    Its standard errors, intervals and p-values count the noise beside the sampling::

        fit = ds.regress("income ~ age + education", epsilon=1)
        print(fit.summary())
        fit.coefficients["age"]["estimate"], fit.interval("age")
        fit.to_dataframe()
    """

    @property
    def formula(self) -> str:
        """The formula."""
        formula: str = self._told["formula"]
        return formula

    @property
    def family(self) -> str:
        """``linear``, ``logistic`` or ``poisson``."""
        family: str = self._told["family"]
        return family

    @property
    def coefficients(self) -> Coefficients:
        """The coefficients, the intercept first."""
        return Coefficients(self._told["coefficients"])

    @property
    def params(self) -> dict[str, float]:
        """The estimates by name, as statsmodels calls them."""
        return self._by_name("estimate")

    @property
    def standard_errors(self) -> dict[str, float]:
        """The standard errors by name: over samples of rows and over noise."""
        return self._by_name("error")

    @property
    def noise_errors(self) -> dict[str, float]:
        """What the standard errors would be if the rows were everybody: those of noise alone."""
        return self._by_name("noise_error")

    @property
    def p_values(self) -> dict[str, float]:
        """By name: how likely an estimate is to be as far from 0 if the coefficient were 0."""
        return self._by_name("p")

    @property
    def intervals(self) -> dict[str, tuple[float, float]]:
        """The ends of the interval of each coefficient."""
        return {row["name"]: (row["low"], row["high"]) for row in self._told["coefficients"]}

    def interval(self, name: str) -> tuple[float, float]:
        """The ends of the interval of one coefficient."""
        found = self.coefficients[name]
        return found["low"], found["high"]

    @property
    def confidence(self) -> float:
        """How likely an interval holds the truth."""
        confidence: float = self._told["confidence"]
        return confidence

    @property
    def not_estimated(self) -> list[str]:
        """Coefficients with too few rows for this noise."""
        left_out: list[str] = self._told["left_out"]
        return left_out

    @property
    def r_squared(self) -> float | None:
        """The share of variance that is explained; for a logistic model McFadden's."""
        share: float | None = self._told["r_squared"]
        return share

    @property
    def adjusted_r_squared(self) -> float | None:
        """The same, adjusted for the number of coefficients."""
        share: float | None = self._told["adjusted_r_squared"]
        return share

    @property
    def residual_error(self) -> float | None:
        """For least squares, the standard deviation of what is not explained."""
        error: float | None = self._told["residual_error"]
        return error

    @property
    def rows(self) -> float:
        """How many rows there seem to be: a noisy number."""
        rows: float = self._told["rows"]["value"]
        return rows

    @property
    def overall(self) -> dict[str, Any] | None:
        """Whether all slopes are 0: the ``statistic``, its degrees of ``freedom``, and ``p``."""
        overall: dict[str, Any] | None = self._told["overall"]
        return overall

    @property
    def means(self) -> list[dict[str, Any]]:
        """With one factor alone: the ``mean`` of each group, its noisy number of ``rows``, and its ``deviation``."""
        means: list[dict[str, Any]] = self._told["means"]
        return means

    @property
    def contrasts(self) -> Coefficients:
        """With one factor alone: all differences of two groups, with p-values that are adjusted for how many there are."""
        return Coefficients(self._told["contrasts"])

    def to_dataframe(self) -> Any:
        """The coefficients as a data frame of pandas, with the names as its index."""
        return self.coefficients.to_pandas()

    def to_pandas(self) -> Any:
        """The same."""
        return self.coefficients.to_pandas()

    def to_polars(self) -> Any:
        """The coefficients as a data frame of polars."""
        return self.coefficients.to_polars()

    def to_arrow(self) -> Any:
        """The coefficients as a table of pyarrow."""
        return self.coefficients.to_arrow()

    def to_latex(self) -> str:
        """The table of coefficients for a paper; it needs the package ``booktabs``."""
        latex: str = self._told["latex"]
        return latex

    def to_svg(self) -> str:
        """A forest plot of the coefficients: the line is the whole interval, the bar in it is the part that is noise."""
        plot: str = self._told["plot"]
        return plot

    def plot(self, path: str | os.PathLike[str]) -> None:
        """Writes the forest plot to a file that ends in .svg."""
        import os

        from deniable._synthetic import write_whole

        if not os.fspath(path).lower().endswith(".svg"):
            raise ParameterError("the file does not end in .svg", "write forest.svg")
        write_whole(os.fspath(path), self.to_svg().encode())

    def _by_name(self, what: str) -> dict[str, float]:
        return {row["name"]: row[what] for row in self._told["coefficients"]}

    def _repr_html_(self) -> str:
        rows = self._told["coefficients"]
        span = _span(rows[1:] or rows)
        header = ["", "estimate", "std. error", "of it noise", "statistic", "p", f"{self.confidence:.0%} interval", ""]
        cells = [[row["name"], *_numbers(row), _drawn(row, span)] for row in rows]
        below = [f"rows: {self.rows:,.0f}"]
        if self.r_squared is not None:
            below.append(f"{'R²' if self.family == 'linear' else 'McFadden’s R²'}: {self.r_squared:.4g}")
        below += [f"not estimated, too few rows for this noise: {name}" for name in self.not_estimated]
        return grid(f"{self.formula} ({self.family})", header, cells, [*below, self._cost_words(), *self.notes])


class HypothesisTest(_Result):
    """The result of a test. Made by :meth:`deniable.Dataset.test`."""

    @property
    def name(self) -> str:
        """What is tested."""
        name: str = self._told["name"]
        return name

    @property
    def statistic(self) -> float:
        """The statistic."""
        statistic: float = self._told["statistic"]
        return statistic

    @property
    def freedom(self) -> float | None:
        """Its degrees of freedom, where it is a χ²."""
        freedom: float | None = self._told["freedom"]
        return freedom

    @property
    def p(self) -> float:
        """How likely the statistic is to be as large if the hypothesis is true, noise included."""
        p: float = self._told["p"]
        return p

    @property
    def strength(self) -> float | None:
        """How strong the association is, from 0 to 1 (Cramér's V), where that is told."""
        strength: float | None = self._told["strength"]
        return strength

    @property
    def method(self) -> str:
        """How the p-value is computed."""
        method: str = self._told["method"]
        return method

    @property
    def estimates(self) -> Coefficients:
        """What is estimated, where it is a difference."""
        return Coefficients(self._told["estimates"])

    def _repr_html_(self) -> str:
        rows = self._told["estimates"]
        span = _span(rows)
        cells = [[row["name"], *_numbers(row), _drawn(row, span)] for row in rows]
        header = ["", "estimate", "std. error", "of it noise", "statistic", "p", "95% interval", ""] if rows else []
        below = [f"statistic: {self.statistic:.4g}, p = {self.p:.3g}", f"p-value: {self.method}"]
        return grid(self.name, header, cells, [*below, self._cost_words(), *self.notes])


def _float(number: Any) -> float | None:
    """A number that does not exist, such as a p-value of nothing, is null in JSON."""
    return None if number is None else float(number)


def _numbers(row: dict[str, Any]) -> list[str]:
    def text(number: Any, digits: int) -> str:
        return "" if number is None else f"{number:,.{digits}g}"

    shown = [text(row[name], 3) for name in ("error", "noise_error", "statistic", "p")]
    return [text(row["estimate"], 5), *shown, f"{text(row['low'], 5)} to {text(row['high'], 5)}"]


def _span(rows: list[dict[str, Any]]) -> tuple[float, float]:
    """The least and largest end of the intervals, with 0 inside."""
    ends = [row[end] for row in rows for end in ("low", "high") if row[end] is not None]
    low, high = min([0.0, *ends]), max([0.0, *ends])
    return (low, high) if high > low else (low - 1, high + 1)


def _drawn(row: dict[str, Any], span: tuple[float, float]) -> Drawn | str:
    if any(row[name] is None for name in ("estimate", "low", "high")):
        return ""
    return whisker(row["estimate"], row["low"], row["high"], span)
