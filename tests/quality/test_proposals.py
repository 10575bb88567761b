"""What is proposed: revisions while a period is open; once it is closed, lines that equal a count by hand. No JVM."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from domain.adjustments import AdjustmentCase
from domain.errors import IntegrityError, LedgerConflictError
from domain.identity import LogPosition
from domain.periods import PeriodClose, period_of
from domain.verdicts import ClickTarget, FraudVerdict, Target
from quality.proposals import read_proposals
from tests.support.periods import CLOSED_AT, DECEMBER
from tests.support.sealed_world import HOUR, SealedWorld, logged, sealed_world
from warehouse.adjustments import adjust, read_adjustments
from warehouse.periods import append_close
from warehouse.seals import read_seals

Billed = dict[tuple[str, str], int]
"""Clicks by country and device."""


@pytest.fixture
def world(tmp_path: Path) -> SealedWorld:
    """A sealed hour: two clicks from the US, one from Canada, a repeat of the first."""
    world = sealed_world(tmp_path)
    world.archive(
        [
            logged(0, HOUR, impression_id="a"),
            logged(1, HOUR + timedelta(minutes=7), impression_id="b"),
            logged(2, HOUR + timedelta(minutes=8), impression_id="c", country="CA"),
            logged(3, HOUR + timedelta(minutes=9), impression_id="a"),
        ]
    )
    world.seal(HOUR)
    world.publish()
    return world


def close(world: SealedWorld, hour: datetime = HOUR) -> None:
    """Freezes the month, as a close would that found nothing against it."""
    said: dict[str, Any] = {"closed_at": CLOSED_AT, "actor": "ada", "root_digest": "0" * 64, "hour_count": 720}
    fresh = PeriodClose(period=period_of(hour), last_seal_number=1, billable_clicks=3, **said)
    append_close(world.settings, fresh, 0)


def fraud(number: int, target: Target, judgement: Any = "fraud") -> FraudVerdict:
    return FraudVerdict(f"v{number}", target, judgement, "a bot", HOUR + timedelta(minutes=number))


def proposed(world: SealedWorld) -> Billed:
    """The lines of the one adjustment that is proposed."""
    (one,) = read_proposals(world.settings)
    assert one.kind == "adjustment"
    assert {(line.charge_hour, line.advertiser_id, line.campaign_id, line.ad_id) for line in one.lines} == {
        (HOUR, 10, 100, 1)
    }
    return {(line.country, line.device): line.delta_clicks for line in one.lines}


def bill(world: SealedWorld, case_id: str) -> None:
    (one,) = read_proposals(world.settings)
    said = {"reason": "found after the close", "requested_by": "ada", "approved_by": "grace", "adjusted_at": CLOSED_AT}
    case = AdjustmentCase(case_id=case_id, billing_period=DECEMBER, **said)
    adjust(world.settings, case, one.lines, len(read_adjustments(world.settings)))


def test_nothing_is_proposed_of_hours_that_know_everything(world: SealedWorld) -> None:
    assert read_proposals(world.settings) == []
    close(world)
    assert read_proposals(world.settings) == []


def test_a_revision_while_the_period_is_open(world: SealedWorld) -> None:
    world.archive([logged(4, HOUR)])
    world.judge_fraud(fraud(1, ClickTarget("b", 1)))
    (one,) = read_proposals(world.settings)
    assert (one.kind, one.hour, one.lines) == ("revision", HOUR, ())
    assert (one.findings.late, len(one.findings.verdicts)) == ((LogPosition(1, 0, 4),), 1)


def test_a_verdict_after_the_close_is_an_adjustment_as_counted_by_hand(world: SealedWorld) -> None:
    """F5, law 10. Closed: US 2, CA 1. Fraud are b (US) and c (CA); what came late is one of DE, and two repeats."""
    close(world)
    world.judge_fraud(fraud(1, ClickTarget("b", 1)), fraud(2, LogPosition(1, 0, 2)))
    assert proposed(world) == {("US", "mobile"): -1, ("CA", "mobile"): -1}
    late = [logged(4, HOUR, impression_id="d", country="DE"), logged(5, HOUR, impression_id="b")]
    world.archive([*late, logged(0, HOUR, partition=7, impression_id="a", kind="head")])
    assert proposed(world) == {("US", "mobile"): -1, ("CA", "mobile"): -1, ("DE", "mobile"): 1}
    assert len(read_seals(world.settings)) == 1


def test_what_was_billed_is_not_proposed_again_and_a_withdrawal_is(world: SealedWorld) -> None:
    close(world)
    world.judge_fraud(fraud(1, ClickTarget("b", 1)))
    bill(world, "C-1")
    assert read_proposals(world.settings) == []
    world.judge_fraud(fraud(2, ClickTarget("b", 1), "withdrawn"), fraud(3, ClickTarget("c", 1)))
    assert proposed(world) == {("US", "mobile"): 1, ("CA", "mobile"): -1}
    bill(world, "C-2")
    assert read_proposals(world.settings) == []
    assert sum(one.delta_clicks for one in read_adjustments(world.settings)) == -1


def test_late_clicks_that_bill_nothing_are_not_proposed_after_a_close(world: SealedWorld) -> None:
    world.archive([logged(4, HOUR, impression_id="a"), logged(5, HOUR, kind="head")])
    assert [one.kind for one in read_proposals(world.settings)] == ["revision"]
    close(world)
    assert read_proposals(world.settings) == []


def test_two_people_who_bill_the_same_proposal_bill_it_once(world: SealedWorld) -> None:
    close(world)
    world.judge_fraud(fraud(1, ClickTarget("b", 1)))
    (one,) = read_proposals(world.settings)
    bill(world, "C-1")
    said = {"reason": "the same", "requested_by": "ada", "approved_by": "grace", "adjusted_at": CLOSED_AT}
    case = AdjustmentCase(case_id="C-2", billing_period=DECEMBER, **said)
    with pytest.raises(LedgerConflictError, match="1 adjustments; expected 0"):
        adjust(world.settings, case, one.lines, 0)
    assert len(read_adjustments(world.settings)) == 1


def test_what_raw_has_lost_is_nobodys_credit(world: SealedWorld) -> None:
    close(world)
    world.archive([logged(4, HOUR)])
    world.tamper("raw_clicks", lambda row: None if row["offset"] == 1 else row)
    with pytest.raises(IntegrityError, match="recounts to 3 raw clicks"):
        read_proposals(world.settings)


def test_the_horizon_is_the_one_that_was_closed(world: SealedWorld) -> None:
    """Another setting is another rule, and no correction."""
    close(world)
    world.settings = replace(world.settings, final_horizon_days=1)
    world.archive([logged(4, HOUR, impression_id="e")])
    assert proposed(world) == {("US", "mobile"): 1}
