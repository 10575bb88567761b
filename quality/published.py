"""The final tables at the versions that one publication names, and whether they add up.

Belongs here: reading published figures for comparison. Answers to people are ``warehouse/counts.py``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from functools import cached_property
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from domain.buckets import DAY, hours_between
from domain.conservation import RollupKey, RollupPair, rollup_violations
from domain.errors import IntegrityError
from domain.publications import Publication, shown_seals
from domain.seals import Seal
from domain.settings import Settings
from quality.findings import NAMED_AT_MOST, named
from quality.slices import in_hours
from warehouse.duck_engine import opened_engine
from warehouse.layout import dataset_of, of_attempts, open_table, table_uri
from warehouse.retention_steps import deleted_hours
from warehouse.schema import INSTANT
from warehouse.seals import read_seals

KEY = ", ".join(RollupKey._fields)
UNEQUAL_SQL = f"""
WITH finer AS (SELECT {KEY}, sum(clicks)::BIGINT AS clicks FROM finer_rows GROUP BY ALL)
SELECT {KEY}, coalesce(coarse.clicks, 0) AS clicks, coalesce(finer.clicks, 0) AS finer_clicks, count(*) OVER ()
FROM coarse_rows AS coarse FULL JOIN finer USING ({KEY})
WHERE coalesce(coarse.clicks, 0) <> coalesce(finer.clicks, 0) ORDER BY ALL LIMIT {NAMED_AT_MOST}
"""  # noqa: S608 (made of constants)
"""Keys of one bucket whose row is not the sum of the finer rows; of a key with two coarse rows neither is."""


class PublishedFigures:
    """What one publication makes visible. Reads only. ``IntegrityError`` if a version it names cannot be opened."""

    def __init__(self, settings: Settings, publication: Publication) -> None:
        self.publication = publication
        self._settings = settings
        self._minute = self._open(settings, "final_clicks_minute", publication.minute_version)
        self._hour = self._open(settings, "final_clicks_hour", publication.hour_version)
        self._day = self._open(settings, "final_clicks_day", publication.day_version)
        self._gone = {
            name: deleted_hours(settings, name).any_of for name in ("final_clicks_minute", "final_clicks_hour")
        }
        self._hours_of_day: tuple[date | None, frozenset[datetime]] = (None, frozenset())

    def minutes_of(self, hour: datetime) -> pa.RecordBatchReader:
        """The minute rows of an hour."""
        return self._minutes([hour]).to_reader()

    def clicks_of(self, hour: datetime) -> int:
        """What the minute rows of an hour add up to."""
        return int(pc.sum(self.minutes_of(hour).read_all().column("clicks")).as_py() or 0)

    def has_minutes(self, hour: datetime) -> bool:
        """Whether there is any minute row of an hour."""
        return self._may_have_minutes(hour) and self._minutes([hour]).count_rows() > 0

    def violations(self, granularity: Literal["hour", "day"], bucket_at: datetime) -> list[str]:
        """Law 9 for one hour or day: each key that is not the sum of its minutes or hours, in words."""
        is_gone = bucket_at in self._gone["final_clicks_hour"]
        if granularity == "hour" and (is_gone or not self._has_rows(bucket_at)):
            return []
        is_date = ds.field("click_date") == bucket_at.date()
        if (
            granularity == "day"
            and not is_gone
            and not self._hours(bucket_at)
            and not self._day.count_rows(filter=is_date)
        ):
            return []
        if granularity == "hour":
            is_hour = is_date & (ds.field("hour") == pa.scalar(bucket_at, INSTANT))
            coarse, finer = (
                self._hour.scanner(filter=is_hour),
                self._minutes([bucket_at]),
            )
        else:
            of_day = list(hours_between(bucket_at, bucket_at + DAY))
            coarse = self._day.scanner(filter=is_date)
            finer = self._sealed_minutes(of_day) if is_gone else self._hour.scanner(filter=is_date)
        rows = _unequal_rows(self._settings, coarse.to_reader(), finer.to_reader())
        pairs = [RollupPair(RollupKey(*row[:5]), granularity, bucket_at, *row[5:7]) for row in rows]
        return named(rollup_violations(pairs), rows[0][-1] if rows else 0)

    def _has_rows(self, hour: datetime) -> bool:
        return self._may_have_minutes(hour) or hour in self._hours(hour)

    def _may_have_minutes(self, hour: datetime) -> bool:
        return hour in self._gone["final_clicks_minute"] or (hour.date(), hour.hour) in self._minute_files

    def _minutes(self, hours: Sequence[datetime]) -> ds.Scanner:
        """Out of the final table; out of the sealed attempts, where the retention of minutes is over."""
        if self._gone["final_clicks_minute"].isdisjoint(hours):
            return self._minute.scanner(filter=in_hours(hours))
        return self._sealed_minutes(hours)

    def _sealed_minutes(self, hours: Sequence[datetime]) -> ds.Scanner:
        attempts = {hour: self._shown[hour].attempt for hour in hours if hour in self._shown}
        rows = dataset_of(open_table(self._settings, "reconciled_clicks_minute"))
        return rows.scanner(filter=in_hours(hours) & of_attempts(attempts))

    @cached_property
    def _shown(self) -> Mapping[datetime, Seal]:
        return shown_seals(read_seals(self._settings), self.publication)

    @cached_property
    def _minute_files(self) -> set[tuple[date, int]]:
        """The hours that any file of minutes is filed under: an hour of a quiet month is passed over unopened."""
        keys = (ds.get_partition_keys(fragment.partition_expression) for fragment in self._minute.get_fragments())
        return {(key["click_date"], key["click_hour"]) for key in keys}

    def _hours(self, at: datetime) -> frozenset[datetime]:
        """The hours of the day of ``at`` that have a row."""
        day = at.date()
        if self._hours_of_day[0] != day:
            rows = self._hour.to_table(columns=["hour"], filter=ds.field("click_date") == day)
            self._hours_of_day = day, frozenset(pc.unique(rows["hour"]).to_pylist())
        return self._hours_of_day[1]

    def _open(self, settings: Settings, name: str, version: int) -> ds.Dataset:
        try:
            return dataset_of(DeltaTable(table_uri(settings, name), version=version))
        except DeltaError as error:
            raise IntegrityError(
                f"version {version} of table {name} cannot be opened: {error}",
                f"the version that publication {self.publication.number} names",
                "restore the table's files, or publish the sealed hours again",
            ) from error


def _unequal_rows(
    settings: Settings, coarse: pa.RecordBatchReader, finer: pa.RecordBatchReader
) -> list[tuple[Any, ...]]:
    with opened_engine(settings) as engine:
        engine.register("coarse_rows", coarse)
        engine.register("finer_rows", finer)
        return engine.execute(UNEQUAL_SQL).fetchall()
