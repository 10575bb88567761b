"""The next seal: the first hour that is not sealed, and why it waits."""

from __future__ import annotations

from pathlib import Path

from domain.buckets import HOUR as AN_HOUR
from spark_jobs.next_seal import NextSeal, next_seal
from tests.support.sealed_world import HOUR, SEALED_AT, logged, sealed_world


def test_nothing_is_next_before_the_first_click(tmp_path: Path) -> None:
    assert next_seal(sealed_world(tmp_path).settings, SEALED_AT, "the log is away") is None


def test_the_first_archived_hour_is_first_then_the_one_after_the_sealed(tmp_path: Path) -> None:
    world = sealed_world(tmp_path)
    world.archive([logged(0, HOUR), logged(1, HOUR + 2 * AN_HOUR)])
    assert next_seal(world.settings, SEALED_AT, "the log is away") == NextSeal(HOUR, ("the log is away",))
    world.seal(HOUR)
    world.publish()
    assert next_seal(world.settings, SEALED_AT, "the log is away") == NextSeal(HOUR + AN_HOUR, ("the log is away",))
