"""The extension module. It is what the package is made of, and not what programs call: they use the modules around it."""

import os
from collections.abc import Sequence
from typing import Any

VERSION: str

# ── tables

class ArrowTable:
    """A table that speaks Arrow."""

    def __init__(self, table: Any) -> None: ...
    @staticmethod
    def of_columns(columns: dict[str, Sequence[Any]]) -> ArrowTable: ...
    def columns(self) -> list[tuple[str, str | None]]: ...
    @property
    def num_rows(self) -> int: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __arrow_c_schema__(self) -> object: ...

# ── datasets

class LocalDataset:
    """A catalog, its ledger and its engine."""

    @staticmethod
    def open(path: str | os.PathLike[str], analyst: str) -> LocalDataset: ...
    @staticmethod
    def of_tables(
        catalog: str, tables: Sequence[tuple[str, ArrowTable]], directory: str | None, analyst: str
    ) -> LocalDataset: ...
    def dummy(self) -> LocalDataset: ...
    @property
    def name(self) -> str: ...
    def query(
        self,
        sql: str,
        epsilon: str | None = None,
        delta: str | None = None,
        cut_estimate: bool = True,
        purpose: str | None = None,
    ) -> tuple[str, ArrowTable]: ...
    def explain(
        self,
        sql: str,
        epsilon: str | None = None,
        delta: str | None = None,
        cut_estimate: bool = True,
        error: str | None = None,
        group_size: int = 1000,
    ) -> str: ...
    def budget(self) -> str: ...
    def tables(self) -> str: ...

def table_of_answer(json: str) -> ArrowTable: ...
def sample(directory: str | os.PathLike[str]) -> str: ...
