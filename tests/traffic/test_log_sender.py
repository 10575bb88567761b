"""The real log holds what the truth took for granted: partitions, order, bytes, all within the horizon."""

from __future__ import annotations

import pytest

from clicklog.clients import TopicMissingError
from clicklog.producer import partition_of
from domain.settings import Settings
from tests.support.click_process import records_of
from tests.traffic.samples import options, planned
from traffic.event import PlannedEvent
from traffic.log_sender import look_at_log, send_to_log


@pytest.mark.broker
def test_partitions_order_and_bytes_are_as_planned(log_settings: Settings) -> None:
    run = options(clicks_count=3_000)
    before = look_at_log(log_settings)
    looked_at: list[PlannedEvent] = []
    send_to_log(log_settings, planned(run), looked_at.append)
    assert before.is_empty
    assert looked_at == planned(run)
    logged: dict[int, list[tuple[int, bytes, bytes]]] = {}
    for record in records_of(log_settings, log_settings.clicks_topic):
        place = logged.setdefault(record.partition, [])
        place.append((record.offset, record.key, record.value))
    assert {partition: [record[1:] for record in sorted(records)] for partition, records in logged.items()} == {
        partition: [
            (event.key, event.value or b"") for event in looked_at if before.partition_of(event.key) == partition
        ]
        for partition in range(log_settings.clicks_partitions)
    }
    assert look_at_log(log_settings).end_offsets == {
        partition: sum(partition_of(event.key, log_settings.clicks_partitions) == partition for event in looked_at)
        for partition in range(log_settings.clicks_partitions)
    }


@pytest.mark.broker
def test_a_missing_topic_is_named(log_settings: Settings) -> None:
    absent = Settings(home=log_settings.home, kafka_bootstrap=log_settings.bootstrap, clicks_topic="absent")
    with pytest.raises(TopicMissingError, match="absent"):
        look_at_log(absent)
