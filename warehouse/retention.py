"""Deletes partitions whose retention is over, each step written down before it is taken and after it.

Belongs here: the two ledger rows around the one commit, and what a run that died in between is owed. What may go is
decided by ``domain/retention.py``; the caller holds the table's writer lock.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import reduce
from operator import add

from deltalake import CommitProperties, DeltaTable

from domain.errors import IntegrityError
from domain.retention import LOGGED_WITHIN, Books, Partition, Policy, kept_days
from domain.settings import Settings
from warehouse.holds import holds
from warehouse.layout import open_table
from warehouse.partitions import PartitionFiles, by_date, partitions_of, where
from warehouse.periods import read_closed
from warehouse.publications import latest_publication
from warehouse.retention_steps import RetentionStep, end_step, intend, unfinished_steps
from warehouse.seals import read_seals
from warehouse.table import Table

AfterStep = Callable[[str], None]
"""Told the name of each commit right after it; tests die there."""
RAW_TABLES = ("raw_clicks", "click_identities")
"""What later clicks are judged by, and what setting ``raw_retention_days`` is about."""
DATES_AT_ONCE = 31
"""Of one commit: a predicate of more would be too deep for the engine that reads it."""
STEP_KEY = "tallystick.retentionStep"
"""Under this name the deleting commit says which step it is."""


def policy_of(settings: Settings, table: Table) -> Policy:
    """For how long a table is kept. ``SettingError`` for a setting under thirteen months."""
    if table.name not in RAW_TABLES:
        return Policy(table.name, table.retention_days)
    days = kept_days(table.retention_days, "raw_retention_days", settings.raw_retention_days)
    horizons = [settings.final_horizon_days, *(seal.horizon_days for seal in read_seals(settings))]
    return Policy(table.name, days, timedelta(days=max(horizons)) + LOGGED_WITHIN)


def read_books(settings: Settings, now: datetime) -> Books:
    """What the ledgers say. Ask under the lock of the table that is to be deleted from."""
    publication = latest_publication(settings)
    shown = publication.seal_number if publication else 0
    return Books(read_seals(settings), shown, read_closed(settings), holds(settings, now))


def settle_steps(settings: Settings, table: Table, at: datetime) -> list[RetentionStep]:
    """Ends the steps of a table that a dead process left open: done if its commit is there, else abandoned."""
    return [
        end_step(settings, step, "done" if _is_taken(settings, table, step) else "abandoned", at)
        for step in unfinished_steps(settings, table.name)
    ]


def delete_partitions(
    settings: Settings,
    table: Table,
    files: Mapping[Partition, PartitionFiles],
    policy: Policy,
    *,
    actor: str,
    clock: Callable[[], datetime],
    after_step: AfterStep,
) -> list[RetentionStep]:
    """Deletes these partitions, with what they hold, in one commit for up to 31 dates; the ended steps.

    Each commit is atomic. The files stay until they are vacuumed. ``IntegrityError`` if rows of a step are still there.
    """
    dates = list(by_date(files).values())
    steps = []
    for first in range(0, len(dates), DATES_AT_ONCE):
        partitions = [one for of_date in dates[first : first + DATES_AT_ONCE] for one in of_date]
        held = reduce(add, (files[one] for one in partitions))
        step = intend(
            settings,
            table.name,
            partitions,
            row_count=held.row_count,
            file_bytes=held.file_bytes,
            policy=str(policy),
            actor=actor,
            at=clock(),
        )
        after_step("intended")
        _delete(open_table(settings, table.name), table, partitions, step)
        after_step("deleted")
        steps.append(end_step(settings, step, "done", clock()))
        after_step("recorded")
    return steps


def _delete(snapshot: DeltaTable, table: Table, partitions: Sequence[Partition], step: RetentionStep) -> None:
    snapshot.delete(
        where(table, partitions),
        commit_properties=CommitProperties(custom_metadata={STEP_KEY: str(step.step_number)}, max_commit_retries=0),
    )
    left = partitions_of(snapshot, table).keys() & set(partitions)
    if left:
        raise IntegrityError(
            f"{len(left)} partitions of {table.name} are there after step {step.step_number} deleted them",
            "none of them",
            "look at the newest commit of the table, and run `tallystick maintain` again",
        )


def _is_taken(settings: Settings, table: Table, step: RetentionStep) -> bool:
    """By the table's log; where that is not kept for so long, by what is gone: one commit takes all or none, and a late
    click may make a folder anew.
    """
    snapshot = open_table(settings, table.name)
    if any(commit.get(STEP_KEY) == str(step.step_number) for commit in snapshot.history()):
        return True
    return not set(step.partitions) <= partitions_of(snapshot, table).keys()
