"""Tallies per advertiser and hour, read from the tables that an attempt leaves."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from domain.conservation import HourTally
from domain.seals import current_seals
from quality.outcome_tallies import read_tallies
from tests.support.sealed_world import HOUR, SealedWorld, logged, sealed_world
from warehouse.seals import read_seals

NEXT_HOUR = HOUR + timedelta(hours=1)


@pytest.fixture
def world(tmp_path: Path) -> SealedWorld:
    world = sealed_world(tmp_path)
    world.archive(
        [
            logged(0, HOUR),
            logged(1, HOUR, impression_id="imp-0-0"),
            logged(2, HOUR, impression_id="imp-0-0", country="CA"),
            logged(3, HOUR, ad_id=2, advertiser_id=20, kind="prefetch"),
            logged(4, NEXT_HOUR, ad_id=2, advertiser_id=20),
        ]
    )
    world.seal(HOUR, NEXT_HOUR)
    return world


def tallies(world: SealedWorld) -> list[HourTally]:
    return read_tallies(world.settings, list(current_seals(read_seals(world.settings)).values()))


def test_each_advertiser_and_hour_has_its_own(world: SealedWorld) -> None:
    """Law 3 holds for each: 3 = 1 + 1 + 1, 1 = 0 + 1, 1 = 1."""
    assert tallies(world) == [
        HourTally(10, HOUR, 3, 1, {"duplicate": 1, "conflicting_duplicate": 1}),
        HourTally(20, HOUR, 1, 0, {"prefetch": 1}),
        HourTally(20, NEXT_HOUR, 1, 1, {}),
    ]


def test_raw_beyond_the_cut_and_rows_of_other_attempts_do_not_count(world: SealedWorld) -> None:
    """A revision leaves the rows of the first attempt where they are; a late arrival waits for the next revision."""
    world.archive([logged(5, HOUR)])
    world.seal(HOUR)
    world.archive([logged(6, HOUR)])
    assert tallies(world)[0] == HourTally(10, HOUR, 4, 2, {"duplicate": 1, "conflicting_duplicate": 1})


def test_the_cut_is_that_of_each_hour(world: SealedWorld) -> None:
    """The next hour is sealed again later; its cut must not let the first hour's late arrival in."""
    world.archive([logged(5, HOUR), logged(6, NEXT_HOUR)])
    world.seal(NEXT_HOUR)
    found = {(tally.advertiser_id, tally.hour): tally.raw_clicks for tally in tallies(world)}
    assert found == {(10, HOUR): 3, (20, HOUR): 1, (10, NEXT_HOUR): 1, (20, NEXT_HOUR): 1}


def test_hours_without_clicks_have_no_tally(tmp_path: Path) -> None:
    world = sealed_world(tmp_path)
    world.seal(HOUR)
    assert tallies(world) == []
