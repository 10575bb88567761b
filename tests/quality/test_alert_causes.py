"""What is wrong is one cause, however many hours and groups show it; what cannot be looked at is a cause, too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from domain.alerts import Cause
from domain.buckets import HOUR
from domain.errors import IntegrityError
from domain.quality_metrics import Metric
from domain.quality_verdicts import Verdict
from quality.alert_causes import drift_causes, look_everywhere, looks_of, seal_causes, verdict_causes
from tests.domain.test_quality_verdicts import VERDICT
from tests.support.ledgers import FIRST_HOUR, seal_draft
from tests.support.ports import free_port
from tests.support.sealed_world import SealedWorld, sealed_world
from warehouse.quality_metrics import append_metrics
from warehouse.quality_verdicts import append_verdicts, release
from warehouse.seals import append_seals

AT = FIRST_HOUR + timedelta(hours=4, minutes=20)


@pytest.fixture
def world(tmp_path: Path) -> SealedWorld:
    return sealed_world(tmp_path / "home")


def judged(world: SealedWorld, *verdicts: Verdict) -> None:
    """Writes them, with the measuring that makes their attempt the newest of its hour."""
    for one in {verdict.hour: verdict for verdict in verdicts}.values():
        metric = Metric("raw_clicks", one.hour, "rows", "", 9, None, "rows")
        append_metrics(world.settings, {one.attempt: [metric]}, one.judged_at)
    append_verdicts(world.settings, verdicts)


def verdict(number: int, **changes: object) -> Verdict:
    """Of so many hours after the first, by an attempt of its own."""
    base = replace(VERDICT, hour=FIRST_HOUR + number * HOUR, attempt=f"attempt-{number}")
    return replace(base, judged_at=base.hour + 2 * HOUR, **changes)


def warning(number: int, **changes: object) -> Verdict:
    return verdict(number, **{"rule": "volume", "severity": "warn", **changes})


def test_hours_that_a_rule_holds_are_one_cause_with_the_way_out(world: SealedWorld) -> None:
    judged(world, verdict(0), verdict(1, group="7"), verdict(2, observed="8 clicks"))
    (cause,) = verdict_causes(world.settings, AT)
    assert (cause.key, cause.severity) == ("raw_clicks.conservation", "fail")
    assert cause.about == "3 hours from 2026-05-04T10:00:00Z to 2026-05-04T13:00:00Z"
    assert (cause.observed, cause.expected) == ("8 clicks", "10 clicks, tolerance 0 clicks")
    assert "tallystick quality override 2026-05-04T12:00:00Z conservation" in cause.see


def test_an_override_ends_it(world: SealedWorld) -> None:
    judged(world, verdict(0))
    release(world.settings, FIRST_HOUR, "conservation", actor="ann", reason="a known hole", at=AT)
    assert verdict_causes(world.settings, AT) == []


def test_a_warning_is_over_when_a_later_hour_passes(world: SealedWorld) -> None:
    judged(world, warning(0), warning(1, group="7"), warning(1, group="8"))
    (cause,) = verdict_causes(world.settings, AT)
    assert (cause.severity, cause.state) == ("warn", "fail")
    assert cause.about.startswith("2 hours from 2026-05-04T10:00:00Z")
    assert cause.observed == "9 clicks of 8 and 1 more groups"
    assert "override" not in cause.see
    judged(world, warning(2, outcome="pass"))
    assert verdict_causes(world.settings, AT) == []


def test_a_check_that_broke_is_said_to_have_broken(world: SealedWorld) -> None:
    judged(world, warning(0, outcome="error"))
    (cause,) = verdict_causes(world.settings, AT)
    assert "the check broke" in cause.observed
    assert cause.state == "error"


def test_what_another_attempt_was_told_counts_for_nothing(world: SealedWorld) -> None:
    judged(world, verdict(0))
    judged(world, replace(verdict(0, outcome="pass"), attempt="later", judged_at=AT))
    assert verdict_causes(world.settings, AT) == []


def test_hours_without_a_seal_are_one_cause_once_they_are_overdue(world: SealedWorld) -> None:
    append_seals(world.settings, [seal_draft(0)], 0, AT)
    assert seal_causes(world.settings, FIRST_HOUR + timedelta(hours=2, minutes=49)) == []
    (cause,) = seal_causes(world.settings, AT)
    assert (cause.about, cause.severity) == ("2 hours from 2026-05-04T11:00:00Z to 2026-05-04T13:00:00Z", "fail")
    assert cause.see == "tallystick reconcile 2026-05-04T11:00:00Z --plan"


def test_a_held_hour_is_told_once_and_not_as_a_missing_seal_too(world: SealedWorld) -> None:
    append_seals(world.settings, [seal_draft(0)], 0, AT)
    judged(world, verdict(1))
    assert len(verdict_causes(world.settings, AT)) == 1
    assert seal_causes(world.settings, AT) == []


def test_an_installation_without_clicks_misses_no_seal(world: SealedWorld) -> None:
    assert seal_causes(world.settings, AT) == []
    assert drift_causes(world.settings, AT) == []


def test_drift_over_the_bar_names_hour_and_figures(world: SealedWorld) -> None:
    append_seals(world.settings, [seal_draft(0)], 0, AT)
    row = {"hour": FIRST_HOUR, "click_date": FIRST_HOUR.date(), "attempt": "attempt-0", "advertiser_id": 7}
    world.write_drift([row | {"live_clicks": 80, "final_clicks": 100, "late_clicks": 20, "difference_clicks": -20}])
    (cause,) = drift_causes(world.settings, AT)
    assert cause.about == "hour 2026-05-04T10:00:00Z"
    assert "advertiser 7" in cause.observed
    assert cause.see == "tallystick differences 2026-05-04T10:00:00Z"


def test_a_source_that_cannot_be_asked_is_a_cause_and_says_nothing_of_its_others() -> None:
    def broken() -> Sequence[Cause]:
        raise IntegrityError("a watermark of nonsense", "one that can be read", "retire the server")

    (look,) = looks_of("servers", broken)
    assert look.source == "servers unknown"
    assert [(one.key, one.observed) for one in look.causes] == [("servers", "a watermark of nonsense")]
    assert [(one.source, list(one.causes)) for one in looks_of("servers", lambda: [])] == [
        ("servers", []),
        ("servers unknown", []),
    ]


def test_a_log_that_does_not_answer_is_told_and_the_other_sources_are_looked_at(world: SealedWorld) -> None:
    away = replace(world.settings, kafka_bootstrap=f"127.0.0.1:{free_port()}")
    found = {look.source: list(look.causes) for look in look_everywhere(away, datetime(2026, 5, 4, tzinfo=UTC))}
    assert "servers" not in found
    assert len(found["servers unknown"]) == 1
    assert found["verdicts"] == found["seals"] == found["drift"] == []


def test_a_sealed_hour_that_fails_when_it_is_judged_again_is_not_said_to_be_held(world: SealedWorld) -> None:
    append_seals(world.settings, [seal_draft(0)], 0, AT)
    judged(world, verdict(0))
    (cause,) = verdict_causes(world.settings, AT)
    assert (cause.severity, cause.state) == ("fail", "fail")
    assert "override" not in cause.see
