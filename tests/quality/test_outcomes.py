"""Outcomes of a range: by the seals that readers see, held to the law and to the seals; quarantine beside them."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from domain.conservation import HourTally
from quality import outcomes
from quality.outcomes import read_hour_outcomes, read_quarantined
from tests.support.outcomes_world import seal_with_outcomes
from tests.support.sealed_world import HOUR, SealedWorld, logged, sealed_world

NEXT = HOUR + timedelta(hours=1)
AFTER = NEXT + timedelta(hours=1)


@pytest.fixture
def world(tmp_path: Path) -> SealedWorld:
    found = sealed_world(tmp_path)
    found.archive(
        [
            logged(0, HOUR),
            logged(1, HOUR, impression_id="imp-0-0"),
            logged(2, HOUR, ad_id=2, advertiser_id=20, kind="prefetch"),
            logged(3, NEXT),
        ]
    )
    seal_with_outcomes(found, HOUR, NEXT)
    found.publish()
    return found


FIRST, OTHER = HourTally(10, HOUR, 2, 1, {"duplicate": 1}), HourTally(20, HOUR, 1, 0, {"prefetch": 1})
LATER = HourTally(10, NEXT, 1, 1, {})


def test_final_hours_by_advertiser(world: SealedWorld) -> None:
    found = read_hour_outcomes(world.settings, [HOUR, NEXT, AFTER])
    assert found.tallies == (FIRST, OTHER, LATER)
    assert (found.hour_count, found.not_final, found.violations) == (2, (AFTER,), ())
    assert read_hour_outcomes(world.settings, [HOUR], 20).tallies == (OTHER,)
    assert read_hour_outcomes(world.settings, [AFTER]).tallies == ()


def test_a_revision_counts_once_it_is_published(world: SealedWorld) -> None:
    """F3: the rows of the attempt before stay, and are in no sum."""
    world.archive([logged(4, HOUR)])
    seal_with_outcomes(world, HOUR)
    assert read_hour_outcomes(world.settings, [HOUR]).tallies == (FIRST, OTHER)
    world.publish()
    revised = HourTally(10, HOUR, 3, 2, {"duplicate": 1})
    assert read_hour_outcomes(world.settings, [HOUR]).tallies == (revised, OTHER)


def test_a_changed_row_is_found_whoever_asks(world: SealedWorld) -> None:
    """Law 3: also if the row still adds up, and if another advertiser is asked about."""
    world.tamper(
        "click_outcomes_hour",
        lambda row: row | {"raw_clicks": 3, "billable_clicks": 2} if row["duplicate_clicks"] else row,
    )
    (violation,) = read_hour_outcomes(world.settings, [HOUR, NEXT], 20).violations
    assert violation.startswith("hour 2026-11-30T09:00:00Z: seal 1 says 3 raw")


def test_quarantined_records_by_reason_when_they_were_logged(world: SealedWorld) -> None:
    world.quarantine(7)
    world.quarantine(8)
    assert read_quarantined(world.settings, HOUR, NEXT) == {"empty": 2}
    assert read_quarantined(world.settings, NEXT, AFTER) == {}
    assert read_quarantined(world.settings, HOUR - timedelta(hours=1), HOUR) == {}


def test_a_day_at_a_time(world: SealedWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everybody's rows of a year are never in memory at once, whoever is asked about."""
    tomorrow = HOUR + timedelta(days=1)
    world.archive([logged(4, tomorrow)])
    seal_with_outcomes(world, tomorrow)
    read, asked = outcomes.read_outcomes, []

    def watched(settings: Any, attempts: Any) -> list[HourTally]:
        asked.append(sorted(attempts))
        return read(settings, attempts)

    monkeypatch.setattr(outcomes, "read_outcomes", watched)
    world.publish()
    found = read_hour_outcomes(world.settings, [HOUR, NEXT, tomorrow], 10)
    assert asked == [[HOUR, NEXT], [tomorrow]]
    assert (found.tallies, found.violations) == ((FIRST, LATER, HourTally(10, tomorrow, 1, 1, {})), ())
