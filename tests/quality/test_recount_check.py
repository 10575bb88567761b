"""The daily sample: the same for the same day, another one each day; what differs fails, and names the hour."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from assets.quality_checks import day_check_results
from domain.buckets import DAY, HOUR, day_of, hours_between
from quality.recount_check import RECOUNT, SAMPLED_OF_DAY, SAMPLED_OF_PAST, sampled_hours
from tests.support.sealed_world import HOUR as SEALED_HOUR
from tests.support.sealed_world import logged, sealed_world

TODAY = day_of(SEALED_HOUR)
HOURS = list(hours_between(TODAY, TODAY + DAY))
SEALED = list(hours_between(TODAY - 40 * DAY, TODAY + DAY))


def test_the_sample_is_of_the_day_and_of_the_past() -> None:
    sample = sampled_hours(HOURS, SEALED)
    assert sample == sampled_hours(reversed(HOURS), reversed(SEALED)) == sorted(set(sample))
    assert len([hour for hour in sample if hour in HOURS]) == SAMPLED_OF_DAY
    assert len([hour for hour in sample if hour < TODAY]) == SAMPLED_OF_PAST


def test_in_time_most_of_the_past_is_looked_at() -> None:
    """Forty days of the past, by a sample of two a day, one day after the other."""
    days = [TODAY + number * DAY for number in range(40)]
    past = list(hours_between(TODAY - 2 * DAY, TODAY))
    seen = {hour for day in days for hour in sampled_hours([day], past)}
    assert len(seen.intersection(past)) > len(past) * 3 // 4


def test_the_first_day_has_no_past() -> None:
    assert len(sampled_hours(HOURS, HOURS)) == SAMPLED_OF_DAY
    assert sampled_hours(HOURS[:1], []) == HOURS[:1]


def test_what_differs_fails_the_day_and_is_named(tmp_path: Path) -> None:
    """Seen passing and failing, through Dagster's own result; an older hour is in the sample, too."""
    world = sealed_world(tmp_path)
    yesterday = SEALED_HOUR - DAY
    world.archive([logged(0, yesterday), logged(1, SEALED_HOUR)])
    world.seal(yesterday, SEALED_HOUR)
    world.publish()
    result = RECOUNT.run(world.settings, [SEALED_HOUR])
    assert result.is_passed
    assert result.metadata["recounted_hours"] == ["2026-11-29T09:00:00Z", "2026-11-30T09:00:00Z"]
    world.tamper("raw_clicks", lambda row: None if row["offset"] == 0 else row)
    found = {one.check_name: one for one in day_check_results(world.settings, [SEALED_HOUR])}
    assert (found["rollups"].passed, found["recount"].passed) == (True, False)
    (violations, *_) = found["recount"].metadata["violations"].value
    assert violations == "hour 2026-11-29T09:00:00Z: seal 1: 1 raw clicks sealed, 0 recounted"


def test_an_unsealed_hour_is_no_agreement(tmp_path: Path) -> None:
    result = RECOUNT.run(sealed_world(tmp_path).settings, [SEALED_HOUR + timedelta(hours=1)])
    assert not result.is_passed
    assert result.metadata["violations"] == [f"hour {SEALED_HOUR + HOUR:%Y-%m-%dT%H}:00:00Z: it has no seal"]
