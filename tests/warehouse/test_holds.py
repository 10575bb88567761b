"""Legal holds as whoever deletes will ask for them."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from domain.buckets import HOUR as AN_HOUR
from tests.support.sealed_world import HOUR, SEALED_AT, logged, sealed_world
from tests.warehouse.test_disputes import CLAIM, RESOLUTION
from warehouse.disputes import open_dispute, resolve_dispute
from warehouse.holds import holds


def test_disputed_hours_are_held(tmp_path: Path) -> None:
    """F7: open cases hold for ever, resolved ones for so many days."""
    world = sealed_world(tmp_path)
    assert holds(world.settings, SEALED_AT) == []
    world.archive([logged(0, HOUR)])
    world.seal(HOUR)
    for _ in range(2):
        open_dispute(world.settings, CLAIM)
    resolve_dispute(world.settings, "D-1", RESOLUTION)
    settings = replace(world.settings, dispute_hold_days=10)
    until = RESOLUTION.resolved_at + timedelta(days=10)
    first, second = holds(settings, until - timedelta(microseconds=1))
    assert (first.case_id, first.until_at, second.case_id, second.until_at) == ("D-1", until, "D-2", None)
    assert (first.start, first.end) == (HOUR, HOUR + AN_HOUR)
    assert [hold.case_id for hold in holds(settings, until)] == ["D-2"]
