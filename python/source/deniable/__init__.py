"""Differential privacy that can be checked."""

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

__all__ = [
    "BudgetError",
    "CatalogError",
    "EngineError",
    "Error",
    "FileError",
    "LedgerError",
    "ParameterError",
    "QueryError",
    "ServerError",
    "__version__",
]
