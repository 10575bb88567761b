"""Compare-and-set append: the one way in which rows get into a ledger.

Belongs here: the append that conflicts with every commit since the snapshot it was decided on. What a ledger's rows
mean and hash lives in ``domain``; which rows are due is decided by each ledger's own module.

Two plain appends never conflict in Delta: both would commit, and a chain of hashes would fork in silence. Refusing any
retry of the commit makes the version number itself the thing that is compared: the append becomes exactly the version
after the snapshot, or nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, write_deltalake
from deltalake.exceptions import CommitFailedError

from domain.errors import IntegrityError, LedgerConflictError
from domain.settings import Settings
from warehouse.layout import open_table
from warehouse.schema import arrow_rows
from warehouse.tables import TABLES

ROWS_AT_ONCE = 50_000
"""So many rows of an append are in memory at once."""
MAX_FILES = 100
"""Beyond the one that each partition needs. An appender that meets this housekeeping of another conflicts once, as with
any commit, and reads again."""


def append_after(settings: Settings, name: str, snapshot: DeltaTable, rows: Iterable[Mapping[str, Any]]) -> None:
    """Appends ``rows`` in one commit that follows ``snapshot`` directly; many of them piece by piece.

    Atomic, not repeatable; as safe from a power cut as the disk's own cache, since delta-rs flushes nothing.
    ``LedgerConflictError`` if anybody committed to the table since ``snapshot`` was taken; then nothing was appended.
    """
    version = snapshot.version()
    try:
        write_deltalake(
            snapshot,
            _batches(name, rows),
            mode="append",
            commit_properties=CommitProperties(max_commit_retries=0),
        )
    except CommitFailedError as error:
        moved_to = open_table(settings, name).version()
        if moved_to == version:
            raise
        raise LedgerConflictError(
            f"table {name} is at version {moved_to}, moved by somebody else",
            f"version {version}, on which this append was decided",
            "read it again, decide again, append again",
        ) from error
    keep_few_files(snapshot)


def _batches(name: str, rows: Iterable[Mapping[str, Any]]) -> pa.RecordBatchReader:
    """What is wrong with the first piece is said here, before the writer asks for any."""
    left = iter(rows)
    first = arrow_rows(TABLES[name], islice(left, ROWS_AT_ONCE))

    def pieces() -> Iterator[pa.RecordBatch]:
        piece = first
        while piece.num_rows:
            yield from piece.to_batches()
            piece = arrow_rows(TABLES[name], islice(left, ROWS_AT_ONCE))

    return pa.RecordBatchReader.from_batches(first.schema, pieces())


def keep_few_files(snapshot: DeltaTable) -> None:
    """Writes a table that gets a file per commit into one, when it has become many; changes no row.

    A ledger is read whole, often, and for ever. Nothing is vacuumed: the files as they were appended stay on disk.
    """
    needed = max(len(snapshot.partitions()), 1)
    if len(snapshot.file_uris()) - needed >= MAX_FILES:
        with suppress(CommitFailedError):  # somebody else is doing the same; the next append looks again
            snapshot.optimize.compact()


def check_head(name: str, found: int, expected: int) -> None:
    """``LedgerConflictError`` if the newest row of a ledger is not the one its appender has decided on."""
    if found != expected:
        raise LedgerConflictError(
            f"the newest row of table {name} has number {found}",
            f"number {expected}",
            "read it again, decide again, append again",
        )


def check_stored(name: str, stored: Sequence[object], appended: Sequence[object]) -> None:
    """``IntegrityError`` unless what was read back is what was appended, hashes included."""
    if list(stored) != list(appended):
        raise IntegrityError(
            f"table {name} does not hold the rows that were just appended, but {list(stored)}",
            f"{list(appended)}",
            "append nothing more and look at its newest commit",
        )
