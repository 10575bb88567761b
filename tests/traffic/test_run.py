"""A whole run on the real log and through the real click service; what was sent is what the truth says."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import pytest

from domain.counting import CountKey, LoggedEvent, count_billable, final_outcomes, live_counts
from domain.errors import UsageError
from domain.identity import LogPosition
from domain.parsing import ParsedEvent, parse_event
from domain.settings import Settings
from services.click.keys import load_key_ring
from tests.support.click_process import ClickProcess, records_of
from tests.support.empty_tables import make_empty_tables
from tests.support.ports import free_port
from tests.traffic.samples import options
from traffic.catalogue import build_catalogue
from traffic.http_sender import ClickService
from traffic.run import EVENTS_PER_REPORT, generate
from warehouse.ads import read_ads

NOW = datetime(2026, 3, 5, tzinfo=UTC)
FINAL_HORIZON, LIVE_HORIZON, LATE_BOUND = timedelta(days=7), timedelta(hours=24), timedelta(seconds=310)


class ReadLog(NamedTuple):
    """The log as the product's plain-Python parsing reads it."""

    events: list[LoggedEvent]
    quarantined: Counter[str]


def _read_log(settings: Settings) -> ReadLog:
    known, read = read_ads(settings), ReadLog([], Counter())
    for record in records_of(settings, settings.clicks_topic):
        appended_at = datetime.fromtimestamp(record.appended_ms / 1000, UTC)
        parsed = parse_event(record.value, appended_at, known)
        if isinstance(parsed, ParsedEvent):
            position = LogPosition(1, record.partition, record.offset)
            read.events.append(LoggedEvent(position, appended_at, parsed))
        else:
            read.quarantined[parsed] += 1
    return read


@pytest.mark.broker
def test_the_log_counts_to_the_truth(log_settings: Settings) -> None:
    progress: list[int] = []
    receipt = generate(log_settings, options(clicks_count=3_000), NOW, progress.append)
    truth, (logged, quarantined) = receipt.truth, _read_log(log_settings)
    assert read_ads(log_settings) == {ad.ad_id: ad for ad in build_catalogue(options()).ads}
    assert truth.final_rows() == count_billable(final_outcomes(logged, FINAL_HORIZON))
    live = live_counts(logged, LIVE_HORIZON, LATE_BOUND)
    assert truth.live_rows() == live.counts
    assert sum(truth.late_rows().values()) == len(live.late) > 0
    assert truth.quarantined == quarantined
    assert truth.is_live_exact
    assert truth.totals()["billable"] == 3_000
    assert sum(partition.end_offset for partition in truth.partitions.values()) == truth.records_count
    assert progress == sorted(progress)
    assert (len(progress), progress[-1]) == (1 + truth.records_count // EVENTS_PER_REPORT, 3_000)


@pytest.mark.broker
def test_a_second_run_is_exact_if_it_knows_the_first(log_settings: Settings) -> None:
    first = generate(log_settings, options(clicks_count=800), NOW, lambda _: None).truth
    second_options = options(clicks_count=800, seed=8)
    second = generate(log_settings, second_options, NOW, lambda _: None, earlier=first).truth
    logged = _read_log(log_settings).events
    assert second.is_live_exact
    assert second.earlier_runs == (first.run_id,)
    final = Counter(first.final_rows()) + Counter(second.final_rows())
    assert final == count_billable(final_outcomes(logged, FINAL_HORIZON))
    live = Counter(first.live_rows()) + Counter(second.live_rows())
    assert live == live_counts(logged, LIVE_HORIZON, LATE_BOUND).counts
    with pytest.raises(UsageError, match="sent before"):
        generate(log_settings, options(clicks_count=800), NOW, lambda _: None, earlier=second)


@pytest.mark.broker
def test_a_second_run_that_does_not_know_the_first_says_so(log_settings: Settings) -> None:
    plain = options(clicks_count=50)
    first = generate(log_settings, plain, NOW, lambda _: None).truth
    unaware = generate(log_settings, replace(plain, seed=8), NOW, lambda _: None).truth
    outdated = generate(log_settings, replace(plain, seed=9), NOW, lambda _: None, earlier=first).truth
    assert [truth.is_live_exact for truth in (first, unaware, outdated)] == [True, False, False]


def _without_minutes(counts: dict[CountKey, int]) -> Counter[tuple[object, ...]]:
    totals: Counter[tuple[object, ...]] = Counter()
    for key, clicks in counts.items():
        totals[key._replace(minute=None)] += clicks  # type: ignore[arg-type]
    return totals


@pytest.mark.broker
def test_through_the_click_service_the_log_counts_to_the_truth(log_settings: Settings) -> None:
    settings = replace(log_settings, click_port=free_port())
    make_empty_tables(settings)
    run = options(clicks_count=600).over_http()
    with ClickProcess(settings):
        service = ClickService(f"http://127.0.0.1:{settings.click_port}", load_key_ring(settings))
        truth = generate(settings, run, NOW, lambda _: None, service=service).truth
    outcomes = final_outcomes(_read_log(settings).events, FINAL_HORIZON)
    assert truth.final_rows() == _without_minutes(count_billable(outcomes))
    reasons = Counter(outcome.reason for outcome in outcomes if outcome.reason is not None)
    excluded = sum((Counter(hour.excluded) for hour in truth.hours), Counter[str]())
    assert excluded == reasons
    assert truth.refused["unknown_ad"] > 0
    assert truth.records_count == len(outcomes) + truth.refused["unknown_ad"]
