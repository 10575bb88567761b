"""Minutes that are gone from the final table are the same ones out of the sealed attempts, wherever they are read."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.support.kept_world import EARLY, HOUR, IN_SPRING, NOVEMBER, YEARS_LATER, kept_world
from tests.support.sealed_world import SealedWorld
from warehouse.counts import CountsReader
from warehouse.counts_query import CountsQuery
from warehouse.maintenance import maintain
from warehouse.publications import latest_publication
from warehouse.published_minutes import published_minutes
from warehouse.statements import read_statement

COLUMNS = ["minute", "advertiser_id", "campaign_id", "ad_id", "country", "device", "clicks"]


@pytest.fixture
def world(tmp_path: Path) -> SealedWorld:
    return kept_world(tmp_path)


def minutes(world: SealedWorld) -> pa.Table:
    publication = latest_publication(world.settings)
    assert publication is not None
    found = published_minutes(world.settings, publication, NOVEMBER.hours)
    return found.to_table(columns=COLUMNS).sort_by("minute")


def answers(world: SealedWorld) -> list[Any]:
    """By every grain, with edges within an hour and within a day; and a statement in a zone of half hours."""
    reader = CountsReader(world.settings)
    ranges = [(NOVEMBER.start, NOVEMBER.end), (HOUR + timedelta(minutes=1), HOUR + timedelta(minutes=3)), (EARLY, HOUR)]
    counts = [
        reader.answer(CountsQuery(start, end, grain)).rows
        for start, end in ranges
        for grain in ("minute", "hour", "day")
    ]
    return [*counts, read_statement(world.settings, 10, NOVEMBER, "Asia/Kolkata").clicks.to_pylist()]


@pytest.mark.parametrize("at", [IN_SPRING, YEARS_LATER], ids=["minutes-gone", "hours-gone"])
def test_answers_and_statements_stay_the_same_after_retention(world: SealedWorld, at: Any) -> None:
    """F7: invoiced numbers stay readable."""
    before, rows = answers(world), minutes(world)
    maintain(world.settings, "test", lambda: at)
    assert answers(world) == before
    assert minutes(world).to_pylist() == rows.to_pylist()
    assert sum(row["clicks"] for row in before[0]) == 10


def test_hours_that_are_still_there_are_read_from_the_final_table(world: SealedWorld) -> None:
    maintain(world.settings, "test", lambda: IN_SPRING)
    publication = latest_publication(world.settings)
    assert publication is not None
    of_december = [HOUR + timedelta(days=1)]
    assert "attempt" not in published_minutes(world.settings, publication, of_december).schema.names
