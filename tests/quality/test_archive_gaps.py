"""Gaps between offsets that the archive holds: at the edges, in the middle, over both of its tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from quality.archive_gaps import find_gaps
from tests.support.sealed_world import HOUR, SealedWorld, logged, sealed_world


@pytest.fixture
def world(tmp_path: Path) -> SealedWorld:
    """Offsets 3, 4, 7 of partition 0 in raw_clicks, 5 in quarantined_clicks; offset 0 of partition 1."""
    world = sealed_world(tmp_path)
    world.archive([logged(offset, HOUR) for offset in (3, 4, 7)] + [logged(0, HOUR, partition=1)])
    world.quarantine(5)
    return world


@pytest.mark.parametrize(
    ("start", "end", "gaps"),
    [
        pytest.param(3, 6, [], id="A7-quarantined-is-held"),
        pytest.param(3, 8, [(6, 7)], id="A11-in-the-middle"),
        pytest.param(1, 6, [(1, 3)], id="A6-at-the-start"),
        pytest.param(3, 10, [(6, 7), (8, 10)], id="F1-at-the-end"),
        pytest.param(20, 25, [(20, 25)], id="A11-nothing-held"),
        pytest.param(5, 5, [], id="empty-range"),
    ],
)
def test_gaps(world: SealedWorld, start: int, end: int, gaps: list[tuple[int, int]]) -> None:
    """A6, A7, A11, F1 by case id."""
    assert find_gaps(world.settings, {(1, 0): (start, end)}) == [((1, 0), gap) for gap in gaps]


def test_partitions_and_logs_do_not_fill_each_others_gaps(world: SealedWorld) -> None:
    """A3: offset 0 of the recreated topic is not offset 0 of the old one."""
    assert find_gaps(world.settings, {(1, 1): (0, 2), (2, 1): (0, 1)}) == [((1, 1), (1, 2)), ((2, 1), (0, 1))]


def test_an_offset_that_is_held_twice_hides_no_gap(world: SealedWorld) -> None:
    world.archive([logged(5, HOUR)])
    assert find_gaps(world.settings, {(1, 0): (3, 8)}) == [((1, 0), (6, 7))]
