"""Kafka clients that keep quiet and give up in time, and the errors they end in.

Belongs here: what every client of ours has in common. What is asked of them is in the other modules of this room.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import contextmanager
from typing import Any, TypeVar

from confluent_kafka import Consumer, KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from domain.errors import TallystickError
from domain.settings import Settings

REQUEST_TIMEOUT_SECONDS = 15
ANSWER_MARGIN_SECONDS = 5
CONNECT_TIMEOUT_SECONDS = 3
FETCH_WAIT_MS = 50
DEFAULT_PORT = 9092
Answer = TypeVar("Answer")
_UNREACHABLE = {
    KafkaError._TRANSPORT,
    KafkaError._ALL_BROKERS_DOWN,
    KafkaError._TIMED_OUT,
    KafkaError._RESOLVE,
    KafkaError._DESTROY,
    KafkaError.REQUEST_TIMED_OUT,
    KafkaError.BROKER_NOT_AVAILABLE,
}
_LEADERLESS = {KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.LEADER_NOT_AVAILABLE}


class LogUnavailableError(TallystickError):
    """No broker answers, or none that can; it may later."""

    is_transient = True

    def __init__(self, settings: Settings, detail: str) -> None:
        remedy = "start `tallystick broker`" if settings.is_broker_embedded else "start it or correct kafka_bootstrap"
        super().__init__(f"no broker answers at {settings.bootstrap} ({detail})", "a running Kafka", remedy)


class LeaderMissingError(TallystickError):
    """A partition's leader is not known yet: just after a topic got partitions, or while the brokers elect one."""

    is_transient = True

    def __init__(self, settings: Settings, topic: str) -> None:
        super().__init__(
            f"a partition of topic {topic} at {settings.bootstrap} has no leader",
            "a broker that leads it, within seconds",
            "try again; if it stays so, see to the brokers",
        )


class TopicMissingError(TallystickError):
    """A topic that should exist does not."""

    def __init__(self, settings: Settings, topic: str) -> None:
        super().__init__(
            f"topic {topic} does not exist at {settings.bootstrap}",
            "the topics that ensure_topics creates",
            "run `tallystick broker --topics`",
        )


class LogRefusedError(TallystickError):
    """The broker answered, and refused."""


def client_config(settings: Settings) -> dict[str, Any]:
    """What every client starts from. Without it librdkafka prints each refused connection to standard error."""
    return {
        "bootstrap.servers": settings.bootstrap,
        "client.id": f"tallystick-{settings.server_id}",
        "log_level": 0,
        "socket.connection.setup.timeout.ms": CONNECT_TIMEOUT_SECONDS * 1000,
    }


@contextmanager
def log_admin(settings: Settings, topic: str) -> Iterator[AdminClient]:
    """A client for questions about this topic; Kafka's errors leave as ours.

    It lives as long as the block: a client that is dropped while a question is open never answers it.
    """
    require_listener(settings)
    admin = AdminClient(client_config(settings))
    with _translated(settings, topic):
        yield admin


@contextmanager
def log_consumer(settings: Settings, topic: str, options: dict[str, Any]) -> Iterator[Consumer]:
    """A consumer that is assigned by hand and commits nothing, closed at the end; Kafka's errors leave as ours."""
    require_listener(settings)
    fixed = {
        "group.id": f"tallystick-{settings.server_id}",
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        # The end of a partition is told after an empty fetch, which would otherwise wait half a second for more.
        "fetch.wait.max.ms": FETCH_WAIT_MS,
    }
    consumer = Consumer({**client_config(settings), **fixed, **options})
    try:
        with _translated(settings, topic):
            yield consumer
    finally:
        consumer.close()


def answer_of(future: Future[Answer]) -> Answer:
    """The answer to an administrative question, which itself carries the request timeout."""
    return future.result(REQUEST_TIMEOUT_SECONDS + ANSWER_MARGIN_SECONDS)


def require_listener(settings: Settings) -> None:
    """``LogUnavailableError`` at once where nothing listens: a Kafka client would keep trying until its timeout."""
    reasons = []
    for place in settings.bootstrap.split(","):
        host, _, port = place.strip().rpartition(":")
        try:
            address = (host.strip("[]"), int(port)) if host else (place.strip(), DEFAULT_PORT)
            with socket.create_connection(address, CONNECT_TIMEOUT_SECONDS):
                return
        except (OSError, ValueError) as error:
            reasons.append(f"{place.strip()}: {getattr(error, 'strerror', None) or error}")
    raise LogUnavailableError(settings, "; ".join(reasons))


@contextmanager
def _translated(settings: Settings, topic: str) -> Iterator[None]:
    try:
        yield
    except KafkaException as error:
        raise as_log_error(settings, topic, error.args[0]) from error
    except FutureTimeoutError as error:
        raise LogUnavailableError(settings, "no answer") from error


def as_log_error(settings: Settings, topic: str, error: KafkaError) -> TallystickError:
    """Our error for one of Kafka's."""
    if error.code() in _UNREACHABLE:
        return LogUnavailableError(settings, error.str())
    if error.code() in (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC):
        return TopicMissingError(settings, topic)
    if error.code() in _LEADERLESS:
        return LeaderMissingError(settings, topic)
    return LogRefusedError(
        f"the broker at {settings.bootstrap} refused a request about topic {topic}: {error.str()}",
        "a request that it grants",
        "see to its rights and settings",
    )
