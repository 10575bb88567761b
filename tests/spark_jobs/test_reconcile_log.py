"""What reconcile asks the log, on a real broker: watermarks first, then the ends."""

from __future__ import annotations

import pytest

from clicklog.offsets import end_offsets
from clicklog.producer import ClickProducer
from clicklog.topics import topic_id
from clicklog.watermarks import Watermark, read_watermarks
from domain.settings import Settings
from spark_jobs import reconcile_log
from spark_jobs.reconcile_log import BrokerLog
from warehouse.clock import now

pytestmark = pytest.mark.broker


def test_reads_the_topic_its_servers_and_its_ends(log_settings: Settings) -> None:
    producer = ClickProducer(log_settings)
    for number in range(20):
        producer.send(f"{number}".encode(), b"{}")
    reported = Watermark("edge-9", now(), False, now())
    producer.send(b"edge-9", reported.encode(), topic=log_settings.edge_watermarks_topic)
    producer.flush(30)
    log = BrokerLog(log_settings)
    ends = log.read_ends()
    assert sum(ends.end_offsets.values()) == 20
    assert len(ends.end_offsets) == log_settings.clicks_partitions
    assert ends.topic_id == topic_id(log_settings, log_settings.clicks_topic)
    assert ends.watermarks["edge-9"].accepted_until == reported.accepted_until
    partition, end = next((partition, end) for partition, end in ends.end_offsets.items() if end)
    assert not log.is_gap_explained(partition, 0, end)


def test_a_click_that_arrives_between_the_questions_lies_below_the_cut(
    log_settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Law 7: were the ends read first, a server could report past the hour while its click lies beyond the cut."""
    producer = ClickProducer(log_settings)

    def click_then_report(settings: Settings) -> dict[str, Watermark]:
        producer.send(b"one", b"{}")
        reported = Watermark("edge-9", now(), False, now())
        producer.send(b"edge-9", reported.encode(), topic=settings.edge_watermarks_topic)
        producer.flush(30)
        return read_watermarks(settings)

    monkeypatch.setattr(reconcile_log, "read_watermarks", click_then_report)
    ends = BrokerLog(log_settings).read_ends()
    assert "edge-9" in ends.watermarks
    assert ends.end_offsets == end_offsets(log_settings, log_settings.clicks_topic)
