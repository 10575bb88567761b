"""The grid of metrics: gaps are gaps, absent groups are nothing found."""

from __future__ import annotations

from datetime import timedelta
from zoneinfo import ZoneInfo

import numpy as np

from domain.buckets import HOUR
from domain.metric_history import history_of
from domain.quality_metrics import Metric
from tests.support.metric_weeks import MONDAY


def metric(hour_number: int, group: str, amount: int, out_of: int | None = None, name: str = "by_country") -> Metric:
    return Metric("raw_clicks", MONDAY + hour_number * HOUR, name, group, amount, out_of, "clicks")


def test_an_hour_without_metrics_is_a_gap_and_a_group_without_a_row_is_none() -> None:
    given = [metric(0, "US", 7, 10), metric(0, "DE", 3, 10), metric(2, "US", 5, 5), metric(9, "US", 1, 1)]
    found = history_of(given, MONDAY, MONDAY + 3 * HOUR)
    family = found.families["by_country"]
    assert found.is_measured.tolist() == [True, False, True]
    assert family.groups == ("DE", "US")
    np.testing.assert_array_equal(family.amount, [[3, 7], [np.nan, np.nan], [0, 5]])
    np.testing.assert_array_equal(family.out_of, [[10, 10], [np.nan, np.nan], [5, 5]])


def test_hours_that_are_left_out_are_gaps() -> None:
    given = [metric(0, "US", 7), metric(1, "US", 8)]
    found = history_of(given, MONDAY, MONDAY + 2 * HOUR, {MONDAY})
    np.testing.assert_array_equal(found.families["by_country"].amount, [[np.nan], [8]])


def test_weekends_and_clocks() -> None:
    friday = MONDAY + timedelta(days=4, hours=23)
    found = history_of([], friday, friday + 50 * HOUR)
    assert found.is_weekend.tolist() == [False] + [True] * 48 + [False]
    assert found.row(friday + 3 * HOUR) == 3
    spring = MONDAY.replace(month=3, day=29)
    offsets = history_of([], spring, spring + 3 * HOUR).utc_offset_hours(ZoneInfo("Europe/Berlin"))
    assert offsets.tolist() == [1, 2, 2]
