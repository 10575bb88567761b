"""The three topics: what each must be, creating what is missing, checking and mending what exists.

Belongs here: topic settings as data, for any Kafka. What the records look like is in ``producer``, ``watermarks`` and
``edge_counts``, and for strangers in ``docs/log.md``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from confluent_kafka import KafkaError, KafkaException, TopicCollection
from confluent_kafka.admin import (
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    TopicDescription,
)

from clicklog.clients import (
    REQUEST_TIMEOUT_SECONDS,
    LogUnavailableError,
    TopicMissingError,
    answer_of,
    log_admin,
)
from domain.errors import TallystickError
from domain.settings import Settings

LARGEST_RECORD_BYTES = 2 * 1024 * 1024
"""A 1 MB payload has to be storable: it is quarantined later, with its bytes, not refused here."""
LEAST_RECORD_LIMIT_BYTES = 1_048_588
"""Kafka's own default, which holds a payload of 1,000,000 bytes; a topic below it is refused."""
HORIZONS_KEPT = 2
"""A new checkpoint reads from one horizon back, and may have to do so a horizon late."""
UNLIMITED = "-1"
COMPACTED_SOON = {"segment.ms": "600000", "min.cleanable.dirty.ratio": "0.1"}
"""Every server writes each second and every reconcile reads the whole topic: by default it would grow for a week."""
POLL_SECONDS = 0.1


class TopicSettingError(TallystickError):
    """A topic exists with a setting under which clicks could be lost or counted wrongly."""


@dataclass(frozen=True)
class TopicRule:
    """One setting of a topic: what we create it with, and what we accept where it exists already."""

    setting: str
    value: str
    allowed: str
    accepts: Callable[[str], bool]


@dataclass(frozen=True)
class TopicPlan:
    """A topic as it must be. Partition count and ``extras`` bind only when we create it."""

    name: str
    partition_count: int
    rules: tuple[TopicRule, ...]
    extras: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class WrongSetting:
    """A setting of an existing topic that its rule does not accept."""

    topic: str
    rule: TopicRule
    found: str

    def __str__(self) -> str:
        return f"topic {self.topic} has {self.rule.setting}={self.found} (allowed: {self.rule.allowed})"


def plan_topics(settings: Settings) -> tuple[TopicPlan, ...]:
    """The three topics of these settings."""
    append_time = _exactly("message.timestamp.type", "LogAppendTime")
    deleted = _exactly("cleanup.policy", "delete")
    compacted = _exactly("cleanup.policy", "compact")
    kept = _kept_at_least(settings)
    clicks = (append_time, deleted, kept, *_nothing_lost(settings), _large_records())
    return (
        TopicPlan(settings.clicks_topic, settings.clicks_partitions, clicks),
        TopicPlan(settings.edge_counts_topic, 1, (append_time, deleted, kept)),
        TopicPlan(settings.edge_watermarks_topic, 1, (append_time, compacted), COMPACTED_SOON),
    )


def retention_ms(settings: Settings) -> int:
    """Twice the longer of the two dedup horizons: the least that the log must keep."""
    horizon = max(settings.live_horizon, settings.final_horizon)
    return HORIZONS_KEPT * int(horizon.total_seconds() * 1000)


def ensure_topics(settings: Settings) -> list[str]:
    """Create the topics that are missing and return their names, then wait until each has a leader. Repeatable."""
    missing = [plan for plan in plan_topics(settings) if _describe(settings, plan.name) is None]
    for plan in missing:
        _create(settings, plan)
    for plan in missing:
        _wait_for_leaders(settings, plan)
    return [plan.name for plan in missing]


def check_topics(settings: Settings) -> None:
    """Raise ``TopicSettingError`` that lists every wrong setting, ``TopicMissingError`` for a missing topic."""
    wrong = wrong_settings(settings)
    if not wrong:
        return
    kafka_tool = " && ".join(
        f"kafka-configs.sh --bootstrap-server {settings.bootstrap} --alter --entity-type topics "
        f"--entity-name {one.topic} --add-config {one.rule.setting}={one.rule.value}"
        for one in wrong
    )
    raise TopicSettingError(
        "; ".join(map(str, wrong)),
        "topics that lose no click",
        f"run `tallystick broker --mend-topics` or, with Kafka's own tool, `{kafka_tool}`",
    )


def wrong_settings(settings: Settings) -> list[WrongSetting]:
    """Every setting of the existing topics that is not allowed."""
    wrong: list[WrongSetting] = []
    for plan in plan_topics(settings):
        found = _settings_of(settings, plan.name)
        wrong += [
            WrongSetting(plan.name, rule, found.get(rule.setting, ""))
            for rule in plan.rules
            if not rule.accepts(found.get(rule.setting, ""))
        ]
    return wrong


def mend_topics(settings: Settings) -> list[WrongSetting]:
    """Set every wrong setting to what we would create it with; returns what was wrong. Touches nothing else.

    Records that were written while the timestamp type was wrong keep their timestamps.
    """
    wrong = wrong_settings(settings)
    for one in wrong:
        entry = ConfigEntry(one.rule.setting, one.rule.value, incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(ConfigResource.Type.TOPIC, one.topic, incremental_configs=[entry])
        with log_admin(settings, one.topic) as admin:
            answer = admin.incremental_alter_configs([resource], request_timeout=REQUEST_TIMEOUT_SECONDS)
            answer_of(answer[resource])
    deadline = time.monotonic() + REQUEST_TIMEOUT_SECONDS
    while wrong and wrong_settings(settings) and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)  # a broker hears of what was changed a moment after it was
    return wrong


def topic_id(settings: Settings, topic: str) -> str:
    """The id that Kafka gave this topic when it was created: a topic recreated under the same name has another."""
    return str(describe_topic(settings, topic).topic_id)


def partition_count(settings: Settings, topic: str) -> int:
    """How many partitions the topic has now."""
    return len(describe_topic(settings, topic).partitions)


def describe_topic(settings: Settings, topic: str) -> TopicDescription:
    """Id, partitions and leaders of a topic; ``TopicMissingError`` if there is none."""
    description = _describe(settings, topic)
    if description is None:
        raise TopicMissingError(settings, topic)
    return description


def _exactly(setting: str, value: str) -> TopicRule:
    return TopicRule(setting, value, value, lambda found: found == value)


def _kept_at_least(settings: Settings) -> TopicRule:
    least = retention_ms(settings)
    allowed = f"at least {least}, twice the longer dedup horizon, or {UNLIMITED}"
    return TopicRule("retention.ms", str(least), allowed, lambda found: found == UNLIMITED or int(found) >= least)


def _nothing_lost(settings: Settings) -> tuple[TopicRule, ...]:
    in_sync = max(1, settings.replication_factor - 1)
    return (
        # A limit by size deletes clicks sooner than the limit by time promises.
        _exactly("retention.bytes", UNLIMITED),
        # A replica that lacks acknowledged clicks must never become leader.
        _exactly("unclean.leader.election.enable", "false"),
        TopicRule(
            "min.insync.replicas",
            str(in_sync),
            f"at least {in_sync}, replicas less one",
            lambda found: int(found) >= in_sync,
        ),
    )


def _large_records() -> TopicRule:
    allowed = f"at least {LEAST_RECORD_LIMIT_BYTES}"
    value = str(LARGEST_RECORD_BYTES)
    return TopicRule("max.message.bytes", value, allowed, lambda found: int(found) >= LEAST_RECORD_LIMIT_BYTES)


def _settings_of(settings: Settings, topic: str) -> dict[str, str]:
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
    with log_admin(settings, topic) as admin:
        answer = admin.describe_configs([resource], request_timeout=REQUEST_TIMEOUT_SECONDS)
        return {name: entry.value or "" for name, entry in answer_of(answer[resource]).items()}


def _describe(settings: Settings, topic: str) -> TopicDescription | None:
    with log_admin(settings, topic) as admin:
        answer = admin.describe_topics(TopicCollection([topic]), request_timeout=REQUEST_TIMEOUT_SECONDS)
        try:
            return answer_of(answer[topic])
        except KafkaException as error:
            if error.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
                return None
            raise


def _create(settings: Settings, plan: TopicPlan) -> None:
    config = {rule.setting: rule.value for rule in plan.rules} | dict(plan.extras)
    topic = NewTopic(plan.name, plan.partition_count, settings.replication_factor, config=config)
    with log_admin(settings, plan.name) as admin:
        answer = admin.create_topics([topic], request_timeout=REQUEST_TIMEOUT_SECONDS)
        try:
            answer_of(answer[plan.name])
        except KafkaException as error:
            # Another process of ours that starts at the same moment may have been quicker.
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise


def _wait_for_leaders(settings: Settings, plan: TopicPlan) -> None:
    started = time.monotonic()
    while time.monotonic() - started < REQUEST_TIMEOUT_SECONDS:
        description = _describe(settings, plan.name)
        if description is not None and all(partition.leader for partition in description.partitions):
            return
        time.sleep(POLL_SECONDS)
    raise LogUnavailableError(settings, f"no leader for every partition of {plan.name}")
