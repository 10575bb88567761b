"""The truth by hand, by brute force, and against the product's oracle."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from datetime import UTC, datetime, timedelta

import pytest

from clicklog.producer import partition_of
from domain.counting import LoggedEvent, count_billable, final_outcomes, live_counts
from domain.identity import LogPosition
from domain.parsing import ParsedEvent, parse_event
from tests.traffic.samples import LATE_BOUND_SECONDS, PARTITIONS, SHOP, event, options, planned
from traffic.catalogue import build_catalogue
from traffic.event import PlannedEvent, instant, microseconds
from traffic.options import TrafficOptions
from traffic.recount import NO_TIME, Recount
from traffic.truth import RunFacts, Truth, truth_of

OTHER_COUNTRY = SHOP._replace(country="FR")
OTHER_CAMPAIGN = SHOP._replace(campaign_id=1102)
NINE_US = microseconds(datetime(2026, 3, 1, 9, tzinfo=UTC))
NINE, TEN = NINE_US // 3_600_000_000, NINE_US // 3_600_000_000 + 1
MINUTE = NINE_US // 60_000_000
SENT_AT = datetime(2026, 3, 5, tzinfo=UTC)


def _recount(*events: PlannedEvent, has_times: bool = True, earlier: dict[int, int] | None = None) -> Recount:
    recount = Recount(lambda key: key[0] % 2, LATE_BOUND_SECONDS, earlier or {}, has_times)
    for each in events:
        recount.look_at(each)
    return recount


def test_a_tiny_run_by_hand() -> None:
    """L6: one of them counts, the others are exclusions. R1: HEAD and prefetch do not stand for the click."""
    recount = _recount(
        event("a", 1, kind="head"),
        event("a", 2, kind="prefetch"),
        event("a", 3),  # counts: HEAD and prefetch do not come first
        event("a", 4),  # a duplicate
        event("a", 3_601, OTHER_COUNTRY),  # an hour later, contradicts
        event("a", 5, OTHER_CAMPAIGN),  # contradicts
        event("b", 61, OTHER_COUNTRY),
        event("b", 62, OTHER_COUNTRY),  # a duplicate of what came first, whatever "a" was
        event("c", 63, reason="bad_value"),
        event("c", 64, has_copies=False),
    )
    assert recount.hours == {
        (NINE, 11): {
            "raw": 8,
            "head": 1,
            "prefetch": 1,
            "duplicate": 2,
            "conflicting_duplicate": 1,
            "billable": 3,
        },
        (TEN, 11): {"raw": 1, "conflicting_duplicate": 1},
    }
    assert recount.minutes == {MINUTE: {SHOP: 1}, MINUTE + 1: {OTHER_COUNTRY: 1, SHOP: 1}}
    assert recount.invalid == {"bad_value": 1}
    assert recount.records_count == 10
    assert recount.late == {}


def test_the_first_sent_wins_though_it_was_clicked_later() -> None:
    recount = _recount(event("a", 60), event("a", 1))
    assert recount.minutes == {MINUTE + 1: {SHOP: 1}}


def test_one_impression_on_two_ads_counts_twice() -> None:
    """L5: identity is impression and ad."""
    other_ad = SHOP._replace(ad_id=10_002)
    assert _recount(event("a", 1), event("a", 2, other_ad)).minutes == {MINUTE: {SHOP: 1, other_ad: 1}}


@pytest.mark.parametrize(
    ("seconds", "is_late"),
    [pytest.param(-310, False, id="at the bound"), pytest.param(-310.000001, True, id="a microsecond beyond")],
)
def test_late_is_more_than_the_bound_behind_its_partition(seconds: float, is_late: bool) -> None:
    """L11: refused by live, billable all the same."""
    recount = _recount(event("a", 400), event("c", 400 + seconds))
    assert sum(sum(counts.values()) for counts in recount.late.values()) == is_late
    assert recount.hours[NINE, 11]["late"] == is_late
    assert recount.hours[NINE, 11]["billable"] == 2


def test_late_is_judged_by_partition_and_duplicates_do_not_move_it() -> None:
    recount = _recount(
        event("a", 0),
        event("b", 3_000),
        event("a", 3_000),
        event("c", 1),  # "b" is elsewhere, "a" again a duplicate
    )
    assert recount.late == {}
    assert recount.highest_us == {1: NINE_US + 1_000_000, 0: NINE_US + 3_000_000_000}


def test_earlier_runs_make_later() -> None:
    recount = _recount(event("a", 0), event("b", 0), earlier={1: NINE_US + 311_000_000})
    assert recount.late == {MINUTE: {SHOP: 1}}


def test_over_http_nobody_knows_the_time() -> None:
    recount = _recount(event("a", 400), event("a", 401), event("c", 0), has_times=False)
    assert recount.minutes == {NO_TIME: {SHOP: 2}}
    assert recount.hours == {(NO_TIME, 11): {"raw": 3, "billable": 2, "duplicate": 1}}
    assert recount.late == {}


def _truth(run: TrafficOptions) -> Truth:
    recount = Recount(lambda key: partition_of(key, PARTITIONS), run.late_bound_seconds, {})
    for each in planned(run):
        recount.look_at(each)
    return truth_of(recount, RunFacts(run, {}, is_live_exact=True))


def test_truth_is_what_brute_force_finds_in_the_bytes() -> None:
    """Every identity is kept and every byte read here, so a wrong fact or mark of the plan cannot hide."""
    run = options(clicks_count=4_000)
    known = {ad.ad_id for ad in build_catalogue(run).ads}
    winners: dict[tuple[str, int], tuple[int, str, str]] = {}
    newest: dict[int, str] = {}
    minutes: Counter[tuple[object, ...]] = Counter()
    late: Counter[tuple[object, ...]] = Counter()
    reasons: Counter[tuple[int, str, str]] = Counter()
    invalid = 0
    for each in planned(run):
        if not isinstance(parse_event(each.value, SENT_AT, known), ParsedEvent):
            invalid += 1
            continue
        fields = json.loads(each.value or b"")
        at = datetime.fromisoformat(fields["clicked_at"]).isoformat(timespec="microseconds")
        hour_key = (fields["advertiser_id"], at[:13])
        identity = (fields["impression_id"], fields["ad_id"])
        place = (fields["campaign_id"], fields["country"], fields["device"])
        if fields["kind"] != "click":
            reasons[(*hour_key, fields["kind"])] += 1
        elif identity in winners:
            same = winners[identity] == place
            reasons[(*hour_key, "duplicate" if same else "conflicting_duplicate")] += 1
        else:
            winners[identity] = place
            key = (fields["advertiser_id"], place[0], fields["ad_id"], at[:16], *place[1:])
            minutes[key] += 1
            partition = partition_of(each.key, PARTITIONS)
            bound = datetime.fromisoformat(newest.get(partition, at)) - timedelta(seconds=run.late_bound_seconds)
            late[key] += datetime.fromisoformat(at) < bound
            newest[partition] = max(newest.get(partition, at), at)
    truth = _truth(run)
    assert _by_text(truth.final_rows()) == minutes
    assert _by_text(truth.late_rows()) == +late
    assert _by_text(truth.live_rows()) == minutes - late
    assert _reasons(truth) == reasons
    assert sum(truth.quarantined.values()) == invalid
    assert sum(late.values()) > 50


def _by_text(rows: dict[tuple[int, int, int, datetime | None, str, str], int]) -> Counter[tuple[object, ...]]:
    texts = Counter[tuple[object, ...]]()
    for (advertiser, campaign, ad, minute, country, device), clicks in rows.items():
        assert minute is not None
        texts[advertiser, campaign, ad, minute.isoformat()[:16], country, device] = clicks
    return texts


def _reasons(truth: Truth) -> Counter[tuple[int, str, str]]:
    found: Counter[tuple[int, str, str]] = Counter()
    for hour in truth.hours:
        assert hour.hour is not None
        for reason, count in hour.excluded.items():
            found[hour.advertiser_id, hour.hour.isoformat()[:13], reason] = count
    return found


def test_truth_is_what_the_counting_rule_says() -> None:
    """Two codes that share nothing agree on final, live and late."""
    run = options(clicks_count=4_000)
    known = {ad.ad_id for ad in build_catalogue(run).ads}
    offsets: defaultdict[int, int] = defaultdict(int)
    logged: list[LoggedEvent] = []
    for number, each in enumerate(planned(run)):
        partition = partition_of(each.key, PARTITIONS)
        position = LogPosition(1, partition, offsets[partition])
        offsets[partition] += 1
        parsed = parse_event(each.value, SENT_AT, known)
        if isinstance(parsed, ParsedEvent):
            logged.append(LoggedEvent(position, SENT_AT + timedelta(milliseconds=number // 30), parsed))
    truth = _truth(run)
    outcomes = final_outcomes(logged, timedelta(days=7))
    live = live_counts(logged, timedelta(hours=24), timedelta(seconds=run.late_bound_seconds))
    assert truth.final_rows() == count_billable(outcomes)
    assert truth.live_rows() == live.counts
    assert sum(truth.late_rows().values()) == len(live.late)
    reasons = Counter(
        (outcome.event.advertiser_id, f"{outcome.event.clicked_at:%Y-%m-%dT%H}", outcome.reason)
        for outcome in outcomes
        if outcome.reason is not None
    )
    assert _reasons(truth) == reasons


def test_instants_survive() -> None:
    assert microseconds(instant(NINE_US + 1)) == NINE_US + 1
