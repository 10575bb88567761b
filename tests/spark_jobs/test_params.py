"""Parameters and receipts: what is refused, and that JSON brings back what went in."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from domain.buckets import HOUR
from domain.errors import UsageError
from spark_jobs.params import HourPlan, HourReceipt, ReconcileParams, ReconcileReceipt, receipt_of_plan

H = datetime(2026, 5, 4, 10, tzinfo=UTC)
RECEIPT = ReconcileReceipt(
    hours=(
        HourReceipt(
            H, "seal", seal_number=1, attempt="a", raw_clicks=3, billable_clicks=2, excluded_clicks={"head": 1}
        ),
        HourReceipt(H + HOUR, "blocked", reasons=("waits", "and waits")),
    ),
    publication_number=1,
    final_until=H + HOUR,
    duration_seconds=1.5,
)


@pytest.mark.parametrize(
    ("first_hour", "end", "actor", "said"),
    [
        (H + timedelta(minutes=1), H + HOUR, "a", "first hour 2026-05-04T10:01:00+00:00"),
        (H, H + HOUR + timedelta(microseconds=1), "a", "end 2026-05-04T11:00:00.000001+00:00"),
        (H.replace(tzinfo=None), H + HOUR, "a", "first hour 2026-05-04T10:00:00"),
        (H.astimezone(timezone(timedelta(hours=5, minutes=30))), H + HOUR, "a", None),
        (H, H, "a", "range from 2026-05-04T10:00:00Z to 2026-05-04T10:00:00Z"),
        (H + HOUR, H, "a", "range from"),
        (H, H + HOUR, " ", "no actor"),
    ],
    ids=["unaligned", "unaligned end", "no zone", "another zone", "empty", "reversed", "nobody"],
)
def test_wrong_parameters_are_refused(first_hour: datetime, end: datetime, actor: str, said: str | None) -> None:
    """A whole hour is one in UTC, in whatever zone it is written."""
    if said is None:
        assert ReconcileParams(first_hour, end, actor).hours == [H]
        return
    with pytest.raises(UsageError, match=said.replace("+", r"\+")):
        ReconcileParams(first_hour, end, actor)


@pytest.mark.parametrize(
    ("actor", "reason", "case_id", "said"),
    [
        ("ann", "why", "", "a revision without case"),
        ("ann", "", "C-1", "a revision without reason"),
        ("ann", "  ", "C-1", "a revision without reason"),
        ("cli", "why", "C-1", "a revision without actor"),
        ("cli", "why", "", "a revision without case and actor"),
        ("ann", "two\nlines", "C-1", "one line of up to 500 characters"),
        ("ann", "why", "C 1", "case 'C 1'"),
    ],
)
def test_a_revision_needs_a_reason_a_case_and_a_name(actor: str, reason: str, case_id: str, said: str) -> None:
    """Law 10, F9, O19."""
    with pytest.raises(UsageError, match=said):
        ReconcileParams(H, H + HOUR, actor, reason=reason, case_id=case_id)
    assert ReconcileParams(H, H + HOUR, "ann", reason="why", case_id="C-1").is_revising
    assert not ReconcileParams(H, H + HOUR, "cli").is_revising


def test_the_hours_of_a_range_end_before_its_end() -> None:
    assert ReconcileParams(H, H + 3 * HOUR, "a").hours == [H, H + HOUR, H + 2 * HOUR]


def test_parameters_survive_json() -> None:
    params = ReconcileParams(H, H + HOUR, "a", archive_wait_seconds=7, reason="why", case_id="C-1")
    assert ReconcileParams.from_json(params.to_json()) == params


def test_a_receipt_survives_json() -> None:
    assert ReconcileReceipt.from_json(RECEIPT.to_json()) == RECEIPT


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"first_hour": 1}', ReconcileParams(H, H + HOUR, "a").to_json()])
def test_other_json_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="JSON of a ReconcileReceipt"):
        ReconcileReceipt.from_json(text)


def test_a_receipt_tells_what_was_done() -> None:
    assert [hour.hour for hour in RECEIPT.of("blocked")] == [H + HOUR]
    assert not RECEIPT.is_all_blocked


def test_a_plan_becomes_a_receipt() -> None:
    plan = HourPlan(H, "publish", cut={"1:0": 3}, seal_number=4, late_arrival_count=2)
    assert receipt_of_plan(plan) == HourReceipt(H, "publish", seal_number=4, late_arrival_count=2)
