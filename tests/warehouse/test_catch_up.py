"""How far the streams are behind the log, and what a wait that ends says."""

from __future__ import annotations

from dataclasses import replace

import pytest

from clicklog.offsets import end_offsets
from clicklog.producer import ClickProducer
from clicklog.topics import topic_id
from domain.settings import Settings
from tests.support.empty_tables import make_empty_tables
from warehouse.catch_up import QUERIES, StreamBehindError, lag, wait_until_caught_up
from warehouse.clock import now
from warehouse.logs import register_log
from warehouse.marks import Mark, write_marks


@pytest.fixture
def logged(log_settings: Settings) -> Settings:
    """Six records on one partition of a topic that is log 1, and empty tables."""
    settings = replace(log_settings)
    make_empty_tables(settings)
    producer = ClickProducer(settings)
    for _ in range(6):
        producer.send(b"one key", b"{}")
    producer.flush(30)
    topic = settings.clicks_topic
    register_log(settings, topic, topic_id(settings, topic), dict.fromkeys(end_offsets(settings, topic), 0), now())
    return settings


def mark(settings: Settings, query: str, behind: int) -> None:
    ends = end_offsets(settings, settings.clicks_topic)
    marks = [Mark(query, 1, p, end - 1 - behind, None, None) for p, end in ends.items() if end]
    write_marks(settings, query, 1, marks)


@pytest.mark.broker
def test_lag_is_counted_in_records(logged: Settings) -> None:
    ends = end_offsets(logged, logged.clicks_topic)
    assert sum(lag(logged, "archive", ends).values()) == 6
    mark(logged, "archive", behind=2)
    assert sum(lag(logged, "archive", ends).values()) == 2


@pytest.mark.broker
def test_the_wait_is_over_when_both_queries_have_passed(logged: Settings) -> None:
    for query in QUERIES:
        mark(logged, query, behind=0)
    assert wait_until_caught_up(logged, wait_seconds=0) == end_offsets(logged, logged.clicks_topic)


@pytest.mark.broker
def test_a_wait_in_vain_names_the_query_that_is_behind(logged: Settings) -> None:
    mark(logged, "archive", behind=0)
    with pytest.raises(StreamBehindError, match="live is 6 records behind"):
        wait_until_caught_up(logged, wait_seconds=0)
