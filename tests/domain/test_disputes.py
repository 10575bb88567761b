"""Disputes: what events make of a case, what is refused, and until when hours are held."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from domain.adjustments import Adjustment
from domain.buckets import HOUR, MINUTE
from domain.disputes import (
    Claim,
    DisputeEvent,
    DisputeRefusedError,
    Resolution,
    disputes_of,
    holds_of,
    noting,
    opening,
    resolving,
)
from domain.errors import UsageError
from domain.seals import Seal
from tests.domain.test_adjustments import CASE, LINE
from tests.support.periods import CLOSED_AT, NOVEMBER, month_seals

START = NOVEMBER.start
CLAIM = Claim(
    advertiser_id=10,
    start=START + 30 * MINUTE,
    end=START + 2 * HOUR + MINUTE,
    claim="80 and not 79",
    actor="ada",
    claimed_clicks=79,
    opened_at=CLOSED_AT,
)
OPENED = opening([], CLAIM)
RESOLUTION = Resolution(outcome="rejected", reason="as sealed", actor="grace", resolved_at=CLOSED_AT + HOUR)
ADJUSTMENT = Adjustment(**vars(LINE), **vars(CASE), line_number=1, corrects_seal_number=2)
SEALS = month_seals(NOVEMBER)[:3]


def _resolved(*events: DisputeEvent, seals: tuple[Seal, ...] = (), **changes: Any) -> DisputeEvent:
    resolution = replace(RESOLUTION, **changes)
    return resolving(events or [OPENED], "D-1", resolution, adjustments=[ADJUSTMENT], seals=seals)


def test_what_a_case_says() -> None:
    events = [OPENED, noting([OPENED], "D-1", "grace", "asked the server's owner", CLOSED_AT)]
    other = opening(events, replace(CLAIM, advertiser_id=11, claimed_clicks=None))
    events += [other, replace(_resolved(), event_number=4)]
    disputes = disputes_of(events)
    assert list(disputes) == ["D-1", "D-2"]
    assert [event.event_number for event in events] == [1, 2, 3, 4]
    first, second = disputes.values()
    assert (first.advertiser_id, first.claim, first.claimed_clicks) == (10, "80 and not 79", 79)
    assert (first.opened_by, first.opened_at, first.is_open) == ("ada", CLOSED_AT, False)
    assert first.resolution == events[3]
    assert [event.kind for event in first.events] == ["opened", "note", "resolved"]
    assert (second.is_open, second.claimed_clicks) == (True, None)


def test_its_hours_are_whole() -> None:
    dispute = disputes_of([OPENED])["D-1"]
    assert dispute.hours == [START, START + HOUR, START + 2 * HOUR]
    assert replace(dispute, end=START + HOUR).hours == [START]


def test_half_open_ranges_touch() -> None:
    dispute = disputes_of([OPENED])["D-1"]
    assert dispute.touches(dispute.end - MINUTE, dispute.end + HOUR)
    assert not dispute.touches(dispute.end, dispute.end + HOUR)
    assert not dispute.touches(START, dispute.start)
    assert dispute.touches(START, dispute.start + MINUTE)


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"end": CLAIM.start}, "a range from 2026-11-01T00:30:00Z to 2026-11-01T00:30:00Z"),
        ({"end": CLOSED_AT.replace(second=0, microsecond=0) + MINUTE}, "a range up to 2026-12-02T08:01:00Z"),
        ({"start": START + timedelta(seconds=1)}, "from 2026-11-01T00:00:01Z"),
        ({"end": CLAIM.end + timedelta(microseconds=1)}, "to 2026-11-01T02:01:00.000001Z"),
        ({"claimed_clicks": -1}, "-1 claimed clicks"),
        ({"claim": " "}, "claim ' '"),
        ({"actor": "=ada"}, "actor '=ada'"),
    ],
)
def test_a_claim_that_is_none(changes: dict[str, Any], found: str) -> None:
    with pytest.raises(UsageError) as refusal:
        replace(CLAIM, **changes)
    assert refusal.value.found == found


def test_a_case_ends_once() -> None:
    first = _resolved()
    assert (first.outcome, first.reason, first.actor, first.recorded_at) == (
        *("rejected", "as sealed", "grace"),
        CLOSED_AT + HOUR,
    )
    with pytest.raises(DisputeRefusedError, match=r"D-1 was resolved as rejected at 2026-12-02T09:00:00\.500000Z"):
        _resolved(OPENED, first)


def test_an_unknown_case() -> None:
    with pytest.raises(UsageError, match="dispute 'D-1'; expected one that was opened"):
        resolving([], "D-1", RESOLUTION, adjustments=[], seals=[])
    with pytest.raises(UsageError, match="dispute 'D-2'; expected one that was opened"):
        noting([OPENED], "D-2", "ada", "hello", CLOSED_AT)


def test_adjusted_names_what_corrects_it() -> None:
    assert _resolved(outcome="adjusted", adjustment_case_id="C-1").adjustment_case_id == "C-1"
    assert _resolved(outcome="upheld", adjustment_case_id="C-1").outcome == "upheld"
    with pytest.raises(DisputeRefusedError, match="case C-2 adjusts nothing of advertiser 10 in the hours of D-1"):
        _resolved(outcome="adjusted", adjustment_case_id="C-2")
    for other in (replace(CLAIM, advertiser_id=11), replace(CLAIM, start=START + 3 * HOUR, end=START + 4 * HOUR)):
        with pytest.raises(DisputeRefusedError, match="case C-1 adjusts nothing"):
            _resolved(opening([], other), outcome="adjusted", adjustment_case_id="C-1")


def test_adjusted_may_be_a_revision_that_came_after_it() -> None:
    revised = replace(SEALS[1], revision=1, sealed_at=CLOSED_AT)
    assert _resolved(outcome="adjusted", seals=(SEALS[0], revised)).adjustment_case_id is None
    elsewhere = replace(revised, hour=START + 5 * HOUR)
    for seals in (SEALS, [replace(revised, sealed_at=CLOSED_AT - MINUTE)], [elsewhere]):
        with pytest.raises(DisputeRefusedError, match="no hour of D-1 was revised since it was opened"):
            _resolved(outcome="adjusted", seals=tuple(seals))


@pytest.mark.parametrize("changes", [{"outcome": "won"}, {"reason": ""}, {"adjustment_case_id": "C-1"}], ids=str)
def test_a_resolution_that_is_none(changes: dict[str, str]) -> None:
    with pytest.raises(UsageError):
        replace(RESOLUTION, **changes)


def test_holds() -> None:
    """F7: an open case holds for ever, an ended one for a while; whole hours."""
    year = timedelta(days=365)
    ended_at = RESOLUTION.resolved_at
    open_one, ended = disputes_of([OPENED])["D-1"], disputes_of([OPENED, _resolved()])["D-1"]
    (hold,) = holds_of([open_one], ended_at + 100 * year, year)
    assert (hold.case_id, hold.start, hold.end, hold.until_at) == ("D-1", START, START + 3 * HOUR, None)
    assert [one.until_at for one in holds_of([ended], ended_at + year - MINUTE, year)] == [ended_at + year]
    assert holds_of([ended], ended_at + year, year) == []
