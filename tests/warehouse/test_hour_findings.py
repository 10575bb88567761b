"""What sealed hours do not know yet: clicks beyond their cuts, newer verdicts about what they counted. No JVM."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest

from domain.buckets import HOUR as ONE_HOUR
from domain.identity import LogPosition
from domain.verdicts import ClickTarget, FraudVerdict, Target
from tests.support.sealed_world import HOUR, SEALED_AT, SealedWorld, logged, sealed_world
from warehouse.hour_findings import basis_of_findings, read_findings
from warehouse.layout import open_table
from warehouse.proposal_dismissals import dismiss
from warehouse.verifications import Verification, append_verifications

NEXT = HOUR + ONE_HOUR
CLICK_A, CLICK_B = ClickTarget("imp-0-0", 1), ClickTarget("imp-0-2", 1)
Found = list[tuple[datetime, list[LogPosition], list[tuple[Target, str | None]]]]


@pytest.fixture
def world(tmp_path: Path) -> SealedWorld:
    """Two sealed hours: a click, its repeat an hour later, two more of that hour, one of them a HEAD."""
    world = sealed_world(tmp_path)
    world.archive(
        [
            logged(0, HOUR),
            logged(1, NEXT, impression_id="imp-0-0"),
            logged(2, NEXT + timedelta(minutes=1)),
            logged(3, NEXT, kind="head"),
        ]
    )
    world.seal(HOUR, NEXT)
    return world


def verdict(number: int, target: Target, judgement: Any = "fraud") -> FraudVerdict:
    return FraudVerdict(f"v{number}", target, judgement, "a bot", HOUR + timedelta(minutes=number))


def found(world: SealedWorld) -> Found:
    return [
        (one.hour, list(one.late), [(changed.target, changed.verdict_id) for changed in one.verdicts])
        for one in read_findings(world.settings)
    ]


def test_a_sealed_hour_that_knows_everything_is_not_found(world: SealedWorld) -> None:
    world.archive([logged(4, NEXT + ONE_HOUR)])
    assert read_findings(world.settings) == []


def test_late_arrivals_are_one_finding_an_hour(world: SealedWorld) -> None:
    """F11: beyond the cut, in a partition that the cut does not know, and whatever became of them."""
    world.archive([logged(9, NEXT), logged(0, NEXT, partition=5), logged(10, NEXT, kind="head")])
    world.archive([logged(11, NEXT + ONE_HOUR)])
    (one,) = read_findings(world.settings)
    assert (one.hour, one.seal_number, one.actor, one.verdicts) == (NEXT, 2, "system:late", ())
    assert one.late == (LogPosition(1, 0, 9), LogPosition(1, 0, 10), LogPosition(1, 5, 0))
    world.seal(NEXT)
    assert read_findings(world.settings) == []


def test_a_newer_verdict_is_found_where_its_click_was_counted(world: SealedWorld) -> None:
    """Not in the next hour, whose copy is a duplicate whatever the verdict says."""
    world.judge_fraud(verdict(1, CLICK_A), verdict(2, ClickTarget("elsewhere", 1)))
    assert found(world) == [(HOUR, [], [(CLICK_A, "v1")])]
    world.judge_fraud(
        verdict(3, LogPosition(1, 0, 2)), verdict(4, LogPosition(1, 0, 1)), verdict(5, LogPosition(1, 0, 3))
    )
    assert found(world) == [(HOUR, [], [(CLICK_A, "v1")]), (NEXT, [], [(LogPosition(1, 0, 2), "v3")])]


def test_a_withdrawal_is_found_where_the_verdict_was_applied(world: SealedWorld) -> None:
    world.judge_fraud(verdict(1, CLICK_B))
    world.seal(NEXT)
    assert found(world) == []
    world.judge_fraud(verdict(2, CLICK_B, "withdrawn"))
    assert found(world) == [(NEXT, [], [(CLICK_B, None)])]


def test_a_verdict_that_came_and_went_is_nothing(world: SealedWorld) -> None:
    world.judge_fraud(verdict(1, CLICK_B))
    world.judge_fraud(verdict(2, CLICK_B, "withdrawn"))
    assert found(world) == []


def test_a_verification_with_the_newer_set_settles_it(world: SealedWorld) -> None:
    """Of the seal that holds, and with a set that knows the verdict."""
    world.judge_fraud(verdict(1, CLICK_B))
    said: dict[str, Any] = {"hour": NEXT, "seal_number": 2, "digest": "", "actor": "ann", "verified_at": SEALED_AT}
    for seal_number, verdict_set, is_settled in ((1, 1, False), (2, 0, False), (2, 1, True)):
        said |= {"seal_number": seal_number, "verdict_set": verdict_set}
        append_verifications(world.settings, [Verification(**said)])
        assert (found(world) == []) == is_settled


def test_what_was_dismissed_is_found_again_with_anything_new_only(world: SealedWorld) -> None:
    world.archive([logged(9, NEXT)])
    (one,) = read_findings(world.settings)
    dismiss(world.settings, one, reason="a test of ours", actor="ann", at=SEALED_AT)
    assert read_findings(world.settings) == []
    world.archive([logged(10, NEXT)])
    assert found(world) == [(NEXT, [LogPosition(1, 0, 9), LogPosition(1, 0, 10)], [])]


def test_hours_that_are_asked_for(world: SealedWorld) -> None:
    world.archive([logged(9, NEXT), logged(10, HOUR)])
    assert [one.hour for one in read_findings(world.settings)] == [HOUR, NEXT]
    assert [one.hour for one in read_findings(world.settings, [NEXT, NEXT + ONE_HOUR])] == [NEXT]


def test_an_hour_with_as_many_clicks_as_were_sealed_is_not_opened(world: SealedWorld) -> None:
    """The table's log tells it: a year of sealed hours costs no look into its files."""
    for path in open_table(world.settings, "raw_clicks").file_uris():
        Path(path).write_bytes(b"no Parquet")
    assert read_findings(world.settings) == []
    world.archive([logged(9, NEXT)])
    with pytest.raises(duckdb.Error, match="Parquet"):
        read_findings(world.settings)


def test_findings_rest_on_their_own_hours_and_on_the_ledgers(world: SealedWorld) -> None:
    before = basis_of_findings(world.settings, [HOUR, NEXT])
    world.archive([logged(9, NEXT + ONE_HOUR)])
    assert basis_of_findings(world.settings, [HOUR, NEXT]) == before
    world.archive([logged(10, NEXT)])
    late = basis_of_findings(world.settings, [HOUR, NEXT])
    world.judge_fraud(verdict(1, CLICK_A))
    judged = basis_of_findings(world.settings, [HOUR, NEXT])
    world.seal(NEXT)
    assert len({before, late, judged, basis_of_findings(world.settings, [HOUR, NEXT])}) == 4
    world.tamper("raw_clicks", lambda row: row | {"ip": "192.0.2.1"})
    assert basis_of_findings(world.settings, [HOUR, NEXT]) is None
