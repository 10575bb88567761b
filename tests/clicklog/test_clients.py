"""Clients keep quiet and give up at once where nobody listens; Kafka's errors become ours."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest
from confluent_kafka import KafkaError

from clicklog.clients import (
    LeaderMissingError,
    LogRefusedError,
    LogUnavailableError,
    TopicMissingError,
    as_log_error,
    log_admin,
    log_consumer,
    require_listener,
)
from clicklog.offsets import end_offsets
from domain.settings import Settings
from tests.support.ports import free_broker_port

AT_ONCE_SECONDS = 3


@pytest.fixture
def nobody(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path, broker_port=free_broker_port())


def test_nobody_listens(nobody: Settings, capfd: pytest.CaptureFixture[str]) -> None:
    started = time.monotonic()
    with pytest.raises(LogUnavailableError) as caught:
        end_offsets(nobody, "clicks")
    assert time.monotonic() - started < AT_ONCE_SECONDS
    place = f"127.0.0.1:{nobody.broker_port}"
    assert str(caught.value) == (
        f"no broker answers at {place} ({place}: Connection refused); expected a running Kafka; "
        "start `tallystick broker`"
    )
    assert caught.value.is_transient
    assert capfd.readouterr() == ("", "")


def test_another_kafka_is_not_ours_to_start(nobody: Settings) -> None:
    with pytest.raises(LogUnavailableError, match="start it or correct kafka_bootstrap"):
        require_listener(replace(nobody, kafka_bootstrap=nobody.bootstrap))


@pytest.mark.parametrize("bootstrap", ["localhost:port", "no.such.host.invalid:9092", "[::1]:1", "localhost:99999"])
def test_an_address_that_leads_nowhere_is_named(nobody: Settings, bootstrap: str) -> None:
    with pytest.raises(LogUnavailableError, match=bootstrap.replace("[", r"\[")):
        require_listener(replace(nobody, kafka_bootstrap=f"{nobody.bootstrap}, {bootstrap}"))


@pytest.mark.broker
def test_one_address_that_listens_is_enough(log_settings: Settings, nobody: Settings) -> None:
    require_listener(replace(log_settings, kafka_bootstrap=f"{nobody.bootstrap}, {log_settings.bootstrap}"))


@pytest.mark.broker
@pytest.mark.parametrize("client", [log_admin, lambda *args: log_consumer(*args, {})], ids=["admin", "consumer"])
def test_clients_say_nothing_when_the_broker_goes(
    log_settings: Settings, client: object, capfd: pytest.CaptureFixture[str]
) -> None:
    """The second address refuses: librdkafka would print a line each time it tries it."""
    settings = replace(log_settings, kafka_bootstrap=f"{log_settings.bootstrap},127.0.0.1:{free_broker_port()}")
    with client(settings, settings.clicks_topic) as connected:  # type: ignore[operator]
        connected.list_topics(timeout=5)
        time.sleep(1)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("code", "ours", "is_transient"),
    [
        (KafkaError._TRANSPORT, LogUnavailableError, True),
        (KafkaError.NOT_LEADER_FOR_PARTITION, LeaderMissingError, True),
        (KafkaError._TIMED_OUT, LogUnavailableError, True),
        (KafkaError.REQUEST_TIMED_OUT, LogUnavailableError, True),
        (KafkaError.UNKNOWN_TOPIC_OR_PART, TopicMissingError, False),
        (KafkaError._UNKNOWN_TOPIC, TopicMissingError, False),
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, LogRefusedError, False),
        (KafkaError.MSG_SIZE_TOO_LARGE, LogRefusedError, False),
    ],
)
def test_errors(nobody: Settings, code: int, ours: type, is_transient: bool) -> None:
    error = as_log_error(nobody, "clicks", KafkaError(code))
    assert type(error) is ours
    assert error.is_transient is is_transient
