"""Topics: created as planned, checked setting by setting, mended on request, recognised when recreated."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource

from clicklog.clients import TopicMissingError, log_admin
from clicklog.offsets import end_offsets
from clicklog.producer import ClickProducer
from clicklog.topics import (
    TopicSettingError,
    check_topics,
    describe_topic,
    ensure_topics,
    mend_topics,
    partition_count,
    plan_topics,
    retention_ms,
    topic_id,
)
from domain.settings import Settings

DAY_MS = 24 * 60 * 60 * 1000


@pytest.mark.parametrize(
    ("live_hours", "final_days", "kept_days"),
    [(24, 7, 14), (24, 1, 2), (168, 1, 14), (48, 1, 4), (24, 60, 120)],
    ids=["default", "equal", "live-longer", "live-two-days", "longest"],
)
def test_the_log_keeps_twice_the_longer_horizon(live_hours: int, final_days: int, kept_days: int) -> None:
    settings = Settings(home=Path("home"), live_horizon_hours=live_hours, final_horizon_days=final_days)
    assert retention_ms(settings) == kept_days * DAY_MS


@pytest.mark.parametrize(
    ("setting", "value", "is_accepted"),
    [
        ("message.timestamp.type", "LogAppendTime", True),
        ("message.timestamp.type", "CreateTime", False),
        ("cleanup.policy", "delete", True),
        ("cleanup.policy", "compact,delete", False),
        ("retention.ms", str(14 * DAY_MS), True),
        ("retention.ms", str(14 * DAY_MS - 1), False),
        ("retention.ms", "-1", True),
        ("retention.bytes", "-1", True),
        ("retention.bytes", "1000000000000", False),
        ("max.message.bytes", "1048588", True),
        ("max.message.bytes", "1048587", False),
        ("unclean.leader.election.enable", "false", True),
        ("unclean.leader.election.enable", "true", False),
        ("min.insync.replicas", "2", True),
        ("min.insync.replicas", "3", True),
        ("min.insync.replicas", "1", False),
    ],
)
def test_what_the_clicks_topic_may_be(setting: str, value: str, is_accepted: bool) -> None:
    clicks = plan_topics(Settings(home=Path("home"), replication_factor=3))[0]
    (rule,) = [rule for rule in clicks.rules if rule.setting == setting]
    assert rule.accepts(value) is is_accepted
    assert rule.accepts(rule.value)


def test_one_replica_needs_only_itself() -> None:
    clicks = plan_topics(Settings(home=Path("home")))[0]
    assert [rule.value for rule in clicks.rules if rule.setting == "min.insync.replicas"] == ["1"]


def _set(settings: Settings, topic: str, name: str, value: str) -> None:
    entry = ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic, incremental_configs=[entry])
    with log_admin(settings, topic) as admin:
        admin.incremental_alter_configs([resource])[resource].result(10)
        deadline = time.monotonic() + 10
        asked = ConfigResource(ConfigResource.Type.TOPIC, topic)
        while admin.describe_configs([asked])[asked].result(10)[name].value != value:  # a broker hears of it later
            assert time.monotonic() < deadline, "the setting stays"
            time.sleep(0.05)


def _delete(settings: Settings, topic: str) -> None:
    with log_admin(settings, topic) as admin:
        admin.delete_topics([topic])[topic].result(10)
        deadline = time.monotonic() + 10
        while topic in admin.list_topics(timeout=10).topics:
            assert time.monotonic() < deadline, "the topic stays"
            time.sleep(0.05)


@pytest.fixture
def no_topics(log_settings: Settings) -> Settings:
    return replace(log_settings, clicks_topic=f"clicks-{uuid4().hex[:12]}", edge_counts_topic=f"e-{uuid4().hex[:12]}")


@pytest.mark.broker
def test_only_what_is_missing_is_created(no_topics: Settings) -> None:
    assert ensure_topics(no_topics) == [no_topics.clicks_topic, no_topics.edge_counts_topic]
    assert ensure_topics(no_topics) == []
    assert partition_count(no_topics, no_topics.clicks_topic) == no_topics.clicks_partitions
    assert partition_count(no_topics, no_topics.edge_watermarks_topic) == 1
    check_topics(no_topics)
    assert set(end_offsets(no_topics, no_topics.clicks_topic).values()) == {0}


@pytest.mark.broker
def test_watermarks_are_compacted_soon(log_settings: Settings) -> None:
    """A record a second and server: read whole, the topic must not grow for a week before it is compacted."""
    topic = log_settings.edge_watermarks_topic
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
    with log_admin(log_settings, topic) as admin:
        found = admin.describe_configs([resource])[resource].result(10)
    assert (found["segment.ms"].value, found["min.cleanable.dirty.ratio"].value) == ("600000", "0.1")


@pytest.mark.broker
def test_two_that_start_at_once_both_find_the_topics(no_topics: Settings) -> None:
    with ThreadPoolExecutor() as both:
        created = [name for names in both.map(ensure_topics, [no_topics, no_topics]) for name in names]
    assert set(created) == {no_topics.clicks_topic, no_topics.edge_counts_topic}
    check_topics(no_topics)


@pytest.mark.broker
@pytest.mark.parametrize("ask", [check_topics, lambda each: topic_id(each, each.clicks_topic)], ids=["check", "id"])
def test_a_missing_topic_is_named(no_topics: Settings, ask: object) -> None:
    with pytest.raises(TopicMissingError, match=no_topics.clicks_topic) as caught:
        ask(no_topics)  # type: ignore[operator]
    assert caught.value.remedy == "run `tallystick broker --topics`"


@pytest.mark.broker
@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("message.timestamp.type", "CreateTime", "LogAppendTime"),
        ("retention.ms", "1000", "at least 1209600000, twice the longer dedup horizon, or -1"),
        ("cleanup.policy", "compact", "delete"),
    ],
)
def test_a_wrong_setting_is_named_and_mended(log_settings: Settings, name: str, value: str, allowed: str) -> None:
    """A6: a retention under which the log could overtake its reader is refused at start."""
    topic = log_settings.clicks_topic
    mended = {rule.setting: rule.value for rule in plan_topics(log_settings)[0].rules}[name]
    _set(log_settings, topic, name, value)
    with pytest.raises(TopicSettingError) as caught:
        check_topics(log_settings)
    assert caught.value.found == f"topic {topic} has {name}={value} (allowed: {allowed})"
    assert "`tallystick broker --mend-topics`" in caught.value.remedy
    assert f"--entity-name {topic} --add-config {name}={mended}`" in caught.value.remedy
    assert [wrong.found for wrong in mend_topics(log_settings)] == [value]
    check_topics(log_settings)
    assert mend_topics(log_settings) == []


@pytest.mark.broker
def test_every_wrong_setting_is_listed(log_settings: Settings) -> None:
    _set(log_settings, log_settings.clicks_topic, "retention.bytes", "1000000")
    _set(log_settings, log_settings.edge_watermarks_topic, "cleanup.policy", "delete")
    with pytest.raises(TopicSettingError) as caught:
        check_topics(log_settings)
    assert "retention.bytes=1000000 (allowed: -1); topic " in caught.value.found
    assert f"{log_settings.edge_watermarks_topic} has cleanup.policy=delete (allowed: compact)" in caught.value.found


@pytest.mark.broker
def test_a_longer_horizon_needs_a_longer_log(log_settings: Settings) -> None:
    """A6: the retention that was right when the topic was created is checked against the settings of today."""
    longer = replace(log_settings, final_horizon_days=8)
    with pytest.raises(TopicSettingError, match=r"retention.ms=1209600000 \(allowed: at least 1382400000"):
        check_topics(longer)
    mend_topics(longer)
    check_topics(longer)


@pytest.mark.broker
def test_a_recreated_topic_has_another_id(log_settings: Settings) -> None:
    """A3: same name, same offsets, other clicks; only the id tells them apart."""
    topic = log_settings.clicks_topic
    before = topic_id(log_settings, topic)
    assert topic_id(log_settings, topic) == before
    _delete(log_settings, topic)
    ensure_topics(log_settings)
    after = topic_id(log_settings, topic)
    assert after != before
    assert len({before, after, topic_id(log_settings, log_settings.edge_counts_topic)}) == 3


@pytest.mark.broker
def test_a_description_outlives_its_client(log_settings: Settings) -> None:
    producer = ClickProducer(log_settings)
    producer.send(b"k", b"v")
    producer.flush(10)
    partitions = describe_topic(log_settings, log_settings.clicks_topic).partitions
    assert sorted(partition.id for partition in partitions) == [0, 1, 2]
