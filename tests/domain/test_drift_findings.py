"""What is said about an hour: alarms by name, silence where somebody explains, no reference where there is none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import cache

import pytest

from domain.buckets import HOUR
from domain.drift_findings import ACCEPTED_FOR, findings_of
from domain.drift_rules import DRIFT_RULES, DriftOptions
from domain.metric_history import history_of
from domain.quality_calendar import Event
from domain.quality_metrics import Metric
from domain.quality_verdicts import Finding, Override
from tests.domain.test_quality_verdicts import RELEASE
from tests.support.metric_weeks import COUNTRIES, MONDAY, WEEK, hour_metrics, weeks_of_metrics

JUDGED = MONDAY + 16 * WEEK + timedelta(days=2, hours=11)
LAUNCH = Event("launch", JUDGED, JUDGED + HOUR, frozenset({"volume"}), frozenset(), "a new feed")
SWAPPED = {"US": 0.3, "DE": 0.6, "FR": 0.1}


@cache
def past() -> tuple[Metric, ...]:
    return tuple(weeks_of_metrics(MONDAY, JUDGED))


def said(fresh: Sequence[Metric], **options: object) -> dict[str, list[Finding]]:
    history = history_of([*past(), *fresh], MONDAY, JUDGED + HOUR)
    found: dict[str, list[Finding]] = {}
    for hour, one in findings_of(history, [JUDGED], DriftOptions(), **options):  # type: ignore[arg-type]
        assert hour == JUDGED
        found.setdefault(one.rule, []).append(one)
    return found


def failing(found: dict[str, list[Finding]]) -> set[tuple[str, str]]:
    return {(one.rule, one.group) for said in found.values() for one in said if one.outcome == "fail"}


def test_an_honest_hour_passes_each_rule_that_has_a_reference() -> None:
    found = said(hour_metrics(JUDGED))
    assert failing(found) == set()
    assert found.keys() == {rule.name for rule in DRIFT_RULES}
    assert {one.outcome for one in found["volume"] + found["country_mix"] + found["level"]} == {"pass"}
    assert [one.outcome for one in found["ad_share"]] == ["no_reference"]
    assert {one.severity for said in found.values() for one in said} == {"warn"}


def _lag(lag_ms: int) -> list[Metric]:
    return [replace(one, amount=lag_ms) if one.name == "lag" else one for one in hour_metrics(JUDGED)]


@pytest.mark.parametrize(
    ("fresh", "alarms"),
    [
        (lambda: hour_metrics(JUDGED, 0.6), {("volume", ""), ("advertiser_volume", "1"), ("advertiser_volume", "2")}),
        (lambda: hour_metrics(JUDGED, 1.5), {("volume", ""), ("advertiser_volume", "1"), ("advertiser_volume", "2")}),
        (
            lambda: hour_metrics(JUDGED, countries=SWAPPED),
            {("country_share", "US"), ("country_share", "DE"), ("country_mix", "")},
        ),
        (lambda: hour_metrics(JUDGED, countries=COUNTRIES | {"US": 0.55, "XX": 0.05}), {("country_share", "XX")}),
        (lambda: _lag(1_200), {("lag", "p50")}),
    ],
    ids=["less", "more", "countries", "new country", "lag"],
)
def test_a_fault_alarms_in_the_first_hour_by_its_name(
    fresh: Callable[[], list[Metric]], alarms: set[tuple[str, str]]
) -> None:
    """Q4: fails over the bar, and the honest hour above passes under it."""
    assert alarms <= failing(said(fresh()))


def test_what_is_observed_and_expected_is_said() -> None:
    (volume,) = said(hour_metrics(JUDGED, 0.5))["volume"]
    clicks = next(one.amount for one in hour_metrics(JUDGED, 0.5) if one.name == "rows")
    assert volume.observed.startswith(f"{clicks:,}, -")
    assert volume.expected.startswith("about ")
    assert volume.tolerance == "4.5 sigmas, and a difference of at least 20"


def test_the_calendar_silences_what_it_explains_and_says_so() -> None:
    found = said(hour_metrics(JUDGED, 1.5), events=[LAUNCH])
    (volume,) = found["volume"]
    assert (volume.outcome, volume.tolerance_reason) == ("pass", "the calendar explains it: launch, a new feed")
    assert ("advertiser_volume", "1") in failing(found)


@pytest.mark.parametrize(
    ("first_hour", "group", "kind", "is_silent"),
    [
        (JUDGED, "", "accept_level", True),
        (JUDGED - ACCEPTED_FOR + HOUR, "", "accept_level", True),
        (JUDGED - ACCEPTED_FOR, "", "accept_level", False),
        (JUDGED + HOUR, "", "accept_level", False),
        (JUDGED, "1", "accept_level", False),
        (JUDGED, "", "release", False),
    ],
)
def test_an_accepted_level_silences_its_group_for_a_while(
    first_hour: datetime, group: str, kind: str, is_silent: bool
) -> None:
    lower = [one for hour in range(24) for one in hour_metrics(JUDGED - hour * HOUR, 0.6)]
    before = [one for one in past() if one.hour <= JUDGED - 24 * HOUR]
    history = history_of([*before, *lower], MONDAY, JUDGED + HOUR)
    level = replace(RELEASE, kind=kind, hour=first_hour, rule="level", group=group, actor="ann", reason="a feed ended")
    found = dict.fromkeys(
        (one.rule, one.outcome) for _, one in findings_of(history, [JUDGED], DriftOptions(), accepted=[level])
    )
    assert (("level", "pass") in found) == is_silent
    assert (("level", "fail") in found) != is_silent


def test_a_cold_start_says_so_and_never_alarms() -> None:
    start = MONDAY + timedelta(days=2)
    history = history_of([*weeks_of_metrics(MONDAY, start), *hour_metrics(start, 5.0)], MONDAY, start + HOUR)
    found = [one for _, one in findings_of(history, [start], DriftOptions())]
    assert {one.outcome for one in found if one.rule != "ad_turnover"} == {"no_reference"}


def test_an_hour_without_metrics_is_an_error_of_each_rule() -> None:
    found = said([])
    assert {one.outcome for ones in found.values() for one in ones} == {"error"}
    override: list[Override] = []
    assert said([], accepted=override).keys() == {rule.name for rule in DRIFT_RULES}


def test_the_mix_of_few_clicks_has_no_reference() -> None:
    few = [
        replace(one, amount=one.amount // 100, out_of=one.out_of and one.out_of // 100) for one in hour_metrics(JUDGED)
    ]
    (mix,) = said(few)["country_mix"]
    assert mix.outcome == "no_reference"
