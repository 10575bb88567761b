"""Probes: visible when the answer of the metrics API shows them, fresh by the broker's time."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from threading import Event, Thread

import freshness
import pytest
from freshness import Probes, probe_ads, send_probe
from parts.sending import traffic_options

from clicklog.producer import ClickProducer
from clicklog.topics import ensure_topics
from domain.buckets import minute_of
from domain.settings import Settings
from tests.support.counts_tables import Clicks, counts_tables
from tests.support.empty_tables import make_empty_tables
from traffic.catalogue import build_catalogue
from traffic.options import Shares
from warehouse.ads import read_ads
from warehouse.clock import now

FLUSH_SECONDS = 30


def test_a_probe_is_closed_when_its_ad_is_in_the_answer(tmp_path: Path) -> None:
    """Appended ten seconds ago and visible now; the other ad's probe stays open."""
    tables, minute = counts_tables(tmp_path), minute_of(now())
    tables.write_live([Clicks(minute, 1, ad=7)])
    stop, probes = Event(), Probes(())
    appended = now().timestamp() - 10
    probes.open |= {7: appended, 8: appended}
    watcher = Thread(target=probes.watch, args=(tables.settings, minute - timedelta(hours=1), stop))
    watcher.start()
    while 7 in probes.open and watcher.is_alive():
        stop.wait(freshness.POLL_SECONDS)
    stop.set()
    watcher.join()
    assert probes.open == {8: appended}
    assert len(probes.seen_seconds) == 1
    assert 10 <= probes.seen_seconds[0] <= now().timestamp() - appended


def test_probes_have_ads_of_their_own(tmp_path: Path) -> None:
    settings = counts_tables(tmp_path).settings
    ads = probe_ads(settings, 3)
    sent = {ad.ad_id for ad in build_catalogue(traffic_options(settings, 1, 0.0, Shares.none())).ads}
    assert len(ads) == 3
    assert not sent & {ad.ad_id for ad in ads}
    assert {ad.ad_id for ad in ads} <= set(read_ads(settings))


@pytest.mark.broker
def test_a_probe_opens_at_the_append_time_of_the_broker(log_settings: Settings) -> None:
    make_empty_tables(log_settings)
    ensure_topics(log_settings)
    before = now().timestamp()
    probes = Probes(probe_ads(log_settings, 1))
    producer = ClickProducer(log_settings)
    send_probe(producer, probes, probes.ads[0])
    producer.flush(FLUSH_SECONDS)
    assert probes.open.keys() == {probes.ads[0].ad_id}
    assert before - 1 <= probes.open[probes.ads[0].ad_id] <= now().timestamp() + 1
