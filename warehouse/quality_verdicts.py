"""Tables ``quality_verdicts`` and ``quality_overrides``: appending and reading them.

Belongs here: rows to verdicts and back. Which of them count and what holds an hour: ``domain/quality_verdicts.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from deltalake import write_deltalake

from domain.cases import check_reason
from domain.errors import UsageError
from domain.quality_verdicts import Override, Verdict, blocking, newest
from domain.settings import Settings
from domain.texts import check_actor
from warehouse.layout import dataset_of, open_table, rows_of
from warehouse.ledger import keep_few_files
from warehouse.schema import INSTANT, arrow_rows
from warehouse.table import Table
from warehouse.tables.quality_overrides import QUALITY_OVERRIDES
from warehouse.tables.quality_verdicts import QUALITY_VERDICTS

DERIVED = ("is_blocking", "hour_date")


def append_verdicts(settings: Settings, verdicts: Sequence[Verdict]) -> None:
    """Appends in one commit. Rows do not depend on each other, so writers that race all get theirs in."""
    if verdicts:
        _append(settings, QUALITY_VERDICTS, (_record(one) for one in verdicts))


def read_verdicts(settings: Settings, hours: Iterable[datetime], attempt: str | None = None) -> list[Verdict]:
    """All that was ever said about these hours, of one attempt if it is given; oldest first."""
    wanted = sorted(set(hours))
    is_wanted = ds.field("hour_date").isin(pa.array(sorted({hour.date() for hour in wanted}), pa.date32()))
    is_wanted &= ds.field("hour").isin(pa.array(wanted, INSTANT))
    if attempt is not None:
        is_wanted &= ds.field("attempt") == attempt
    found = dataset_of(open_table(settings, QUALITY_VERDICTS.name)).to_table(filter=is_wanted)
    ordered = found.sort_by([(name, "ascending") for name in ("judged_at", "table_name", "hour", "rule", "group")])
    return [Verdict(**record) for record in ordered.drop_columns(list(DERIVED)).to_pylist()]


def read_newest_hours(settings: Settings, count: int) -> list[datetime]:
    """The newest hours that were judged, at most so many of them; oldest first."""
    found = dataset_of(open_table(settings, QUALITY_VERDICTS.name)).to_table(columns=["hour"])
    hours: list[datetime] = list(filter(None, pc.unique(found.column("hour")).to_pylist()))
    return sorted(hours)[-count:]


def release(settings: Settings, hour: datetime, rule: str, *, actor: str, reason: str, at: datetime) -> list[Override]:
    """Lets an hour go although this rule holds it: a row for each group that it holds, of each attempt.

    Atomic. ``UsageError`` without an actor or a reason, or if the rule does not hold the hour.
    """
    check_actor(actor)
    check_reason(reason)
    held = [one.verdict for one in blocking(read_verdicts(settings, [hour]), read_overrides(settings))]
    meant = sorted({(one.group, one.observed) for one in held if one.rule == rule})
    if not meant:
        others = ", ".join(sorted({one.rule for one in held})) or "nothing"
        raise UsageError(
            f"rule {rule} does not hold hour {hour:%Y-%m-%dT%H:%MZ}, {others} does",
            "a rule that holds it",
            "name one that `tallystick quality show` lists as held back",
        )
    fresh = [
        Override(
            kind="release",
            hour=hour,
            rule=rule,
            group=group,
            observed=observed,
            actor=actor,
            reason=reason,
            recorded_at=at,
        )
        for group, observed in meant
    ]
    _append(settings, QUALITY_OVERRIDES, map(asdict, fresh))
    return fresh


def accept_level(
    settings: Settings, hour: datetime, rule: str, group: str, *, actor: str, reason: str, at: datetime
) -> Override:
    """Says that from this hour on the new level that the rule complains of is the right one. Atomic.

    ``UsageError`` without an actor or a reason, or if the rule did not fail for this group in this hour.
    """
    check_actor(actor)
    check_reason(reason)
    failed = {(one.rule, one.group) for one in newest(read_verdicts(settings, [hour])) if one.outcome == "fail"}
    if (rule, group) not in failed:
        raise UsageError(
            f"rule {rule} did not fail for group {group!r} of hour {hour:%Y-%m-%dT%H:%MZ}",
            "one that did",
            "name a rule and a group that `tallystick quality show` lists as fail",
        )
    fresh = Override(
        kind="accept_level",
        hour=hour,
        rule=rule,
        group=group,
        observed="",
        actor=actor,
        reason=reason,
        recorded_at=at,
    )
    _append(settings, QUALITY_OVERRIDES, [asdict(fresh)])
    return fresh


def read_overrides(settings: Settings) -> list[Override]:
    """All of them, oldest first."""
    ordered = rows_of(open_table(settings, QUALITY_OVERRIDES.name)).sort_by(
        [(name, "ascending") for name in ("recorded_at", "hour", "rule", "group")]
    )
    return [Override(**record) for record in ordered.to_pylist()]


def _append(settings: Settings, table: Table, records: Iterable[Mapping[str, Any]]) -> None:
    snapshot = open_table(settings, table.name)
    write_deltalake(snapshot, arrow_rows(table, records), mode="append")
    keep_few_files(snapshot)


def _record(one: Verdict) -> dict[str, Any]:
    return asdict(one) | {"is_blocking": one.is_blocking, "hour_date": one.hour.date()}
