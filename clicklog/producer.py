"""Writing records so that an acknowledged one is durable and a lost one is known.

Belongs here: the producer's settings, back-pressure, and the partitioner in plain Python. What the bytes mean is the
caller's.
"""

from __future__ import annotations

from collections.abc import Callable

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from clicklog.clients import as_log_error, client_config
from clicklog.topics import LARGEST_RECORD_BYTES
from domain.errors import TallystickError
from domain.settings import Settings

LINGER_MS = 5
LARGEST_QUEUE_KIB = 65_536
DELIVERY_TIMEOUT_SECONDS = 30
_WAIT_FOR_ROOM_SECONDS = 0.1

OnAck = Callable[[KafkaError | None, Message], None]
"""Called once a record is settled: with None when all in-sync replicas have it, else with why it is not delivered."""


class UndeliveredError(TallystickError):
    """Records were handed over and are not known to be in the log; ``count`` of them."""

    is_transient = True

    def __init__(self, count: int, settings: Settings, detail: str) -> None:
        super().__init__(
            f"{count} records are not acknowledged by {settings.bootstrap} ({detail})",
            "every record acknowledged",
            "see to the broker and send them again; duplicates are recognised",
        )
        self.count = count


class ClickProducer:
    """An idempotent producer that waits for all in-sync replicas; one a process, used from one thread.

    ``send`` does not wait for the acknowledgement; ``poll`` and ``flush`` call the callbacks of those that came.
    """

    def __init__(self, settings: Settings, delivery_timeout_seconds: float = DELIVERY_TIMEOUT_SECONDS) -> None:
        self._settings = settings
        self._failed_count = 0
        self._last_failure = ""
        self._producer = Producer(
            {
                **client_config(settings),
                "partitioner": "murmur2_random",
                "acks": "all",
                "enable.idempotence": True,
                "linger.ms": LINGER_MS,
                "compression.type": "lz4",
                "message.max.bytes": LARGEST_RECORD_BYTES,
                "queue.buffering.max.kbytes": LARGEST_QUEUE_KIB,
                "message.timeout.ms": int(delivery_timeout_seconds * 1000),
            }
        )

    def __len__(self) -> int:
        """Records handed over and not settled yet."""
        return len(self._producer)

    def send(self, key: bytes, value: bytes | None, on_ack: OnAck | None = None, topic: str | None = None) -> None:
        """Hand a record over, to the clicks topic unless another is named.

        Blocks only while the queue is full, at most until the oldest record in it is acknowledged or given up after
        the delivery timeout. ``LogRefusedError`` for a record that is too large. ``on_ack`` runs inside a later
        ``send``, ``poll`` or ``flush``.
        """
        topic = topic or self._settings.clicks_topic
        on_delivery = self._settled if on_ack is None else self._settled_then(on_ack)
        is_taken = False
        while not is_taken:
            try:
                self._producer.produce(topic, value, key, on_delivery=on_delivery)
                is_taken = True
            except BufferError:
                self._producer.poll(_WAIT_FOR_ROOM_SECONDS)
            except KafkaException as error:
                raise as_log_error(self._settings, topic, error.args[0]) from error
        self._producer.poll(0)

    def poll(self, timeout_seconds: float = 0) -> None:
        """Call the callbacks of records settled since, waiting for the first up to the timeout."""
        self._producer.poll(timeout_seconds)

    def flush(self, timeout_seconds: float) -> None:
        """Wait until every record is settled; ``UndeliveredError`` if, since the last flush, any was not delivered."""
        waiting = self._producer.flush(timeout_seconds)
        failed, self._failed_count = self._failed_count, 0
        if waiting or failed:
            detail = self._last_failure if failed else f"still waiting after {timeout_seconds} s"
            raise UndeliveredError(waiting + failed, self._settings, detail)

    def _settled(self, error: KafkaError | None, _message: Message) -> None:
        if error is not None:
            self._failed_count += 1
            self._last_failure = error.str()

    def _settled_then(self, on_ack: OnAck) -> OnAck:
        def settled(error: KafkaError | None, message: Message) -> None:
            self._settled(error, message)
            on_ack(error, message)

        return settled


def partition_of(key: bytes, count: int) -> int:
    """The partition that Kafka's own clients give this key among ``count``: murmur2, its sign dropped."""
    return (_murmur2(key) & 0x7FFF_FFFF) % count


def _murmur2(data: bytes) -> int:
    """Kafka's 32-bit murmur2 (seed 0x9747b28c), as unsigned."""
    multiplier, word_mask = 0x5BD1_E995, 0xFFFF_FFFF
    whole = len(data) - len(data) % 4
    digest = (0x9747_B28C ^ len(data)) & word_mask
    for at in range(0, whole, 4):
        word = int.from_bytes(data[at : at + 4], "little") * multiplier & word_mask
        word = (word ^ word >> 24) * multiplier & word_mask
        digest = (digest * multiplier & word_mask) ^ word
    if whole < len(data):
        digest = (digest ^ int.from_bytes(data[whole:], "little")) * multiplier & word_mask
    digest = (digest ^ digest >> 13) * multiplier & word_mask
    return digest ^ digest >> 15
