"""Impression ids as others read them: the mint time that the product finds in them."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from random import Random

from domain.events import FIELDS
from domain.identity import minted_at
from traffic.event import instant, microseconds
from traffic.impressions import fresh_id, old_id, opaque_id

CLICKED_US = microseconds(datetime(2026, 3, 1, 9, 30, tzinfo=UTC))
COUNT = 2_000


def _ages(ids: list[str]) -> list[timedelta]:
    minted = [minted_at(each) for each in ids]
    return [instant(CLICKED_US) - each for each in minted if each is not None]


def test_fresh_ids_were_minted_within_two_minutes_before() -> None:
    random = Random(1)
    ages = _ages([fresh_id(random, CLICKED_US) for _ in range(COUNT)])
    assert len(ages) == COUNT
    assert timedelta(0) <= min(ages) < timedelta(seconds=2)
    assert timedelta(seconds=118) < max(ages) <= timedelta(minutes=2)


def test_old_ids_were_minted_an_hour_to_ten_days_before() -> None:
    random = Random(1)
    ages = _ages([old_id(random, CLICKED_US) for _ in range(COUNT)])
    assert len(ages) == COUNT
    assert timedelta(hours=1) <= min(ages) < timedelta(hours=3)
    assert timedelta(days=9) < max(ages) <= timedelta(days=10)
    assert any(age > timedelta(days=7) for age in ages)


def test_opaque_ids_tell_no_time_that_could_be_true() -> None:
    random = Random(1)
    ids = [opaque_id(random) for _ in range(COUNT)]
    minted = [minted_at(each) for each in ids]
    assert minted.count(None) > COUNT // 2
    in_future = [at for at in minted if at is not None]
    assert in_future
    assert min(in_future) >= datetime(2100, 1, 1, tzinfo=UTC)
    assert {"-" in each[8:9] for each in ids} == {True, False}


def test_every_id_is_valid_and_its_own() -> None:
    random = Random(1)
    pattern = next(field.pattern for field in FIELDS if field.name == "impression_id")
    assert pattern is not None
    ids = [make for _ in range(COUNT) for make in (fresh_id(random, CLICKED_US), opaque_id(random))]
    assert all(re.search(pattern, each) for each in ids)
    assert len(set(ids)) == len(ids)
