"""The laws and the drift over what an attempt wrote, read back without the engine that wrote it. No JVM."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from domain.errors import IntegrityError
from spark_jobs.reconcile_checks import check_laws, figures
from spark_jobs.reconcile_count import Digested
from spark_jobs.reconcile_drift import DayDrift
from spark_jobs.reconcile_written import WrittenAttempt, written_attempt
from tests.support.archive_world import ArchiveWorld, Click, H

ATTEMPT = "an attempt"
CUT = {H.hour: {"1:0": 4, "1:1": 2}}
DIGEST = "d" * 64
ROW = {
    "attempt": ATTEMPT,
    "advertiser_id": 10,
    "campaign_id": 100,
    "ad_id": 1,
    "minute": H,
    "country": "DE",
    "device": "mobile",
    "clicks": 1,
    "click_date": H.date(),
    "click_hour": H.hour,
}


@pytest.fixture
def world(tmp_path: Path) -> ArchiveWorld:
    """Four clicks of one advertiser and two of another below the cut, one of them a repeat, and two beyond it."""
    world = ArchiveWorld(tmp_path)
    world.archive([Click("a"), Click("b", 1), Click("a", 2), Click("c", 3), Click("beyond", 4)])
    other = {"advertiser": 20, "ad": 2, "partition": 1}
    world.archive([Click("d", **other), Click("e", 1, **other), Click("beyond too", 2, **other)])
    exclude(world, 2)
    return world


def exclude(world: ArchiveWorld, offset: int, **changes: Any) -> None:
    place = {"attempt": ATTEMPT, "log": 1, "partition": 0, "offset": offset, "advertiser_id": 10, "ad_id": 1}
    winner = {"winner_log": 1, "winner_partition": 0, "winner_offset": 0, "verdict_id": None}
    hour = {"click_date": H.date(), "click_hour": H.hour}
    world.write_rows("click_exclusions", [{**place, **winner, **hour, "reason": "duplicate", **changes}])


def count(world: ArchiveWorld, *rows: dict[str, Any]) -> None:
    world.write_rows("reconciled_clicks_minute", [ROW | row for row in rows])


def count_rightly(world: ArchiveWorld) -> None:
    minute = timedelta(minutes=1)
    count(world, {"minute": H}, {"minute": H + minute}, {"minute": H + 3 * minute})
    count(world, {"advertiser_id": 20, "ad_id": 2}, {"advertiser_id": 20, "ad_id": 2, "minute": H + minute})


@contextmanager
def written(world: ArchiveWorld) -> Iterator[WrittenAttempt]:
    with written_attempt(world.settings, H.date(), CUT, {H.hour: ATTEMPT}) as attempt:
        yield attempt


def violation(world: ArchiveWorld) -> str:
    with written(world) as attempt, pytest.raises(IntegrityError) as refused:
        check_laws(attempt, H.date())
    return refused.value.found


def test_what_adds_up_passes(world: ArchiveWorld) -> None:
    """Rows of another attempt at the same hour are no part of it."""
    count_rightly(world)
    count(world, {"attempt": "another"})
    exclude(world, 3, attempt="another")
    with written(world) as attempt:
        check_laws(attempt, H.date())
        found = figures(attempt, H.date(), {H.hour: Digested(DIGEST, 5)})[H.hour]
    assert (found.raw, found.billable, found.excluded, found.digest) == (6, 5, {"duplicate": 1}, DIGEST)


def test_a_click_that_vanished_is_named(world: ArchiveWorld) -> None:
    """Law 3."""
    count(world, {"clicks": 3}, {"advertiser_id": 20, "ad_id": 2})
    assert "advertiser 20, hour 2026-05-04T10:00:00Z: 2 raw clicks, but 1 billable = 1" in violation(world)
    assert "advertiser 10" not in violation(world).split(";", maxsplit=1)[0]


def test_a_click_that_was_excluded_and_counted_is_named(world: ArchiveWorld) -> None:
    count_rightly(world)
    exclude(world, 3, reason="head")
    assert "advertiser 10, hour 2026-05-04T10:00:00Z: 4 raw clicks, but 3 billable + 1 duplicate + 1 head" in violation(
        world
    )


def test_a_position_that_is_excluded_twice_is_named(world: ArchiveWorld) -> None:
    count(world, {"clicks": 2}, {"advertiser_id": 20, "ad_id": 2, "clicks": 2})
    exclude(world, 2)
    found = violation(world)
    assert "raw clicks" not in found  # law 3 holds
    assert found.count("country DE") == 2  # the key has one click too few, by hour and by day


def test_a_click_under_another_key_is_named(world: ArchiveWorld) -> None:
    """Law 9: the advertiser's sum is right, its keys are not."""
    count_rightly(world)
    count(world, {"clicks": -1}, {"country": "FR"})
    assert "country FR, device mobile: hour 2026-05-04T10:00:00Z has 0 clicks, its minutes add up to 1" in violation(
        world
    )


def test_a_minute_in_the_wrong_hour_is_named(world: ArchiveWorld) -> None:
    count_rightly(world)
    count(world, {"clicks": -1}, {"minute": H + timedelta(hours=1)})
    assert "hour 2026-05-04T11:00:00Z has 0 clicks, its minutes add up to 1" in violation(world)


def test_a_digest_of_other_clicks_is_refused(world: ArchiveWorld) -> None:
    count_rightly(world)
    with written(world) as attempt, pytest.raises(IntegrityError, match="5 billable clicks were written, the digest"):
        figures(attempt, H.date(), {H.hour: Digested(DIGEST, 4)})


def test_drift_has_a_row_for_each_advertiser_that_anybody_counted(world: ArchiveWorld) -> None:
    """F4: also one that only live knows. A late click counts as a cause only where final has it, below the cut."""
    count_rightly(world)
    late = world.events[1].position, world.events[2].position, world.events[4].position
    world.write_late(late)  # billable, excluded, beyond the cut
    live = {name: value for name, value in ROW.items() if name not in ("attempt", "clicks")} | {"versions": {}}
    world.write_rows("live_clicks_minute", [live | {"clicks": 3}, live | {"advertiser_id": 30, "clicks": 9}])
    with written(world) as attempt:
        day = DayDrift(world.settings, H.date(), {H.hour: ATTEMPT}, {(H.hour, 10): 1})
        found = day.write(attempt)[H.hour]
    rows = {row.pop("advertiser_id"): row for row in world.rows("drift")}
    numbers = {
        key: [value for name, value in sorted(row.items()) if name.endswith("clicks")] for key, row in rows.items()
    }
    names = sorted(name for name in rows[10] if name.endswith("clicks"))
    assert names == [
        *("dedup_horizon_clicks", "difference_clicks", "extra_clicks", "final_clicks", "fraud_clicks", "late_clicks"),
        *("live_clicks", "missing_clicks", "raw_clicks"),
    ]
    assert numbers == {
        10: [1, 0, 0, 3, 0, 1, 3, 0, 4],
        20: [0, -2, 0, 2, 0, 0, 0, 2, 2],
        30: [0, 9, 9, 0, 0, 0, 9, 0, 0],
    }
    assert (found.live, found.unexplained, found.alert_count) == (12, 11, 1)
    assert [(row["attempt"], row["hour"], row["is_alert"]) for _, row in sorted(rows.items())] == [
        (ATTEMPT, H, False),
        (ATTEMPT, H, False),
        (ATTEMPT, H, True),
    ]


def test_fraud_is_a_cause_of_drift_where_live_counted_the_click(world: ArchiveWorld) -> None:
    """Law 3 with the reason; of two clicks judged live refused one as late, so it is no cause of anything."""
    minute = timedelta(minutes=1)
    count(world, {"minute": H}, {"minute": H + minute}, {"minute": H + 3 * minute})
    for offset in (0, 1):
        exclude(world, offset, partition=1, reason="fraud", advertiser_id=20, ad_id=2, verdict_id="v1")
    exclude(world, 3, reason="fraud", attempt="another", verdict_id="v2")
    world.write_late([world.events[6].position])
    live = {name: value for name, value in ROW.items() if name not in ("attempt", "clicks")} | {"versions": {}}
    world.write_rows("live_clicks_minute", [live | {"clicks": 3}, live | {"advertiser_id": 20, "clicks": 1}])
    with written(world) as attempt:
        check_laws(attempt, H.date())
        figured = figures(attempt, H.date(), {H.hour: Digested(DIGEST, 3)})[H.hour]
        found = DayDrift(world.settings, H.date(), {H.hour: ATTEMPT}, {}).write(attempt)[H.hour]
    assert (figured.raw, figured.billable, figured.excluded) == (6, 3, {"duplicate": 1, "fraud": 2})
    assert found.unexplained == 0
    fraud = {row["advertiser_id"]: (row["difference_clicks"], row["fraud_clicks"]) for row in world.rows("drift")}
    assert fraud == {10: (0, 0), 20: (1, 1)}
