"""Table ``logs``: gives each topic id its number, so that a recreated topic is another log.

Belongs here: registration and the halt at a topic whose id changed. What a topic's id is: ``clicklog/topics.py``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from deltalake import DeltaTable

from domain.errors import LedgerConflictError, TallystickError
from domain.settings import Settings
from warehouse.layout import open_table, rows_of
from warehouse.ledger import append_after

NAME = "logs"
ATTEMPTS = 10
"""Two streams that start at once collide here at most a few times; then something else is wrong."""


class TopicRecreatedError(TallystickError):
    """A topic has another id than the log that was read so far: its offsets mean other events."""

    exit_code = 4


@dataclass(frozen=True)
class LogRow:
    """One topic id and the number it was given."""

    log: int
    topic: str
    topic_id: str
    first_offsets: Mapping[int, int]
    registered_at: datetime


def register_log(
    settings: Settings,
    topic: str,
    topic_id: str,
    first_offsets: Mapping[int, int],
    at: datetime,
    *,
    accept_new: bool = False,
) -> int:
    """The number of this topic id, given now if it is the first of its topic or ``accept_new`` is set.

    Repeatable; safe against others that register at the same time. ``TopicRecreatedError`` if the newest log of the
    topic has another id and ``accept_new`` is not set.
    """
    wanted = LogRow(0, topic, topic_id, first_offsets, at)
    for _ in range(ATTEMPTS - 1):
        with suppress(LedgerConflictError):
            return _register_once(settings, wanted, accept_new)
    return _register_once(settings, wanted, accept_new)


def _register_once(settings: Settings, wanted: LogRow, accept_new: bool) -> int:
    snapshot = open_table(settings, NAME)
    rows = _rows(snapshot)
    newest = _newest(rows, wanted.topic)
    if newest is not None and newest.topic_id == wanted.topic_id:
        return newest.log
    _check_recreation(rows, newest, wanted.topic_id, accept_new)
    row = replace(wanted, log=max((row.log for row in rows), default=0) + 1)
    append_after(settings, NAME, snapshot, [_record(row)])
    return row.log


def current_log(settings: Settings, topic: str) -> LogRow | None:
    """The newest log of a topic; None if it was never registered."""
    return _newest(read_logs(settings), topic)


def read_logs(settings: Settings) -> list[LogRow]:
    """All logs, in the order of their numbers."""
    return _rows(open_table(settings, NAME))


def _check_recreation(rows: list[LogRow], newest: LogRow | None, topic_id: str, accept_new: bool) -> None:
    if newest is None:
        return
    is_former = any(row.topic_id == topic_id for row in rows)
    if accept_new and not is_former:
        return
    raise TopicRecreatedError(
        f"topic {newest.topic} has id {topic_id}" + (", an older log's" if is_former else ""),
        f"id {newest.topic_id}, under which it is read since {newest.registered_at:%Y-%m-%d %H:%M} UTC",
        "connect the right Kafka; if the topic was recreated on purpose, accept it as a new log",
    )


def _newest(rows: list[LogRow], topic: str) -> LogRow | None:
    return next((row for row in reversed(rows) if row.topic == topic), None)


def _record(row: LogRow) -> dict[str, Any]:
    offsets = {str(partition): offset for partition, offset in sorted(row.first_offsets.items())}
    return {
        "log": row.log,
        "topic": row.topic,
        "topic_id": row.topic_id,
        "first_offsets": json.dumps(offsets, separators=(",", ":")),
        "registered_at": row.registered_at,
    }


def _rows(snapshot: DeltaTable) -> list[LogRow]:
    records = rows_of(snapshot).sort_by("log").to_pylist()
    return [LogRow(**record | {"first_offsets": _offsets(record["first_offsets"])}) for record in records]


def _offsets(text: str) -> dict[int, int]:
    return {int(partition): offset for partition, offset in json.loads(text).items()}
