"""What an import would do: each row judged by the product's own rule before anything is sent.

Belongs here: events out of rows, the tally, and which hours they belong to. Copies are those of this file; copies of
what the log has already are found when the hours are reconciled.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import blake2b

import orjson

from domain.ads import Ad
from domain.buckets import hour_of
from domain.events import EVENT_VERSION
from domain.parsing import parse_event
from services.click.bots import is_bot
from services.imports.formats import Row
from services.imports.mapping import Condition, ForeignClick, RowRefusedError, Source, foreign_click

NAMED_REFUSALS = 5
"""Of each reason so many rows are named."""


@dataclass(frozen=True)
class Refused:
    """A row that is not sent, and why."""

    number: int
    reason: str
    text: str


@dataclass(frozen=True)
class Event:
    """A row that is sent: key and value of its record."""

    key: bytes
    value: bytes
    clicked_at: datetime


@dataclass
class Tally:
    """What the rows come to. ``by_kind`` counts events; ``copy_count`` of the clicks among them are copies."""

    row_count: int = 0
    left_out_count: int = 0
    copy_count: int = 0
    by_kind: Counter[str] = field(default_factory=Counter)
    by_reason: Counter[str] = field(default_factory=Counter)
    by_hour: Counter[datetime] = field(default_factory=Counter)
    examples: list[Refused] = field(default_factory=list)
    first_clicked_at: datetime | None = None

    @property
    def event_count(self) -> int:
        return self.by_kind.total()


@dataclass(frozen=True)
class Import:
    """What an import is made with. ``at`` is its time: later clicks are future-dated."""

    sources: Mapping[str, Source]
    conditions: Sequence[Condition]
    ads: Mapping[int, Ad]
    server_id: str
    at: datetime


class Judge:
    """Judges rows in their order. ``on_refused`` hears of each that is not sent."""

    def __init__(self, given: Import, on_refused: Callable[[Refused], None]) -> None:
        self._given = given
        self._on_refused = on_refused
        self._texts: Counter[bytes] = Counter()
        self._clicked: set[bytes] = set()
        self.tally = Tally()

    def events(self, rows: Iterable[Row]) -> Iterator[Event]:
        """An event for each row that is sent."""
        for row in rows:
            self.tally.row_count += 1
            if row.values is not None and not all(one.holds_in(row.values) for one in self._given.conditions):
                self.tally.left_out_count += 1
                continue
            try:
                click = foreign_click(row, self._occurrence(row), self._given.sources)
                event = self._event(row, click)
            except RowRefusedError as error:
                self._refuse(Refused(row.number, str(error), row.text))
                continue
            self._count(click)
            yield event

    def _occurrence(self, row: Row) -> int:
        if self._given.sources["impression_id"].column is None:
            return 0
        digest = _digest(row.text)
        self._texts[digest] += 1
        return self._texts[digest] - 1

    def _event(self, row: Row, click: ForeignClick) -> Event:
        ad = self._given.ads.get(click.ad_id)
        if ad is None:
            raise RowRefusedError("unknown_ad")
        fields = vars(click) | {
            "v": EVENT_VERSION,
            "advertiser_id": ad.advertiser_id,
            "campaign_id": ad.campaign_id,
            "clicked_at": click.clicked_at.isoformat(timespec="microseconds").replace("+00:00", "Z"),
            "server_id": self._given.server_id,
            "server_seq": row.number,
        }
        try:
            value = orjson.dumps(fields | ({"bot": True} if is_bot(click.user_agent) else {}))
        except TypeError:  # half of a surrogate pair, as JSON may have it
            raise RowRefusedError("not_utf8") from None
        judged = parse_event(value, self._given.at, self._given.ads)
        if isinstance(judged, str):
            raise RowRefusedError(judged)
        return Event(click.impression_id.encode(), value, click.clicked_at)

    def _count(self, click: ForeignClick) -> None:
        self.tally.by_kind[click.kind] += 1
        self.tally.by_hour[hour_of(click.clicked_at)] += 1
        first = self.tally.first_clicked_at
        self.tally.first_clicked_at = click.clicked_at if first is None else min(first, click.clicked_at)
        if click.kind == "click":
            identity = _digest(f"{click.impression_id}\n{click.ad_id}")
            self.tally.copy_count += identity in self._clicked
            self._clicked.add(identity)

    def _refuse(self, refused: Refused) -> None:
        self.tally.by_reason[refused.reason] += 1
        if self.tally.by_reason[refused.reason] <= NAMED_REFUSALS:
            self.tally.examples.append(refused)
        self._on_refused(refused)


def _digest(text: str) -> bytes:
    return blake2b(text.encode(), digest_size=16).digest()
