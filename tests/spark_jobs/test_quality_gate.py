"""What the plan is told of hours that quality holds back. No JVM."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from domain.buckets import HOUR
from domain.quality_verdicts import Hold, Verdict
from spark_jobs.quality_gate import held_hours, reasons_of
from tests.domain.test_quality_verdicts import VERDICT
from tests.support.archive_world import NOW, ArchiveWorld, Click, H
from tests.support.ledgers import seal_draft
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
    append_verdicts(world.settings, [BAD])
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
    append_verdicts(world.settings, [said, BAD])
    assert not held(world)


def test_an_older_attempt_that_was_well_frees_nothing(world: ArchiveWorld) -> None:
    append_verdicts(world.settings, [replace(BAD, outcome="pass", attempt="before", judged_at=NOW - HOUR), BAD])
    assert held(world)


def test_an_override_frees_the_hour(world: ArchiveWorld) -> None:
    append_verdicts(world.settings, [BAD])
    release(world.settings, H, "conservation", actor="ann", reason="known", at=LATER)
    assert not held(world)


@pytest.mark.parametrize("outcome", ["fail", "error"])
def test_what_only_warns_holds_nothing(world: ArchiveWorld, outcome: str) -> None:
    append_verdicts(world.settings, [replace(BAD, severity="warn", outcome=outcome)])
    assert not held(world)


def test_the_attempt_of_a_seal_is_beyond_holding(world: ArchiveWorld) -> None:
    """An hour that is sealed stays so; a revision of it is held by its own attempt."""
    append_verdicts(world.settings, [BAD])
    append_seals(world.settings, [seal_draft(hour=H, attempt="first", cut={"1:0": 1, "1:1": 0})], 0, NOW)
    assert held_hours(world.settings, [H], {H: "first"}) == {}
    assert world.plan(is_revising=True)[0].action == "revise"
    append_verdicts(world.settings, [replace(BAD, attempt="second", judged_at=LATER)])
    (one,) = world.plan(is_revising=True)
    assert (one.action, len(one.reasons), one.seal_number) == ("blocked", 1, 1)
