"""The partitions of a big table, by its log alone: how many files, rows and bytes each of them has.

Belongs here: looking, and naming partitions to delta-rs. What is done with them is ``warehouse/retention.py`` and
``warehouse/compaction.py``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date

import pyarrow as pa
from deltalake import DeltaTable

from domain.retention import Partition
from warehouse.table import Table

SMALL_BYTES = 50 * 1024 * 1024
"""Half of what delta-rs makes of small files: two that are smaller fit into one."""


@dataclass(frozen=True)
class PartitionFiles:
    """What a partition holds. ``row_count`` is None where the log does not say it of every file."""

    file_count: int = 0
    small_count: int = 0
    file_bytes: int = 0
    row_count: int | None = 0

    def __add__(self, other: PartitionFiles) -> PartitionFiles:
        is_known = self.row_count is not None and other.row_count is not None
        return PartitionFiles(
            self.file_count + other.file_count,
            self.small_count + other.small_count,
            self.file_bytes + other.file_bytes,
            (self.row_count or 0) + (other.row_count or 0) if is_known else None,
        )


def partitions_of(snapshot: DeltaTable, table: Table) -> dict[Partition, PartitionFiles]:
    """Every partition that has a file, ascending. No data file is opened."""
    files = pa.table(snapshot.get_add_actions(flatten=True))
    keys = [files.column(f"partition.{name}").to_pylist() for name in table.partition_by]
    found: dict[Partition, PartitionFiles] = {}
    for size, rows, *key in zip(
        files.column("size_bytes").to_pylist(), files.column("num_records").to_pylist(), *keys, strict=True
    ):
        partition = Partition(*key)
        found[partition] = found.get(partition, PartitionFiles()) + PartitionFiles(
            1, int(size < SMALL_BYTES), size, rows
        )
    return dict(sorted(found.items(), key=lambda item: item[0].start))


def by_date(partitions: Iterable[Partition]) -> dict[date, list[Partition]]:
    """Grouped by UTC date, ascending."""
    found: dict[date, list[Partition]] = {}
    for partition in sorted(partitions, key=lambda one: one.start):
        found.setdefault(partition.day, []).append(partition)
    return found


def where(table: Table, partitions: Iterable[Partition]) -> str:
    """The partitions as a predicate of delta-rs: literals of partition columns and nothing else."""
    day_column, *hour_column = table.partition_by
    parts = []
    for day, of_day in by_date(partitions).items():
        hours = ", ".join(str(one.hour) for one in of_day)
        of_hours = f" AND {hour_column[0]} IN ({hours})" if hour_column else ""
        parts.append(f"({day_column} = DATE '{day}'{of_hours})")
    return " OR ".join(parts)
