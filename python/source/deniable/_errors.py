"""Why there is no answer.

What an error says depends on the question, the catalog and the budget. It never quotes a value of the data.
"""

from __future__ import annotations


class Error(Exception):
    """The base of all errors of this package.

    ``hint`` says what to do about it.
    """

    hint: str

    def __init__(self, what: str, hint: str = "") -> None:
        super().__init__(what)
        self.hint = hint

    def __str__(self) -> str:
        what = super().__str__()
        return f"{what}\nhint: {self.hint}" if self.hint else what


class ParameterError(Error, ValueError):
    """A parameter is not what it must be: an ε that is not positive, bounds in the wrong order."""


class CatalogError(Error):
    """What was declared about the tables cannot be used."""


class QueryError(Error):
    """The question is not SQL that is read here, or cannot be answered privately."""


class BudgetError(Error):
    """The budget does not allow this question.

    ``cost`` is what it costs, ``left`` the largest ε of one further release, and ``fits`` the largest ε with which the
    same question fits now, or None when none does.
    """

    cost: str | None = None
    left: float | None = None
    fits: float | None = None


class LedgerError(Error):
    """The ledger cannot be read or written, or is not the one that it was."""


class EngineError(Error):
    """The engine failed on the way. What it said may quote data, so the error names an incident instead."""


class FileError(Error, OSError):
    """A file cannot be read or written."""

    def __init__(self, what: str, hint: str = "") -> None:
        # OSError would read the two as an error number and its text.
        OSError.__init__(self, what)
        self.hint = hint


class ServerError(Error):
    """A server refused the request or could not be reached.

    ``code`` is the stable name of the reason.
    """

    code: str | None = None
