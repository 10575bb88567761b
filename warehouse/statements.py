"""What an advertiser is billed for in a closed period: clicks by local day, campaign and ad, out of the minute table,
with their money where the ad had a price.

Belongs here: reading and adding up, and the refusal of figures that are not those of the close. What a statement looks
like in a file is ``warehouse/statement_files.py``.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import tzinfo
from typing import NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from domain.buckets import DAY
from domain.errors import IntegrityError, UsageError
from domain.periods import Period, PeriodClose
from domain.settings import Settings
from warehouse.adjustments import read_adjustments
from warehouse.counts import open_version
from warehouse.layout import dataset_of
from warehouse.periods import read_closes
from warehouse.prices import MONEY, adjustments_with_money, read_prices, with_money
from warehouse.publications import latest_publication
from warehouse.ranges import FINAL_TABLE
from warehouse.schema import INSTANT

DAY_KEY = ["date", "campaign_id", "ad_id"]
PRICE_KEY = ["currency", "price_micros"]
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


class Amount(NamedTuple):
    """Of one currency: how many clicks it pays for, and what they cost."""

    currency: str
    clicks: int
    amount_micros: int


@dataclass(frozen=True)
class Statement:
    """Billable clicks of one advertiser in a closed period.

    ``clicks`` has the columns date (a day of ``time_zone``), campaign_id, ad_id, clicks and those of ``MONEY``, in this
    order; no row for nothing, a row for each price of a day. The period is a UTC month: its first and last local day
    may be parts of days. ``adjustments`` are what the period bills of closed ones before it, in the columns of
    ``ADJUSTMENTS``; they are in no other figure.
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
    minutes = dataset_of(open_version(settings, FINAL_TABLE["minute"], publication.minute_version))
    days = dataset_of(open_version(settings, FINAL_TABLE["day"], publication.day_version))
    is_ours = ds.field("advertiser_id") == advertiser_id
    found = minutes.to_table(
        columns=["minute", "campaign_id", "ad_id", "clicks"], filter=_dates_of(period) & _minutes_of(period) & is_ours
    )
    _check(
        close, "its days add up to", _total(days.to_table(["clicks"], filter=_dates_of(period))), close.billable_clicks
    )
    of_days = _total(days.to_table(["clicks"], filter=_dates_of(period) & is_ours))
    _check(close, f"the minutes of advertiser {advertiser_id} add up to", _total(found), of_days)
    priced = with_money(settings, found, read_prices(settings, advertiser_id), "minute")
    return Statement(
        close, advertiser_id, time_zone, _by_local_day(priced, zone), _adjustments(settings, advertiser_id, period)
    )


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


def _check(close: PeriodClose, what: str, found: int, expected: int) -> None:
    """A statement must not say less than what was closed because rows are gone."""
    if found != expected:
        raise IntegrityError(
            f"period {close.period} was closed, and {what} {found} clicks",
            f"{expected}",
            "run `tallystick verify` over the period; restore the final tables",
        )


def _by_local_day(minutes: pa.Table, zone: tzinfo) -> pa.Table:
    """Each minute gets its own date in the zone, so that half-hour zones and days of 23 or 25 hours come right."""
    distinct = pc.unique(minutes.column("minute"))
    dates = pa.array([minute.astimezone(zone).date() for minute in distinct.to_pylist() if minute], pa.date32())
    dated = minutes.append_column("date", dates.take(pc.index_in(minutes.column("minute"), distinct)))
    key = [*DAY_KEY, *PRICE_KEY]
    summed = dated.group_by(key).aggregate([("clicks", "sum")]).rename_columns([*key, "clicks"])
    rows = summed.sort_by([(name, "ascending") for name in key])
    pairs = zip(rows.column("price_micros").to_pylist(), rows.column("clicks").to_pylist(), strict=True)
    amounts = pa.array([price if price is None else price * clicks for price, clicks in pairs], pa.int64())
    return rows.append_column("amount_micros", amounts).select([*DAY_KEY, "clicks", *MONEY.names])


def _amounts(rows: pa.Table) -> list[Amount]:
    """By currency. Added up by Python, whose whole numbers have no end."""
    clicks: Counter[str] = Counter()
    amounts_micros: Counter[str] = Counter()
    for row in rows.select(["currency", "clicks", "amount_micros"]).to_pylist():
        if row["currency"] is not None:
            clicks[row["currency"]] += row["clicks"]
            amounts_micros[row["currency"]] += row["amount_micros"]
    return [Amount(currency, clicks[currency], amounts_micros[currency]) for currency in sorted(clicks)]
