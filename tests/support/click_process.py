"""The click service as people run it: a process of its own, asked over HTTP; and what it left in the log."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, fields
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from uuid import uuid4

from confluent_kafka import Consumer, KafkaError, Message, TopicPartition

from domain.buckets import parse_utc
from domain.links import CLICK_PATH, link_query
from domain.settings import Settings
from services.click.keys import load_key_ring

ROOT = Path(__file__).resolve().parents[2]
START_SECONDS = 180
STOP_SECONDS = 30


def environment(settings: Settings) -> dict[str, str]:
    """The environment that gives a process these settings."""
    values = {f.name: getattr(settings, f.name) for f in fields(Settings) if getattr(settings, f.name) != f.default}
    return {**os.environ, **{f"TALLYSTICK_{name.upper()}": str(value) for name, value in values.items()}}


class ClickProcess:
    """``tallystick click`` with these settings. Leaving the context kills what still runs."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.output = settings.home / f"click-{uuid4().hex[:6]}.out"
        settings.home.mkdir(parents=True, exist_ok=True)
        with self.output.open("wb") as file:
            self.process = subprocess.Popen(
                [sys.executable, "-c", "from cli.main import main; main()", "click"],
                cwd=ROOT,
                env=environment(settings),
                stdout=file,
                stderr=subprocess.STDOUT,
            )

    def __enter__(self) -> ClickProcess:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    @property
    def text(self) -> str:
        return self.output.read_text(encoding="utf-8")

    def wait_until_ready(self) -> ClickProcess:
        self.wait_for_status("/readyz", 200)
        return self

    def wait_for_status(self, path: str, status: int) -> None:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                if self.ask(path)[0] == status:
                    return
            except OSError:
                pass
            time.sleep(0.05)
        raise AssertionError(f"no {status} from {path}: {self.text}")

    def connect(self) -> HTTPConnection:
        return HTTPConnection("127.0.0.1", self.settings.click_port, timeout=30)

    def ask(self, target: str, method: str = "GET", headers: Mapping[str, str] | None = None) -> tuple[int, Any, bytes]:
        """Status, headers and body of one request on a connection of its own."""
        connection = self.connect()
        try:
            connection.request(method, target, headers=dict(headers or {}))
            response = connection.getresponse()
            return response.status, response.headers, response.read()
        finally:
            connection.close()

    def target(self, impression_id: str, ad_id: int = 17) -> str:
        return f"{CLICK_PATH}?{link_query(load_key_ring(self.settings).sign(impression_id, ad_id))}"

    def stop(self, signal_number: int = signal.SIGTERM) -> int:
        """Asks it to stop and returns its exit code."""
        self.process.send_signal(signal_number)
        return self.process.wait(STOP_SECONDS)


@dataclass(frozen=True)
class Record:
    """A record of a topic; ``appended_ms`` is the broker's time in Unix milliseconds."""

    key: bytes
    value: bytes
    appended_ms: int
    partition: int
    offset: int

    @property
    def document(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.value)
        return found


def _record(message: Message) -> Record:
    appended_ms, place = message.timestamp()[1], (message.partition() or 0, message.offset() or 0)
    return Record(message.key() or b"", message.value() or b"", appended_ms, *place)


def records_of(settings: Settings, topic: str) -> list[Record]:
    """Everything in a topic, up to the end that it has now, in the order of append time."""
    consumer = Consumer(
        {"bootstrap.servers": settings.bootstrap, "group.id": uuid4().hex, "enable.partition.eof": True, "log_level": 0}
    )
    try:
        partitions = consumer.list_topics(topic, timeout=20).topics[topic].partitions
        consumer.assign([TopicPartition(topic, number, 0) for number in partitions])
        records: list[Record] = []
        ended: set[int | None] = set()
        deadline = time.monotonic() + 30
        while len(ended) < len(partitions):
            assert time.monotonic() < deadline, f"{topic} not read to its end"
            for message in consumer.consume(1_000, 0.2):
                error = message.error()
                if error is None:
                    records.append(_record(message))
                elif error.code() == KafkaError._PARTITION_EOF:
                    ended.add(message.partition())
        return sorted(records, key=lambda record: record.appended_ms)
    finally:
        consumer.close()


def values_of(settings: Settings, topic: str) -> list[dict[str, Any]]:
    """The records of a topic as JSON."""
    return [record.document for record in records_of(settings, topic)]


def check_watermarks(settings: Settings) -> None:
    """Of a server that has closed: the first before the first click, never falling, one closing at the very end."""
    marks = records_of(settings, settings.edge_watermarks_topic)
    clicks = records_of(settings, settings.clicks_topic)
    values = [mark.document for mark in marks]
    until = [parse_utc(value["accepted_until"]) for value in values]
    assert {mark.key for mark in marks} == {settings.server_id.encode()}
    assert len(values) >= 3
    assert until == sorted(until)
    assert [value["is_closing"] for value in values] == [False] * (len(values) - 1) + [True]
    assert marks[0].appended_ms <= clicks[0].appended_ms
    last_click = max(parse_utc(click.document["clicked_at"]) for click in clicks)
    assert until[-1] > last_click
    for mark, promised in zip(marks, until, strict=True):
        late = [
            click
            for click in clicks
            if parse_utc(click.document["clicked_at"]) < promised and click.appended_ms > mark.appended_ms
        ]
        assert late == []
