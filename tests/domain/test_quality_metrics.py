"""Quality metrics keep the parts of a share."""

from __future__ import annotations

from datetime import UTC, datetime

from domain.quality_metrics import WHOLE, Metric

HOUR = datetime(2026, 11, 30, 10, tzinfo=UTC)


def test_a_share_is_its_amount_of_the_whole() -> None:
    assert Metric("raw_clicks", HOUR, "by_country", "DE", 3, 12, "clicks").share == 0.25


def test_a_figure_that_is_no_share_and_a_part_of_nothing_have_none() -> None:
    assert Metric("raw_clicks", HOUR, "rows", WHOLE, 3, None, "rows").share is None
    assert Metric("raw_clicks", HOUR, "by_country", "DE", 0, 0, "clicks").share is None
