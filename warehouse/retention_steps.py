"""Table ``retention_steps``: appending to it, and what it says is gone.

Belongs here: rows to steps and back. What may be deleted is ``domain/retention.py``, deleting it
``warehouse/retention.py``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Literal

from deltalake import DeltaTable

from domain.retention import Partition, parse_partition
from domain.settings import Settings
from warehouse.layout import open_table, rows_of
from warehouse.ledger import append_after

NAME = "retention_steps"
Ending = Literal["done", "abandoned"]


@dataclass(frozen=True, kw_only=True)
class RetentionStep:
    """Partitions of a table that go, or went, in one commit. ``row_count`` is None where the table's log has none."""

    step_number: int
    state: str
    table_name: str
    partition_names: str
    row_count: int | None
    file_bytes: int
    policy: str
    actor: str
    recorded_at: datetime

    @property
    def partitions(self) -> list[Partition]:
        """The partitions, ascending."""
        return [parse_partition(text) for text in json.loads(self.partition_names)]


@dataclass(frozen=True)
class Deleted:
    """Hours of a table whose rows are gone, by the ledger; ``maybe`` those of steps that have not ended."""

    hours: frozenset[datetime]
    maybe: frozenset[datetime]

    @property
    def any_of(self) -> frozenset[datetime]:
        """The hours that may be gone: who reads something else for them is right in either case."""
        return self.hours | self.maybe


def intend(
    settings: Settings,
    table: str,
    partitions: Iterable[Partition],
    *,
    row_count: int | None,
    file_bytes: int,
    policy: str,
    actor: str,
    at: datetime,
) -> RetentionStep:
    """Appends the intention to delete, in one commit. ``LedgerConflictError`` if somebody else wrote meanwhile."""
    snapshot = open_table(settings, NAME)
    step = RetentionStep(
        step_number=max((one.step_number for one in _steps(snapshot)), default=0) + 1,
        state="intended",
        table_name=table,
        partition_names=json.dumps([str(one) for one in partitions]),
        row_count=row_count,
        file_bytes=file_bytes,
        policy=policy,
        actor=actor,
        recorded_at=at,
    )
    append_after(settings, NAME, snapshot, [asdict(step)])
    return step


def end_step(settings: Settings, step: RetentionStep, state: Ending, at: datetime) -> RetentionStep:
    """Appends how an intended step ended, in one commit; by whom it was intended stays."""
    ended = replace(step, state=state, recorded_at=at)
    append_after(settings, NAME, open_table(settings, NAME), [asdict(ended)])
    return ended


def read_steps(settings: Settings) -> list[RetentionStep]:
    """All rows, by number; of a step the intention first."""
    return _steps(open_table(settings, NAME))


def unfinished_steps(settings: Settings, table: str) -> list[RetentionStep]:
    """Steps of a table that were intended and have no ending: whoever meant to take them died."""
    return _unfinished([one for one in read_steps(settings) if one.table_name == table])


def deleted_hours(settings: Settings, table: str) -> Deleted:
    """Which hours (starts, UTC) of a table were deleted as their retention was over. Reads only."""
    steps = [one for one in read_steps(settings) if one.table_name == table]
    return Deleted(_hours(one for one in steps if one.state == "done"), _hours(_unfinished(steps)))


def _unfinished(steps: list[RetentionStep]) -> list[RetentionStep]:
    ended = {one.step_number for one in steps if one.state != "intended"}
    return [one for one in steps if one.step_number not in ended]


def _hours(steps: Iterable[RetentionStep]) -> frozenset[datetime]:
    return frozenset(hour for step in steps for partition in step.partitions for hour in partition.hours)


def _steps(snapshot: DeltaTable) -> list[RetentionStep]:
    ordered = rows_of(snapshot).sort_by([("step_number", "ascending"), ("state", "descending")])
    return [RetentionStep(**record) for record in ordered.to_pylist()]
