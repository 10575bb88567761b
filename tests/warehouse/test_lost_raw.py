"""Hours that rest on raw clicks which retention deleted, by its ledger."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from domain.buckets import HOUR as AN_HOUR
from domain.retention import Partition
from tests.support.sealed_world import HOUR, SEALED_AT, SealedWorld, logged, sealed_world
from warehouse.lost_raw import LostRaw
from warehouse.retention_steps import Ending, end_step, intend


def deleted(world: SealedWorld, ending: Ending | None) -> LostRaw:
    """After a step that says it deletes ``HOUR`` and the hour before it, of which only the latter has no clicks."""
    partitions = [Partition(at.date(), at.hour) for at in (HOUR - AN_HOUR, HOUR)]
    step = intend(
        world.settings, "raw_clicks", partitions, row_count=1, file_bytes=1, policy="p", actor="ada", at=SEALED_AT
    )
    if ending is not None:
        end_step(world.settings, step, ending, SEALED_AT)
    return LostRaw(world.settings)


@pytest.mark.parametrize(
    ("ending", "own", "reaching_back"),
    [
        pytest.param("done", True, True, id="done"),
        pytest.param("abandoned", False, False, id="abandoned"),
        pytest.param(None, True, True, id="not-ended"),
    ],
)
def test_a_step_counts_as_far_as_it_went(tmp_path: Path, ending: Ending | None, own: bool, reaching_back: bool) -> None:
    """F7. ``own``: of an hour that reaches back to ``HOUR`` only; ``reaching_back``: to the one before it, too."""
    world = sealed_world(tmp_path)
    world.archive([logged(0, HOUR)])
    lost = deleted(world, ending)
    day_and_week = timedelta(days=8)
    assert lost.touches(HOUR + day_and_week, 7) is own
    assert lost.touches(HOUR - AN_HOUR + day_and_week, 7) is reaching_back
    assert not lost.touches(HOUR + day_and_week + AN_HOUR, 7)


def test_nothing_is_lost_without_a_step(tmp_path: Path) -> None:
    assert not LostRaw(sealed_world(tmp_path).settings).touches(HOUR, 7)


def test_nothing_is_lost_by_a_step_that_was_not_taken(tmp_path: Path) -> None:
    world = sealed_world(tmp_path)
    world.archive([logged(0, HOUR), logged(1, HOUR - AN_HOUR)])
    assert not deleted(world, None).touches(HOUR, 7)
