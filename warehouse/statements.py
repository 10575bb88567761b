"""What an advertiser is billed for in a closed period: clicks by local day, campaign and ad, out of the minute table.

Belongs here: reading and adding up, and the refusal of figures that are not those of the close. What a statement looks
like in a file is ``warehouse/statement_files.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import tzinfo
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
from warehouse.publications import latest_publication
from warehouse.ranges import FINAL_TABLE

DAY_KEY = ["date", "campaign_id", "ad_id"]
_INSTANT = pa.timestamp("us", tz="UTC")
_ADJUSTMENT_COLUMNS: dict[str, pa.DataType] = {
    "charge_hour": _INSTANT,
    "campaign_id": pa.int64(),
    "ad_id": pa.int64(),
    "country": pa.string(),
    "device": pa.string(),
    "clicks": pa.int64(),
    "case_id": pa.string(),
    "line_number": pa.int64(),
    "corrects_seal_number": pa.int64(),
    "reason": pa.string(),
}
ADJUSTMENTS = pa.schema(_ADJUSTMENT_COLUMNS)


@dataclass(frozen=True)
class Statement:
    """Billable clicks of one advertiser in a closed period.

    ``clicks`` has the columns date (a day of ``time_zone``), campaign_id, ad_id, clicks, in this order; no row for
    nothing. The period is a UTC month: its first and last local day may be parts of days. ``adjustments`` are what the
    period bills of closed ones before it, in the columns of ``ADJUSTMENTS``; they are in no other figure.
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
    adjustments = [
        vars(one) | {"clicks": one.delta_clicks}
        for one in read_adjustments(settings)
        if one.billing_period == period and one.advertiser_id == advertiser_id
    ]
    adjusted = pa.Table.from_pylist(
        [{name: row[name] for name in ADJUSTMENTS.names} for row in adjustments], ADJUSTMENTS
    )
    return Statement(close, advertiser_id, time_zone, _by_local_day(found, zone), adjusted)


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
    return (minute >= pa.scalar(period.start, _INSTANT)) & (minute < pa.scalar(period.end, _INSTANT))


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
    summed = dated.group_by(DAY_KEY).aggregate([("clicks", "sum")]).rename_columns([*DAY_KEY, "clicks"])
    return summed.sort_by([(name, "ascending") for name in DAY_KEY])
