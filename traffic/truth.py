"""The truth about a run as a file: what must be counted of it, to the last click.

Belongs here: the figures, how they are written and read, and the rows that tests and the demo compare with tables.
How they come about is ``recount.py``; what each field means to a reader is ``docs/traffic.md``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import orjson

from domain.buckets import parse_utc
from domain.errors import UsageError
from traffic.event import HOUR_US, MINUTE_US, Dimensions, instant
from traffic.options import TrafficOptions
from traffic.recount import NO_TIME, Recount

FORMAT = "tallystick-truth"
FORMAT_VERSION = 1
EXCLUSIONS = ("head", "prefetch", "duplicate", "conflicting_duplicate")

Key = tuple[int, int, int, datetime | None, str, str]
"""advertiser_id, campaign_id, ad_id, minute, country, device: the key of the minute tables, in their order."""

Minutes = Mapping[datetime | None, Mapping[Dimensions, int]]
"""Clicks by minute and dimensions. The minute is None where the click service set the times."""


@dataclass(frozen=True)
class HourTruth:
    """One advertiser's hour. ``raw = billable + sum(excluded)``; ``live = billable - late``.

    ``hour`` is None where the click service set the times.
    """

    hour: datetime | None
    advertiser_id: int
    raw: int
    billable: int
    late: int
    excluded: Mapping[str, int]

    @property
    def live(self) -> int:
        return self.billable - self.late


@dataclass(frozen=True)
class PartitionTruth:
    """What the run did to a partition: from which offset to which, and the newest time that live has seen there."""

    start_offset: int
    end_offset: int
    highest_clicked_at: datetime | None


@dataclass(frozen=True)
class Truth:
    """The expected figures of one run. ``quarantined`` by reason; over HTTP the service refuses instead: ``refused``.

    ``is_live_exact`` is False where other clicks were in the log before the run, which may make more of it late;
    the final figures are exact all the same.
    """

    run_id: str
    options: Mapping[str, Any]
    earlier_runs: tuple[str, ...]
    is_live_exact: bool
    records_count: int
    quarantined: Mapping[str, int]
    refused: Mapping[str, int]
    made: Mapping[str, int]
    partitions: Mapping[int, PartitionTruth]
    hours: tuple[HourTruth, ...]
    billable: Minutes
    late: Minutes
    """Of the billable clicks those that live must refuse."""

    def final_rows(self) -> dict[Key, int]:
        """Expected final clicks by key, as table ``final_clicks_minute`` must hold them."""
        return dict(_rows(self.billable))

    def late_rows(self) -> dict[Key, int]:
        """Expected rows of table ``late_clicks`` by key, counted."""
        return dict(_rows(self.late))

    def live_rows(self) -> dict[Key, int]:
        """Expected live clicks by key, as table ``live_clicks_minute`` must hold them; keys without any are absent."""
        late = self.late_rows()
        return {key: live for key, billable in _rows(self.billable) if (live := billable - late.get(key, 0))}

    def totals(self) -> dict[str, int]:
        """Sums over everything: records, raw, billable, live, late, each exclusion, quarantined, refused."""
        excluded = sum((Counter(hour.excluded) for hour in self.hours), Counter[str]())
        return {
            "records": self.records_count,
            "raw": sum(hour.raw for hour in self.hours),
            "billable": sum(hour.billable for hour in self.hours),
            "live": sum(hour.live for hour in self.hours),
            "late": sum(hour.late for hour in self.hours),
            **{reason: excluded[reason] for reason in EXCLUSIONS},
            "quarantined": sum(self.quarantined.values()),
            "refused": sum(self.refused.values()),
        }


def _rows(minutes: Minutes) -> Iterator[tuple[Key, int]]:
    for minute, counts in minutes.items():
        for (advertiser_id, campaign_id, ad_id, country, device), clicks in counts.items():
            yield (advertiser_id, campaign_id, ad_id, minute, country, device), clicks


@dataclass(frozen=True)
class RunFacts:
    """What the truth says about a run beside its figures. Over HTTP nothing is known of earlier runs and offsets."""

    options: TrafficOptions
    made: Mapping[str, int]
    is_live_exact: bool
    earlier_runs: tuple[str, ...] = ()
    start_offsets: Mapping[int, int] = field(default_factory=dict)
    end_offsets: Mapping[int, int] = field(default_factory=dict)


def truth_of(recount: Recount, facts: RunFacts) -> Truth:
    """The figures of a finished recount. The counts are shared with it, not copied."""
    invalid = dict(sorted(recount.invalid.items()))
    is_over_http = facts.options.transport == "http"
    return Truth(
        run_id=facts.options.run_id,
        options=facts.options.as_json(),
        earlier_runs=facts.earlier_runs,
        is_live_exact=facts.is_live_exact,
        records_count=recount.records_count,
        quarantined={} if is_over_http else invalid,
        refused=invalid if is_over_http else {},
        made=dict(sorted(facts.made.items())),
        partitions={
            partition: PartitionTruth(
                facts.start_offsets[partition], end_offset, _instant_or_none(recount.highest_us.get(partition), 1)
            )
            for partition, end_offset in sorted(facts.end_offsets.items())
        },
        hours=tuple(_hour(*key, outcomes) for key, outcomes in sorted(recount.hours.items())),
        billable=_by_minute(recount.minutes),
        late=_by_minute(recount.late),
    )


def _by_minute(counts: Mapping[int, Mapping[Dimensions, int]]) -> Minutes:
    return {_instant_or_none(minute, MINUTE_US): counts[minute] for minute in sorted(counts)}


def _hour(hour: int, advertiser_id: int, outcomes: Counter[str]) -> HourTruth:
    return HourTruth(
        hour=_instant_or_none(hour, HOUR_US),
        advertiser_id=advertiser_id,
        raw=outcomes["raw"],
        billable=outcomes["billable"],
        late=outcomes["late"],
        excluded={reason: outcomes[reason] for reason in EXCLUSIONS if outcomes[reason]},
    )


def _instant_or_none(number: int | None, length_us: int) -> datetime | None:
    return None if number is None or number == NO_TIME else instant(number * length_us)


def reserve_truth(path: Path) -> None:
    """Finds out before a long run whether its truth can be written there; ``UsageError`` or ``OSError`` if not."""
    if path.is_dir():
        raise UsageError(f"{path} is a folder", "a file for the truth", "name a file in it")
    path.parent.mkdir(parents=True, exist_ok=True)
    _unfinished(path).touch()
    _unfinished(path).unlink()


def _unfinished(path: Path) -> Path:
    return path.with_name(path.name + ".unfinished")


def save_truth(truth: Truth, path: Path) -> None:
    """Writes the file beside its place and moves it there: a reader sees the whole of it or nothing."""
    head = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "totals": truth.totals(),
        **{name: getattr(truth, name) for name in _AS_THEY_ARE},
        "partitions": {str(number): asdict(partition) for number, partition in truth.partitions.items()},
        "hours": [asdict(hour) | {"live": hour.live} for hour in truth.hours],
    }
    reserve_truth(path)
    unfinished = _unfinished(path)
    with unfinished.open("wb") as file:
        file.write(_json(head)[:-1])
        places = {place: number for number, place in enumerate(sorted({d for c in truth.billable.values() for d in c}))}
        file.write(b',"dimensions":' + _json([list(place) for place in places]) + b',"minutes":[')
        # A minute at a time: the whole of a long run would take gigabytes as one document.
        for number, (minute, counts) in enumerate(truth.billable.items()):
            late = truth.late.get(minute, {})
            rows = [[places[dimensions], clicks, late.get(dimensions, 0)] for dimensions, clicks in counts.items()]
            file.write(b",\n" * (number > 0) + _json([minute, rows]))
        file.write(b"]}\n")
    unfinished.replace(path)


def _json(document: object) -> bytes:
    return orjson.dumps(document, option=orjson.OPT_UTC_Z)


_AS_THEY_ARE = (
    "run_id",
    "options",
    "earlier_runs",
    "is_live_exact",
    "records_count",
    "quarantined",
    "refused",
    "made",
)


def load_truth(path: Path) -> Truth:
    """The truth that ``save_truth`` wrote; ``UsageError`` if the file is none."""
    try:
        document = orjson.loads(path.read_bytes())
    except (OSError, orjson.JSONDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}", "a truth file", "name another file") from error
    found = (document.get("format"), document.get("format_version")) if isinstance(document, dict) else None
    if found != (FORMAT, FORMAT_VERSION):
        raise UsageError(f"{path} holds {found}", f"{FORMAT} of version {FORMAT_VERSION}", "generate it again")
    dimensions = [Dimensions(*values) for values in document["dimensions"]]
    return Truth(
        **{name: document[name] for name in _AS_THEY_ARE if name != "earlier_runs"},
        earlier_runs=tuple(document["earlier_runs"]),
        partitions={int(number): _load_partition(values) for number, values in document["partitions"].items()},
        hours=tuple(_load_hour(values) for values in document["hours"]),
        billable=_load_minutes(document, dimensions, column=1),
        late=_load_minutes(document, dimensions, column=2),
    )


def _load_minutes(document: dict[str, Any], dimensions: list[Dimensions], column: int) -> Minutes:
    minutes = {
        minute and parse_utc(minute): {dimensions[row[0]]: row[column] for row in rows if row[column]}
        for minute, rows in document["minutes"]
    }
    return {minute: counts for minute, counts in minutes.items() if counts}


def _load_partition(values: dict[str, Any]) -> PartitionTruth:
    highest = values["highest_clicked_at"]
    return PartitionTruth(values["start_offset"], values["end_offset"], highest and parse_utc(highest))


def _load_hour(values: dict[str, Any]) -> HourTruth:
    figures = {name: values[name] for name in ("advertiser_id", "raw", "billable", "late", "excluded")}
    return HourTruth(hour=values["hour"] and parse_utc(values["hour"]), **figures)
