"""What sealed attempts made of their raw clicks, added up per advertiser and hour.

Belongs here: reading raw_clicks, reconciled_clicks_minute and click_exclusions for law 3, which is judged by
``domain/conservation.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, date, datetime, time

import pyarrow as pa

from domain.conservation import HourTally
from domain.identity import place_of
from domain.seals import Seal
from domain.settings import Settings
from quality.slices import in_hours
from warehouse.duck_engine import opened_engine
from warehouse.layout import dataset_of, open_table
from warehouse.schema import table_of

RAW, BILLABLE = "raw", "billable"
COLUMNS = {
    "raw_clicks": ["click_date", "click_hour", "log", "partition", "offset", "advertiser_id"],
    "reconciled_clicks_minute": ["click_date", "click_hour", "attempt", "advertiser_id", "clicks"],
    "click_exclusions": ["click_date", "click_hour", "attempt", "advertiser_id", "reason"],
}
TALLIES_SQL = f"""
SELECT click_date, click_hour, advertiser_id, '{RAW}' AS what, count(*) AS clicks
FROM raw_clicks JOIN cut USING (click_date, click_hour, log, partition) WHERE "offset" < end_offset GROUP BY ALL
UNION ALL
SELECT click_date, click_hour, advertiser_id, '{BILLABLE}', sum(clicks)::BIGINT
FROM reconciled_clicks_minute SEMI JOIN sealed USING (click_date, click_hour, attempt) GROUP BY ALL
UNION ALL
SELECT click_date, click_hour, advertiser_id, reason, count(*)
FROM click_exclusions SEMI JOIN sealed USING (click_date, click_hour, attempt) GROUP BY ALL
"""  # noqa: S608 (made of constants)
"""Raw clicks up to the cuts, and what the sealed attempts made of them, by advertiser and hour."""


def read_tallies(settings: Settings, seals: Sequence[Seal]) -> list[HourTally]:
    """One tally for each advertiser and hour of these seals (one an hour) that has any click; ascending."""
    clicks: dict[tuple[datetime, int], dict[str, int]] = defaultdict(dict)
    for click_date, click_hour, advertiser_id, what, count in _sums(settings, seals):
        clicks[_hour(click_date, click_hour), advertiser_id][what] = count
    return [
        HourTally(advertiser_id, hour, by_what.pop(RAW, 0), by_what.pop(BILLABLE, 0), by_what)
        for (hour, advertiser_id), by_what in sorted(clicks.items())
    ]


def _sums(settings: Settings, seals: Sequence[Seal]) -> list[tuple[date, int, int, str, int]]:
    is_in_hours = in_hours(seal.hour for seal in seals)
    with opened_engine(settings) as engine:
        for name, columns in COLUMNS.items():
            rows = dataset_of(open_table(settings, name)).scanner(columns=columns, filter=is_in_hours)
            engine.register(name, rows.to_reader())
        engine.register("sealed", _sealed(seals))
        engine.register("cut", _cut(seals))
        return engine.execute(TALLIES_SQL).fetchall()


def _sealed(seals: Sequence[Seal]) -> pa.Table:
    return pa.table(
        {
            "click_date": pa.array([seal.hour.date() for seal in seals], pa.date32()),
            "click_hour": pa.array([seal.hour.hour for seal in seals], pa.int32()),
            "attempt": pa.array([seal.attempt for seal in seals], pa.string()),
        }
    )


def _cut(seals: Sequence[Seal]) -> pa.Table:
    ends = [
        (seal.hour.date(), seal.hour.hour, *place_of(place), end) for seal in seals for place, end in seal.cut.items()
    ]
    types = {"click_date": pa.date32(), "click_hour": pa.int32(), "log": pa.int32(), "partition": pa.int32()}
    return table_of(ends, {**types, "end_offset": pa.int64()})


def _hour(click_date: date, click_hour: int) -> datetime:
    return datetime.combine(click_date, time(click_hour), UTC)
