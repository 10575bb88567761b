"""Reconcile's surroundings for tests: an archive with everything that Spark makes of it, and what was sealed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from domain.buckets import HOUR, hour_of
from domain.counting import CountKey, LoggedEvent, count_billable
from domain.identity import LogPosition
from domain.quality_verdicts import Verdict
from domain.seals import SetDigest, billable_line, current_seals
from spark_jobs.params import ReconcileParams, ReconcileReceipt
from spark_jobs.reconcile import reconcile
from spark_jobs.reconcile_quality import Judge
from spark_jobs.transforms.parse import dimensions
from tests.support.archive_world import NOW, ArchiveWorld, H, identity_row
from warehouse.tables import TABLES

Dimensions = tuple[int, str, str]
_HASHES: dict[Dimensions, int] = {}
"""Kept for the process: of the few dimensions that the tests know, Spark is asked once."""
Exclusions = dict[LogPosition, tuple[str | None, LogPosition | None]]
"""By position the reason and the winner's position."""


def judge_nothing(*_: object) -> list[Verdict]:
    """No verdict about any hour."""
    return []


class ReconcileWorld(ArchiveWorld):
    """An archive world with a Spark session."""

    def __init__(self, home: Path, spark: SparkSession, **changes: Any) -> None:
        super().__init__(home, shuffle_partitions=2, **changes)
        self.spark = spark

    def reconcile(
        self,
        first: datetime = H,
        count: int = 1,
        now: datetime = NOW,
        case: str = "",
        *,
        is_recounting_held: bool = False,
        judge: Judge = judge_nothing,
        **hooks: Any,
    ) -> ReconcileReceipt:
        """By a judge who finds nothing to say, since asking takes seconds; a test of quality brings the real one."""
        reason = "found later" if case else ""
        params = ReconcileParams(
            first, first + HOUR * count, "test", reason=reason, case_id=case, is_recounting_held=is_recounting_held
        )
        return reconcile(self.settings, self.spark, params, lambda: now, log=self.log, judge=judge, **hooks)

    def sealed_counts(self) -> dict[CountKey, int]:
        """The minutes of all attempts that seals name; a key that stands twice fails."""
        rows = self._sealed_rows("reconciled_clicks_minute")
        counts = {count_key_of(row): row["clicks"] for row in rows}
        assert len(counts) == len(rows)
        return counts

    def sealed_exclusions(self) -> Exclusions:
        """The exclusions of all attempts that seals name; a position that stands twice fails."""
        rows = self._sealed_rows("click_exclusions")
        found = {_position(row): (row["reason"], _position(row, "winner_")) for row in rows}
        assert len(found) == len(rows)
        return {position: said for position, said in found.items() if position is not None}

    def final_counts(self, table: str = "final_clicks_minute") -> dict[tuple[Any, ...], int]:
        """The newest version of a final table."""
        return {tuple(row[name] for name in TABLES[table].key): row["clicks"] for row in self.rows(table)}

    def assert_sealed_equals_oracle(self) -> None:
        """Every sealed hour: counts, exclusions with reason and winner, and digest."""
        current = current_seals(self.seals())
        outcomes = [one for one in self.oracle() if hour_of(one.event.clicked_at) in current]
        assert self.sealed_counts() == count_billable(outcomes)
        assert self.sealed_exclusions() == {
            one.position: (one.reason, one.winner) for one in outcomes if not one.is_billable
        }
        judged = {_position(row): row["verdict_id"] for row in self._sealed_rows("click_exclusions")}
        assert judged == {one.position: one.verdict_id for one in outcomes if not one.is_billable}
        digests = {hour: SetDigest() for hour in current}
        for one in outcomes:
            if one.is_billable:
                line = billable_line(**one.position._asdict(), **_billed(one.event))
                digests[hour_of(one.event.clicked_at)].add(line)
        assert {hour: seal.digest for hour, seal in current.items()} == {
            hour: digest.hex() for hour, digest in digests.items()
        }

    def _sealed_rows(self, table: str) -> list[dict[str, Any]]:
        attempts = {seal.attempt for seal in current_seals(self.seals()).values()}
        return [row for row in self.rows(table) if row["attempt"] in attempts]

    def _write_identities(self, clicks: Sequence[LoggedEvent]) -> None:
        hashes = self._hashed({_dimensions_of(one) for one in clicks})
        rows = [identity_row(one) | {"dimensions": hashes[_dimensions_of(one)]} for one in clicks]
        if rows:
            self.write_rows("click_identities", rows)

    def _hashed(self, found: set[Dimensions]) -> dict[Dimensions, int]:
        """What the archive stream's own column says of each."""
        if unknown := sorted(found - _HASHES.keys()):
            frame = self.spark.createDataFrame(unknown, "campaign_id long, country string, device string")
            hashed = [row[0] for row in frame.select(dimensions()).collect()]
            _HASHES.update(zip(unknown, hashed, strict=True))
        return _HASHES


def _dimensions_of(one: LoggedEvent) -> Dimensions:
    return one.event.campaign_id, one.event.country, one.event.device


def count_key_of(row: Mapping[str, Any]) -> CountKey:
    return CountKey(*(row[name] for name in CountKey._fields))


def _billed(event: Any) -> dict[str, Any]:
    names = ("impression_id", "ad_id", "advertiser_id", "campaign_id", "clicked_at", "country", "device")
    return {name: getattr(event, name) for name in names}


def _position(row: Mapping[str, Any], prefix: str = "") -> LogPosition | None:
    place = [row[f"{prefix}{name}"] for name in LogPosition._fields]
    return None if place[0] is None else LogPosition(*place)
