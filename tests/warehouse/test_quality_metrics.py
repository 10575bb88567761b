"""Metrics in their table."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from domain.quality_metrics import WHOLE, Metric
from domain.settings import Settings
from tests.support.ledgers import FIRST_HOUR, WRITTEN_AT
from warehouse.layout import code_version, open_table, rows_of
from warehouse.quality_metrics import append_metrics


def _metric(amount: int, hour: int = 0) -> Metric:
    return Metric("raw_clicks", FIRST_HOUR + timedelta(hours=hour), "by_country", "DE", amount, 9, "rows")


def _rows(settings: Settings) -> list[dict[str, Any]]:
    return sorted(rows_of(open_table(settings, "quality_metrics")).to_pylist(), key=lambda row: row["amount"])


def test_a_figure_keeps_its_parts_and_who_measured_it(settings: Settings) -> None:
    rows = Metric("raw_clicks", FIRST_HOUR, "rows", WHOLE, 9, None, "rows")
    append_metrics(settings, {"a": [rows]}, WRITTEN_AT)
    assert _rows(settings) == [
        {
            "table_name": "raw_clicks",
            "hour": FIRST_HOUR,
            "name": "rows",
            "group": "",
            "amount": 9,
            "out_of": None,
            "unit": "rows",
            "attempt": "a",
            "measured_at": WRITTEN_AT,
            "code_version": code_version(),
            "hour_date": FIRST_HOUR.date(),
        }
    ]


def test_attempts_of_a_run_are_one_commit(settings: Settings) -> None:
    append_metrics(settings, {"a": [_metric(1)], "b": [_metric(2, hour=1)]}, WRITTEN_AT)
    assert open_table(settings, "quality_metrics").version() == 1
    assert [(row["attempt"], row["amount"]) for row in _rows(settings)] == [("a", 1), ("b", 2)]


def test_an_attempt_is_written_once(settings: Settings) -> None:
    append_metrics(settings, {"a": [_metric(1)]}, WRITTEN_AT)
    append_metrics(settings, {"a": [_metric(1)], "b": [_metric(2)]}, WRITTEN_AT)
    append_metrics(settings, {"a": [_metric(1)]}, WRITTEN_AT)
    assert [(row["attempt"], row["amount"]) for row in _rows(settings)] == [("a", 1), ("b", 2)]
    assert open_table(settings, "quality_metrics").version() == 2


def test_nothing_is_no_commit(settings: Settings) -> None:
    append_metrics(settings, {"a": []}, WRITTEN_AT)
    assert open_table(settings, "quality_metrics").version() == 0
