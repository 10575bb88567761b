"""The click service's metrics: what happened is counted, each process by its name, the dead left out."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest

from services.click.gauges import ClickMetrics, Parts
from services.click.journal import LogJournal, LogWriter
from services.click.shipper import Shipper
from services.click.spool import Spool
from services.click.spooled_journal import SpooledJournal
from tests.support.click_parts import ClickParts, home_with_ads


class _NoLog(LogWriter):
    """A log writer that nothing is written to."""

    def __init__(self) -> None:
        self.unused = True


@pytest.fixture
def parts(tmp_path: Path) -> ClickParts:
    return ClickParts(home_with_ads(tmp_path))


def _metrics(parts: ClickParts, server_id: str, spool: Spool) -> ClickMetrics:
    folder = parts.settings.home / "spool" / server_id
    journal = SpooledJournal(LogJournal(_NoLog(), "clicks"), spool, 1, parts.clock)
    shipper = Shipper(spool, _NoLog(), parts.settings, parts.clock)
    return ClickMetrics(folder, Parts(parts.app, parts.in_flight, spool, journal, shipper), parts.clock)


def test_what_happened_is_counted_by_server(parts: ClickParts) -> None:
    async def scenario() -> None:
        first, second = (
            Spool(parts.settings.home / "spool" / name, 1 << 20, lambda _: None) for name in ("edge-1", "edge-1.2")
        )
        await parts.ask(parts.query())
        await parts.ask(parts.query(ad_id=999))
        await first.append(parts.clock.at - timedelta(seconds=5), b"k", b"v")
        _metrics(parts, "edge-1.2", second).leave()
        metrics = _metrics(parts, "edge-1", first)
        lines = metrics.text().splitlines()
        assert "# TYPE tallystick_click_redirects_total counter" in lines
        assert 'tallystick_click_redirects_total{server="edge-1"} 1' in lines
        assert 'tallystick_click_redirects_total{server="edge-1.2"} 1' in lines
        assert 'tallystick_click_refusals_total{server="edge-1",reason="unknown_ad"} 1' in lines
        assert 'tallystick_click_spool_oldest_seconds{server="edge-1"} 5.0' in lines
        assert lines.count("# TYPE tallystick_click_ads_count gauge") == 1
        parts.clock.pass_seconds(60)
        assert "edge-1.2" not in metrics.text()
        await first.close()
        await second.close()

    asyncio.run(scenario())


def test_samples_that_cannot_be_read_are_left_out(parts: ClickParts) -> None:
    async def scenario() -> None:
        spool = Spool(parts.settings.home / "spool" / "edge-1", 1 << 20, lambda _: None)
        broken = parts.settings.home / "spool" / "edge-9" / "samples.json"
        broken.parent.mkdir(parents=True)
        broken.write_text("{")
        assert "edge-9" not in _metrics(parts, "edge-1", spool).text()
        await spool.close()

    asyncio.run(scenario())
