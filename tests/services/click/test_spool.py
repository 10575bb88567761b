"""The spool: durable before it answers, in order, bounded, and whole again after any end."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from domain.errors import IntegrityError
from services.click import spool as spool_module
from services.click.spool import POSITION_FILE, Spool, SpoolFullError
from services.click.spool_format import SpooledClick, encode
from tests.support.disk import room_for

AT = datetime(2026, 5, 4, 10, tzinfo=UTC)
LIMIT = 1 << 20


class Home:
    """A folder, and what was reported about it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.said: list[str] = []

    def open(self, limit_bytes: int = LIMIT) -> Spool:
        return Spool(self.folder, limit_bytes, self.said.append)

    def segments(self) -> list[Path]:
        return sorted(self.folder.glob("*.spool"))


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "spool")


def _run(scenario: Coroutine[Any, Any, None]) -> None:
    asyncio.run(scenario)


async def _fill(spool: Spool, numbers: range) -> None:
    await asyncio.gather(*(spool.append(AT + timedelta(seconds=n), b"k%d" % n, b"v%d" % n) for n in numbers))


def _ship(spool: Spool) -> list[bytes]:
    """Takes everything out, in the order in which it comes."""
    keys: list[bytes] = []
    while (batch := spool.read_batch()) is not None:
        keys += [click.key for click in batch.clicks]
        spool.shipped(batch)
    return keys


def _keys(numbers: range) -> list[bytes]:
    return [b"k%d" % n for n in numbers]


def test_clicks_leave_in_the_order_in_which_they_came(home: Home) -> None:
    async def scenario() -> None:
        spool = home.open()
        await _fill(spool, range(500))
        assert spool.oldest_waiting == AT
        assert _ship(spool) == _keys(range(500))
        assert (spool.waiting_bytes, spool.oldest_waiting) == (0, None)
        await spool.close()

    _run(scenario())


def test_an_answer_means_that_the_disk_has_it(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """Law 1: the future ends behind the fsync, never before it."""
    synced: list[int] = []
    fsync = os.fsync

    def seen(descriptor: int) -> None:
        fsync(descriptor)
        synced.append(os.fstat(descriptor).st_size)

    monkeypatch.setattr(spool_module.os, "fsync", seen)

    async def scenario() -> None:
        spool = home.open()
        record = len(encode(SpooledClick(0, b"k0", b"v0")))
        await spool.append(AT, b"k0", b"v0")
        assert synced[0] == record
        await _fill(spool, range(100))
        assert len(synced) < 20, "one fsync serves many clicks"
        await spool.close()

    _run(scenario())


def test_what_an_earlier_process_left_goes_first(home: Home) -> None:
    async def scenario() -> None:
        await _fill(home.open(), range(10))  # killed: never closed
        spool = home.open()
        assert (spool.has_more.is_set(), spool.oldest_waiting) == (True, AT)
        await _fill(spool, range(10, 20))
        assert _ship(spool) == _keys(range(20))
        await spool.close()

    _run(scenario())
    assert home.said == []


def test_shipping_goes_on_where_it_was(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool_module, "BATCH_BYTES", 100)

    async def scenario() -> None:
        spool = home.open()
        await _fill(spool, range(10))
        first = spool.read_batch()
        assert first is not None
        assert 1 < len(first.clicks) < 10
        spool.shipped(first)
        await spool.close()
        again = home.open()
        assert _ship(again) == _keys(range(len(first.clicks), 10))
        await again.close()

    _run(scenario())


@pytest.mark.parametrize(
    "position", [b"", b"nonsense", b'{"segment": 99, "offset": 5}', b'{"segment": 1, "offset": 999999}']
)
def test_a_lost_position_ships_again_and_skips_nothing(home: Home, position: bytes) -> None:
    """R6: copies are recognised in the log, a gap would not be."""

    async def scenario() -> None:
        spool = home.open()
        await _fill(spool, range(5))
        await spool.close()
        (home.folder / POSITION_FILE).write_bytes(position)
        again = home.open()
        assert _ship(again) == _keys(range(5))
        await again.close()

    _run(scenario())


@pytest.mark.parametrize("cut", [1, 7, 20])
def test_a_torn_tail_is_cut_off_kept_and_told(home: Home, cut: int) -> None:
    """R6: the last record never wedges those before it."""

    async def scenario() -> None:
        spool = home.open()
        await _fill(spool, range(5))
        await spool.close()
        (segment,) = home.segments()
        os.truncate(segment, segment.stat().st_size - cut)
        again = home.open()
        assert _ship(again) == _keys(range(4))
        await again.close()

    _run(scenario())
    assert "no whole click" in home.said[0]
    assert len(list(home.folder.glob("*.damaged"))) == 1


def test_shipped_segments_are_deleted(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool_module, "SEGMENT_BYTES", 200)

    async def scenario() -> None:
        spool = home.open()
        await _fill(spool, range(30))
        assert len(home.segments()) > 3
        assert _ship(spool) == _keys(range(30))
        assert len(home.segments()) == 1
        await spool.close()

    _run(scenario())


def test_no_more_than_the_limit_waits(home: Home) -> None:
    async def scenario() -> None:
        spool = home.open(limit_bytes=100)
        await _fill(spool, range(4))
        with pytest.raises(SpoolFullError, match="wait in the spool"):
            spool.append(AT, b"k", bytes(100))
        assert _ship(spool) == _keys(range(4))
        await spool.append(AT, b"k4", b"v4")
        await spool.close()

    _run(scenario())


def test_a_full_disk_refuses_the_click_and_spoils_nothing(home: Home) -> None:
    """R5: what was kept before stays whole, and what comes when there is room again is kept."""

    async def scenario() -> None:
        spool = home.open()
        await _fill(spool, range(3))
        room = home.segments()[0].stat().st_size + 50
        with room_for(room), pytest.raises(SpoolFullError, match="cannot be written"):
            await spool.append(AT, b"k", bytes(5_000))
        await _fill(spool, range(3, 6))
        assert _ship(spool) == _keys(range(6))
        await spool.close()
        assert _ship(home.open()) == []

    _run(scenario())
    assert home.said == []


def test_a_spool_that_changed_on_the_disk_is_not_shipped(home: Home) -> None:
    async def scenario() -> None:
        spool = home.open()
        await _fill(spool, range(3))
        (segment,) = home.segments()
        segment.write_bytes(bytes(segment.stat().st_size))
        with pytest.raises(IntegrityError, match="has changed on the disk"):
            spool.read_batch()
        await spool.close()

    _run(scenario())


def test_a_position_is_never_one_in_another_segment(home: Home) -> None:
    """Law 1: shipped and stopped, started and stopped, and then clicks that no broker takes: every one is shipped."""

    async def scenario() -> None:
        first = home.open()
        await _fill(first, range(1))
        assert _ship(first) == _keys(range(1))
        await first.close()
        await home.open().close()
        third = home.open()
        await _fill(third, range(1, 4))
        await third.close()
        fourth = home.open()
        assert _ship(fourth) == _keys(range(1, 4))
        await fourth.close()

    _run(scenario())


def test_a_position_inside_of_a_click_is_not_believed(home: Home) -> None:
    async def scenario() -> None:
        spool = home.open()
        await _fill(spool, range(3))
        await spool.close()
        (home.folder / POSITION_FILE).write_bytes(b'{"segment": 1, "offset": 5}')
        again = home.open()
        assert _ship(again) == _keys(range(3))
        await again.close()

    _run(scenario())


def test_shipping_goes_on_in_the_next_segment_after_one_that_was_drained(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Law 7: what waits behind a segment that has left already is seen, or no hour would ever be sealed again."""
    monkeypatch.setattr(spool_module, "SEGMENT_BYTES", 50)

    async def scenario() -> None:
        spool = home.open()
        for number in range(5):
            await _fill(spool, range(number, number + 1))
            assert _ship(spool) == _keys(range(number, number + 1))
        assert spool.oldest_waiting is None
        await spool.close()

    _run(scenario())


def test_after_a_refused_first_click_the_next_one_is_shipped(home: Home) -> None:
    async def scenario() -> None:
        spool = home.open()
        with room_for(0), pytest.raises(SpoolFullError):
            await spool.append(AT, b"k", b"v")
        await _fill(spool, range(1))
        assert _ship(spool) == _keys(range(1))
        await spool.close()

    _run(scenario())


def test_a_full_disk_does_not_keep_shipped_clicks_from_leaving(home: Home) -> None:
    async def scenario() -> None:
        spool = home.open()
        await _fill(spool, range(3))
        with room_for(0):
            assert _ship(spool) == _keys(range(3))
        assert spool.waiting_bytes == 0
        await spool.close()

    _run(scenario())
