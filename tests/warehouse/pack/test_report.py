"""What a dispute is drilled down to, before its hours are sealed and after they were adjusted."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

from domain.buckets import MINUTE
from domain.disputes import Dispute
from tests.support.dispute_world import CLAIM, END, NEXT, START, adjusted, dispute_world, opened
from tests.support.sealed_world import HOUR, logged, sealed_world
from warehouse.disputes import open_dispute
from warehouse.pack.report import DisputeReport, HourOfAd, read_report


def test_hours_that_are_not_sealed_yet(tmp_path: Path) -> None:
    """Nothing of them is billed, and their clicks are shown as what they are."""
    world = sealed_world(tmp_path)
    world.archive([logged(0, HOUR + 6 * MINUTE), logged(1, NEXT), logged(2, HOUR + 7 * MINUTE, advertiser_id=20)])
    report = read_report(world.settings, opened(world))
    assert report.missing_hours == [HOUR, NEXT]
    assert {key: (one.billable_clicks, one.excluded_clicks) for key, one in report.hours.items()} == {
        (HOUR, 1): (0, {"unsealed": 1}),
        (NEXT, 1): (0, {"unsealed": 1}),
    }
    assert (report.billable_clicks, report.amounts_micros, report.seals) == (0, {}, [])


def test_only_the_minutes_of_the_range(tmp_path: Path) -> None:
    """The first click of the hour lies before the range, the last one at its end."""
    world = dispute_world(tmp_path)
    report = read_report(world.settings, opened(world))
    assert [(key[1], one.billable_clicks, one.priced_clicks) for key, one in report.hours.items()] == [
        (1, 3, 3),
        (3, 1, 0),
    ]
    assert report.amounts_micros == {"EUR": 850_000}
    narrow = open_dispute(world.settings, replace(CLAIM, start=START, end=START + 3 * MINUTE))
    one = read_report(world.settings, narrow).hours[HOUR, 1]
    assert (one.billable_clicks, one.excluded_clicks) == (1, {"duplicate": 1})
    world.tamper("raw_clicks", lambda row: None if row["offset"] == 2 else row)
    gone = read_report(world.settings, narrow)
    assert (gone.incomplete_hours, gone.billable_clicks, gone.hours[HOUR, 1].excluded_clicks) == ([HOUR], 1, {})
    assert report.incomplete_hours == []


def test_an_amount_of_zero_is_an_amount() -> None:
    """Clicks that cost nothing are told apart from clicks without a price."""
    hours = {(HOUR, 1): HourOfAd(1, 1, Counter({"EUR": 0})), (NEXT, 1): HourOfAd(2, 1, Counter({"USD": 5}))}
    dispute = Dispute(
        case_id="D-1",
        advertiser_id=10,
        start=START,
        end=END,
        claim=CLAIM.claim,
        claimed_clicks=4,
        opened_at=CLAIM.opened_at,
        opened_by=CLAIM.actor,
        events=(),
    )
    assert dict(DisputeReport(dispute, hours, [], [], [], []).amounts_micros) == {"EUR": 0, "USD": 5}


def test_revisions_and_adjustments(tmp_path: Path) -> None:
    world = dispute_world(tmp_path)
    world.archive([logged(95, HOUR + 20 * MINUTE)])
    world.seal(HOUR)
    dispute = opened(world)
    before = read_report(world.settings, dispute)
    world.publish()
    after = read_report(world.settings, dispute)
    assert (before.billable_clicks, after.billable_clicks) == (4, 5)
    assert before.hours[HOUR, 1].excluded_clicks["after_cut"] == 1
    assert [(seal.hour, seal.revision) for seal in after.seals] == [(HOUR, 0), (NEXT, 0), (HOUR, 1)]
    lines = adjusted(world)
    (own,) = read_report(world.settings, dispute).adjustments
    assert (own.adjustment, own.price_micros, own.amount_micros, own.currency) == (lines[0], 250_000, -500_000, "EUR")
