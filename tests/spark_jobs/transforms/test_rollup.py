"""Minutes to hours to days."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from pyspark.sql import SparkSession

from spark_jobs.transforms.rollup import days_of_hours, hours_of_minutes

pytestmark = pytest.mark.spark

AT = datetime(2026, 5, 4, 10, 59, tzinfo=UTC)
TYPES = (
    "advertiser_id long, campaign_id long, ad_id long, minute timestamp, country string, device string, clicks long, "
    "click_date date"
)


def test_each_key_adds_up_by_itself(spark: SparkSession) -> None:
    """Law 9, F2."""
    minutes = spark.createDataFrame(
        [
            (1, 2, 3, at, country, device, clicks, at.date())
            for at, country, device, clicks in [
                (AT, "DE", "mobile", 1),
                (AT - timedelta(minutes=59), "DE", "mobile", 2),
                (AT + timedelta(minutes=1), "DE", "mobile", 4),
                (AT, "FR", "mobile", 8),
                (AT, "DE", "tablet", 16),
            ]
        ],
        TYPES,
    )
    hours = hours_of_minutes(minutes)
    by_hour = {
        (row["hour"].astimezone(UTC).hour, row["country"], row["device"]): row["clicks"] for row in hours.collect()
    }
    assert by_hour == {
        (10, "DE", "mobile"): 3,
        (11, "DE", "mobile"): 4,
        (10, "FR", "mobile"): 8,
        (10, "DE", "tablet"): 16,
    }
    by_day = {(row["country"], row["device"]): row["clicks"] for row in days_of_hours(hours).collect()}
    assert by_day == {("DE", "mobile"): 7, ("FR", "mobile"): 8, ("DE", "tablet"): 16}
