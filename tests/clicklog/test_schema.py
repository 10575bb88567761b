"""What strangers are given is true: the JSON Schema file, and docs/log.md with its producer and its records."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from confluent_kafka import TopicPartition
from jsonschema import Draft202012Validator

from clicklog.clients import log_consumer
from clicklog.edge_counts import EdgeCount
from clicklog.offsets import end_offsets
from clicklog.producer import partition_of
from clicklog.schema import SCHEMA_FILE, schema_text
from clicklog.topics import plan_topics
from clicklog.watermarks import decode_watermark
from domain.buckets import parse_utc
from domain.events import EVENT_VERSION, FIELDS, json_schema
from domain.parsing import ParsedEvent, parse_event
from domain.settings import Settings
from tests.support.events import click

AT = datetime(2026, 1, 31, 12, 0, 1, tzinfo=UTC)
GOOD = json.loads(click("imp-1", AT)[1])
PAGE = (Path(__file__).parents[2] / "docs" / "log.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", PAGE, re.DOTALL)


def _validator() -> Draft202012Validator:
    schema = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def test_the_file_is_the_definition() -> None:
    """After a change of ``domain/events.py``: ``python -m clicklog.schema``."""
    assert SCHEMA_FILE.name == f"click_event.v{EVENT_VERSION}.json"
    assert SCHEMA_FILE.read_text(encoding="utf-8") == schema_text()
    assert json.loads(schema_text()) == json_schema()


@pytest.mark.parametrize("changes", [{}, {"kind": "head"}, {"spooled_at": None}, {"a_key_of_theirs": [1]}], ids=str)
def test_a_good_event_is_accepted(changes: dict[str, object]) -> None:
    assert list(_validator().iter_errors(GOOD | changes)) == []


@pytest.mark.parametrize(
    "changes",
    [
        {"v": 2},
        {"ad_id": "17"},
        {"ad_id": 0},
        {"ad_id": 2**63},
        {"impression_id": "has spaces"},
        {"clicked_at": "2026-01-31T12:00:00"},
        {"country": "us"},
        {"device": "fridge"},
        {"user_agent": "bell \x07"},
        {"server_id": None},
    ],
    ids=str,
)
def test_a_bad_event_is_refused(changes: dict[str, object]) -> None:
    assert list(_validator().iter_errors(GOOD | changes))


@pytest.mark.broker
def test_the_printed_producer_writes_a_valid_event_to_the_right_partition(log_settings: Settings) -> None:
    (program,) = [text for language, text in BLOCKS if language == "python"]
    for printed, ours in (
        ('"127.0.0.1:19092"', repr(log_settings.bootstrap)),
        ('"clicks"', repr(log_settings.clicks_topic)),
    ):
        assert program.count(printed) == 1
        program = program.replace(printed, ours)
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
    ends = end_offsets(log_settings, log_settings.clicks_topic)
    (partition,) = [partition for partition, end in ends.items() if end]
    with log_consumer(log_settings, log_settings.clicks_topic, {}) as consumer:
        consumer.assign([TopicPartition(log_settings.clicks_topic, partition, 0)])
        (message,) = consumer.consume(1, 30)
    key, value = message.key(), message.value()
    assert key is not None
    assert partition == partition_of(key, log_settings.clicks_partitions)
    event = parse_event(value, AT, {17})
    assert isinstance(event, ParsedEvent)
    assert event.impression_id.encode() == key


def test_the_printed_watermark_and_edge_count_are_ours() -> None:
    watermark, edge_count = [json.loads(text) for language, text in BLOCKS if language == "json"]
    decoded = decode_watermark(watermark["server_id"].encode(), json.dumps(watermark).encode())
    assert json.loads(decoded.encode()) == watermark
    ours = EdgeCount(edge_count["server_id"], parse_utc(edge_count["minute"]), edge_count["reason"], 3)
    assert json.loads(ours.encode()) == edge_count


def test_every_field_and_every_checked_setting_is_on_the_page() -> None:
    cells = set(re.findall(r"`([\w.]+)`", PAGE))
    assert {field.name for field in FIELDS} - cells == set()
    plans = plan_topics(Settings(home=Path("home")))
    assert {rule.setting for plan in plans for rule in plan.rules} - cells == set()
    assert {plan.name for plan in plans} - cells == set()
