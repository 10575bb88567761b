"""The counting rule, as laws over generated logs and as the failure cases it has to meet."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.buckets import HOUR, hour_of, parse_utc
from domain.counting import (
    EXCLUSION_REASONS,
    CountKey,
    LoggedEvent,
    Outcome,
    count_billable,
    final_outcomes,
    live_counts,
)
from domain.drift import explain
from domain.identity import LogPosition
from domain.parsing import ParsedEvent
from domain.verdicts import ClickTarget, Target

START = datetime(2026, 11, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
DAY = timedelta(days=1)
WEEK = timedelta(days=7)
NO_BOUND = timedelta(days=10_000)
BOUND = timedelta(seconds=310)

CLICK = ParsedEvent("imp-1", 1, 10, 100, START, "US", "mobile", "click", "edge-1", 0)


def logged(offset: int, at: datetime, partition: int = 0, **changes: object) -> LoggedEvent:
    """A click that is logged the moment it happens, unless ``clicked_at`` says otherwise."""
    event = replace(CLICK, **({"clicked_at": at} | changes))
    return LoggedEvent(LogPosition(1, partition, offset), at, event)


def verdicts(outcomes: Sequence[Outcome]) -> dict[int, tuple[str | None, int | None]]:
    """Offset -> reason and the winner's offset; for logs of one partition."""
    return {o.position.offset: (o.reason, o.winner.offset if o.winner else None) for o in outcomes}


@st.composite
def logs(draw: st.DrawFn) -> list[LoggedEvent]:
    """A log of two partitions in the order of appending, dense in copies, ties and gaps around a day and a week."""
    gaps = st.sampled_from([timedelta(0), MICROSECOND, timedelta(minutes=3), DAY / 2, DAY, DAY + MICROSECOND, 6 * DAY])
    at, offsets, events = START, Counter[int](), []
    for _ in range(draw(st.integers(0, 25))):
        at += draw(gaps)
        partition = draw(st.integers(0, 1))
        event = ParsedEvent(
            impression_id=draw(st.sampled_from(["imp-1", "imp-2", "imp-3"])),
            ad_id=draw(st.integers(1, 2)),
            advertiser_id=10,
            campaign_id=draw(st.sampled_from([100, 100, 100, 101])),
            clicked_at=at - draw(st.sampled_from([timedelta(0), timedelta(seconds=310), timedelta(hours=3)])),
            country=draw(st.sampled_from(["US", "US", "CA"])),
            device="mobile",
            kind=draw(st.sampled_from(["click", "click", "click", "head", "prefetch"])),
            server_id="edge-1",
            server_seq=0,
        )
        events.append(LoggedEvent(LogPosition(1, partition, offsets[partition]), at, event))
        offsets[partition] += 1
    return events


POSITIONS = st.builds(LogPosition, st.just(1), st.integers(0, 1), st.integers(0, 12))
CLICKS = st.builds(ClickTarget, st.sampled_from(["imp-1", "imp-2", "imp-3"]), st.integers(1, 2))
IN_FORCE = st.dictionaries(st.one_of(POSITIONS, CLICKS), st.sampled_from(["v1", "v2", "v3"]), max_size=6)
"""Verdicts of fraud in force, on clicks and positions that a log may hold."""


@given(logs(), IN_FORCE, st.randoms())
def test_verdicts_come_last_and_promote_no_other_copy(
    log: list[LoggedEvent], in_force: dict[Target, str], random: Random
) -> None:
    """Stated anew: what is billable without verdicts and was judged is fraud; all else stays what it was."""
    shuffled = list(log)
    random.shuffle(shuffled)
    for before, after in zip(final_outcomes(log, WEEK), final_outcomes(shuffled, WEEK, in_force), strict=True):
        click = ClickTarget(before.event.impression_id, before.event.ad_id)
        judged = [in_force[target] for target in (before.position, click) if target in in_force]
        if before.is_billable and judged:
            assert after == replace(before, reason="fraud", verdict_id=judged[0])
        else:
            assert after == before


@given(logs(), st.randoms())
def test_the_order_in_which_events_are_given_does_not_matter(log: list[LoggedEvent], random: Random) -> None:
    """Law 6."""
    shuffled = list(log)
    random.shuffle(shuffled)
    assert final_outcomes(shuffled, WEEK) == final_outcomes(log, WEEK)
    assert live_counts(shuffled, DAY, BOUND) == live_counts(log, DAY, BOUND)


@given(logs(), st.data())
def test_a_replay_of_any_part_of_the_log_changes_nothing(log: list[LoggedEvent], data: st.DataObject) -> None:
    """Law 4."""
    replayed = log + [event for event in log if data.draw(st.booleans())]
    assert live_counts(replayed, DAY, BOUND) == live_counts(log, DAY, BOUND)
    assert final_outcomes(replayed, WEEK) == final_outcomes(log, WEEK)


@given(logs())
def test_deduplication_of_what_is_billable_finds_nothing_more(log: list[LoggedEvent]) -> None:
    billable = {o.position for o in final_outcomes(log, WEEK) if o.is_billable}
    again = final_outcomes([event for event in log if event.position in billable], WEEK)
    assert {o.position for o in again if o.is_billable} == billable


@given(logs(), IN_FORCE)
def test_each_raw_click_has_exactly_one_outcome(log: list[LoggedEvent], in_force: dict[Target, str]) -> None:
    """Law 3, per advertiser and hour: raw = billable + excluded by reason."""
    outcomes = final_outcomes(log, WEEK, in_force)
    assert {outcome.reason for outcome in outcomes} <= {None, *EXCLUSION_REASONS}
    raw = Counter((e.event.advertiser_id, hour_of(e.event.clicked_at)) for e in log)
    accounted = Counter((o.event.advertiser_id, hour_of(o.event.clicked_at)) for o in outcomes)
    assert accounted == raw
    billable_hours = Counter[datetime]()
    for key, clicks in count_billable(outcomes).items():
        billable_hours[hour_of(key.minute)] += clicks
    assert billable_hours == Counter(hour_of(o.event.clicked_at) for o in outcomes if o.reason is None)


@given(logs(), st.integers(0, 25))
def test_a_later_arrival_never_changes_an_earlier_outcome(log: list[LoggedEvent], length: int) -> None:
    """Law 6: what is sealed at a cut stays as it is, whatever is logged after it."""
    earlier = sorted(log, key=lambda e: e.order)[:length]
    assert final_outcomes(log, WEEK)[: len(earlier)] == final_outcomes(earlier, WEEK)


@given(logs())
def test_requests_that_are_no_clicks_never_shadow_a_click(log: list[LoggedEvent]) -> None:
    """R1: without the heads and prefetches of the log, every click has the outcome that it has with them."""
    clicks = [event for event in log if event.event.kind == "click"]
    assert [o for o in final_outcomes(log, WEEK) if o.event.kind == "click"] == final_outcomes(clicks, WEEK)
    assert live_counts(log, DAY, BOUND) == live_counts(clicks, DAY, BOUND)


@given(logs())
def test_a_winner_is_the_earliest_copy_within_the_horizon(log: list[LoggedEvent]) -> None:
    """Stated anew, without the rule's own loop: by all pairs of copies."""
    by_position = {event.position: event for event in log}
    for outcome in final_outcomes(log, WEEK):
        own = by_position[outcome.position]
        if own.event.kind != "click":
            assert outcome.reason == own.event.kind
            continue
        before = [
            event
            for event in log
            if event.event.kind == "click"
            and (event.event.impression_id, event.event.ad_id) == (own.event.impression_id, own.event.ad_id)
            and event.order < own.order
            and own.logged_at - event.logged_at <= WEEK
        ]
        assert outcome.winner == (min(before, key=lambda e: e.order).position if before else None)


@given(logs())
def test_live_and_final_are_equal_when_all_is_in_time(log: list[LoggedEvent]) -> None:
    """Law 5: one horizon for both and nothing late leaves nothing to differ in."""
    assert live_counts(log, WEEK, NO_BOUND) == (count_billable(final_outcomes(log, WEEK)), {})


@given(logs(), IN_FORCE)
def test_every_difference_has_a_known_cause(log: list[LoggedEvent], in_force: dict[Target, str]) -> None:
    """L4, L11: live differs from final by what it refused as late, by repeats beyond its horizon and by fraud only."""
    outcomes = final_outcomes(log, WEEK, in_force)
    fraud = {o.position for o in outcomes if o.reason == "fraud"}
    billable = {o.position for o in outcomes if o.is_billable}
    first_copies = {o.position for o in final_outcomes(log, DAY) if o.is_billable}
    live = live_counts(log, DAY, BOUND)
    counted_live = first_copies - set(live.late)
    drift = explain(
        live_clicks=sum(live.counts.values()),
        final_clicks=len(billable),
        late_clicks=len(billable & set(live.late)),
        dedup_horizon_clicks=len(counted_live - billable - fraud),
        fraud_clicks=len(fraud - set(live.late)),
    )
    assert drift.is_explained
    assert drift.live_clicks == len(counted_live)


@pytest.mark.parametrize(
    ("distance", "final_reason", "live_clicks"),
    [
        pytest.param(DAY, "duplicate", 1, id="L4-exactly-the-live-horizon"),
        pytest.param(DAY + MICROSECOND, "duplicate", 2, id="L4-a-microsecond-beyond-the-live-horizon"),
        pytest.param(WEEK, "duplicate", 2, id="L4-exactly-the-final-horizon"),
        pytest.param(WEEK + MICROSECOND, None, 2, id="L4-a-microsecond-beyond-the-final-horizon"),
    ],
)
def test_edges_of_the_horizon(distance: timedelta, final_reason: str | None, live_clicks: int) -> None:
    """L4: a copy at exactly the horizon is a duplicate; live may count one beyond its own, final does not."""
    log = [logged(0, START), logged(1, START + distance)]
    assert final_outcomes(log, WEEK)[1].reason == final_reason
    assert sum(live_counts(log, DAY, BOUND).counts.values()) == live_clicks


def test_an_excluded_copy_still_excludes_the_next() -> None:
    """Six days apart each, the third lies beyond the first's horizon and is a duplicate of the second."""
    log = [logged(0, START), logged(1, START + 6 * DAY), logged(2, START + 12 * DAY)]
    assert verdicts(final_outcomes(log, WEEK)) == {0: (None, None), 1: ("duplicate", 0), 2: ("duplicate", 1)}


def test_the_earliest_copy_in_the_window_wins_not_the_nearest() -> None:
    log = [logged(offset, START + offset * HOUR) for offset in range(3)]
    assert verdicts(final_outcomes(log, WEEK)) == {0: (None, None), 1: ("duplicate", 0), 2: ("duplicate", 0)}


def test_one_tenants_impression_id_does_not_suppress_anothers() -> None:
    """L5: advertisers 10 and 20 use the same impression id; the ads differ, so both clicks count."""
    log = [logged(0, START), logged(1, START, ad_id=2, advertiser_id=20)]
    counts = count_billable(final_outcomes(log, WEEK))
    assert {key.advertiser_id: clicks for key, clicks in counts.items()} == {10: 1, 20: 1}


@pytest.mark.parametrize(
    "changes", [{"country": "CA"}, {"device": "tablet"}, {"campaign_id": 101}], ids=["country", "device", "campaign"]
)
def test_a_copy_in_another_dimension_is_excluded_as_conflicting(changes: dict[str, object]) -> None:
    """L6: the lowest log position wins, the copy is an exclusion that says so."""
    log = [logged(0, START), logged(1, START + HOUR, **changes)]
    assert verdicts(final_outcomes(log, WEEK)) == {0: (None, None), 1: ("conflicting_duplicate", 0)}
    assert count_billable(final_outcomes(log, WEEK)) == {CountKey(10, 100, 1, START, "US", "mobile"): 1}


def test_a_conflict_is_judged_against_the_winner() -> None:
    """The second copy has the winner's dimensions, though not those of the copy right before it."""
    log = [logged(0, START), logged(1, START, country="CA"), logged(2, START)]
    assert [o.reason for o in final_outcomes(log, WEEK)] == [None, "conflicting_duplicate", "duplicate"]


def test_two_clicks_in_the_same_instant_both_count() -> None:
    """L7: two impressions of one ad in one microsecond; identity never comes from time."""
    log = [logged(0, START), logged(1, START, impression_id="imp-2")]
    assert count_billable(final_outcomes(log, WEEK)) == {CountKey(10, 100, 1, START, "US", "mobile"): 2}


@pytest.mark.parametrize("kind", ["head", "prefetch"])
def test_a_preview_before_the_click_leaves_one_billable_click(kind: str) -> None:
    """R1: the request of a preview client is excluded by its kind and does not make the click a duplicate."""
    log = [logged(0, START, kind=kind), logged(1, START + HOUR), logged(2, START + 2 * HOUR, kind=kind)]
    assert verdicts(final_outcomes(log, WEEK)) == {0: (kind, None), 1: (None, None), 2: (kind, None)}


def test_copies_in_two_partitions_are_ordered_by_time_then_partition() -> None:
    """A4: after the number of partitions was raised, copies of one click may stand in two of them."""
    same_instant = [logged(7, START, partition=1), logged(900, START, partition=0)]
    assert [o.position.partition for o in final_outcomes(same_instant, WEEK) if o.is_billable] == [0]
    earlier_in_one = [logged(7, START - MICROSECOND, partition=1), logged(900, START, partition=0)]
    assert [o.position.partition for o in final_outcomes(earlier_in_one, WEEK) if o.is_billable] == [1]


def test_counts_fall_into_the_minute_of_the_click_not_of_its_log_time() -> None:
    late = logged(0, START + HOUR, clicked_at=START + timedelta(minutes=7, seconds=59, microseconds=999_999))
    assert [key.minute for key in count_billable(final_outcomes([late], WEEK))] == [START + timedelta(minutes=7)]


def test_edges_of_lateness() -> None:
    """L11: exactly the bound behind its partition is in time, a microsecond more is refused and named."""
    newest = START + HOUR
    log = [
        logged(0, newest),
        logged(1, newest, impression_id="imp-2", clicked_at=newest - BOUND),
        logged(2, newest, impression_id="imp-3", clicked_at=newest - BOUND - MICROSECOND),
    ]
    live = live_counts(log, DAY, BOUND)
    assert live.late == {LogPosition(1, 0, 2): "late"}
    assert sum(live.counts.values()) == 2
    assert sum(count_billable(final_outcomes(log, WEEK)).values()) == 3


def test_lateness_looks_at_its_own_partition_and_at_lower_offsets_only() -> None:
    """L10: partition 1 is an hour behind partition 0 and refuses nothing; a later newest click makes no one late."""
    log = [
        logged(0, START + HOUR, partition=0),
        logged(0, START + HOUR, partition=1, impression_id="imp-2", clicked_at=START),
        logged(1, START + HOUR, partition=1, impression_id="imp-3"),
    ]
    assert live_counts(log, DAY, BOUND).late == {}


def test_a_repeated_copy_makes_nobody_late() -> None:
    """What did not pass deduplication does not move the newest click: a copy may carry another time."""
    log = [
        logged(0, START),
        logged(1, START, clicked_at=START + HOUR),
        logged(2, START, impression_id="imp-2"),
    ]
    assert live_counts(log, DAY, BOUND).late == {}


def test_a_late_copy_still_occupies_its_identity() -> None:
    newest = START + HOUR
    log = [
        logged(0, newest, impression_id="imp-2"),
        logged(1, newest, clicked_at=START),
        logged(2, newest, clicked_at=newest),
    ]
    live = live_counts(log, DAY, BOUND)
    assert live.late == {LogPosition(1, 0, 1): "late"}
    assert sum(live.counts.values()) == 1


def test_a_click_of_a_sealed_hour_is_refused_as_such_even_if_it_is_late_too() -> None:
    log = [logged(0, START + HOUR), logged(1, START + HOUR, impression_id="imp-2", clicked_at=START)]
    assert live_counts(log, DAY, BOUND, sealed_hours={START}).late == {LogPosition(1, 0, 1): "hour_sealed"}


def test_live_reads_a_partition_by_offset_where_the_brokers_clock_stepped_back() -> None:
    """A new leader's clock is behind: the copy at the higher offset is the duplicate, whatever its append time."""
    log = [logged(0, START + HOUR), logged(1, START, country="CA", clicked_at=START + HOUR)]
    assert [key.country for key in live_counts(log, DAY, BOUND).counts] == ["US"]


@given(logs())
def test_the_generated_logs_are_as_the_archive_makes_them(log: list[LoggedEvent]) -> None:
    """The strategy itself: unique positions, and in each partition a logged_at that never steps back."""
    assert len({event.position for event in log}) == len(log)
    for partition in (0, 1):
        times = [e.logged_at for e in log if e.position.partition == partition]
        assert all(a <= b for a, b in pairwise(times))


JUDGED: dict[Target, str] = {ClickTarget("a", 1): "v1", LogPosition(1, 0, 1): "v2", LogPosition(1, 0, 3): "v3"}
"""What the page says was judged in its example of fraud."""
EXAMPLE_ROW = re.compile(r"^\| (\d+) \| (\S+Z) \| (\w+) \| (\w) \| (\w+) \| (\w+)(?: of (\d+))? \|$", re.MULTILINE)


def examples() -> list[list[tuple[str, ...]]]:
    """The tables under "Worked examples" of docs/counting.md."""
    text = (Path(__file__).parents[2] / "docs" / "counting.md").read_text(encoding="utf-8")
    tables = text.split("## Worked examples")[1].split("\n## ")[0].split("| offset |")[1:]
    return [EXAMPLE_ROW.findall(table) for table in tables]


@pytest.mark.parametrize("rows", examples())
def test_the_worked_examples_of_the_documentation(rows: list[tuple[str, ...]]) -> None:
    log = [
        logged(int(offset), parse_utc(logged_at), kind=kind, impression_id=impression, country=country)
        for offset, logged_at, kind, impression, country, _, _ in rows
    ]
    stated = {
        int(offset): (None if outcome == "billable" else outcome, int(winner) if winner else None)
        for offset, *_, outcome, winner in rows
    }
    assert len(stated) >= 3
    in_force = JUDGED if any(reason == "fraud" for reason, _ in stated.values()) else {}
    assert verdicts(final_outcomes(log, WEEK, in_force)) == stated
