"""Differential privacy that can be checked: private SQL under a budget, exact noise, certified accounting.

Open a dataset, ask it, look at what is left::

    >>> import deniable
    >>> people = {"person": [1, 2, 3, 4], "city": ["Ash", "Bree", "Ash", "Ash"], "age": [20, 35, 41, 58]}
    >>> ds = deniable.from_arrow(
    ...     {"people": people}, unit="person", rows_per_unit=1, epsilon=3,
    ...     bounds={"age": (0, 100)}, values={"city": ["Ash", "Bree"]}, not_null=["city"],
    ... )
    >>> answer = ds.sql("SELECT city, COUNT(*) AS n FROM people GROUP BY city ORDER BY city", epsilon=1)
    >>> [row["city"] for row in answer]
    ['Ash', 'Bree']
    >>> ds.budget.left
    2.0

The three ways in give the same object: :func:`open` reads a catalog file, :func:`from_arrow` takes tables in memory, and
:func:`connect` asks a server, whose data never comes here. The parts beside it are imported when they are used:
:mod:`deniable.accounting`, :mod:`deniable.mechanisms`, :mod:`deniable.audit`, :mod:`deniable.attack`,
:mod:`deniable.survey` and :mod:`deniable.train`.
"""

from __future__ import annotations

from deniable._deniable import VERSION as __version__
from deniable._errors import (
    BudgetError,
    CatalogError,
    EngineError,
    Error,
    FileError,
    LedgerError,
    ParameterError,
    QueryError,
    ServerError,
)

# For type checkers, which know the name. Importing the module typing would take as long as all of the package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from deniable import accounting, attack, audit, mechanisms, survey, train
    from deniable._answer import Answer
    from deniable._dataset import Budget, Dataset, Explanation, connect, from_arrow, open, sample
    from deniable._query import avg, column, count, max, median, min, quantile, stddev, sum, variance
    from deniable._regression import Coefficients, HypothesisTest, Regression
    from deniable._release import Plan, Release, ReleaseExplanation
    from deniable._synthetic import Synthetic, SyntheticExplanation, SyntheticReport

# The module of each name. It is read only when the name is used: `import deniable` stays a matter of milliseconds.
_SUBMODULES = frozenset({"accounting", "attack", "audit", "mechanisms", "opacus", "survey", "train"})
_NAMES = {
    "Answer": "_answer",
    "Budget": "_dataset",
    "Dataset": "_dataset",
    "Explanation": "_dataset",
    "connect": "_dataset",
    "from_arrow": "_dataset",
    "open": "_dataset",
    "sample": "_dataset",
    "avg": "_query",
    "column": "_query",
    "count": "_query",
    "max": "_query",
    "median": "_query",
    "min": "_query",
    "quantile": "_query",
    "stddev": "_query",
    "sum": "_query",
    "variance": "_query",
    "Coefficients": "_regression",
    "HypothesisTest": "_regression",
    "Regression": "_regression",
    "Plan": "_release",
    "Release": "_release",
    "ReleaseExplanation": "_release",
    "Synthetic": "_synthetic",
    "SyntheticExplanation": "_synthetic",
    "SyntheticReport": "_synthetic",
}

__all__ = [
    "Answer",
    "Budget",
    "BudgetError",
    "CatalogError",
    "Coefficients",
    "Dataset",
    "EngineError",
    "Error",
    "Explanation",
    "FileError",
    "HypothesisTest",
    "LedgerError",
    "ParameterError",
    "Plan",
    "QueryError",
    "Regression",
    "Release",
    "ReleaseExplanation",
    "ServerError",
    "Synthetic",
    "SyntheticExplanation",
    "SyntheticReport",
    "__version__",
    "accounting",
    "attack",
    "audit",
    "avg",
    "column",
    "connect",
    "count",
    "from_arrow",
    "max",
    "mechanisms",
    "median",
    "min",
    "open",
    "quantile",
    "sample",
    "stddev",
    "sum",
    "survey",
    "train",
    "variance",
]


def __getattr__(name: str) -> Any:
    import importlib

    if name in _SUBMODULES:
        return importlib.import_module(f"deniable.{name}")
    if name in _NAMES:
        value = getattr(importlib.import_module(f"deniable.{_NAMES[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'deniable' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
