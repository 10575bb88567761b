"""Raw clicks, seals and published figures for tests, as archive, reconcile and publish would leave them. No JVM.

The oracle in ``domain/counting.py`` says what is billable, ``domain/seals.py`` makes the digests. What is tested
against them shares neither.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable, write_deltalake

from domain.buckets import day_of, format_utc, hour_of
from domain.counting import RULE_VERSION, CountKey, LoggedEvent, Outcome, count_billable, final_outcomes
from domain.finality import final_until
from domain.identity import LogPosition
from domain.parsing import ParsedEvent
from domain.publications import Publication, PublicationDraft
from domain.seals import Seal, SealDraft, SetDigest, billable_line, current_seals
from domain.settings import Settings
from domain.verdicts import FraudVerdict, Target
from tests.support.empty_tables import make_empty_tables
from warehouse.layout import table_uri
from warehouse.marks import Mark, write_marks
from warehouse.publications import append_publication, read_publications
from warehouse.schema import arrow_rows
from warehouse.seals import append_seals, read_seals
from warehouse.tables import TABLES
from warehouse.verdicts import VerdictSet, append_set, current_set, read_in_force

HOUR = datetime(2026, 11, 30, 9, tzinfo=UTC)
SEALED_AT = datetime(2026, 11, 30, 12, tzinfo=UTC)
LOG_DELAY = timedelta(seconds=1)
HORIZON_DAYS = 7
Row = dict[str, Any]


def logged(offset: int, clicked_at: datetime, partition: int = 0, log: int = 1, **changes: Any) -> LoggedEvent:
    """A click, logged a second after it happened unless ``logged_at`` says otherwise."""
    logged_at = changes.pop("logged_at", clicked_at + LOG_DELAY)
    event = ParsedEvent(f"imp-{partition}-{offset}", 1, 10, 100, clicked_at, "US", "mobile", "click", "edge-1", offset)
    return LoggedEvent(LogPosition(log, partition, offset), logged_at, replace(event, **changes))


def payload_of(event: ParsedEvent, **changes: Any) -> bytes:
    """The event as a producer sends it; ``changes`` replace or add fields."""
    fields = {
        "v": 1,
        "impression_id": event.impression_id,
        "ad_id": event.ad_id,
        "advertiser_id": event.advertiser_id,
        "campaign_id": event.campaign_id,
        "clicked_at": format_utc(event.clicked_at),
        "country": event.country,
        "device": event.device,
        "ip": "198.51.100.7",
        "user_agent": "Mozilla/5.0",
        "kind": event.kind,
        "server_id": event.server_id,
        "server_seq": event.server_seq,
    }
    return json.dumps(fields | changes).encode()


@dataclass
class SealedWorld:
    """One home with its tables."""

    settings: Settings
    log: list[LoggedEvent]

    def archive(self, events: Iterable[LoggedEvent]) -> None:
        """Appends raw clicks, in one file for each hour."""
        events = list(events)
        self.log += events
        self._append("raw_clicks", [_raw_row(logged) for logged in events])

    def end_offsets(self) -> dict[str, int]:
        """The cut that holds all of the log."""
        ends: dict[str, int] = {}
        for logged in self.log:
            place = f"{logged.position.log}:{logged.position.partition}"
            ends[place] = max(ends.get(place, 0), logged.position.offset + 1)
        return ends

    def judge_fraud(self, *verdicts: FraudVerdict, at: datetime = SEALED_AT) -> int:
        """Takes the verdicts in as the next set; its version."""
        return append_set(self.settings, VerdictSet(f"file {verdicts[0].verdict_id}", "lab", "test", verdicts), at)

    def outcomes(self, hour: datetime, cut: Mapping[str, int], verdict_set: int | None = None) -> list[Outcome]:
        """What the oracle says of an hour, with the newest set of verdicts unless another is named."""
        known = [e for e in self.log if e.position.offset < cut.get(f"{e.position.log}:{e.position.partition}", 0)]
        verdict_set = current_set(self.settings) if verdict_set is None else verdict_set
        judged = final_outcomes(known, timedelta(days=HORIZON_DAYS), verdict_ids(self.settings, verdict_set))
        return [outcome for outcome in judged if hour_of(outcome.event.clicked_at) == hour]

    def seal(
        self,
        *hours: datetime,
        cut: Mapping[str, int] | None = None,
        sealed_at: datetime = SEALED_AT,
        **changes: Any,
    ) -> list[Seal]:
        """Seals the hours at the cut, with their attempts and exclusions; the next revision where one is sealed."""
        cut = self.end_offsets() if cut is None else cut
        seals = read_seals(self.settings)
        current = current_seals(seals)
        drafts = []
        for hour in hours:
            revision = current[hour].revision + 1 if hour in current else 0
            outcomes = self.outcomes(hour, cut)
            draft = draft_of(hour, revision, cut, outcomes, current_set(self.settings))
            drafts.append(replace(draft, **changes))
            self._write_attempt(drafts[-1].attempt, outcomes)
        return append_seals(self.settings, drafts, len(seals), sealed_at)

    def publish(self, **changes: Any) -> Publication:
        """Writes the final tables out of all seals and makes them visible."""
        seals = current_seals(read_seals(self.settings))
        counts: dict[CountKey, int] = {}
        for hour, seal in seals.items():
            counts |= count_billable(self.outcomes(hour, seal.cut, seal.verdict_set))
        known = read_publications(self.settings)
        until = final_until(seals.keys(), known[-1].final_until if known else None)
        assert until is not None
        draft = PublicationDraft(
            seal_number=len(read_seals(self.settings)),
            minute_version=self._overwrite("final_clicks_minute", minute_rows(counts)),
            hour_version=self._overwrite("final_clicks_hour", _hour_rows(counts)),
            day_version=self._overwrite("final_clicks_day", _day_rows(counts)),
            final_until=until,
        )
        return append_publication(self.settings, replace(draft, **changes), len(known), SEALED_AT)

    def quarantine(self, offset: int, partition: int = 0, log: int = 1) -> None:
        """Appends a record that never became an event."""
        place = {"log": log, "partition": partition, "offset": offset}
        told = {"logged_at": HOUR, "reason": "empty", "payload": None, "log_date": HOUR.date()}
        self._append("quarantined_clicks", [place | told])

    def mark_archive(self, offset: int, partition: int = 0, log: int = 1) -> None:
        """The archive has looked at this offset."""
        write_marks(self.settings, "archive", log, [Mark("archive", log, partition, offset, None, HOUR)])

    def write_drift(self, rows: Sequence[Row]) -> None:
        """Appends rows of table drift; ``rows`` give what matters, the rest is zero."""
        blank = {column.name: 0 for column in TABLES["drift"].columns if column.type == "long"}
        self._append("drift", [blank | {"hour": HOUR, "click_date": HOUR.date(), "is_alert": False} | r for r in rows])

    def tamper(self, name: str, change: Callable[[Row], Row | None]) -> None:
        """Rewrites a table's files in place and its log with them; a row becomes what ``change`` says or goes."""
        is_changed = False
        for path in map(Path, DeltaTable(table_uri(self.settings, name)).file_uris()):
            before = pq.ParquetFile(path).read()
            rows = before.to_pylist()
            after = [row for row in map(change, [dict(row) for row in rows]) if row is not None]
            if after != rows:
                pq.write_table(pa.Table.from_pylist(after, schema=before.schema), path)
                self._correct_log(name, path)
                is_changed = True
        assert is_changed, "the change that a test makes has to change something"

    def _correct_log(self, name: str, path: Path) -> None:
        """Gives a file its new size in the table's log, and takes away its statistics, which may be wrong now."""
        for commit in (Path(table_uri(self.settings, name)) / "_delta_log").glob("*.json"):
            actions = [json.loads(line) for line in commit.read_text().splitlines()]
            for action in actions:
                if action.get("add", {}).get("path", "").endswith(path.name):
                    action["add"] |= {"size": path.stat().st_size, "stats": None}
            commit.write_text("".join(json.dumps(action) + "\n" for action in actions))

    def _write_attempt(self, attempt: str, outcomes: Sequence[Outcome]) -> None:
        counted = [row | {"attempt": attempt} for row in minute_rows(count_billable(outcomes))]
        excluded = [exclusion_row(outcome, attempt) for outcome in outcomes if not outcome.is_billable]
        self._append("reconciled_clicks_minute", counted)
        self._append("click_exclusions", excluded)

    def _append(self, name: str, rows: Sequence[Row]) -> None:
        if rows:
            write_deltalake(table_uri(self.settings, name), arrow_rows(TABLES[name], rows), mode="append")

    def _overwrite(self, name: str, rows: Sequence[Row]) -> int:
        uri = table_uri(self.settings, name)
        write_deltalake(uri, arrow_rows(TABLES[name], rows), mode="overwrite")
        return DeltaTable(uri).version()


def sealed_world(home: Path) -> SealedWorld:
    """Empty tables of a new home."""
    settings = Settings(home=home)
    make_empty_tables(settings)
    return SealedWorld(settings, [])


def verdict_ids(settings: Settings, verdict_set: int) -> dict[Target, str]:
    """What the oracle wants to know of the verdicts in force at a set."""
    return {target: one.verdict.verdict_id for target, one in read_in_force(settings, verdict_set).items()}


def draft_of(
    hour: datetime, revision: int, cut: Mapping[str, int], outcomes: Sequence[Outcome], verdict_set: int = 0
) -> SealDraft:
    """The seal that these outcomes make."""
    digest = SetDigest()
    for outcome in outcomes:
        if outcome.is_billable:
            digest.add(line_of(outcome))
    excluded = Counter[str](outcome.reason for outcome in outcomes if outcome.reason is not None)
    return SealDraft(
        hour=hour,
        revision=revision,
        attempt=f"attempt-{hour:%Y%m%dT%H}-{revision}",
        cut=cut,
        raw_clicks=len(outcomes),
        billable_clicks=len(outcomes) - excluded.total(),
        excluded_clicks=dict(excluded),
        digest=digest.hex(),
        verdict_set=verdict_set,
        ads_version=1,
        rule_version=RULE_VERSION,
        horizon_days=HORIZON_DAYS,
        code_version="0.1.0",
        actor="test",
        reason="found later" if revision else "",
        case_id="C-1" if revision else "",
    )


def line_of(outcome: Outcome) -> str:
    """What the digest reads of a billable click."""
    event = outcome.event
    return billable_line(
        **outcome.position._asdict(),
        impression_id=event.impression_id,
        ad_id=event.ad_id,
        advertiser_id=event.advertiser_id,
        campaign_id=event.campaign_id,
        clicked_at=event.clicked_at,
        country=event.country,
        device=event.device,
    )


def minute_rows(counts: Mapping[CountKey, int]) -> list[Row]:
    """Rows of the minute tables."""
    return [
        key._asdict() | {"clicks": clicks, "click_date": key.minute.date(), "click_hour": key.minute.hour}
        for key, clicks in counts.items()
    ]


def exclusion_row(outcome: Outcome, attempt: str) -> Row:
    """A row of table click_exclusions."""
    winner = outcome.winner
    return outcome.position._asdict() | {
        "attempt": attempt,
        "advertiser_id": outcome.event.advertiser_id,
        "ad_id": outcome.event.ad_id,
        "reason": outcome.reason,
        "winner_log": winner.log if winner else None,
        "winner_partition": winner.partition if winner else None,
        "winner_offset": winner.offset if winner else None,
        "verdict_id": outcome.verdict_id,
        "click_date": outcome.event.clicked_at.date(),
        "click_hour": outcome.event.clicked_at.hour,
    }


def _hour_rows(counts: Mapping[CountKey, int]) -> list[Row]:
    return [_without_minute(key) | {"hour": key.minute, "clicks": n} for key, n in _summed(counts, hour_of).items()]


def _day_rows(counts: Mapping[CountKey, int]) -> list[Row]:
    return [_without_minute(key) | {"clicks": n} for key, n in _summed(counts, day_of).items()]


def _summed(counts: Mapping[CountKey, int], bucket: Callable[[datetime], datetime]) -> Counter[CountKey]:
    sums: Counter[CountKey] = Counter()
    for key, clicks in counts.items():
        sums[key._replace(minute=bucket(key.minute))] += clicks
    return sums


def _without_minute(key: CountKey) -> Row:
    return {name: value for name, value in key._asdict().items() if name != "minute"} | {
        "click_date": key.minute.date()
    }


def _raw_row(logged: LoggedEvent) -> Row:
    event = logged.event
    return {
        **logged.position._asdict(),
        "logged_at": logged.logged_at,
        **{name: getattr(event, name) for name in ParsedEvent.__dataclass_fields__},
        "spooled_at": None,
        "ip": "198.51.100.7",
        "user_agent": "Mozilla/5.0",
        "payload": payload_of(event),
        "click_date": event.clicked_at.date(),
        "click_hour": event.clicked_at.hour,
    }


def exchanged(field: str, old: str | bytes, new: str | bytes) -> Callable[[Row], Row]:
    return lambda row: row | {field: row[field].replace(old, new)}
