"""Retention of the crawl's tables: whole dates, each step in ``retention_steps``; then few files and no unused ones.

Belongs here: the tables. The caller holds their lock; bodies and the frontier's rows are the crawler's.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from domain.retention import Policy
from domain.settings import Settings
from warehouse.crawl_rows import CRAWL_TABLES
from warehouse.create import create_missing_tables
from warehouse.layout import open_table
from warehouse.ledger import keep_few_files
from warehouse.partitions import partitions_of
from warehouse.retention import delete_partitions, settle_steps
from warehouse.tables import RETENTION_STEPS


def retain_tables(
    settings: Settings, kept_days: int, actor: str, clock: Callable[[], datetime]
) -> dict[str, int | None]:
    """Deletes the dates that are kept no longer; rows deleted by table, None where the files do not say it.

    Repeatable; a step that died is settled by the next run. Files that were replaced longer ago than a table declares
    are deleted from the disk.
    """
    create_missing_tables(settings, (RETENTION_STEPS,))
    counts: dict[str, int | None] = {}
    for table in CRAWL_TABLES:
        settle_steps(settings, table, clock())
        policy = Policy(table.name, kept_days)
        files = partitions_of(open_table(settings, table.name), table)
        due = {partition: held for partition, held in files.items() if policy.is_due(partition, clock())}
        steps = delete_partitions(settings, table, due, policy, actor=actor, clock=clock, after_step=lambda _step: None)
        rows = [step.row_count for step in steps]
        counts[table.name] = None if None in rows else sum(row or 0 for row in rows)
        snapshot = open_table(settings, table.name)
        keep_few_files(snapshot)
        snapshot.vacuum(dry_run=False, full=True)
    return counts
