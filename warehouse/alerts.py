"""Tables ``alerts`` and ``alert_dead_letters``: appending and reading.

Belongs here: rows to steps and back. When an alert opens and is resolved: ``domain/alerts.py``.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from deltalake import DeltaTable, write_deltalake

from domain.alerts import AlertStep, in_order
from domain.settings import Settings
from warehouse.layout import open_table, rows_of
from warehouse.ledger import append_after, keep_few_files
from warehouse.schema import arrow_rows
from warehouse.table import Table
from warehouse.tables.alert_dead_letters import ALERT_DEAD_LETTERS
from warehouse.tables.alerts import ALERTS


@dataclass(frozen=True)
class DeadLetter:
    """A message that the webhook did not take."""

    alert_id: str
    step: str
    message: str
    why: str
    failed_at: datetime


@dataclass(frozen=True)
class AlertLog:
    """All steps there are, and the version of the table that they were read from."""

    steps: list[AlertStep]
    snapshot: DeltaTable


def read_alert_log(settings: Settings) -> AlertLog:
    """All of it, in order: rows are few, since only what changes is one."""
    snapshot = open_table(settings, ALERTS.name)
    steps = (AlertStep(**record) for record in rows_of(snapshot).to_pylist())
    return AlertLog(in_order(steps), snapshot)


def append_steps(settings: Settings, log: AlertLog, steps: Sequence[AlertStep]) -> None:
    """Appends in one commit right after ``log`` was read, so that two who look at once open one alert and not two.

    ``LedgerConflictError`` if somebody else appended meanwhile; then nothing was.
    """
    if steps:
        append_after(settings, ALERTS.name, log.snapshot, map(asdict, steps))


def append_delivery(settings: Settings, done: AlertStep) -> None:
    """Appends what became of a message. Depends on no other row, so writers that race all get theirs in."""
    _append(settings, ALERTS, asdict(done))


def append_dead_letter(settings: Settings, step: AlertStep, payload: dict[str, Any], failed: AlertStep) -> None:
    """Keeps the message about ``step`` that nobody got; ``failed`` says why and when. Atomic, not repeatable."""
    letter = DeadLetter(step.alert_id, step.step, json.dumps(payload), failed.detail, failed.recorded_at)
    _append(settings, ALERT_DEAD_LETTERS, asdict(letter))


def read_dead_letters(settings: Settings) -> list[DeadLetter]:
    """All of them, oldest first."""
    ordered = rows_of(open_table(settings, ALERT_DEAD_LETTERS.name)).sort_by("failed_at")
    return [DeadLetter(**record) for record in ordered.to_pylist()]


def _append(settings: Settings, table: Table, record: dict[str, Any]) -> None:
    snapshot = open_table(settings, table.name)
    write_deltalake(snapshot, arrow_rows(table, [record]), mode="append")
    keep_few_files(snapshot)
