"""The log first, the spool when it is slow or away, an answer in any case."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import pytest

from services.click.journal import JournalUnavailableError
from services.click.spool import Spool
from services.click.spooled_journal import ClickLostError, SpooledJournal
from tests.support.disk import room_for

AT = datetime(2026, 5, 4, 10, tzinfo=UTC)
LATER = datetime(2026, 5, 4, 10, 0, 1, tzinfo=UTC)
VALUE = orjson.dumps({"v": 1, "impression_id": "imp"})


class ManualLog:
    """A log that answers when the test says so."""

    def __init__(self) -> None:
        self.given: list[tuple[bytes, asyncio.Future[None]]] = []
        self.is_full = False

    def append(self, key: bytes, value: bytes) -> asyncio.Future[None]:
        assert value == VALUE
        if self.is_full:
            raise JournalUnavailableError("full")
        self.given.append((key, asyncio.get_running_loop().create_future()))
        return self.given[-1][1]


class World:
    """A journal over a manual log and a real spool. Made in the event loop."""

    def __init__(self, folder: Path, budget_seconds: float = 0.03, limit_bytes: int = 1 << 20) -> None:
        self.log = ManualLog()
        self.spool = Spool(folder, limit_bytes, lambda _: None)
        self.journal = SpooledJournal(self.log, self.spool, budget_seconds, lambda: LATER)

    def append(self, key: bytes = b"k") -> asyncio.Future[None]:
        return self.journal.append(AT, key, VALUE)

    def waiting(self) -> list[tuple[bytes, Any]]:
        batch = self.spool.read_batch()
        return [] if batch is None else [(click.key, orjson.loads(click.value)) for click in batch.clicks]


def _run(scenario: Coroutine[Any, Any, None]) -> None:
    asyncio.run(scenario)


def test_what_the_log_acknowledges_is_not_spooled(tmp_path: Path) -> None:
    async def scenario() -> None:
        world = World(tmp_path, budget_seconds=60)
        durable = world.append()
        await asyncio.sleep(0.05)
        assert not durable.done()
        world.log.given[0][1].set_result(None)
        await durable
        assert world.waiting() == []
        await world.spool.close()

    _run(scenario())


def test_beyond_the_budget_a_click_is_spooled_and_marked(tmp_path: Path) -> None:
    async def scenario() -> None:
        world = World(tmp_path)
        await world.append()
        marked = {"v": 1, "impression_id": "imp", "spooled_at": "2026-05-04T10:00:01.000000Z"}
        assert world.waiting() == [(b"k", marked)]
        assert world.journal.is_log_away
        await world.append(b"next")
        assert len(world.log.given) == 1, "once it is away the log is not asked for every click"
        await world.spool.close()

    _run(scenario())


@pytest.mark.parametrize("is_full", [False, True])
def test_a_log_that_refuses_costs_no_click(tmp_path: Path, is_full: bool) -> None:
    """R5: a queue that is full, a delivery that failed."""

    async def scenario() -> None:
        world = World(tmp_path, budget_seconds=60)
        world.log.is_full = is_full
        durable = world.append()
        if not is_full:
            world.log.given[0][1].set_exception(JournalUnavailableError("gone"))
        await durable
        assert [key for key, _ in world.waiting()] == [b"k"]
        await world.spool.close()

    _run(scenario())


def test_a_late_acknowledgement_changes_nothing(tmp_path: Path) -> None:
    async def scenario() -> None:
        world = World(tmp_path)
        await world.append()
        world.log.given[0][1].set_result(None)
        await asyncio.sleep(0)
        assert world.journal.is_log_away, "what waits in the spool decides when the log is back"
        await world.spool.close()

    _run(scenario())


def test_with_the_log_back_clicks_go_there_again(tmp_path: Path) -> None:
    async def scenario() -> None:
        world = World(tmp_path)
        await world.append()
        world.journal.log_is_back()
        world.append(b"after")
        assert [key for key, _ in world.log.given] == [b"k", b"after"]
        await world.spool.close()

    _run(scenario())


def test_neither_log_nor_spool_is_a_loss_that_is_known(tmp_path: Path) -> None:
    async def scenario() -> None:
        world = World(tmp_path, limit_bytes=10)
        with pytest.raises(ClickLostError):
            await world.append()
        assert world.spool.oldest_waiting is None
        await world.spool.close()

    _run(scenario())


def test_a_disk_that_refuses_leaves_the_click_to_a_log_that_is_back(tmp_path: Path) -> None:
    """Away and unspoolable: it is given to the log again, whose answer ends the bad time."""

    async def scenario() -> None:
        world = World(tmp_path, budget_seconds=60)
        world.journal.log_is_away()
        with room_for(0):
            durable = world.append()
            while not world.log.given:
                await asyncio.sleep(0.001)
        world.log.given[0][1].set_result(None)
        await durable
        assert not world.journal.is_log_away
        await world.spool.close()

    _run(scenario())


def test_many_clicks_each_keep_their_own_budget(tmp_path: Path) -> None:
    async def scenario() -> None:
        world = World(tmp_path, budget_seconds=0.1)
        clicks = [world.append(b"%d" % n) for n in range(50)]
        for _, written in world.log.given[::2]:
            written.set_result(None)
        await asyncio.gather(*clicks)
        assert [key for key, _ in world.waiting()] == [b"%d" % n for n in range(1, 50, 2)]
        await world.spool.close()

    _run(scenario())


def test_a_click_that_was_given_up_holds_back_watermarks_until_the_log_has_settled_it(tmp_path: Path) -> None:
    """Law 7: its visitor has gone, and it may be counted lost, but the log may get it yet."""

    async def scenario() -> None:
        world = World(tmp_path, limit_bytes=10)
        with pytest.raises(ClickLostError):
            await world.append()
        assert world.journal.oldest_unsettled == AT
        world.log.given[0][1].set_result(None)
        await asyncio.sleep(0)
        assert world.journal.oldest_unsettled is None
        world.log.is_full = True
        with pytest.raises(ClickLostError):
            await world.append()
        assert world.journal.oldest_unsettled is None, "the log never had it"
        await world.spool.close()

    _run(scenario())
