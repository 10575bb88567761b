"""Live against final of sealed hours in money, where table ``ads`` has prices.

Belongs here: pricing the minutes of both counts with DuckDB; memory is bounded, what it cannot hold goes to a folder.
What the figures mean is ``domain/drift_money.py``; live against final in clicks is ``drift_history.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds

from domain.buckets import HOUR
from domain.drift_history import HourError
from domain.drift_money import MoneyByHour, PricedClicks, money_of_hours
from domain.seals import Seal
from domain.settings import Settings
from warehouse.duck_engine import opened_engine
from warehouse.layout import dataset_of, open_table
from warehouse.prices import PRICED_JOIN, has_prices, prices_by_minute

COUNTS = {"live": "live_clicks_minute", "final": "reconciled_clicks_minute"}
COLUMNS = ["advertiser_id", "ad_id", "minute", "clicks"]
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_INSTANT = pa.timestamp("us", tz="UTC")

COUNTED_SQL = """
CREATE TABLE counted AS
SELECT hour_us, advertiser_id, ad_id, epoch_us(minute) AS minute_us,
       sum(live_clicks)::BIGINT AS live_clicks, sum(final_clicks)::BIGINT AS final_clicks
FROM (
    SELECT advertiser_id, ad_id, minute, clicks AS live_clicks, 0 AS final_clicks FROM live_once
    UNION ALL SELECT advertiser_id, ad_id, minute, 0, clicks FROM final_once
) JOIN sealed ON epoch_us(minute) // 3600000000 * 3600000000 = hour_us
GROUP BY ALL
"""
"""Both counts of the sealed hours by ad and minute, which is what a price goes by."""

PRICES_SQL = "CREATE TABLE prices AS FROM prices_once SEMI JOIN counted USING (advertiser_id, ad_id)"

PRICED_SQL = f"""
SELECT hour_us, advertiser_id, currency, sum(live_clicks), sum(final_clicks),
       coalesce(sum(live_clicks::HUGEINT * price_micros), 0), coalesce(sum(final_clicks::HUGEINT * price_micros), 0)
FROM counted {PRICED_JOIN}
GROUP BY ALL
"""  # noqa: S608 (made of constants)


def read_money(
    settings: Settings, seals: Sequence[Seal], errors: Sequence[HourError], advertiser_id: int | None = None
) -> MoneyByHour | None:
    """What live and final of the hours of ``seals`` come to; ``errors`` are their rows of table ``drift``.

    None, and no count is read, if no ad (of this advertiser) ever had a price. Reads only.
    """
    if not has_prices(settings, advertiser_id):
        return None
    return money_of_hours(errors, _priced(settings, seals, advertiser_id)) if seals else {}


def _priced(settings: Settings, seals: Sequence[Seal], advertiser_id: int | None) -> list[PricedClicks]:
    filters = _filters(seals, advertiser_id)
    with opened_engine(settings) as engine:
        engine.register("sealed", pa.table({"hour_us": [_us(seal.hour) for seal in seals]}))
        for side, name in COUNTS.items():
            rows = dataset_of(open_table(settings, name)).scanner(columns=COLUMNS, filter=filters[side])
            engine.register(f"{side}_once", rows.to_reader())
        engine.execute(COUNTED_SQL)
        engine.register("prices_once", prices_by_minute(settings, advertiser_id))
        engine.execute(PRICES_SQL)
        return [_priced_clicks(*row) for row in engine.execute(PRICED_SQL).fetchall()]


def _filters(seals: Sequence[Seal], advertiser_id: int | None) -> dict[str, ds.Expression]:
    """Of each count the rows to look at: by date and time, so that files of other days stay unopened."""
    dates = pa.array(sorted({seal.hour.date() for seal in seals}), pa.date32())
    hours = [seal.hour for seal in seals]
    start, end = (pa.scalar(at, _INSTANT) for at in (min(hours), max(hours) + HOUR))
    is_ours = ds.field("click_date").isin(dates) & (ds.field("minute") >= start) & (ds.field("minute") < end)
    if advertiser_id is not None:
        is_ours &= ds.field("advertiser_id") == advertiser_id
    attempts = pa.array([seal.attempt for seal in seals], pa.string())
    return {"live": is_ours, "final": is_ours & ds.field("attempt").isin(attempts)}


def _priced_clicks(hour_us: int, *figures: Any) -> PricedClicks:
    return PricedClicks(_EPOCH + timedelta(microseconds=hour_us), *figures)


def _us(at: datetime) -> int:
    return (at - _EPOCH) // timedelta(microseconds=1)
