"""What an advertiser is billed for in a closed period: clicks by local day, campaign and ad, out of the minute table,
with their money where the ad had a price.

Belongs here: reading and adding up, and the refusal of figures that are not those of the close. What a statement looks
like in a file is ``warehouse/statement_files.py``. Memory is bounded, however many ads there are: DuckDB adds up what
it is handed batch by batch, and the rows of a statement lie in a file, not in memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import tzinfo
from typing import NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from domain.buckets import DAY, MINUTE, to_unix_micros
from domain.errors import IntegrityError, UsageError
from domain.events import MAX_INT64
from domain.periods import Period, PeriodClose
from domain.settings import Settings
from warehouse.adjustments import read_adjustments
from warehouse.counts import open_version
from warehouse.duck_engine import opened_engine
from warehouse.layout import dataset_of
from warehouse.mapped_rows import mapped_rows
from warehouse.periods import read_closes
from warehouse.prices import MONEY, PRICED_JOIN, adjustments_with_money, prices_by_minute
from warehouse.publications import latest_publication
from warehouse.published_minutes import published_minutes
from warehouse.ranges import FINAL_TABLE
from warehouse.schema import INSTANT

DAY_KEY = ["date", "campaign_id", "ad_id"]
ROWS_AT_ONCE = 65_536
"""So many rows of a statement are in memory at once."""
MINUTES_SQL = """
CREATE TABLE own AS
SELECT $advertiser_id::BIGINT AS advertiser_id, campaign_id, ad_id, epoch_us(minute) AS minute_us,
       sum(clicks)::BIGINT AS clicks
FROM minutes_once GROUP BY ALL
"""
"""An advertiser's clicks by minute, campaign and ad: a price goes by nothing else."""
STATED_SQL = f"""
SELECT date, campaign_id, ad_id, sum(clicks)::BIGINT AS clicks, price_micros, currency,
       sum(clicks)::BIGINT * price_micros AS amount_micros
FROM (FROM own {PRICED_JOIN}) JOIN dates USING (minute_us)
GROUP BY date, campaign_id, ad_id, price_micros, currency
ORDER BY date, campaign_id, ad_id, currency NULLS LAST, price_micros NULLS LAST
"""  # noqa: S608 (made of constants)
"""By local day, campaign, ad and price; a product that is too large is an error."""
_ADJUSTMENT_COLUMNS: dict[str, pa.DataType] = {
    "charge_hour": INSTANT,
    "campaign_id": pa.int64(),
    "ad_id": pa.int64(),
    "country": pa.string(),
    "device": pa.string(),
    "clicks": pa.int64(),
    **{field.name: field.type for field in MONEY},
    "case_id": pa.string(),
    "line_number": pa.int64(),
    "corrects_seal_number": pa.int64(),
    "reason": pa.string(),
}
ADJUSTMENTS = pa.schema(_ADJUSTMENT_COLUMNS)
_DAY_COLUMNS: dict[str, pa.DataType] = {
    "date": pa.date32(),
    "campaign_id": pa.int64(),
    "ad_id": pa.int64(),
    "clicks": pa.int64(),
}
CLICKS = pa.schema([*pa.schema(_DAY_COLUMNS), *MONEY])


class Amount(NamedTuple):
    """Of one currency: how many clicks it pays for, and what they cost."""

    currency: str
    clicks: int
    amount_micros: int


@dataclass(frozen=True)
class Statement:
    """Billable clicks of one advertiser in a closed period.

    ``clicks`` has the columns of ``CLICKS``, its date a day of ``time_zone``; no row for nothing, a row for each price
    of a day. It lies in a file without a name and costs no memory to keep: look at it in pieces. The period is a UTC
    month: its first and last local day may be parts of days. ``adjustments`` are what the period bills of closed ones
    before it, in the columns of ``ADJUSTMENTS``; they are in no other figure.
    """

    close: PeriodClose
    advertiser_id: int
    time_zone: str
    clicks: pa.Table
    adjustments: pa.Table

    @property
    def total_clicks(self) -> int:
        """All clicks of the period, without adjustments."""
        return _total(self.clicks)

    @property
    def adjusted_clicks(self) -> int:
        """The sum of the adjustments."""
        return _total(self.adjustments)

    @property
    def amounts(self) -> list[Amount]:
        """What the clicks cost, a sum for each currency; clicks without a price are in none."""
        return _amounts(self.clicks)

    @property
    def adjusted_amounts(self) -> list[Amount]:
        """What the adjustments cost, the same way."""
        return _amounts(self.adjustments)


def read_statement(settings: Settings, advertiser_id: int, period: Period, time_zone: str) -> Statement:
    """The statement; one of zero clicks if there is none. Reads only.

    ``UsageError`` for an open period or an unknown zone; ``IntegrityError`` if the tables no longer hold what was
    closed.
    """
    zone = _zone(time_zone)
    close = next((one for one in read_closes(settings) if one.period == period), None)
    publication = latest_publication(settings)
    if close is None or publication is None:
        raise UsageError(
            f"a statement of period {period}, which is open", "a closed one", "close it: `tallystick period close`"
        )
    minutes = published_minutes(settings, publication, period.hours)
    days = dataset_of(open_version(settings, FINAL_TABLE["day"], publication.day_version))
    is_ours = ds.field("advertiser_id") == advertiser_id
    of_all = _sum_of(days, _dates_of(period))
    _check(close, "its days add up to", of_all, close.billable_clicks)
    with opened_engine(settings) as engine:
        engine.register("minutes_once", _minutes(minutes, _dates_of(period) & _minutes_of(period) & is_ours))
        engine.execute(MINUTES_SQL, {"advertiser_id": advertiser_id})
        ((found,),) = engine.execute("SELECT coalesce(sum(clicks), 0)::BIGINT FROM own").fetchall()
        of_days = _sum_of(days, _dates_of(period) & is_ours)
        _check(close, f"the minutes of advertiser {advertiser_id} add up to", found, of_days)
        clicks = _by_local_day(settings, engine, advertiser_id, _local_dates(period, zone))
    return Statement(close, advertiser_id, time_zone, clicks, _adjustments(settings, advertiser_id, period))


def _minutes(minutes: ds.Dataset, condition: ds.Expression) -> pa.RecordBatchReader:
    return minutes.scanner(columns=["minute", "campaign_id", "ad_id", "clicks"], filter=condition).to_reader()


def _by_local_day(
    settings: Settings, engine: duckdb.DuckDBPyConnection, advertiser_id: int, dates: pa.Table
) -> pa.Table:
    """Table ``own`` added up, in a file. ``IntegrityError`` for an amount that no column holds."""
    engine.register("dates", dates)
    engine.register("prices_once", prices_by_minute(settings, advertiser_id))
    engine.execute("CREATE TABLE prices AS FROM prices_once SEMI JOIN own USING (ad_id)")
    try:
        return mapped_rows(settings, CLICKS, engine.sql(STATED_SQL).to_arrow_reader(ROWS_AT_ONCE))
    except duckdb.OutOfRangeException as error:
        raise IntegrityError(
            f"an amount is too large: {error}", f"one up to {MAX_INT64}", "look at the prices in table ads"
        ) from error


def _adjustments(settings: Settings, advertiser_id: int, period: Period) -> pa.Table:
    """What the period bills of closed ones before it, each line at the price of its charge hour."""
    billed = [
        one for one in read_adjustments(settings) if one.billing_period == period and one.advertiser_id == advertiser_id
    ]
    rows = [
        vars(one.adjustment) | one._asdict() | {"clicks": one.adjustment.delta_clicks}
        for one in adjustments_with_money(settings, billed)
    ]
    return pa.Table.from_pylist([{name: row[name] for name in ADJUSTMENTS.names} for row in rows], ADJUSTMENTS)


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise UsageError(
            f"time zone {name!r}", "a name of the time zone database such as Asia/Kolkata", "correct it"
        ) from None


def _dates_of(period: Period) -> ds.Expression:
    """Whole UTC days: what files are pruned by, and all that the day table needs."""
    first, last = period.start.date(), (period.end - DAY).date()
    return (ds.field("click_date") >= pa.scalar(first)) & (ds.field("click_date") <= pa.scalar(last))


def _minutes_of(period: Period) -> ds.Expression:
    minute = ds.field("minute")
    return (minute >= pa.scalar(period.start, INSTANT)) & (minute < pa.scalar(period.end, INSTANT))


def _total(rows: pa.Table) -> int:
    return int(pc.sum(rows.column("clicks")).as_py() or 0)


def _sum_of(rows: ds.Dataset, condition: ds.Expression) -> int:
    """All clicks of these rows, whoever they belong to: read batch by batch."""
    batches = rows.scanner(columns=["clicks"], filter=condition).to_batches()
    return sum(int(pc.sum(batch.column("clicks")).as_py() or 0) for batch in batches)


def _check(close: PeriodClose, what: str, found: int, expected: int) -> None:
    """A statement must not say less than what was closed because rows are gone."""
    if found != expected:
        raise IntegrityError(
            f"period {close.period} was closed, and {what} {found} clicks",
            f"{expected}",
            "run `tallystick verify` over the period; restore the final tables",
        )


def _local_dates(period: Period, zone: tzinfo) -> pa.Table:
    """The date of each minute in the zone, so that half-hour zones and days of 23 or 25 hours come right."""
    minutes = [hour + index * MINUTE for hour in period.hours for index in range(60)]
    dates = pa.array([minute.astimezone(zone).date() for minute in minutes], pa.date32())
    return pa.table({"minute_us": pa.array(map(to_unix_micros, minutes), pa.int64()), "date": dates})


def pieces_of(rows: pa.Table) -> Iterator[pa.Table]:
    """The rows in their order, ``ROWS_AT_ONCE`` of them each: the same pieces, however the rows came to be."""
    for start in range(0, rows.num_rows, ROWS_AT_ONCE):
        yield rows.slice(start, ROWS_AT_ONCE).combine_chunks()


def _amounts(rows: pa.Table) -> list[Amount]:
    """By currency. Added up by Python, whose whole numbers have no end."""
    clicks: Counter[str] = Counter()
    amounts_micros: Counter[str] = Counter()
    for piece in pieces_of(rows.select(["currency", "clicks", "amount_micros"])):
        for currency, count, amount_micros in zip(*piece.to_pydict().values(), strict=True):
            if currency is not None:
                clicks[currency] += count
                amounts_micros[currency] += amount_micros
    return [Amount(currency, clicks[currency], amounts_micros[currency]) for currency in sorted(clicks)]
