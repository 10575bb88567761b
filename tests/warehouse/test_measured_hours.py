"""Metric rows of the attempts that are asked for, and no others."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from deltalake import write_deltalake

from domain.quality_metrics import Metric
from domain.settings import Settings
from tests.support.metric_weeks import MONDAY
from warehouse.layout import open_table
from warehouse.measured_hours import newest_attempts, read_metrics
from warehouse.schema import arrow_rows
from warehouse.tables import QUALITY_METRICS

NEXT = MONDAY + timedelta(hours=1)


def _rows(hour: datetime, attempt: str, minutes: int) -> Iterator[dict[str, Any]]:
    for group, amount in (("US", 7), ("DE", 3)):
        yield {
            "table_name": "raw_clicks",
            "hour": hour,
            "name": "by_country",
            "group": group,
            "amount": amount + minutes,
            "out_of": None,
            "unit": "clicks",
            "attempt": attempt,
            "measured_at": MONDAY + timedelta(days=1, minutes=minutes),
            "code_version": "0.1.0",
            "hour_date": hour.date(),
        }


@pytest.fixture
def measured(settings: Settings) -> Settings:
    rows = [*_rows(MONDAY, "b", 0), *_rows(MONDAY, "a", 1), *_rows(NEXT, "b", 2)]
    write_deltalake(open_table(settings, QUALITY_METRICS.name), arrow_rows(QUALITY_METRICS, rows), mode="append")
    return settings


def test_each_hour_is_read_by_its_own_attempt(measured: Settings) -> None:
    found = read_metrics(measured, {MONDAY: "a", NEXT: "b", NEXT + timedelta(hours=1): "b"})
    assert [(one.hour, one.group, one.amount) for one in found] == [
        (MONDAY, "DE", 4),
        (MONDAY, "US", 8),
        (NEXT, "DE", 5),
        (NEXT, "US", 9),
    ]
    assert found[0] == Metric("raw_clicks", MONDAY, "by_country", "DE", 4, None, "clicks")
    assert read_metrics(measured, {}) == []


def test_the_newest_attempt_is_the_one_measured_last(measured: Settings) -> None:
    assert newest_attempts(measured, [MONDAY, NEXT, NEXT + timedelta(hours=1)]) == {MONDAY: "a", NEXT: "b"}
