"""A result as a title and tables, for the formats `markdown`, `html` and `table`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Table:
    """A table. `more`: a sentence about rows that were left out. Cells may contain unescaped texts of manifests."""

    heading: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    more: str = ""


@dataclass(frozen=True, slots=True)
class Page:
    """A page. Tables without rows are left out."""

    title: str
    head: str
    tables: tuple[Table, ...]

    @property
    def filled(self) -> list[Table]:
        return [table for table in self.tables if table.rows]
