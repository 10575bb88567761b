"""Reports as the log has them: a watermark never ahead of a click in flight, refusals that add up."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from clicklog.watermarks import Watermark, read_watermarks
from domain.buckets import format_utc
from domain.settings import Settings
from services.click import journal
from services.click.inflight import InFlight
from services.click.journal import JournalUnavailableError, LogWriter
from services.click.refusals import RefusalTally
from services.click.reports import Reporter
from tests.support.click_parts import AT, Clock
from tests.support.click_process import records_of, values_of
from tests.support.ports import free_broker_port

SECOND = timedelta(seconds=1)
MINUTE_TEXT = format_utc(AT.replace(second=0, microsecond=0))


class Reporting:
    """A reporter with what it reports on."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.clock = Clock()
        self.in_flight = InFlight(AT)
        self.tally = RefusalTally()
        self.writer = LogWriter(settings)
        self.reporter = Reporter(settings, self.writer, self.in_flight.accepted_until, self.tally, self.clock)


def _run(settings: Settings, scenario: Callable[[Reporting], Awaitable[None]]) -> None:
    async def run() -> None:
        reporting = Reporting(settings)
        await scenario(reporting)
        await reporting.writer.close()

    asyncio.run(run())


@pytest.mark.broker
def test_a_watermark_is_bounded_by_what_is_in_flight(log_settings: Settings) -> None:
    async def scenario(it: Reporting) -> None:
        ticket, clicked_at = it.in_flight.accept(it.clock())
        it.clock.pass_seconds(30)
        await it.reporter.send_watermark()
        assert read_watermarks(it.settings) == {"edge-1": Watermark("edge-1", clicked_at, False, AT + 30 * SECOND)}
        it.in_flight.settle(ticket)
        await it.reporter.send_watermark(is_closing=True)
        closing = Watermark("edge-1", AT + 30 * SECOND, True, AT + 30 * SECOND)
        assert read_watermarks(it.settings) == {"edge-1": closing}
        keys = {record.key for record in records_of(it.settings, it.settings.edge_watermarks_topic)}
        assert keys == {b"edge-1"}

    _run(log_settings, scenario)


@pytest.mark.broker
def test_refusals_are_reported_once_their_minute_is_over(log_settings: Settings) -> None:
    async def scenario(it: Reporting) -> None:
        it.tally.count("bad_signature", it.clock())
        it.tally.count("bad_signature", it.clock())
        await it.reporter.send_ended_minutes()
        assert values_of(it.settings, it.settings.edge_counts_topic) == []
        it.clock.pass_seconds(60)
        it.tally.count("unknown_ad", it.clock())
        await it.reporter.send_ended_minutes()
        await it.reporter.send_ended_minutes()
        assert [
            (value["server_id"], value["minute"], value["reason"], value["count"])
            for value in values_of(it.settings, it.settings.edge_counts_topic)
        ] == [("edge-1", MINUTE_TEXT, "bad_signature", 2)]

    _run(log_settings, scenario)


@pytest.mark.broker
def test_at_the_stop_the_running_minute_is_reported_too(log_settings: Settings) -> None:
    async def scenario(it: Reporting) -> None:
        it.tally.count("unknown_ad", it.clock())
        await it.reporter.send_all_refusals()
        await it.reporter.send_all_refusals()
        reports = values_of(it.settings, it.settings.edge_counts_topic)
        assert [(value["reason"], value["count"]) for value in reports] == [("unknown_ad", 1)]

    _run(log_settings, scenario)


def test_what_the_log_does_not_take_is_kept(
    log_settings_without_broker: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal, "DELIVERY_TIMEOUT_SECONDS", 0.5)

    async def scenario(it: Reporting) -> None:
        it.tally.count("unknown_ad", it.clock())
        it.tally.count("bad_signature", it.clock())
        with pytest.raises(JournalUnavailableError):
            await it.reporter.send_all_refusals()
        with pytest.raises(JournalUnavailableError):
            await it.reporter.send_watermark()
        assert [(reason, count) for _, reason, count in it.tally.unreported()] == [
            ("bad_signature", 1),
            ("unknown_ad", 1),
        ]

    _run(log_settings_without_broker, scenario)


@pytest.fixture
def log_settings_without_broker(tmp_path: object) -> Settings:
    return replace(Settings(home=tmp_path), broker_port=free_broker_port())  # type: ignore[arg-type]
