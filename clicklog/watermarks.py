"""Watermarks of the click servers: "everything I accepted before T is acknowledged by the log".

Belongs here: the record, reading the newest of each server, and retiring a server that will not come back. What an hour
waits for is ``domain/gate.py``.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from confluent_kafka import OFFSET_BEGINNING, Message, TopicPartition

from clicklog.clients import log_consumer
from clicklog.producer import ClickProducer
from clicklog.reading import records_to_the_end
from clicklog.topics import partition_count
from domain.buckets import format_utc, parse_utc
from domain.errors import IntegrityError, UsageError
from domain.events import FIELDS
from domain.gate import SILENT_AFTER
from domain.settings import Settings

WATERMARK_VERSION = 1
_FLUSH_TIMEOUT_SECONDS = 15
_SERVER_ID = re.compile(next(field.pattern or "" for field in FIELDS if field.name == "server_id"))


ServerState = Literal["sending", "silent", "stopped", "retired"]


class WatermarkUnreadableError(IntegrityError):
    """The newest watermark under a key cannot be read, so nobody knows what is still on its way from that server."""


@dataclass(frozen=True)
class Watermark:
    """Everything ``server_id`` accepted before ``accepted_until`` is acknowledged by the log.

    A closing one, sent at a graceful stop or by an operator who retires the server, means that nothing more is on its
    way from it. ``reason`` and ``actor`` are the operator's.
    """

    server_id: str
    accepted_until: datetime
    is_closing: bool
    sent_at: datetime
    reason: str | None = None
    actor: str | None = None

    def state(self, at: datetime) -> ServerState:
        """What is known of the server at this instant. Hours wait for a sending and for a silent one."""
        if self.is_closing:
            return "stopped" if self.actor is None else "retired"
        return "sending" if at - self.sent_at < SILENT_AFTER else "silent"

    def encode(self) -> bytes:
        """The value of its record; the key is ``server_id``."""
        document: dict[str, object] = {
            "v": WATERMARK_VERSION,
            "server_id": self.server_id,
            "accepted_until": format_utc(self.accepted_until),
            "is_closing": self.is_closing,
            "sent_at": format_utc(self.sent_at),
        }
        if self.reason is not None:
            document |= {"reason": self.reason, "actor": self.actor}
        return json.dumps(document, ensure_ascii=False).encode()


def decode_watermark(key: bytes, value: bytes) -> Watermark:
    """The watermark in a record; ``WatermarkUnreadableError`` if it does not hold exactly one of that key's server."""
    try:
        document = json.loads(value.decode())
        watermark = Watermark(
            server_id=document["server_id"],
            accepted_until=parse_utc(document["accepted_until"]),
            is_closing=document["is_closing"],
            sent_at=parse_utc(document["sent_at"]),
            reason=document.get("reason"),
            actor=document.get("actor"),
        )
        fault = _fault(document, watermark, key)
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        fault = f"{type(error).__name__} {error}"
    if fault:
        raise WatermarkUnreadableError(
            f"the newest watermark under key {key!r} cannot be read ({fault})",
            "a watermark as docs/log.md describes it",
            "let that server send a correct one, retire it with `tallystick servers retire`, "
            "or delete the key with a record that has no value",
        )
    return watermark


def read_watermarks(settings: Settings) -> dict[str, Watermark]:
    """The newest watermark of each server: the whole topic up to its end at this moment. Blocks for a bounded time."""
    newest = _newest_values(settings)
    found = (decode_watermark(key, value) for key, value in sorted(newest.items()))
    return {watermark.server_id: watermark for watermark in found}


def retire_server(settings: Settings, server_id: str, reason: str, actor: str, at: datetime) -> Watermark:
    """Write, on an operator's word, that nothing more is on its way from this server.

    ``UsageError`` for a server that the log does not know or that is still sending. Repeatable.
    """
    if not reason.strip() or not actor.strip():
        raise UsageError("a retirement without reason or actor", "both in words", "say why, and who decided it")
    newest = _newest_values(settings)
    value = newest.get(server_id.encode())
    if value is None:
        known = ", ".join(sorted(key.decode(errors="replace") for key in newest)) or "none"
        raise UsageError(f"no watermark of server {server_id}", f"a server that sent one: {known}", "correct the name")
    _refuse_sender(server_id, value, at)
    closing = Watermark(server_id, at, is_closing=True, sent_at=at, reason=reason, actor=actor)
    producer = ClickProducer(settings)
    producer.send(server_id.encode(), closing.encode(), topic=settings.edge_watermarks_topic)
    producer.flush(_FLUSH_TIMEOUT_SECONDS)
    return closing


def _fault(document: dict[str, object], watermark: Watermark, key: bytes) -> str | None:
    if document.get("v") != WATERMARK_VERSION:
        return f"v is {document.get('v')!r}, not {WATERMARK_VERSION}"
    if not isinstance(watermark.server_id, str) or watermark.server_id.encode() != key:
        return f"server_id is {watermark.server_id!r}"
    if not _SERVER_ID.fullmatch(watermark.server_id):
        return f"server_id does not match {_SERVER_ID.pattern}"
    if not isinstance(watermark.is_closing, bool):
        return f"is_closing is {watermark.is_closing!r}"
    return None


def _refuse_sender(server_id: str, value: bytes, at: datetime) -> None:
    try:
        last = decode_watermark(server_id.encode(), value)
    except WatermarkUnreadableError:
        return  # retiring it is how an unreadable watermark is mended
    if last.state(at) == "sending":
        raise UsageError(
            f"server {server_id} sent a watermark at {format_utc(last.sent_at)}, so it is at work",
            f"a server that has been silent for {SILENT_AFTER.seconds} s",
            "stop it first; a graceful stop needs no retirement",
        )


def _newest_values(settings: Settings) -> dict[bytes, bytes]:
    """The newest value under each key, keys whose newest record has none left out."""
    topic = settings.edge_watermarks_topic
    places = [TopicPartition(topic, each, OFFSET_BEGINNING) for each in range(partition_count(settings, topic))]
    # Committed records only; a watermark in an open transaction shows its predecessor, which promises less.
    options = {"isolation.level": "read_committed", "auto.offset.reset": "earliest"}
    newest: dict[bytes, Message] = {}
    with log_consumer(settings, topic, options) as consumer:
        consumer.assign(places)
        for message in records_to_the_end(consumer, settings, topic, len(places)):
            key = message.key() or b""
            known = newest.get(key)
            # Equal partitions in offset order; across partitions, after their number was raised, by append time.
            if known is None or known.partition() == message.partition() or known.timestamp() <= message.timestamp():
                newest[key] = message
    values = {key: message.value() for key, message in newest.items()}
    return {key: value for key, value in values.items() if value is not None}
