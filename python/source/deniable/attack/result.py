"""Shared by the results of attacks."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from deniable import _html


class Result:
    """A result: a frozen dataclass that shows numbers and keeps what was recovered."""

    def to_dict(self) -> dict[str, Any]:
        """All of it as a dictionary, with what was recovered."""
        return asdict(self)  # type: ignore[call-overload]

    def __repr__(self) -> str:
        said = ", ".join(f"{name}: {value}" for name, value in self._lines())
        return f"{type(self).__name__}({said})"

    def _repr_html_(self) -> str:
        return _html.table(self._title(), self._lines())

    def _title(self) -> str:
        """What was found, in a few words."""
        raise NotImplementedError

    def _lines(self) -> list[tuple[Any, Any]]:
        """What is shown of it: numbers of people, never people."""
        raise NotImplementedError
