"""Row counts of whole tables, of hours, and of days."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from deltalake import write_deltalake

from domain.settings import Settings
from warehouse.layout import open_table
from warehouse.row_counts import count_rows, rows_by_hour
from warehouse.schema import arrow_rows
from warehouse.tables import TABLES

H = datetime(2026, 5, 4, 10, tzinfo=UTC)
KEY = {"advertiser_id": 1, "campaign_id": 2, "ad_id": 3, "country": "US", "device": "mobile", "clicks": 5}


def hours(*numbers: int) -> list[datetime]:
    return [H + timedelta(hours=number) for number in numbers]


def fill(settings: Settings, name: str, buckets: list[datetime]) -> None:
    def row(at: datetime) -> dict[str, Any]:
        whole = {**KEY, "minute": at, "hour": at, "click_date": at.date(), "click_hour": at.hour}
        return {column: whole[column] for column in TABLES[name].column_names}

    write_deltalake(open_table(settings, name), arrow_rows(TABLES[name], map(row, buckets)), mode="append")


@pytest.mark.parametrize(
    ("name", "of_one_hour", "of_two_days"),
    [("final_clicks_minute", 2, 3), ("final_clicks_hour", 2, 3), ("final_clicks_day", 3, 4)],
)
def test_rows_of_hours(settings: Settings, name: str, of_one_hour: int, of_two_days: int) -> None:
    fill(settings, name, hours(0, 0, 1, 24))
    assert count_rows(settings, name) == 4
    assert count_rows(settings, name, hours(0)) == of_one_hour
    assert count_rows(settings, name, hours(0, 24)) == of_two_days
    assert count_rows(settings, name, []) == 0


def test_rows_of_each_hour_by_the_log(settings: Settings) -> None:
    fill(settings, "final_clicks_minute", hours(0, 0, 24))
    fill(settings, "final_clicks_minute", hours(0))
    assert rows_by_hour(settings, "final_clicks_minute") == {H: 3, H + timedelta(days=1): 1}
    assert rows_by_hour(settings, "raw_clicks") == {}
