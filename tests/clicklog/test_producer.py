"""The producer: partitions as Kafka's own clients choose them, back-pressure, large records, no silent loss."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from confluent_kafka import KafkaError, Message, TopicPartition

import clicklog.producer
from clicklog.clients import LogRefusedError, log_consumer
from clicklog.offsets import end_offsets
from clicklog.producer import ClickProducer, UndeliveredError, partition_of
from domain.settings import Settings
from tests.support.ports import free_broker_port

FLUSH_SECONDS = 30


@pytest.mark.parametrize(
    ("key", "murmur2"),
    [
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_the_hash_is_that_of_the_java_client(key: bytes, murmur2: int) -> None:
    """Values of Kafka's own test of its hash; the sign bit is dropped, not negated."""
    for count in (1, 3, 8, 1_000):
        assert partition_of(key, count) == (murmur2 & 0x7FFF_FFFF) % count


@pytest.mark.broker
def test_partitions_are_those_that_the_producer_chooses(log_settings: Settings) -> None:
    keys = [os.urandom(length) for length in range(65) for _ in range(5)]
    chosen: dict[bytes, int | None] = {}
    producer = ClickProducer(log_settings)
    for key in keys:
        producer.send(key, b"", lambda _, message: chosen.update({message.key() or b"": message.partition()}))
    producer.flush(FLUSH_SECONDS)
    assert chosen == {key: partition_of(key, log_settings.clicks_partitions) for key in keys}
    assert set(chosen.values()) == {0, 1, 2}


@pytest.mark.broker
def test_records_of_a_key_keep_their_order_and_their_bytes(log_settings: Settings) -> None:
    sent = [b"\x00\xff not UTF-8", b"", None, b"last"]
    offsets: list[int | None] = []
    producer = ClickProducer(log_settings)
    for value in sent:
        producer.send(b"k", value, lambda _, message: offsets.append(message.offset()))
    producer.flush(FLUSH_SECONDS)
    assert offsets == [0, 1, 2, 3]
    partition = partition_of(b"k", log_settings.clicks_partitions)
    read = _read(log_settings, log_settings.clicks_topic, partition, len(sent))
    assert [message.value() for message in read] == sent
    assert {message.key() for message in read} == {b"k"}


@pytest.mark.broker
def test_a_topic_can_be_named(log_settings: Settings) -> None:
    producer = ClickProducer(log_settings)
    producer.send(b"edge-1", b"{}", topic=log_settings.edge_counts_topic)
    producer.flush(FLUSH_SECONDS)
    assert end_offsets(log_settings, log_settings.edge_counts_topic) == {0: 1}
    assert set(end_offsets(log_settings, log_settings.clicks_topic).values()) == {0}


@pytest.mark.broker
def test_a_payload_of_a_megabyte_is_stored(log_settings: Settings) -> None:
    """It will be quarantined with its bytes, so the log has to take it; random bytes, since they do not compress."""
    payload = os.urandom(1024 * 1024)
    producer = ClickProducer(log_settings)
    producer.send(b"k", payload)
    producer.flush(FLUSH_SECONDS)
    partition = partition_of(b"k", log_settings.clicks_partitions)
    assert _read(log_settings, log_settings.clicks_topic, partition, 1)[0].value() == payload


@pytest.mark.broker
def test_a_full_queue_waits_for_room(log_settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """R5: more than the queue holds, faster than the broker takes it; every record arrives."""
    monkeypatch.setattr(clicklog.producer, "LARGEST_QUEUE_KIB", 1024)
    payload = os.urandom(100_000)
    producer = ClickProducer(log_settings)
    longest_queue = 0
    for _ in range(200):
        producer.send(os.urandom(8), payload)
        longest_queue = max(longest_queue, len(producer))
    producer.flush(FLUSH_SECONDS)
    assert longest_queue <= 11  # 1 MiB / 100 kB, rounded up
    assert sum(end_offsets(log_settings, log_settings.clicks_topic).values()) == 200


@pytest.fixture
def nobody(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path, broker_port=free_broker_port())


def test_a_record_that_is_too_large_is_refused(nobody: Settings) -> None:
    with pytest.raises(LogRefusedError, match="Message size too large"):
        ClickProducer(nobody).send(b"k", bytes(2 * 1024 * 1024))


def test_flush_says_how_many_still_wait(nobody: Settings, capfd: pytest.CaptureFixture[str]) -> None:
    """R5: a flush that times out has not delivered; it says so instead of returning a number."""
    producer = ClickProducer(nobody)
    for _ in range(3):
        producer.send(b"k", b"v")
    with pytest.raises(UndeliveredError, match=r"3 records .* \(still waiting after 0.2 s\)") as caught:
        producer.flush(0.2)
    assert caught.value.count == 3
    assert len(producer) == 3
    assert caught.value.is_transient
    assert capfd.readouterr() == ("", "")


def test_flush_says_how_many_were_given_up(nobody: Settings) -> None:
    """R5: a record given up before the flush is no longer in the queue, and is reported all the same, once."""
    errors: list[KafkaError | None] = []
    producer = ClickProducer(nobody, delivery_timeout_seconds=0.1)
    producer.send(b"k", b"v", lambda error, _: errors.append(error))
    producer.send(b"k", b"v")
    while len(producer):
        producer.poll(0.1)
    with pytest.raises(UndeliveredError, match=r"2 records .* \(Local: Message timed out\)"):
        producer.flush(1)
    assert [error and error.code() for error in errors] == [KafkaError._MSG_TIMED_OUT]
    producer.flush(1)


@pytest.mark.broker
def test_a_missing_topic_is_undelivered(log_settings: Settings) -> None:
    producer = ClickProducer(replace(log_settings, clicks_topic="no-such-topic"), delivery_timeout_seconds=1)
    producer.send(b"k", b"v")
    with pytest.raises(UndeliveredError, match="1 records"):
        producer.flush(FLUSH_SECONDS)


def _read(settings: Settings, topic: str, partition: int, count: int) -> list[Message]:
    with log_consumer(settings, topic, {}) as consumer:
        consumer.assign([TopicPartition(topic, partition, 0)])
        return consumer.consume(count, FLUSH_SECONDS)
