"""Writes the many small files of a partition that nobody writes any more into few.

Belongs here: which partitions deserve it, and the commit. The caller holds the table's writer lock; that a partition is
no longer written is ``domain/retention.py``. No row changes, and the files as they were stay until they are vacuumed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from domain.retention import Books, Partition
from domain.settings import Settings
from warehouse.layout import open_table
from warehouse.partitions import PartitionFiles, by_date
from warehouse.table import Table

SMALL_FILES = 4
"""So many small files in one partition are worth a rewrite."""
DATES_A_RUN = 31
"""A table that was never compacted is done in several runs: each holds the lock for a while only."""
TASKS = 2
"""Files that are written at once, each of which is in memory."""


def crowded(files: Mapping[Partition, PartitionFiles]) -> list[Partition]:
    """The partitions with many small files."""
    return [partition for partition, held in files.items() if held.small_count >= SMALL_FILES]


def still_written(partitions: Collection[Partition], books: Books) -> dict[Partition, tuple[str, ...]]:
    """Those that may still be written, with the reasons: rewriting them would fight with their writer."""
    reasons = {partition: tuple(books.against_sealed(partition)) for partition in partitions}
    return {partition: why for partition, why in reasons.items() if why}


def compact(
    settings: Settings, table: Table, partitions: Collection[Partition], after_step: Callable[[str], None]
) -> int:
    """Compacts these partitions, a commit for each date; how many files fewer there are. Repeatable."""
    day_column, *hour_column = table.partition_by
    fewer_count = 0
    for day, of_day in by_date(partitions).items():
        filters: list[tuple[str, str, object]] = [(day_column, "=", day)]
        if hour_column:
            filters.append((hour_column[0], "in", [one.hour for one in of_day]))
        metrics = open_table(settings, table.name).optimize.compact(
            partition_filters=filters,
            max_concurrent_tasks=TASKS,
        )
        fewer_count += metrics["numFilesRemoved"] - metrics["numFilesAdded"]
        after_step("compacted")
    return fewer_count
