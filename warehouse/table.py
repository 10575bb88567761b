"""What a table is, as data: columns with units, key, partitioning, owner, retention. Refuses an incomplete one.

Belongs here: the types and their checks. The tables themselves are one file each in ``warehouse/tables``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

ColumnType = Literal[
    "string", "int", "long", "boolean", "binary", "timestamp", "date", "map<string,long>", "map<string,string>"
]
Writer = Literal["spark", "delta-rs"]


@dataclass(frozen=True)
class Column:
    """A column. The description gives the unit where the name does not; timestamps are UTC."""

    name: str
    type: ColumnType
    description: str
    is_nullable: bool = False


@dataclass(frozen=True)
class Table:
    """A Delta table. ``retention_days`` None means for ever; ``written_by`` names the one job that may write it."""

    name: str
    description: str
    owner: str
    written_by: str
    writer: Writer
    key: tuple[str, ...]
    columns: tuple[Column, ...]
    partition_by: tuple[str, ...] = ()
    retention_days: int | None = None
    is_append_only: bool = False
    properties: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        names = [column.name for column in self.columns]
        for what, wrong in (
            ("a repeated column", len(set(names)) != len(names)),
            ("a key or partition that is no column", not {*self.key, *self.partition_by} <= set(names)),
            ("no key", not self.key),
            ("no owner, writer or description", not (self.owner and self.written_by and self.description)),
            ("a column without a description", any(not column.description for column in self.columns)),
        ):
            if wrong:
                raise ValueError(f"table {self.name} has {what}")

    @property
    def column_names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    @property
    def delta_properties(self) -> dict[str, str]:
        """Table properties; features that other readers cannot open stay off."""
        append_only = {"delta.appendOnly": "true"} if self.is_append_only else {}
        return {"delta.checkpointInterval": "50", **append_only, **self.properties}
