"""What the click processes of a machine tell Prometheus: how their clicks fare, and what waits.

Belongs here: the metrics and where each comes from. Whichever process is asked answers for all that share its port:
each leaves its samples beside its spool every second. The text format is ``services/exposition.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import orjson

from domain.buckets import format_utc, parse_utc
from services.click.app import ClickApp
from services.click.inflight import InFlight
from services.click.shipper import Shipper
from services.click.spool import Spool
from services.click.spooled_journal import SpooledJournal
from services.exposition import Gauge, Sample, exposition

REDIRECTS = Gauge("tallystick_click_redirects_total", "redirects sent", "counter")
REFUSALS = Gauge("tallystick_click_refusals_total", "requests that became no click, by reason", "counter")
LOST = Gauge("tallystick_click_lost_total", "clicks that neither the log nor the spool took", "counter")
SPOOLED = Gauge("tallystick_click_spooled_total", "clicks that went to the spool", "counter")
SHIPPED = Gauge("tallystick_click_shipped_total", "clicks that went from the spool to the log", "counter")
IN_FLIGHT = Gauge("tallystick_click_in_flight_count", "accepted clicks that have no place yet")
WAITING = Gauge("tallystick_click_spool_waiting_bytes", "bytes in the spool that the log does not have")
OLDEST = Gauge("tallystick_click_spool_oldest_seconds", "age of the oldest click that waits in the spool")
LOG_AWAY = Gauge("tallystick_click_log_away", "1 while clicks go to the spool")
ADS = Gauge("tallystick_click_ads_count", "ads that links may lead to")


METRICS = (REDIRECTS, REFUSALS, LOST, SPOOLED, SHIPPED, IN_FLIGHT, WAITING, OLDEST, LOG_AWAY, ADS)
SAMPLES_FILE = "samples.json"
STALE_SECONDS = 30
"""Samples of a process that has left none for so long are those of one that has ended."""


@dataclass(frozen=True)
class Parts:
    """The parts of a process that count."""

    app: ClickApp
    in_flight: InFlight
    spool: Spool
    journal: SpooledJournal
    shipper: Shipper


class ClickMetrics:
    """Of the process of this server id, and of those beside it in the same home."""

    def __init__(self, folder: Path, parts: Parts, now: Callable[[], datetime]) -> None:
        self._folder = folder
        self._parts = parts
        self._now = now

    def leave(self) -> None:
        """Puts this process's samples where the others find them. ``OSError`` if the disk refuses."""
        document = [[sample.gauge.name, sample.value, dict(sample.labels)] for sample in self._own()]
        beside = self._folder / f".{SAMPLES_FILE}"
        beside.write_bytes(orjson.dumps({"left_at": format_utc(self._now()), "samples": document}))
        beside.rename(self._folder / SAMPLES_FILE)

    def text(self) -> str:
        """The exposition of all of them."""
        others = (path for path in self._folder.parent.glob(f"*/{SAMPLES_FILE}") if path.parent != self._folder)
        samples = [*self._own(), *(sample for path in sorted(others) for sample in self._left_in(path))]
        return exposition(sorted(samples, key=lambda sample: METRICS.index(sample.gauge)))

    def _left_in(self, path: Path) -> list[Sample]:
        by_name = {gauge.name: gauge for gauge in METRICS}
        try:
            document = orjson.loads(path.read_bytes())
            if (self._now() - parse_utc(document["left_at"])).total_seconds() > STALE_SECONDS:
                return []
            return [Sample(by_name[name], value, labels) for name, value, labels in document["samples"]]
        except (OSError, ValueError, KeyError, TypeError):  # of another version, or half written
            return []

    def _own(self) -> list[Sample]:
        server = {"server": self._folder.name}
        return [Sample(sample.gauge, sample.value, server | dict(sample.labels)) for sample in self._samples()]

    def _samples(self) -> Iterator[Sample]:
        parts = self._parts
        yield Sample(REDIRECTS, parts.app.redirect_count)
        for reason, count in sorted(parts.app.refusal_counts.items()):
            yield Sample(REFUSALS, count, {"reason": reason})
        yield Sample(LOST, parts.app.lost_count)
        yield Sample(SPOOLED, parts.journal.spooled_count)
        yield Sample(SHIPPED, parts.shipper.shipped_count)
        yield Sample(IN_FLIGHT, len(parts.in_flight))
        yield Sample(WAITING, parts.spool.waiting_bytes)
        oldest = parts.spool.oldest_waiting
        yield Sample(OLDEST, 0.0 if oldest is None else (self._now() - oldest).total_seconds())
        yield Sample(LOG_AWAY, int(parts.journal.is_log_away))
        yield Sample(ADS, parts.app.ads_count)
