"""Registration: nothing is promised twice in different ways, and what waiting does not mend is said at once."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from clicklog.broker import start_broker
from clicklog.producer import ClickProducer
from clicklog.topics import TopicSettingError, ensure_topics
from clicklog.watermarks import Watermark, read_watermarks
from domain.errors import TallystickError
from domain.settings import Settings
from services.click import registration
from services.click.inflight import InFlight
from services.click.journal import LogWriter
from services.click.refusals import RefusalTally
from services.click.registration import ServerNameError, register
from services.click.reports import Reporter
from tests.support.click_parts import AT, Clock
from tests.support.ports import free_broker_port

pytestmark = pytest.mark.broker

SECOND = timedelta(seconds=1)


@pytest.fixture(autouse=True)
def short_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registration, "_SILENT_SECONDS", 0.5)
    monkeypatch.setattr(registration, "RETRY_SECONDS", 0.1)


def _register(settings: Settings, said: list[str] | None = None) -> InFlight:
    async def run() -> InFlight:
        clock, in_flight, writer = Clock(), InFlight(AT), LogWriter(settings)
        reporter = Reporter(settings, writer, in_flight.accepted_until, RefusalTally(), clock)
        try:
            await register(settings, reporter, in_flight, clock, (said if said is not None else []).append)
        finally:
            await writer.close()
        return in_flight

    return asyncio.run(run())


def _leave_watermark(settings: Settings, until: datetime, is_closing: bool = False) -> None:
    mark = Watermark(settings.server_id, until, is_closing, until)
    producer = ClickProducer(settings)
    producer.send(settings.server_id.encode(), mark.encode(), topic=settings.edge_watermarks_topic)
    producer.flush(20)


def test_a_new_server_sends_its_first_watermark(log_settings: Settings) -> None:
    said: list[str] = []
    _register(log_settings, said)
    assert read_watermarks(log_settings) == {"edge-1": Watermark("edge-1", AT, False, AT)}
    assert said == []


@pytest.mark.parametrize("is_closing", [True, False])
def test_an_earlier_promise_is_kept(log_settings: Settings, is_closing: bool) -> None:
    """Also where our clock is behind the one that the promise was made with."""
    _leave_watermark(log_settings, AT + 60 * SECOND, is_closing)
    in_flight = _register(log_settings)
    assert in_flight.accept(AT)[1] == AT + 60 * SECOND
    mark = read_watermarks(log_settings)["edge-1"]
    assert (mark.accepted_until, mark.is_closing) == (AT + 60 * SECOND, False)


def test_a_promise_far_in_the_future_is_refused(log_settings: Settings) -> None:
    """L8's cause: events stamped by that promise would all be future-dated."""
    _leave_watermark(log_settings, AT + timedelta(days=1), is_closing=True)
    with pytest.raises(ServerNameError, match="in the future"):
        _register(log_settings)


def test_a_server_that_is_at_work_elsewhere_keeps_its_name(
    log_settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registration, "_SILENT_SECONDS", 3.0)
    _leave_watermark(log_settings, AT)
    is_over = threading.Event()
    other = threading.Thread(target=_keep_sending, args=(log_settings, is_over))
    other.start()
    try:
        with pytest.raises(ServerNameError, match="another process sends watermarks"):
            _register(log_settings)
    finally:
        is_over.set()
        other.join()


def _keep_sending(settings: Settings, is_over: threading.Event) -> None:
    number = 0
    while not is_over.wait(0.1):
        number += 1
        _leave_watermark(settings, AT + number * SECOND)


def test_wrong_topics_are_not_waited_for(log_settings: Settings) -> None:
    short = replace(log_settings, clicks_topic=log_settings.clicks_topic + "-short")
    ensure_topics(replace(short, live_horizon_hours=2, final_horizon_days=1))
    with pytest.raises(TopicSettingError, match=r"retention\.ms"):
        _register(short)


def test_topics_of_a_foreign_kafka_are_not_made(log_settings: Settings) -> None:
    with pytest.raises(TallystickError, match="does not exist"):
        _register(replace(log_settings, clicks_topic="nobody-made-this"))


def test_it_waits_for_the_broker_and_says_so_once(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path, broker_port=free_broker_port(), clicks_partitions=1)
    said: list[str] = []
    waiting = threading.Thread(target=_register, args=(settings, said))
    waiting.start()
    with start_broker(settings):
        waiting.join(60)
        assert not waiting.is_alive()
        assert read_watermarks(settings).keys() == {"edge-1"}
    assert len(said) == 1
    assert said[0].startswith("waiting for the log: ")
