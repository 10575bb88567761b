"""Which rows, and which files, an expression lets through."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from quality.slices import in_hours, in_ranges
from tests.support.sealed_world import HOUR, SealedWorld, logged, sealed_world
from warehouse.layout import dataset_of, open_table


@pytest.fixture
def world(tmp_path: Path) -> SealedWorld:
    """Five hours of one partition, a file each, and one event of another log."""
    world = sealed_world(tmp_path)
    world.archive([logged(offset, HOUR + offset * timedelta(hours=1)) for offset in range(5)])
    world.archive([logged(1, HOUR, log=2)])
    return world


def test_hours_pass_over_other_files(world: SealedWorld) -> None:
    raw = dataset_of(open_table(world.settings, "raw_clicks"))
    hours = [HOUR + timedelta(hours=1), HOUR + timedelta(hours=3)]
    assert set(raw.to_table(filter=in_hours(hours))["offset"].to_pylist()) == {1, 3}
    assert len(list(raw.get_fragments(filter=in_hours(hours)))) == 2


def test_ranges_are_half_open_and_of_one_place(world: SealedWorld) -> None:
    raw = dataset_of(open_table(world.settings, "raw_clicks"))
    within = in_ranges({(1, 0): (1, 3), (2, 0): (0, 1)})
    assert set(raw.to_table(filter=within)["offset"].to_pylist()) == {1, 2}
    assert len(list(raw.get_fragments(filter=within))) == 2


def test_nothing_asked_is_nothing_found(world: SealedWorld) -> None:
    raw = dataset_of(open_table(world.settings, "raw_clicks"))
    assert raw.to_table(filter=in_hours([])).num_rows == raw.to_table(filter=in_ranges({})).num_rows == 0
