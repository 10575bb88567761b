"""Hours with raw clicks: those of the period, told without opening a file."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from domain.buckets import HOUR
from tests.support.periods import NOVEMBER, OCTOBER
from tests.support.sealed_world import logged, sealed_world
from warehouse.filled_hours import filled_hours


def test_hours_of_the_period_alone(tmp_path: Path) -> None:
    world = sealed_world(tmp_path)
    assert filled_hours(world.settings, NOVEMBER) == frozenset()
    last = NOVEMBER.end - HOUR
    world.archive([logged(0, OCTOBER.end - HOUR), logged(1, NOVEMBER.start), logged(2, last + timedelta(minutes=59))])
    assert filled_hours(world.settings, NOVEMBER) == {NOVEMBER.start, last}
