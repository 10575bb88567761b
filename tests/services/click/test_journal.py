"""The log writer: each record is settled once, nothing blocks the event loop, nothing is taken that cannot be kept."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Coroutine
from dataclasses import replace
from typing import Any

import pytest

from clicklog.broker import Broker
from domain.settings import Settings
from services.click import journal
from services.click.journal import SETTLED_WITHIN_SECONDS, JournalUnavailableError, LogJournal, LogWriter
from tests.support.click_process import records_of
from tests.support.ports import free_broker_port

LARGEST_TICK_SECONDS = 2.0
"""Generous for a busy machine; a call that waits for Kafka takes more than twice as long."""


def _run(scenario: Coroutine[Any, Any, None]) -> None:
    asyncio.run(scenario)


async def _longest_tick(until: asyncio.Future[Any] | asyncio.Task[Any]) -> float:
    """How long the event loop was held up at most while waiting for ``until``."""
    longest = 0.0
    while not until.done():
        started = time.monotonic()
        await asyncio.sleep(0.005)
        longest = max(longest, time.monotonic() - started - 0.005)
    return longest


@pytest.mark.broker
def test_what_is_acknowledged_is_in_the_log(log_settings: Settings) -> None:
    async def scenario() -> None:
        writer = LogWriter(log_settings)
        log = LogJournal(writer, log_settings.clicks_topic)
        await asyncio.gather(*[log.append(f"imp-{n}".encode(), b"%d" % n) for n in range(500)])
        found = {record.key: record.value for record in records_of(log_settings, log_settings.clicks_topic)}
        assert found == {f"imp-{n}".encode(): b"%d" % n for n in range(500)}
        await writer.close()

    _run(scenario())


@pytest.mark.broker
def test_one_key_keeps_its_order(log_settings: Settings) -> None:
    async def scenario() -> None:
        writer = LogWriter(log_settings)
        written = [writer.write(log_settings.clicks_topic, b"one", b"%d" % n) for n in range(300)]
        await writer.close()
        assert all(each.done() and each.exception() is None for each in written)
        values = [record.value for record in records_of(log_settings, log_settings.clicks_topic)]
        assert values == [b"%d" % n for n in range(300)]

    _run(scenario())


@pytest.mark.broker
def test_a_topic_that_is_missing_is_an_error_of_its_record_alone(log_settings: Settings) -> None:
    async def scenario() -> None:
        writer = LogWriter(log_settings)
        lost = writer.write("no-such-topic", b"k", b"v")
        kept = writer.write(log_settings.clicks_topic, b"k", b"v")
        await kept
        with pytest.raises(JournalUnavailableError):
            await lost
        await writer.close()

    _run(scenario())


@pytest.mark.broker
def test_a_record_that_is_too_large_is_refused_alone(log_settings: Settings) -> None:
    async def scenario() -> None:
        writer = LogWriter(log_settings)
        with pytest.raises(JournalUnavailableError):
            await writer.write(log_settings.clicks_topic, b"k", b"v" * 3_000_000)
        await writer.write(log_settings.clicks_topic, b"k", b"v")
        await writer.close()

    _run(scenario())


def test_without_a_broker_every_record_is_given_up_in_time(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """R5: broker down; 20,000 clicks; each ends in an error, none is forgotten, none holds up the loop."""
    monkeypatch.setattr(journal, "DELIVERY_TIMEOUT_SECONDS", 1.0)
    settings = Settings(home=tmp_path, broker_port=free_broker_port())

    async def scenario() -> None:
        writer = LogWriter(settings)
        started = time.monotonic()
        written = [writer.write("clicks", b"k%d" % n, b"v" * 300) for n in range(20_000)]
        waiting = asyncio.gather(*written, return_exceptions=True)
        longest = await _longest_tick(waiting)
        assert all(isinstance(each.exception(), JournalUnavailableError) for each in written)
        assert time.monotonic() - started < SETTLED_WITHIN_SECONDS + 2
        assert longest < LARGEST_TICK_SECONDS
        await writer.close()

    _run(scenario())


def test_a_full_writer_refuses_at_once_and_takes_again_later(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """R5: what does not fit is refused before it is taken, and room comes back with what is settled."""
    settings = Settings(home=tmp_path, broker_port=free_broker_port())
    monkeypatch.setattr(journal, "MAX_UNSETTLED_BYTES", 1_000)
    monkeypatch.setattr(journal, "DELIVERY_TIMEOUT_SECONDS", 0.5)

    async def scenario() -> None:
        writer = LogWriter(settings)
        taken = [writer.write("clicks", b"k", b"v" * 100) for _ in range(10)]
        with pytest.raises(JournalUnavailableError, match="1000 bytes wait"):
            writer.write("clicks", b"k", b"v" * 100)
        await asyncio.wait(taken)
        assert [each.exception() is None for each in taken] == [False] * 10
        last = writer.write("clicks", b"k", b"v" * 100)
        await asyncio.wait([last])
        assert last.exception()
        await writer.close()

    _run(scenario())


@pytest.mark.broker
def test_a_paused_broker_does_not_hold_up_the_loop(log_settings: Settings, broker: Broker) -> None:
    async def scenario() -> None:
        writer = LogWriter(log_settings)
        await writer.write(log_settings.clicks_topic, b"k", b"warm")
        os.kill(broker.pid, signal.SIGSTOP)
        try:
            written = [writer.write(log_settings.clicks_topic, b"k%d" % n, b"v" * 300) for n in range(2_000)]
            longest = await _longest_tick(asyncio.gather(*written, return_exceptions=True))
        finally:
            os.kill(broker.pid, signal.SIGCONT)
        assert all(isinstance(each.exception(), JournalUnavailableError) for each in written)
        assert longest < LARGEST_TICK_SECONDS
        await writer.close()

    _run(scenario())


@pytest.mark.broker
def test_closing_waits_for_what_was_taken_and_takes_no_more(log_settings: Settings) -> None:
    async def scenario() -> None:
        writer = LogWriter(log_settings)
        written = [writer.write(log_settings.clicks_topic, b"k%d" % n, b"v") for n in range(100)]
        await writer.close()
        assert [each.exception() for each in written] == [None] * 100
        assert not writer.is_open
        with pytest.raises(JournalUnavailableError, match="has ended"):
            writer.write(log_settings.clicks_topic, b"k", b"v")

    _run(scenario())


@pytest.mark.broker
def test_a_waiter_that_leaves_disturbs_nobody(log_settings: Settings) -> None:
    async def scenario() -> None:
        writer = LogWriter(log_settings)
        left = writer.write(log_settings.clicks_topic, b"k", b"left")
        left.cancel()
        await writer.write(log_settings.clicks_topic, b"k", b"stayed")
        await writer.close()
        values = [record.value for record in records_of(log_settings, log_settings.clicks_topic)]
        assert values == [b"left", b"stayed"]

    _run(scenario())


def test_an_idle_writer_closes_at_once(tmp_path: Any) -> None:
    async def scenario() -> None:
        writer = LogWriter(replace(Settings(home=tmp_path), broker_port=free_broker_port()))
        started = time.monotonic()
        await writer.close()
        assert time.monotonic() - started < 1

    _run(scenario())
