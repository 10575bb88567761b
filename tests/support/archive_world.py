"""An archive that is written directly, as the archive stream would have, and a log that says where it ends. No JVM."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from deltalake import DeltaTable, write_deltalake

from domain.ads import Ad
from domain.buckets import HOUR
from domain.counting import CountKey, LoggedEvent, Outcome, final_outcomes
from domain.identity import LogPosition, minted_at
from domain.parsing import ParsedEvent
from domain.seals import Seal
from domain.settings import Settings
from domain.verdicts import FraudVerdict
from spark_jobs.params import HourPlan
from spark_jobs.planning import plan
from spark_jobs.reconcile_log import LogEnds
from tests.support.empty_tables import make_empty_tables
from tests.support.sealed_world import payload_of, verdict_ids
from warehouse.ads import snapshot_ads
from warehouse.layout import table_uri
from warehouse.logs import register_log
from warehouse.marks import Mark, write_marks
from warehouse.schema import arrow_rows
from warehouse.seals import read_seals
from warehouse.tables import TABLES
from warehouse.verdicts import VerdictSet, append_set, current_set

TOPIC_ID = "topic-of-tests"
H = datetime(2026, 5, 4, 10, tzinfo=UTC)
"""The hour that most tests are about."""
NOW = H + 30 * HOUR
Row = dict[str, Any]


@dataclass(frozen=True)
class Click:
    """One event as a test writes it. ``clicked`` and ``logged`` are minutes after H; logged defaults to clicked."""

    imp: str
    clicked: float = 0
    logged: float | None = None
    partition: int = 0
    kind: str = "click"
    ad: int = 1
    advertiser: int = 10
    campaign: int = 100
    country: str = "DE"
    device: str = "mobile"

    @property
    def clicked_at(self) -> datetime:
        return H + timedelta(minutes=self.clicked)

    @property
    def appended_at(self) -> datetime:
        return H + timedelta(minutes=self.clicked if self.logged is None else self.logged)


@dataclass
class WrittenLog:
    """A log of which only the ends are known, as ``ClickLog``."""

    ends: dict[int, int] = field(default_factory=lambda: {0: 0, 1: 0})
    watermarks: dict[str, Any] = field(default_factory=dict)
    explained: set[tuple[int, int, int]] = field(default_factory=set)
    topic_id: str = TOPIC_ID

    def read_ends(self) -> LogEnds:
        return LogEnds(self.topic_id, dict(self.watermarks), dict(self.ends))

    def is_gap_explained(self, partition: int, start: int, end: int) -> bool:
        return (partition, start, end) in self.explained


class ArchiveWorld:
    """One home, one log of two partitions, one ad that is known."""

    def __init__(self, home: Path, **changes: Any) -> None:
        self.settings = Settings(home=home, **changes)
        make_empty_tables(self.settings)
        snapshot_ads(self.settings, [Ad(1, 10, 100, "https://shop.example/")], H)
        self.log_number = register_log(self.settings, self.settings.clicks_topic, TOPIC_ID, {0: 0, 1: 0}, H)
        self.log = WrittenLog()
        self.events: list[LoggedEvent] = []

    def archive(self, clicks: Iterable[Click], *, without: Sequence[str] = ()) -> list[LogPosition]:
        """What the archive stream would write of these records, in the order of the log; their positions.

        ``without`` leaves tables out, as a fault would: their marks move on all the same.
        """
        fresh = [self._logged(click) for click in clicks]
        if "raw_clicks" not in without:
            self.write_rows("raw_clicks", map(_raw_row, fresh))
        if "click_identities" not in without:
            self._write_identities([one for one in fresh if one.event.kind == "click"])
        self.mark()
        return [one.position for one in fresh]

    def log_only(self, clicks: Iterable[Click]) -> None:
        """Records that the archive has not looked at yet."""
        for click in clicks:
            self._logged(click)

    def quarantine(self, partition: int) -> None:
        """One record that could not become an event."""
        place = {"log": self.log_number, "partition": partition, "offset": self._next_offset(partition)}
        self.write_rows(
            "quarantined_clicks",
            [{**place, "logged_at": H, "reason": "empty", "payload": None, "log_date": H.date()}],
        )
        self.mark()

    def mark(self) -> None:
        """The archive has looked at everything there is."""
        marks = [Mark("archive", self.log_number, p, end - 1, None, None) for p, end in self.log.ends.items() if end]
        write_marks(self.settings, "archive", self.log_number, marks)

    def write_rows(self, table: str, rows: Iterable[Mapping[str, Any]]) -> None:
        """Appends, as the table's writer would."""
        write_deltalake(table_uri(self.settings, table), arrow_rows(TABLES[table], rows), mode="append")

    def judge_fraud(self, *verdicts: FraudVerdict) -> int:
        """Takes the verdicts in as the next set; its version."""
        return append_set(self.settings, VerdictSet(f"file {verdicts[0].verdict_id}", "lab", "test", verdicts), H)

    def delete_rows(self, table: str, where: str) -> None:
        """As a fault, or somebody who meddles, would."""
        DeltaTable(table_uri(self.settings, table)).delete(where)

    def write_live(self, counts: Mapping[CountKey, int]) -> None:
        """What the stream would have counted."""
        rows = [
            {
                **key._asdict(),
                "clicks": clicks,
                "versions": {"1:0": 1},
                "click_date": key.minute.date(),
                "click_hour": key.minute.hour,
            }
            for key, clicks in counts.items()
        ]
        self.write_rows("live_clicks_minute", rows)

    def write_late(self, positions: Iterable[LogPosition]) -> None:
        """What the stream would have refused as late."""
        by_position = {one.position: one for one in self.events}
        self.write_rows("late_clicks", [_late_row(by_position[position]) for position in positions])

    def rows(self, table: str, version: int | None = None) -> list[Row]:
        return DeltaTable(table_uri(self.settings, table), version).to_pyarrow_table().to_pylist()

    def files(self, table: str) -> list[str]:
        """The files that the newest version of a table is made of."""
        return DeltaTable(table_uri(self.settings, table)).file_uris()

    def seals(self) -> list[Seal]:
        return read_seals(self.settings)

    def plan(self, first: datetime = H, count: int = 1, now: datetime = NOW, **counted_again: bool) -> list[HourPlan]:
        hours = [first + HOUR * index for index in range(count)]
        return plan(self.settings, hours, now, self.log, **counted_again)

    def oracle(self) -> list[Outcome]:
        """What became of each event, by the plain rule over the whole log."""
        verdicts = verdict_ids(self.settings, current_set(self.settings))
        return final_outcomes(self.events, self.settings.final_horizon, verdicts)

    def _next_offset(self, partition: int) -> int:
        offset = self.log.ends.get(partition, 0)
        self.log.ends[partition] = offset + 1
        return offset

    def _logged(self, click: Click) -> LoggedEvent:
        """At the next offset of its partition; logged_at never steps back in a partition."""
        before = [one.logged_at for one in self.events if one.position.partition == click.partition]
        event = ParsedEvent(
            impression_id=click.imp,
            ad_id=click.ad,
            advertiser_id=click.advertiser,
            campaign_id=click.campaign,
            clicked_at=click.clicked_at,
            country=click.country,
            device=click.device,
            kind=click.kind,
            server_id="edge-1",
            server_seq=len(self.events),
        )
        position = LogPosition(self.log_number, click.partition, self._next_offset(click.partition))
        one = LoggedEvent(position, max([*before[-1:], click.appended_at]), event)
        self.events.append(one)
        return one

    def _write_identities(self, clicks: Sequence[LoggedEvent]) -> None:
        """With a hash of the dimensions that only Spark can make; worlds without Spark do not compare them."""
        self.write_rows("click_identities", [identity_row(one) for one in clicks])


def identity_row(one: LoggedEvent) -> Row:
    return {
        **one.position._asdict(),
        "logged_at": one.logged_at,
        "identity": one.identity,
        "minted_at": minted_at(one.event.impression_id),
        "dimensions": 0,
        "log_date": one.logged_at.date(),
    }


def _raw_row(one: LoggedEvent) -> Row:
    event = one.event
    return {
        **one.position._asdict(),
        "logged_at": one.logged_at,
        **vars(event),
        "spooled_at": None,
        "ip": "198.51.100.7",
        "user_agent": None,
        "payload": payload_of(event),
        "click_date": event.clicked_at.date(),
        "click_hour": event.clicked_at.hour,
    }


def _late_row(one: LoggedEvent) -> Row:
    event = one.event
    counted = ("clicked_at", "advertiser_id", "campaign_id", "ad_id", "country", "device")
    return {
        **one.position._asdict(),
        "reason": "late",
        "appended_at": one.logged_at,
        "identity": one.identity,
        **{name: getattr(event, name) for name in counted},
        "minute": event.clicked_at.replace(second=0, microsecond=0),
        "click_date": event.clicked_at.date(),
    }
