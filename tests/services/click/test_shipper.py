"""From the spool to the log: in order, the position behind the acknowledgement, a ledger of what went."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Coroutine
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest

from domain.settings import Settings
from services.click import shipper as shipper_module
from services.click import spool as spool_module
from services.click.journal import JournalUnavailableError, LogJournal, LogWriter
from services.click.shipper import Shipper
from services.click.spool import Spool
from services.click.spooled_journal import SpooledJournal
from tests.support.click_process import records_of
from tests.support.disk import room_for

AT = datetime(2026, 5, 4, 10, 59, 59, tzinfo=UTC)


class FailingWriter(LogWriter):
    """A log writer whose log gives up on one record of each batch, until it is told to work."""

    def __init__(self) -> None:
        self.taken: list[bytes] = []
        self.is_failing = True

    def write(self, topic: str, key: bytes, value: bytes) -> asyncio.Future[None]:
        assert topic == "clicks"
        assert value
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if self.is_failing and key == b"k1":
            future.set_exception(JournalUnavailableError("gone"))
        else:
            self.taken.append(key)
            future.set_result(None)
        return future


class World:
    """A spool with some clicks, and what ships them. Made in the event loop."""

    def __init__(self, settings: Settings, writer: LogWriter) -> None:
        self.settings = settings
        self.spool = Spool(settings.spool_path, 1 << 20, lambda _: None)
        self.shipper = Shipper(self.spool, writer, settings, lambda: AT)
        self.journal = SpooledJournal(LogJournal(writer, "clicks"), self.spool, 60, lambda: AT)
        self.journal.log_is_away()

    async def fill(self, count: int) -> None:
        each = (self.spool.append(AT + timedelta(seconds=n), b"k%d" % n, b'{"n":%d}' % n) for n in range(count))
        await asyncio.gather(*each)

    def ledger(self) -> list[dict[str, Any]]:
        path = self.settings.spool_path / shipper_module.LEDGER_FILE
        return [orjson.loads(line) for line in path.read_bytes().splitlines()] if path.exists() else []


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path)


def _run(scenario: Coroutine[Any, Any, None]) -> None:
    asyncio.run(scenario)


def test_a_batch_that_is_not_acknowledged_whole_stays(settings: Settings) -> None:
    """R6: the position is kept only behind the acknowledgement."""

    async def scenario() -> None:
        writer = FailingWriter()
        world = World(settings, writer)
        await world.fill(3)
        with pytest.raises(JournalUnavailableError):
            await world.shipper.ship_batch()
        assert (world.spool.oldest_waiting, world.ledger()) == (AT, [])
        writer.is_failing = False
        assert await world.shipper.ship_batch()
        assert writer.taken == [b"k0", b"k2", b"k0"], "after a failure the first record is tried alone"
        assert await world.shipper.ship_batch()
        assert writer.taken[3:] == [b"k1", b"k2"]
        assert world.spool.waiting_bytes == 0
        await world.spool.close()

    _run(scenario())


def test_the_ledger_says_which_hours_the_clicks_belong_to(settings: Settings) -> None:
    async def scenario() -> None:
        writer = FailingWriter()
        writer.is_failing = False
        world = World(settings, writer)
        await world.fill(3)
        await world.shipper.ship_batch()
        assert world.ledger() == [
            {
                "shipped_at": "2026-05-04T10:59:59Z",
                "clicks_by_hour": {"2026-05-04T10:00:00Z": 1, "2026-05-04T11:00:00Z": 2},
            }
        ]
        await world.spool.close()

    _run(scenario())


def test_clicks_go_to_the_log_again_once_it_has_taken_the_rest(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shipper_module, "RETRY_SECONDS", 0.02)

    async def scenario() -> None:
        writer = FailingWriter()
        world = World(settings, writer)
        await world.fill(3)
        running = asyncio.create_task(world.shipper.run(world.journal))
        await asyncio.sleep(0.1)
        assert world.journal.is_log_away
        writer.is_failing = False
        while world.spool.waiting_bytes:
            await asyncio.sleep(0.005)
        assert not world.journal.is_log_away
        await world.fill(2)
        while world.spool.waiting_bytes:
            await asyncio.sleep(0.005)
        running.cancel()
        await world.spool.close()

    _run(scenario())


def test_a_full_disk_stops_no_shipping(settings: Settings) -> None:
    """The ledger and the position go without a line; the clicks, which free the disk, do not wait for them."""

    async def scenario() -> None:
        writer = FailingWriter()
        writer.is_failing = False
        world = World(settings, writer)
        await world.fill(3)
        with room_for(0):
            assert await world.shipper.ship_batch()
        assert writer.taken == [b"k0", b"k1", b"k2"]
        await world.spool.close()

    _run(scenario())


@pytest.mark.broker
def test_everything_arrives_through_a_real_log(log_settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many batches and segments, in the order of each key's partition."""
    monkeypatch.setattr(spool_module, "BATCH_BYTES", 2_000)
    monkeypatch.setattr(spool_module, "SEGMENT_BYTES", 10_000)

    async def scenario() -> None:
        writer = LogWriter(log_settings)
        world = World(log_settings, writer)
        await world.fill(1_000)
        while await world.shipper.ship_batch():
            pass
        assert world.shipper.shipped_count == 1_000
        await world.spool.close()
        await writer.close()

    _run(scenario())
    records = records_of(log_settings, log_settings.clicks_topic)
    assert Counter(record.key for record in records) == Counter(b"k%d" % n for n in range(1_000))
    for partition in {record.partition for record in records}:
        numbers = [record.document["n"] for record in records if record.partition == partition]
        assert numbers == sorted(numbers)
