"""What the live stream and the archive leave of a log, for tests that compare live with final. No JVM.

The oracle in ``domain/counting.py`` says what live counts and refuses.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from deltalake import DeltaTable, write_deltalake

from domain.buckets import hour_of
from domain.counting import CountKey, LoggedEvent, count_key, final_outcomes, live_counts
from domain.identity import LogPosition, minted_at
from domain.seals import Seal
from tests.support.sealed_world import SealedWorld
from warehouse.layout import table_uri
from warehouse.schema import arrow_rows
from warehouse.tables import TABLES

Row = dict[str, Any]


def count_live(world: SealedWorld, sealed_hours: Collection[datetime] = (), unseen: Collection[int] = ()) -> None:
    """Archives identities, and counts the world's log live, without the offsets that live has not seen yet."""
    settings = world.settings
    archive_identities(world)
    log = [one for one in world.log if one.position.offset not in unseen]
    counts, late = live_counts(log, settings.live_horizon, settings.late_bound, sealed_hours)
    by_position = {one.position: one for one in log}
    first = [outcome.position for outcome in final_outcomes(log, settings.live_horizon) if outcome.is_billable]
    counted = [by_position[position] for position in first if position not in late]
    write_live(world, counts, counted)
    _append(world, "late_clicks", [_late_row(by_position[position], why) for position, why in late.items()])


def archive_identities(world: SealedWorld) -> None:
    """What look-backs read, of the whole log."""
    _append(world, "click_identities", [_identity_row(one) for one in world.log if one.event.kind == "click"])


def write_live(world: SealedWorld, counts: Mapping[CountKey, int], counted: Sequence[LoggedEvent]) -> None:
    """Rows of the live count, each with the highest offsets of the clicks that it has counted."""
    versions: dict[CountKey, dict[str, int]] = {key: {} for key in counts}
    for one in counted:
        place = f"{one.position.log}:{one.position.partition}"
        held = versions[count_key(one.event)]
        held[place] = max(held.get(place, -1), one.position.offset)
    rows = [
        key._asdict()
        | {"clicks": clicks, "versions": versions[key]}
        | {"click_date": key.minute.date(), "click_hour": key.minute.hour}
        for key, clicks in counts.items()
    ]
    _append(world, "live_clicks_minute", rows)


def compare(world: SealedWorld, seal: Seal) -> None:
    """The rows of table ``drift`` that reconcile would write of a seal, without their causes."""
    live = _sums(row for row in _rows(world, "live_clicks_minute") if hour_of(row["minute"]) == seal.hour)
    final = _sums(row for row in _rows(world, "reconciled_clicks_minute") if row["attempt"] == seal.attempt)
    rows = []
    for who in sorted(live.keys() | final.keys()):
        clicks = {"live_clicks": live.get(who, 0), "final_clicks": final.get(who, 0)}
        difference = {"difference_clicks": live.get(who, 0) - final.get(who, 0)}
        rows.append({"attempt": seal.attempt, "advertiser_id": who, "hour": seal.hour, **clicks, **difference})
    world.write_drift(rows)


def _sums(rows: Any) -> dict[int, int]:
    sums: dict[int, int] = {}
    for row in rows:
        sums[row["advertiser_id"]] = sums.get(row["advertiser_id"], 0) + row["clicks"]
    return sums


def _rows(world: SealedWorld, name: str) -> list[Row]:
    return list(DeltaTable(table_uri(world.settings, name)).to_pyarrow_table().to_pylist())


def _append(world: SealedWorld, name: str, rows: list[Row]) -> None:
    if rows:
        write_deltalake(table_uri(world.settings, name), arrow_rows(TABLES[name], rows), mode="append")


def _identity_row(one: LoggedEvent) -> Row:
    said = {"logged_at": one.logged_at, "identity": one.identity, "minted_at": minted_at(one.event.impression_id)}
    return one.position._asdict() | said | {"dimensions": 0, "log_date": one.logged_at.date()}


def _late_row(one: LoggedEvent, reason: str) -> Row:
    said = {"reason": reason, "appended_at": one.logged_at, "clicked_at": one.event.clicked_at}
    return (
        one.position._asdict()
        | count_key(one.event)._asdict()
        | said
        | {"identity": one.identity, "click_date": one.event.clicked_at.date()}
    )


def position(offset: int, partition: int = 0, log: int = 1) -> LogPosition:
    return LogPosition(log, partition, offset)
