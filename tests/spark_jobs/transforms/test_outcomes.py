"""The order of the rule: kinds, then duplicates, then fraud; and a click that look-backs cannot find is an error."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from domain.identity import click_identity
from spark_jobs.transforms.dedup import crowded_keys, key
from spark_jobs.transforms.outcomes import FRAUD_TYPES, UNARCHIVED, events_of, judge_events, split_events
from spark_jobs.transforms.parse import dimensions, identity, minted_at
from warehouse.tables.click_identities import CLICK_IDENTITIES

pytestmark = pytest.mark.spark

AT = datetime(2026, 5, 4, 10, tzinfo=UTC)
Row = tuple[Any, ...]
CUTS = {10: {"1:0": 100}}
TYPES = (
    "log int, partition int, offset long, logged_at timestamp, impression_id string, ad_id long, advertiser_id long, "
    "campaign_id long, clicked_at timestamp, country string, device string, kind string, click_date date, "
    "click_hour int"
)


def raw(spark: SparkSession, *events: dict[str, Any]) -> DataFrame:
    """Rows of ``raw_clicks``: a click on impression "a", a second after the one before, changed as said."""
    rows = []
    for offset, changes in enumerate(events):
        at = AT + timedelta(seconds=offset)
        said = {
            "log": 1,
            "partition": 0,
            "offset": offset,
            "logged_at": at,
            "impression_id": "a",
            "ad_id": 1,
            "advertiser_id": 10,
            "campaign_id": 100,
            "clicked_at": at,
            "country": "DE",
            "device": "mobile",
            "kind": "click",
            "click_date": AT.date(),
            "click_hour": 10,
        }
        rows.append(tuple((said | changes).values()))
    return spark.createDataFrame(rows, TYPES)


def identities(rows: DataFrame) -> DataFrame:
    """What the archive would have made of them."""
    derived = {"identity": identity(), "minted_at": minted_at(), "dimensions": dimensions()}
    known = rows.where("kind = 'click'").withColumns(derived).withColumn("log_date", F.to_date("logged_at"))
    return known.select(*CLICK_IDENTITIES.column_names)


def outcomes(rows: DataFrame, known: DataFrame, fraud: DataFrame | None = None) -> tuple[list[int], list[Row]]:
    """Offsets of what is plainly billable; of the others offset, reason, winner's offset, verdict."""
    events, copies = events_of(rows), known.withColumn("key", key())
    plain, rest = split_events(events, crowded_keys(events.where("kind = 'click'"), copies), fraud)
    judged = judge_events(rest, copies, timedelta(days=7), CUTS, fraud)
    said = judged.select("offset", "reason", "winner.offset", "verdict_id").collect()
    return sorted(row["offset"] for row in plain.collect()), sorted(tuple(row) for row in said)


def judged(rows: DataFrame, known: DataFrame) -> list[tuple[int, str | None, int | None]]:
    """Offset, reason, winner's offset, of all."""
    plain, others = outcomes(rows, known)
    return sorted([*((offset, None, None) for offset in plain), *(row[:3] for row in others)])


def test_kinds_go_before_duplicates(spark: SparkSession) -> None:
    """R1, L5, L6: a HEAD before the click of its identity takes nothing from it; another ad is another identity."""
    rows = raw(
        spark,
        {"kind": "head"},
        {"kind": "prefetch"},
        {},
        {"kind": "head"},
        {"country": "FR"},
        {"device": "tablet"},
        {"campaign_id": 7},
        {"advertiser_id": 11},
        {"ad_id": 2},
    )
    assert judged(rows, identities(rows)) == [
        (0, "head", None),
        (1, "prefetch", None),
        (2, None, None),
        (3, "head", None),
        (4, "conflicting_duplicate", 2),
        (5, "conflicting_duplicate", 2),
        (6, "conflicting_duplicate", 2),
        (7, "duplicate", 2),
        (8, None, None),
    ]


def test_fraud_comes_last_and_promotes_no_other_copy(spark: SparkSession) -> None:
    """A verdict on a HEAD, on a duplicate or on a place that is not there changes nothing; the place is named first."""
    rows = raw(
        spark,
        {"kind": "head"},
        {},
        {},
        {"impression_id": "b"},
        {"impression_id": "b"},
        {"impression_id": "c"},
        {"impression_id": "d"},
        {"impression_id": "a", "ad_id": 2},
    )
    places = [((1, 0, offset), f"place {offset}") for offset in (0, 4, 5, 99)] + [((1, 1, 6), "elsewhere")]
    clicks = [(("a", 1), "click a"), (("c", 1), "click c"), (("e", 1), "click e")]
    fraud = spark.createDataFrame(
        [(*place, None, said) for place, said in places]
        + [(None, None, None, click_identity(*click), said) for click, said in clicks],
        FRAUD_TYPES,
    )
    plain, others = outcomes(rows, identities(rows), fraud)
    assert plain == [6, 7]
    assert others == [
        (0, "head", None, None),
        (1, "fraud", None, "click a"),
        (2, "duplicate", 1, None),
        (3, None, None, None),
        (4, "duplicate", 3, None),
        (5, "fraud", None, "place 5"),
    ]


@pytest.mark.parametrize("lost", [0, 1], ids=["the winner", "the only one"])
def test_a_click_without_an_identity_row_is_an_error(spark: SparkSession, lost: int) -> None:
    """Its copies would be billed; the error names where it stands."""
    rows = raw(spark, {}, {"impression_id": "b"}, {})
    with pytest.raises(PySparkException, match=f"{UNARCHIVED} 1:0:{lost}"):
        judged(rows, identities(rows).where(f"offset != {lost}"))
