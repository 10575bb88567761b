"""Table ``stream_marks``: how far each query has looked at each partition of each log.

Belongs here: reading and moving the marks, and keeping a table small that gets a commit per batch for ever. What a
batch does with a mark is ``spark_jobs``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import datetime

from deltalake import DeltaTable, write_deltalake
from deltalake.exceptions import CommitFailedError

from domain.errors import WriterBusyError
from domain.settings import Settings
from warehouse.layout import open_table, rows_of
from warehouse.schema import arrow_rows
from warehouse.tables.stream_marks import STREAM_MARKS

ARCHIVE_QUERY, LIVE_QUERY = "archive", "live"
"""Names of the two queries."""
COMMITS_PER_VACUUM = 500
"""Every so many versions the files that were replaced more than ten minutes ago are deleted."""


@dataclass(frozen=True)
class Mark:
    """``offset`` is the last one looked at; the two instants are those of the query at that offset."""

    query: str
    log: int
    partition: int
    offset: int
    highest_clicked_at: datetime | None
    logged_at: datetime | None


def read_marks(settings: Settings, query: str, log: int) -> dict[int, Mark]:
    """The marks of one query and log by partition; empty before its first batch."""
    return _marks(open_table(settings, STREAM_MARKS.name), query, log)


def reached_offsets(settings: Settings, query: str, log: int) -> dict[int, int]:
    """By partition the offset after the last one that a query has looked at; empty before its first batch."""
    return {partition: mark.offset + 1 for partition, mark in read_marks(settings, query, log).items()}


def write_marks(settings: Settings, query: str, log: int, marks: Iterable[Mark]) -> None:
    """Moves marks of one query and log forward, in one commit.

    Repeatable: a mark never moves back, so a replayed batch changes nothing, and partitions that are not named keep
    theirs. ``WriterBusyError`` if a second process moves marks of the same query.
    """
    snapshot = open_table(settings, STREAM_MARKS.name)
    before = _marks(snapshot, query, log)
    after = before | {mark.partition: mark for mark in marks if not _is_behind(mark, before)}
    if after == before:
        return
    try:
        write_deltalake(
            snapshot,
            arrow_rows(STREAM_MARKS, (asdict(mark) for _, mark in sorted(after.items()))),
            mode="overwrite",
            predicate=f"query = '{query}' AND log = {log}",
        )
    except CommitFailedError as error:
        raise WriterBusyError(
            f"marks of query {query} were moved by another process at the same time",
            "one process at a time, the holder of the stream's lock",
            "stop the other one",
        ) from error
    if snapshot.version() % COMMITS_PER_VACUUM == 0:
        snapshot.vacuum(dry_run=False, full=True)


def _is_behind(mark: Mark, before: dict[int, Mark]) -> bool:
    return mark.partition in before and mark.offset < before[mark.partition].offset


def _marks(snapshot: DeltaTable, query: str, log: int) -> dict[int, Mark]:
    marks = (Mark(**record) for record in rows_of(snapshot).to_pylist())
    return {mark.partition: mark for mark in marks if (mark.query, mark.log) == (query, log)}
