"""Numbers of topic ids, and the halt at a topic that is not the one it was."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from threading import Barrier

import pytest

from domain.settings import Settings
from warehouse.logs import LogRow, TopicRecreatedError, current_log, read_logs, register_log

AT = datetime(2026, 5, 4, 12, 0, 0, 123456, tzinfo=UTC)
LATER = AT + timedelta(days=1)
RACERS = 6


def test_logs_are_numbered_from_one(settings: Settings) -> None:
    assert register_log(settings, "clicks", "id-a", {0: 0, 10: 7, 2: 5}, AT) == 1
    assert register_log(settings, "other", "id-b", {}, LATER) == 2
    assert read_logs(settings) == [
        LogRow(1, "clicks", "id-a", {0: 0, 2: 5, 10: 7}, AT),
        LogRow(2, "other", "id-b", {}, LATER),
    ]


def test_registering_again_changes_nothing(settings: Settings) -> None:
    for first_offset in (0, 500):
        assert register_log(settings, "clicks", "id-a", {0: first_offset}, AT) == 1
    assert [row.first_offsets for row in read_logs(settings)] == [{0: 0}]


def test_a_recreated_topic_halts(settings: Settings) -> None:
    """A3: a new topic's offsets 0..99 look counted to whoever compares them with the old topic's 500."""
    register_log(settings, "clicks", "id-a", {0: 0}, AT)
    with pytest.raises(TopicRecreatedError, match=r"topic clicks has id id-b; expected id id-a.*2026-05-04 12:00 UTC"):
        register_log(settings, "clicks", "id-b", {0: 0}, LATER)
    assert len(read_logs(settings)) == 1


def test_an_accepted_new_topic_is_another_log(settings: Settings) -> None:
    """A3: versions and marks are kept by log, so nothing of the new one is taken for counted."""
    register_log(settings, "clicks", "id-a", {0: 0}, AT)
    assert register_log(settings, "clicks", "id-b", {0: 0}, LATER, accept_new=True) == 2
    assert current_log(settings, "clicks") == LogRow(2, "clicks", "id-b", {0: 0}, LATER)
    assert register_log(settings, "clicks", "id-b", {0: 0}, LATER) == 2


def test_an_older_log_does_not_come_back(settings: Settings) -> None:
    """Its clicks have a number already; a second one would count them twice."""
    register_log(settings, "clicks", "id-a", {0: 0}, AT)
    register_log(settings, "clicks", "id-b", {0: 0}, AT, accept_new=True)
    with pytest.raises(TopicRecreatedError, match="id-a, an older log's"):
        register_log(settings, "clicks", "id-a", {0: 0}, LATER, accept_new=True)


def test_a_topic_nobody_registered_has_no_log(settings: Settings) -> None:
    register_log(settings, "clicks", "id-a", {0: 0}, AT)
    assert current_log(settings, "clicks2") is None


def test_streams_that_start_at_once_agree_on_numbers(settings: Settings) -> None:
    barrier = Barrier(RACERS)

    def register(racer: int) -> tuple[str, int]:
        topic = f"topic-{racer % 2}"
        barrier.wait(60)
        return topic, register_log(settings, topic, f"id of {topic}", {0: 0}, AT)

    with ThreadPoolExecutor(RACERS) as pool:
        numbers = dict(pool.map(register, range(RACERS)))
        given = list(pool.map(register, range(RACERS)))
    assert sorted(numbers.values()) == [1, 2]
    assert set(given) == set(numbers.items())
    assert [row.log for row in read_logs(settings)] == [1, 2]
