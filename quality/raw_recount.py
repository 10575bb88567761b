"""The count of an hour, made anew from the bytes in raw_clicks by another engine than the one that sealed it.

Belongs here: reading payloads with DuckDB and applying the rule to them, in SQL of its own. Nothing of the product's
counting is shared, on purpose: not ``domain/counting.py``, not the Spark jobs, not the parsed columns. Comparing with
seals and published figures is ``recount.py``. Works hour by hour; what memory cannot hold goes to a temporary folder.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from functools import cached_property
from types import TracebackType
from typing import Any, Self

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds

from domain.buckets import MICROSECOND, format_utc, from_unix_micros, to_unix_micros
from domain.errors import IntegrityError
from domain.identity import place_of
from domain.settings import Settings
from quality.findings import NAMED_AT_MOST, named
from quality.raw_payloads import DISAGREEMENTS_SQL, LOAD_SQL, REPEATS_SQL
from warehouse.duck_engine import opened_engine
from warehouse.layout import dataset_of, open_table, tables_path
from warehouse.schema import INSTANT, STATISTICS_GRAIN

MEMORY_LIMIT = "1GB"
FILES_AT_ONCE = 100
VERDICT_COLUMNS = [
    *("verdict_id", "set_version", "impression_id", "ad_id", "log", "partition", "offset", "verdict", "decided_at")
]
COUNTED_KINDS = ("click",)
"""Kinds of events that the rule may bill."""
LATEST = timedelta(days=1)
"""Hardly any click is logged this long after it happened."""
EMPTY_DIGEST = "0" * 64

TABLES_SQL = """
CREATE TABLE files (path VARCHAR PRIMARY KEY, hour_us BIGINT);
CREATE TABLE cut (log INTEGER, partition INTEGER, end_offset BIGINT);
CREATE TABLE events (
    hour_us BIGINT, log INTEGER, partition INTEGER, "offset" BIGINT, logged_us BIGINT,
    impression_id VARCHAR, ad_id BIGINT, advertiser_id BIGINT, campaign_id BIGINT, clicked_us BIGINT,
    country VARCHAR, device VARCHAR, kind VARCHAR, is_readable BOOLEAN
);
CREATE TABLE outcomes AS SELECT *, NULL::VARCHAR AS reason FROM events;
CREATE TABLE verdicts AS SELECT * EXCLUDE (decided_at), epoch_us(decided_at) AS decided_us FROM verdicts_once;
"""
"""``events``: a row for each raw row of the loaded files, its fields out of the payload, ``hour_us`` the hour that its
folder says. Instants are microseconds since 1970: no time zone gets in."""

SUPPOSE_SQL = """
INSERT INTO verdicts BY NAME
SELECT * EXCLUDE (decided_at) REPLACE ($set_version AS set_version), epoch_us(decided_at) AS decided_us FROM supposed
"""
"""Adds verdicts to those of the table, as one set more."""

FRAUD_SQL = """
CREATE OR REPLACE TABLE fraud AS
FROM (
    FROM verdicts WHERE set_version <= $verdict_set
    QUALIFY row_number() OVER (
        PARTITION BY impression_id, ad_id, log, partition, "offset"
        ORDER BY decided_us DESC, set_version DESC, verdict_id DESC
    ) = 1
)
WHERE verdict = 'fraud'
"""
"""The newest verdict on each target, as of a set, where it is one of fraud. Of a click the place is null, and so on."""

SPAN_SQL = """
SELECT min(logged_us), max(logged_us) FROM events JOIN cut USING (log, partition)
WHERE hour_us = $hour_us AND "offset" < end_offset AND list_contains($kinds, kind)
"""
"""From when to when the clicks of an hour were logged."""

JUDGE_SQL = """
CREATE OR REPLACE TABLE outcomes AS
WITH
read AS (SELECT events.* FROM events JOIN cut USING (log, partition) WHERE "offset" < end_offset AND is_readable),
hour_rows AS (FROM read WHERE hour_us = $hour_us),
copies AS (
    FROM read SEMI JOIN hour_rows USING (impression_id, ad_id)
    WHERE list_contains($kinds, kind) AND logged_us BETWEEN $since_us AND $until_us
),
placed AS (
    SELECT *,
        min(logged_us) OVER (
            PARTITION BY impression_id, ad_id ORDER BY logged_us
            RANGE BETWEEN $horizon_us PRECEDING AND CURRENT ROW
        ) AS winner_logged_us,
        row_number() OVER (
            PARTITION BY impression_id, ad_id, logged_us ORDER BY log, partition, "offset"
        ) AS place
    FROM copies
)
SELECT own.*, CASE
    WHEN own.logged_us = own.winner_logged_us AND own.place = 1
        THEN CASE WHEN coalesce(of_click.verdict_id, of_place.verdict_id) IS NOT NULL THEN 'fraud' END
    WHEN (own.campaign_id, own.country, own.device) = (winner.campaign_id, winner.country, winner.device)
        THEN 'duplicate'
    ELSE 'conflicting_duplicate' END AS reason
FROM placed AS own JOIN placed AS winner
    ON own.impression_id = winner.impression_id AND own.ad_id = winner.ad_id
    AND own.winner_logged_us = winner.logged_us AND winner.place = 1
LEFT JOIN fraud AS of_click ON own.impression_id = of_click.impression_id AND own.ad_id = of_click.ad_id
LEFT JOIN fraud AS of_place
    ON own.log = of_place.log AND own.partition = of_place.partition AND own."offset" = of_place."offset"
WHERE own.hour_us = $hour_us
UNION ALL BY NAME
SELECT *, kind AS reason FROM hour_rows WHERE NOT list_contains($kinds, kind)
"""
"""The rule. Of the copies of a click the earliest logged within the horizon before a copy stands for it; a copy that
stands for itself is billable unless it was judged fraud. Of copies logged in one microsecond the lowest log position
is the earliest."""

RAW_COUNTS_SQL = """
SELECT count(*) FILTER (coalesce("offset" < end_offset, false)),
       count(*) FILTER (NOT coalesce("offset" < end_offset, false)),
       count(*) FILTER (NOT is_readable)
FROM events LEFT JOIN cut USING (log, partition) WHERE hour_us = $hour_us
"""
"""Raw rows of an hour up to the cut, beyond it, and those whose payload is no valid event."""

REASONS_SQL = "SELECT reason, count(*) FROM outcomes GROUP BY reason"
"""Billable clicks under a null, excluded ones under their reason."""

KEYS_SQL = """
SELECT advertiser_id, campaign_id, ad_id, country, device, count(*) FROM outcomes WHERE reason IS NULL GROUP BY ALL
"""
"""Billable clicks of an hour by key."""

_WORDS = ", ".join(
    f"printf('%08x', (coalesce(sum(('0x' || substr(hash, {first}, 8))::UBIGINT), 0) % 4294967296::HUGEINT)::BIGINT)"
    for first in range(1, 65, 8)
)
DIGEST_SQL = f"""
SELECT concat({_WORDS}) FROM (
    SELECT sha256(concat_ws('|', log, partition, "offset", impression_id, ad_id, advertiser_id, campaign_id,
        strftime(make_timestamp(clicked_us), '%Y-%m-%dT%H:%M'), country, device)) AS hash
    FROM outcomes WHERE reason IS NULL
)
"""  # noqa: S608 (made of constants)
"""The digest of the billable set, by docs/seals.md."""

MINUTES_SQL = f"""
WITH recounted AS (
    SELECT advertiser_id, campaign_id, ad_id, clicked_us // 60000000 * 60000000 AS minute_us, country, device,
           count(*) AS clicks
    FROM outcomes WHERE reason IS NULL GROUP BY ALL
), stated AS (SELECT * EXCLUDE (minute), epoch_us(minute) AS minute_us FROM published)
SELECT advertiser_id, campaign_id, ad_id, minute_us, country, device,
       coalesce(stated.clicks, 0) AS stated_clicks, coalesce(recounted.clicks, 0) AS recounted_clicks,
       count(*) OVER () AS row_count
FROM stated FULL JOIN recounted USING (advertiser_id, campaign_id, ad_id, minute_us, country, device)
WHERE stated_clicks <> recounted_clicks ORDER BY ALL LIMIT {NAMED_AT_MOST}
"""  # noqa: S608 (made of constants)
"""Keys of the hour whose published figure is another than the recount's."""


@dataclass(frozen=True)
class HourRecount:
    """What an hour holds up to a cut. Counts are raw rows; ``late_count`` are those of the hour beyond the cut."""

    raw_clicks: int
    billable_clicks: int
    excluded_clicks: Mapping[str, int]
    digest: str
    late_count: int
    unreadable_count: int


class RawRecount:
    """Recounts hours, in any order, from one version of raw_clicks: in ascending order each file is parsed once.

    A context manager: it holds a temporary folder, for what a horizon reaches back and no more. Reads only.
    """

    def __init__(self, settings: Settings, on_progress: Callable[[str], None]) -> None:
        self._settings = settings
        self._folder = tables_path(settings) / "raw_clicks"
        self._dataset = dataset_of(open_table(settings, "raw_clicks"))
        self._verdicts = dataset_of(open_table(settings, "fraud_verdicts"))
        self._fraud_of_set: int | None = None
        self._on_progress = on_progress
        self._loaded: dict[str, datetime] = {}
        self._has_outcomes = False
        self._open = ExitStack()

    def __enter__(self) -> Self:
        self._engine = self._open.enter_context(opened_engine(self._settings, MEMORY_LIMIT))
        self._engine.register("verdicts_once", self._verdicts.scanner(columns=VERDICT_COLUMNS).to_reader())
        self._engine.execute(TABLES_SQL)
        self._engine.unregister("verdicts_once")
        self.newest_verdict_set = int(self._row("SELECT coalesce(max(set_version), 0) FROM verdicts")[0])
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()

    def suppose(self, verdicts: pa.Table) -> int:
        """Takes these verdicts (``VERDICT_COLUMNS``) in as the next set, in this recount alone; its version."""
        self.newest_verdict_set += 1
        self._engine.register("supposed", verdicts)
        self._engine.execute(SUPPOSE_SQL, {"set_version": self.newest_verdict_set})
        self._engine.unregister("supposed")
        return self.newest_verdict_set

    def know(self, name: str, rows: pa.RecordBatchReader) -> None:
        """Lets queries of ``rows`` read this, too; what memory cannot hold of it goes to the folder."""
        self._engine.register("known_once", rows)
        self._engine.execute(f"CREATE TABLE {name} AS FROM known_once")
        self._engine.unregister("known_once")

    def rows(self, sql: str, **parameters: Any) -> list[tuple[Any, ...]]:
        """What a query over ``outcomes`` of the last recount says, for whoever adds them up in another way."""
        return self._rows(sql, **parameters)

    def recount(
        self,
        hour: datetime,
        cut: Mapping[str, int],
        horizon: timedelta,
        verdict_set: int,
        kinds: Sequence[str] = COUNTED_KINDS,
    ) -> HourRecount:
        """The outcome of every raw row of the hour up to the cut, copies judged by all of raw up to the cut, fraud by
        the verdicts up to a set. ``kinds`` are those of which a click may be billable.
        """
        self._know_fraud(verdict_set)
        if not self._files_of(hour):
            return self._nothing()
        self._forget_before(hour - horizon - LATEST)
        self._load(self._files_of(hour))
        self._set_cut(cut)
        first_us, until_us = self._row(SPAN_SQL, hour_us=to_unix_micros(hour), kinds=list(kinds))
        since_us = (first_us or 0) - horizon // MICROSECOND
        if first_us is not None:
            self._load(self._files_logged(since_us, until_us))
        span = {"since_us": since_us, "until_us": until_us, "horizon_us": horizon // MICROSECOND}
        self._engine.execute(JUDGE_SQL, {"hour_us": to_unix_micros(hour), "kinds": list(kinds), **span})
        self._has_outcomes = True
        return self._summary(hour)

    def disagreements(self, hour: datetime) -> list[str]:
        """Raw rows of the hour whose payload does not say what stands beside it, or that are there twice; in words."""
        files = self._files_of(hour)
        if not files:
            return []
        self._load(files)
        unlike = self._read(DISAGREEMENTS_SQL, paths=list(files), hour_us=to_unix_micros(hour))
        repeats = self._rows(REPEATS_SQL, hour_us=to_unix_micros(hour))
        return [*_named(unlike, _about_row), *_named(repeats, _about_row)]

    def minute_differences(self, published: pa.RecordBatchReader) -> list[str]:
        """Where these minute rows of the hour recounted last differ from the recount, by key, in words."""
        self._engine.register("published", published)
        rows = self._rows(MINUTES_SQL)
        self._engine.unregister("published")
        return _named(rows, _about_key)

    def key_counts(self) -> list[tuple[Any, ...]]:
        """Billable clicks of the hour recounted last: advertiser, campaign, ad, country, device, clicks."""
        return self._rows(KEYS_SQL)

    def _know_fraud(self, verdict_set: int) -> None:
        """Judges all verdicts as of a set; once for as many hours as ask for the same one."""
        if verdict_set != self._fraud_of_set:
            self._engine.execute(FRAUD_SQL, {"verdict_set": verdict_set})
            self._fraud_of_set = verdict_set

    def _files_of(self, hour: datetime) -> dict[str, datetime]:
        """Paths of the files of an hour."""
        return self._files_by_hour.get(hour, {})

    @cached_property
    def _files_by_hour(self) -> dict[datetime, dict[str, datetime]]:
        """All files of the table; the many hours of a month are looked up one by one."""
        found: dict[datetime, dict[str, datetime]] = {}
        for path, hour in self._files(None).items():
            found.setdefault(hour, {})[path] = hour
        return found

    def _nothing(self) -> HourRecount:
        """Of an hour without a file."""
        if self._has_outcomes:
            self._engine.execute("DELETE FROM outcomes")
            self._has_outcomes = False
        return HourRecount(0, 0, {}, EMPTY_DIGEST, 0, 0)

    def _files_logged(self, since_us: int, until_us: int) -> dict[str, datetime]:
        """Paths, with their hours, of the files that may hold rows logged in this time, by their statistics."""
        since = pa.scalar(from_unix_micros(since_us) - STATISTICS_GRAIN, INSTANT)
        until = pa.scalar(from_unix_micros(until_us), INSTANT)
        return self._files((ds.field("logged_at") >= since) & (ds.field("logged_at") <= until))

    def _files(self, condition: ds.Expression | None) -> dict[str, datetime]:
        files = {}
        for fragment in self._dataset.get_fragments(filter=condition):
            keys = ds.get_partition_keys(fragment.partition_expression)
            start = datetime.combine(keys["click_date"], time(keys["click_hour"]), UTC)
            files[str(self._folder / fragment.path)] = start
        return files

    def _load(self, files: Mapping[str, datetime]) -> None:
        """Parses those files that are not loaded yet."""
        fresh = [path for path in files if path not in self._loaded]
        for first in range(0, len(fresh), FILES_AT_ONCE):
            paths = fresh[first : first + FILES_AT_ONCE]
            if len(fresh) > FILES_AT_ONCE:
                self._on_progress(f"reading raw files {first + 1} to {first + len(paths)} of {len(fresh)}")
            self._engine.executemany(
                "INSERT OR IGNORE INTO files VALUES (?, ?)", [(path, to_unix_micros(files[path])) for path in paths]
            )
            self._read(LOAD_SQL, paths=paths)
            self._loaded.update((path, files[path]) for path in paths)

    def _forget_before(self, hour: datetime) -> None:
        """Makes room: a range is recounted in order as a rule. Whatever needs one of these files reads it again."""
        old = [path for path, of in self._loaded.items() if of < hour]
        if old:
            self._engine.execute("DELETE FROM events WHERE hour_us < ?", [to_unix_micros(hour)])
            self._engine.execute("CHECKPOINT")
            for path in old:
                del self._loaded[path]

    def _set_cut(self, cut: Mapping[str, int]) -> None:
        self._engine.execute("DELETE FROM cut")
        rows = [(*place_of(text), end) for text, end in cut.items()]
        if rows:
            self._engine.executemany("INSERT INTO cut VALUES (?, ?, ?)", rows)

    def _summary(self, hour: datetime) -> HourRecount:
        raw, late, unreadable = self._row(RAW_COUNTS_SQL, hour_us=to_unix_micros(hour))
        by_reason = dict(self._rows(REASONS_SQL))
        billable = by_reason.pop(None, 0)
        (digest,) = self._row(DIGEST_SQL)
        return HourRecount(raw, billable, by_reason, digest, late, unreadable)

    def _read(self, sql: str, **parameters: Any) -> list[tuple[Any, ...]]:
        """As ``_rows``, for a query that reads files."""
        try:
            return self._rows(sql, **parameters)
        except (duckdb.IOException, duckdb.InvalidInputException) as error:
            raise IntegrityError(
                f"a file of raw_clicks cannot be read: {error}",
                "every file that the table's log names, as it was written",
                "restore it from a copy",
            ) from error

    def _rows(self, sql: str, **parameters: Any) -> list[tuple[Any, ...]]:
        return self._engine.execute(sql, parameters).fetchall()

    def _row(self, sql: str, **parameters: Any) -> tuple[Any, ...]:
        return self._rows(sql, **parameters)[0]


def _named(rows: list[tuple[Any, ...]], in_words: Callable[[tuple[Any, ...]], str]) -> list[str]:
    """The rows in words; the last value of each row counts all of them, the unnamed included."""
    return named([in_words(row) for row in rows], rows[0][-1] if rows else 0)


def _about_row(row: tuple[Any, ...]) -> str:
    log, partition, offset, what, _ = row
    return f"raw row {log}:{partition}:{offset}: {what}"


def _about_key(row: tuple[Any, ...]) -> str:
    advertiser, campaign, ad, minute_us, country, device, stated, recounted, _ = row
    return (
        f"minute {format_utc(from_unix_micros(minute_us))}, advertiser {advertiser}, campaign {campaign}, ad {ad}, "
        f"country {country}, device {device}: published {stated}, recounted {recounted}"
    )
