"""Replaces whole partitions of a table with Spark, in one commit.

Belongs here: the atomic swap and its bounded retry. Which rows are right is the caller's rule; ledgers are never
replaced (``warehouse/ledger.py``).
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import date

from delta.exceptions import (
    ConcurrentAppendException,
    ConcurrentDeleteDeleteException,
    ConcurrentDeleteReadException,
    ConcurrentWriteException,
)
from pyspark.sql import DataFrame

from domain.errors import TallystickError
from domain.settings import Settings
from warehouse.layout import open_table
from warehouse.table import Table

ATTEMPTS = 4
"""One process at a time writes a big table; whoever meets a conflict this often has met something else."""
_CONFLICTS = (
    ConcurrentAppendException,
    ConcurrentDeleteDeleteException,
    ConcurrentDeleteReadException,
    ConcurrentWriteException,
)


class WriteConflictError(TallystickError):
    """Another writer changed the partitions that we were replacing, again and again."""

    is_transient = True


def replace_partitions(
    rows: DataFrame, settings: Settings, table: Table, day: date, hours: Collection[int] | None = None
) -> int:
    """Make ``rows`` all that the table holds of ``day``, or of those ``hours`` of it; the table's version afterwards.

    One atomic commit with literal partition values, so writers of other days do not conflict. Repeatable. Rows outside
    the partitions are refused. ``rows`` is computed again for a retry, so it must not be random.
    """
    day_column, *hour_column = table.partition_by
    where = f"{day_column} = DATE'{day}'"
    if hours is not None:
        where += f" AND {hour_column[0]} IN ({', '.join(str(hour) for hour in sorted(hours))})"
    uri = open_table(settings, table.name).table_uri
    write = rows.select(*table.column_names).write.format("delta").mode("overwrite").option("replaceWhere", where)
    for attempt in range(1, ATTEMPTS + 1):
        try:
            write.save(uri)
        except _CONFLICTS as error:
            if attempt == ATTEMPTS:
                winner = str(error).splitlines()[0]
                raise WriteConflictError(
                    f"{ATTEMPTS} attempts to replace {where} in {table.name} lost against another writer: {winner}",
                    "one writer of a table at a time",
                    "find out which process wrote that commit, then run this again",
                ) from error
        else:
            break
    return open_table(settings, table.name).version()
