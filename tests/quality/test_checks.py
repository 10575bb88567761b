"""Each check seen to pass and seen to fail; one that cannot be made raises."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest

from domain.errors import TallystickError, UsageError
from quality.checks import CHECKS, COMPLETENESS, CONSERVATION, DRIFT, ROLLUPS, Check, CheckResult, judge_completeness
from tests.support.sealed_world import HOUR, SEALED_AT, SealedWorld, logged, sealed_world
from warehouse.logs import register_log

NEXT_HOUR = HOUR + timedelta(hours=1)
ATTEMPT = "attempt-20261130T09-0"
KEY = "advertiser 10, campaign 100, ad 1, country US, device mobile"


@pytest.fixture
def world(tmp_path: Path) -> SealedWorld:
    """One sealed, published hour: 3 raw clicks of advertiser 10, one of them a duplicate; an empty hour after it."""
    world = sealed_world(tmp_path)
    register_log(world.settings, "clicks", "topic-1", {0: 0}, HOUR)
    world.archive([logged(0, HOUR), logged(1, HOUR, impression_id="imp-0-0"), logged(2, HOUR)])
    world.mark_archive(2)
    world.seal(HOUR, NEXT_HOUR)
    world.publish()
    return world


def drift(world: SealedWorld, **clicks: int) -> CheckResult:
    figures = {f"{name}_clicks": count for name, count in clicks.items()}
    difference = clicks["live"] - clicks["final"]
    row = {"attempt": ATTEMPT, "advertiser_id": 10, "difference_clicks": difference} | figures
    world.write_drift([row, row | {"attempt": "of-nobody", "live_clicks": 10**9}])
    return DRIFT.run(world.settings, [HOUR])


def complete(world: SealedWorld, *explained: tuple[int, int, int]) -> CheckResult:
    judge = partial(judge_completeness, explains_gap=lambda *gap: gap in explained)
    return replace(COMPLETENESS, judge=judge).run(world.settings, [HOUR, NEXT_HOUR])


def test_conservation_passes(world: SealedWorld) -> None:
    """Law 3."""
    assert CONSERVATION.run(world.settings, [HOUR, NEXT_HOUR]) == CheckResult(
        name="conservation",
        is_passed=True,
        observed="3 raw, 2 billable, 1 excluded",
        expected="raw = billable + excluded for every advertiser and hour, exactly",
        severity="error",
        is_blocking=True,
        metadata={
            "raw_clicks": 3,
            "billable_clicks": 2,
            "excluded_clicks": 1,
            "tally_count": 1,
            "violations": [],
        },
    )


def test_conservation_fails_where_an_outcome_is_gone(world: SealedWorld) -> None:
    """Law 3."""
    world.tamper("click_exclusions", lambda _: None)
    result = CONSERVATION.run(world.settings, [HOUR])
    assert not result.is_passed
    assert result.metadata["violations"] == [
        "advertiser 10, hour 2026-11-30T09:00:00Z: 3 raw clicks, but 2 billable = 2"
    ]


def test_conservation_fails_where_raw_and_attempt_shrink_together(world: SealedWorld) -> None:
    """The sums still agree; the seal remembers."""
    world.tamper("raw_clicks", lambda row: None if row["offset"] == 2 else row)
    world.tamper("reconciled_clicks_minute", lambda row: row | {"clicks": 1})
    result = CONSERVATION.run(world.settings, [HOUR])
    assert result.metadata["violations"] == [
        "hour 2026-11-30T09:00:00Z: seal 1 states 2 billable clicks, its attempt has 1"
    ]


def test_rollups_pass_and_fail(world: SealedWorld) -> None:
    """Law 9, F2."""
    passed = ROLLUPS.run(world.settings, [HOUR, NEXT_HOUR])
    assert (passed.is_passed, passed.observed) == (True, "0 of the sums differ in 2 hours and 1 days")
    world.tamper("final_clicks_day", lambda row: row | {"clicks": 4})
    failed = ROLLUPS.run(world.settings, [HOUR])
    assert not failed.is_passed
    assert failed.metadata["violations"] == [f"{KEY}: day 2026-11-30T00:00:00Z has 4 clicks, its hours add up to 2"]


@pytest.mark.parametrize(
    ("clicks", "violations"),
    [
        pytest.param({"live": 2, "final": 2}, [], id="equal"),
        pytest.param({"live": 95, "final": 100, "late": 5}, [], id="Q4-at-the-floor-and-explained"),
        pytest.param({"live": 103, "final": 100, "fraud": 3}, [], id="fraud-that-live-counted"),
        pytest.param(
            {"live": 94, "final": 100, "late": 6},
            ["live 94, final 100, a drift of -6 is over the bar"],
            id="Q4-one-click-over-the-floor",
        ),
        pytest.param(
            {"live": 3, "final": 0, "extra": 3},
            ["live 3, final 0, 0 missing and 3 extra clicks have no known cause"],
            id="F4-the-stream-has-a-row-that-the-batch-has-not",
        ),
        pytest.param(
            {"live": 99, "final": 100, "missing": 1},
            ["live 99, final 100, 1 missing and 0 extra clicks have no known cause"],
            id="one-click-without-a-cause",
        ),
    ],
)
def test_drift(world: SealedWorld, clicks: dict[str, int], violations: list[str]) -> None:
    """F4, Q4 by case id. Rows of attempts that no seal names are passed over."""
    result = drift(world, **clicks)
    who = "advertiser 10, hour 2026-11-30T09:00:00Z"
    assert result.metadata["violations"] == [f"{who}: {violation}" for violation in violations]
    assert result.is_passed is (not violations)
    assert (result.severity, result.is_blocking) == ("warn", False)


def test_completeness_passes(world: SealedWorld) -> None:
    """Law 7."""
    result = complete(world)
    assert (result.is_passed, result.observed) == (True, "2 of 2 hours sealed, 3 offsets looked at")


def test_completeness_fails_where_the_archive_lost_a_row(world: SealedWorld) -> None:
    """A11: the hole of a range is found, whichever hour the lost event belonged to."""
    world.tamper("raw_clicks", lambda row: None if row["offset"] == 1 else row)
    result = complete(world)
    assert not result.is_passed
    assert result.metadata["violations"] == ["the archive lacks log 1 partition 0 offsets 1 to 1"]


def test_completeness_takes_a_gap_that_the_log_explains(world: SealedWorld) -> None:
    """A5: transaction markers and compaction leave offsets without an event."""
    world.tamper("raw_clicks", lambda row: None if row["offset"] == 1 else row)
    assert complete(world, (0, 1, 2)).is_passed


def test_completeness_fails_behind_the_cut_and_without_a_seal(tmp_path: Path) -> None:
    """F1."""
    world = sealed_world(tmp_path)
    register_log(world.settings, "clicks", "topic-1", {0: 0}, HOUR)
    world.archive([logged(0, HOUR), logged(1, HOUR)])
    world.mark_archive(0)
    world.seal(HOUR)
    assert complete(world).metadata["violations"] == [
        "hour 2026-11-30T10:00:00Z is not sealed",
        "the archive is at 1 of log 1 partition 0, sealed up to 2",
    ]


def test_completeness_looks_at_what_was_added_since_the_seals_before(world: SealedWorld) -> None:
    """A hole below an earlier cut was judged with that seal; later ones need not read it again."""
    world.archive([logged(3, HOUR + timedelta(hours=2)), logged(5, HOUR + timedelta(hours=2))])
    world.mark_archive(5)
    world.seal(HOUR + timedelta(hours=2), sealed_at=SEALED_AT + timedelta(hours=1))
    world.tamper("raw_clicks", lambda row: None if row["offset"] == 1 else row)
    judge = partial(judge_completeness, explains_gap=lambda *_: False)
    later = replace(COMPLETENESS, judge=judge).run(world.settings, [HOUR + timedelta(hours=2)])
    assert later.metadata["violations"] == ["the archive lacks log 1 partition 0 offsets 4 to 4"]
    assert later.metadata["offset_count"] == 3


def test_completeness_starts_where_the_log_did(tmp_path: Path) -> None:
    """A6: offsets that retention had taken before the log was registered never were ours."""
    world = sealed_world(tmp_path)
    register_log(world.settings, "clicks", "topic-1", {0: 500}, HOUR)
    world.archive([logged(500, HOUR)])
    world.mark_archive(500)
    world.seal(HOUR, NEXT_HOUR)
    assert complete(world).is_passed


@pytest.mark.parametrize("check", [CONSERVATION, DRIFT], ids=lambda check: check.name)
def test_a_check_of_an_unsealed_hour_raises(world: SealedWorld, check: Check) -> None:
    """Q3: it cannot tell, so it neither passes nor fails."""
    with pytest.raises(UsageError, match="no seal of 2026-11-30T11:00:00Z"):
        check.run(world.settings, [HOUR, HOUR + timedelta(hours=2)])


def test_a_check_of_nothing_published_raises(tmp_path: Path) -> None:
    """Q3."""
    with pytest.raises(UsageError, match="nothing is published"):
        ROLLUPS.run(sealed_world(tmp_path).settings, [HOUR])


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
def test_a_check_without_tables_raises(tmp_path: Path, check: Check) -> None:
    """Q3."""
    world = SealedWorld(replace(sealed_world(tmp_path / "other").settings, home=tmp_path / "none"), [])
    with pytest.raises(TallystickError, match="no table"):
        check.run(world.settings, [HOUR])


def test_errors_block_and_warnings_do_not() -> None:
    assert {check.name: check.is_blocking for check in CHECKS} == {
        "conservation": True,
        "rollups": True,
        "drift": False,
        "completeness": True,
    }


def test_many_violations_are_counted_and_some_are_named(tmp_path: Path) -> None:
    world = sealed_world(tmp_path)
    world.archive([logged(offset, HOUR, ad_id=offset + 1, advertiser_id=offset + 1) for offset in range(12)])
    world.seal(HOUR)
    world.tamper("reconciled_clicks_minute", lambda _: None)
    violations = CONSERVATION.run(world.settings, [HOUR]).metadata["violations"]
    assert len(violations) == 11
    assert violations[-1] == "and 3 more like these"
