"""Published figures that add up, and ones that do not."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from domain.buckets import day_of
from domain.errors import IntegrityError
from quality.published import PublishedFigures
from tests.support.sealed_world import HOUR, Row, SealedWorld, logged, sealed_world
from warehouse.layout import table_uri
from warehouse.publications import latest_publication

NEXT_HOUR = HOUR + timedelta(hours=1)
KEY = "advertiser 10, campaign 100, ad 1, country US, device mobile"


@pytest.fixture
def world(tmp_path: Path) -> SealedWorld:
    """Two hours: 3 clicks in two minutes, then 1 click."""
    world = sealed_world(tmp_path)
    minute = timedelta(minutes=1)
    world.archive([logged(0, HOUR), logged(1, HOUR), logged(2, HOUR + minute), logged(3, NEXT_HOUR)])
    world.seal(HOUR, NEXT_HOUR)
    world.publish()
    return world


def violations(world: SealedWorld) -> list[str]:
    publication = latest_publication(world.settings)
    assert publication is not None
    figures = PublishedFigures(world.settings, publication)
    hours = [violation for hour in (HOUR, NEXT_HOUR) for violation in figures.violations("hour", hour)]
    return hours + figures.violations("day", day_of(HOUR))


def add(count: int, **where: object) -> Callable[[Row], Row]:
    def change(row: Row) -> Row:
        is_meant = all(row.get(name) == value for name, value in where.items())
        return row | {"clicks": row["clicks"] + count} if is_meant else row

    return change


def test_figures_that_add_up(world: SealedWorld) -> None:
    """Law 9: hour 3 = 2 + 1, day 4 = 3 + 1."""
    assert violations(world) == []


def test_a_changed_minute_is_no_part_of_its_hour_any_more(world: SealedWorld) -> None:
    """Law 9, F2."""
    world.tamper("final_clicks_minute", add(4, minute=NEXT_HOUR))
    assert violations(world) == [f"{KEY}: hour 2026-11-30T10:00:00Z has 1 clicks, its minutes add up to 5"]


def test_a_changed_hour_differs_from_its_minutes_and_its_day(world: SealedWorld) -> None:
    """Law 9, F2: the hour counted twice."""
    world.tamper("final_clicks_hour", add(3, hour=HOUR))
    assert violations(world) == [
        f"{KEY}: hour 2026-11-30T09:00:00Z has 6 clicks, its minutes add up to 3",
        f"{KEY}: day 2026-11-30T00:00:00Z has 4 clicks, its hours add up to 7",
    ]


def test_a_row_that_is_gone_counts_as_none(world: SealedWorld) -> None:
    world.tamper("final_clicks_day", lambda _: None)
    assert violations(world) == [f"{KEY}: day 2026-11-30T00:00:00Z has 0 clicks, its hours add up to 4"]


def test_a_key_that_stands_twice_is_found_though_its_sum_is_right(world: SealedWorld) -> None:
    """D4: 3 clicks as 1 + 2 in two rows of one key."""
    rows: list[Row] = []

    def split(row: Row) -> Row:
        rows.append(row)
        return row | {"clicks": 1 if len(rows) == 1 else 2, "hour": HOUR}

    world.tamper("final_clicks_hour", split)
    assert violations(world)[:2] == [
        f"{KEY}: hour 2026-11-30T09:00:00Z has 1 clicks, its minutes add up to 3",
        f"{KEY}: hour 2026-11-30T09:00:00Z has 2 clicks, its minutes add up to 3",
    ]


def test_it_is_the_versions_of_the_publication_that_are_read(world: SealedWorld) -> None:
    """Law 8: what a later commit wrote is not visible yet."""
    publication = latest_publication(world.settings)
    assert publication is not None
    world.archive([logged(4, HOUR)])
    world.seal(HOUR)
    world.publish()
    before = PublishedFigures(world.settings, publication)
    assert sorted(row["clicks"] for row in before.minutes_of(HOUR).read_all().to_pylist()) == [1, 2]
    assert before.has_minutes(HOUR)
    assert not before.has_minutes(HOUR - timedelta(hours=1))


def test_a_version_that_cannot_be_opened_is_named(world: SealedWorld) -> None:
    publication = latest_publication(world.settings)
    assert publication is not None
    with pytest.raises(IntegrityError, match="version 99 of table final_clicks_hour cannot be opened"):
        PublishedFigures(world.settings, replace(publication, hour_version=99))
    shutil.rmtree(table_uri(world.settings, "final_clicks_day"))
    with pytest.raises(IntegrityError, match="table final_clicks_day cannot be opened"):
        PublishedFigures(world.settings, publication)
