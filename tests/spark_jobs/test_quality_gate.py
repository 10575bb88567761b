"""What the plan is told of hours that quality holds back. No JVM."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from domain.buckets import HOUR
from domain.quality_metrics import WHOLE, Metric
from domain.quality_verdicts import Hold, Verdict
from domain.settings import Settings
from spark_jobs.quality_gate import held_hours, reasons_of
from tests.domain.test_quality_verdicts import VERDICT
from tests.support.archive_world import NOW, ArchiveWorld, Click, H
from tests.support.ledgers import seal_draft
from warehouse.quality_metrics import append_metrics
from warehouse.quality_verdicts import append_verdicts, release
from warehouse.seals import append_seals

BAD = replace(VERDICT, hour=H, attempt="first", judged_at=NOW)
LATER = NOW + timedelta(minutes=1)
SEE = "see `tallystick quality show 2026-05-04T10:00:00Z`"


@pytest.fixture
def world(tmp_path: Path) -> ArchiveWorld:
    world = ArchiveWorld(tmp_path)
    world.archive([Click("a")])
    return world


def judged(world: ArchiveWorld, *verdicts: Verdict) -> None:
    """Each attempt measured when it was first judged, and the verdicts."""
    for one in sorted(verdicts, key=lambda one: one.judged_at):
        metric = Metric("raw_clicks", one.hour, "rows", WHOLE, 1, None, "rows")
        append_metrics(world.settings, {one.attempt: [metric]}, one.judged_at)
    append_verdicts(world.settings, list(verdicts))


def held(world: ArchiveWorld) -> bool:
    return world.plan()[0].action == "blocked"


def test_a_hold_is_told_with_its_rule_and_the_command_that_says_more() -> None:
    broken = replace(BAD, outcome="error", observed="no such metric")
    assert reasons_of([Hold(BAD), Hold(broken)]) == {
        H: (
            f"quality holds it back: {Hold(BAD).why}; {SEE}",
            f"quality holds it back: {Hold(broken).why}; {SEE}",
        )
    }
    assert "conservation is bad: 9 clicks" in Hold(BAD).why
    assert "conservation could not be checked: no such metric" in Hold(broken).why


def test_a_held_hour_is_blocked_until_it_is_to_be_counted_again(world: ArchiveWorld) -> None:
    """Nothing is counted for nothing: the same attempt would say the same."""
    assert not held(world)
    judged(world, BAD)
    (one,) = world.plan()
    assert (one.action, one.cut, one.reasons) == ("blocked", {}, reasons_of([Hold(BAD)])[H])
    assert world.plan(is_recounting_held=True)[0].action == "seal"


@pytest.mark.parametrize(
    "said",
    [
        replace(BAD, outcome="pass", run="judged again", judged_at=LATER),
        replace(BAD, outcome="pass", attempt="second", judged_at=LATER),
    ],
    ids=["judged again", "counted again"],
)
def test_what_passes_later_no_longer_holds(world: ArchiveWorld, said: Verdict) -> None:
    judged(world, said, BAD)
    assert not held(world)


def test_an_older_attempt_that_was_well_frees_nothing(world: ArchiveWorld) -> None:
    judged(world, replace(BAD, outcome="pass", attempt="before", judged_at=NOW - HOUR), BAD)
    assert held(world)


def test_an_override_frees_the_hour(world: ArchiveWorld) -> None:
    judged(world, BAD)
    release(world.settings, H, "conservation", actor="ann", reason="known", at=LATER)
    assert not held(world)


@pytest.mark.parametrize("outcome", ["fail", "error"])
def test_what_only_warns_holds_nothing(world: ArchiveWorld, outcome: str) -> None:
    judged(world, replace(BAD, severity="warn", outcome=outcome))
    assert not held(world)


def test_a_sealed_hour_is_not_held_and_its_revision_is_judged_when_it_is_counted(world: ArchiveWorld) -> None:
    """What an earlier attempt at a revision was held for may be other data than the next one bills."""
    append_seals(world.settings, [seal_draft(hour=H, attempt="first", cut={"1:0": 1, "1:1": 0})], 0, NOW)
    judged(world, BAD, replace(BAD, attempt="second", judged_at=LATER))
    assert world.plan(is_revising=True)[0].action == "revise"


def test_a_check_that_broke_is_asked_again_with_the_next_run(world: ArchiveWorld) -> None:
    """Q3: an error is no failure. Memory or a library that failed once must not hold an hour for ever."""
    broken = replace(BAD, outcome="error", observed="MemoryError")
    judged(world, broken)
    assert not held(world)
    judged(world, replace(broken, judged_at=LATER), replace(BAD, rule="sums", judged_at=LATER))
    assert len(world.plan()[0].reasons) == 2, "where something is bad, what broke is told beside it"


def test_an_hour_that_nobody_measured_is_held_by_nothing(world: ArchiveWorld) -> None:
    append_verdicts(world.settings, [replace(BAD, attempt="")])
    assert not held(world)


def test_a_home_without_these_tables_holds_nothing(tmp_path: Path) -> None:
    assert held_hours(Settings(home=tmp_path / "older"), [H]) == {}
