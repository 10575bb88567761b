"""The click service in pieces, for tests that need no broker: ads and keys on disk, a journal in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson

from domain.ads import Ad
from domain.links import CLICK_PATH, link_query
from domain.settings import Settings
from services.click.app import ClickApp
from services.click.catalogue import Catalogue
from services.click.inflight import InFlight
from services.click.journal import JournalUnavailableError
from services.click.refusals import RefusalTally
from tests.support.empty_tables import make_empty_tables
from warehouse.ads import snapshot_ads

AT = datetime(2026, 3, 1, 12, 30, 15, 250, tzinfo=UTC)
ADS = (
    Ad(17, 3, 5, "https://shop.example/landing?from=ad&n=17"),
    Ad(18, 3, 6, "http://bücher.example/straße?q=ü"),
)


class MemoryJournal:
    """A journal whose acknowledgements a test gives, unless it is told to give them at once."""

    def __init__(self, acknowledges_at_once: bool = True) -> None:
        self.acknowledges_at_once = acknowledges_at_once
        self.is_full = False
        self.records: list[tuple[bytes, bytes]] = []
        self.waiting: list[asyncio.Future[None]] = []

    def append(self, clicked_at: datetime, key: bytes, value: bytes) -> asyncio.Future[None]:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if self.is_full:
            future.set_exception(JournalUnavailableError(f"full at {clicked_at}"))
            return future
        self.records.append((key, value))
        if self.acknowledges_at_once:
            future.set_result(None)
        else:
            self.waiting.append(future)
        return future

    @property
    def events(self) -> list[dict[str, Any]]:
        return [orjson.loads(value) for _, value in self.records]


class Clock:
    """A clock that stands still until a test moves it."""

    def __init__(self, at: datetime = AT) -> None:
        self.at = at

    def __call__(self) -> datetime:
        return self.at

    def pass_seconds(self, seconds: float) -> None:
        self.at += timedelta(seconds=seconds)


@dataclass(frozen=True)
class Answer:
    """What the app answered."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def document(self) -> dict[str, Any]:
        found: dict[str, Any] = orjson.loads(self.body)
        return found


def home_with_ads(home: Path, ads: Sequence[Ad] = ADS, **values: Any) -> Settings:
    """Settings of a home that has the tables and these ads."""
    settings = Settings(home=home, **values)
    make_empty_tables(settings)
    snapshot_ads(settings, ads, AT - timedelta(days=1))
    return settings


class ClickParts:
    """An app with everything it needs, and the ways to use it."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.clock = Clock()
        self.journal = MemoryJournal()
        self.in_flight = InFlight(self.clock.at)
        self.tally = RefusalTally()
        self.catalogue = Catalogue(settings)
        self.app = ClickApp(
            settings=settings,
            catalogue=self.catalogue,
            journal=self.journal,
            in_flight=self.in_flight,
            tally=self.tally,
            now=self.clock,
        )
        self.app.is_registered = True

    @property
    def refusals(self) -> dict[str, int]:
        return {reason: count for _, reason, count in self.tally.unreported()}

    def query(self, impression_id: str = "imp-7", ad_id: int = 17) -> str:
        return link_query(self.catalogue.key_ring.sign(impression_id, ad_id))

    async def ask(
        self, query: str | bytes, method: str = "GET", path: str = CLICK_PATH, **headers: str | bytes
    ) -> Answer:
        """Sends one request to the app; header names have _ for -."""
        sent: list[Any] = []

        async def send(message: Any) -> None:
            sent.append(message)

        async def receive() -> Any:
            raise AssertionError("a click has no body to be read")

        scope = {
            "type": "http",
            "method": method,
            "path": path,
            "query_string": query.encode() if isinstance(query, str) else query,
            "headers": [
                (name.replace("_", "-").lower().encode(), value.encode() if isinstance(value, str) else value)
                for name, value in headers.items()
            ],
            "client": ("198.51.100.7", 40_000),
        }
        await self.app(scope, receive, send)
        start, *bodies = sent
        answer_headers = {name.decode(): value.decode() for name, value in start["headers"]}
        return Answer(start["status"], answer_headers, b"".join(message.get("body", b"") for message in bodies))
