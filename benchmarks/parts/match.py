"""A match: contestants on one machine, one broker and one topic, one after the other, each run in a fresh home.

Belongs here: preparing a run outside the measured time, measuring it, and holding the contestant to the truth. Who
takes part and what is made of the costs is ``benchmarks/live.py``.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from confluent_kafka import TopicPartition
from confluent_kafka.admin import NewTopic
from deltalake import DeltaTable
from parts.contestant import Contestant, ContestantError, Run, tree_cpu_seconds
from pyarrow import compute

from clicklog.clients import answer_of, log_admin, log_consumer
from domain.settings import Settings

SINK_PARTITIONS = 2
CONSUME_AT_ONCE = 10_000
CONSUME_TIMEOUT_SECONDS = 10


@dataclass(frozen=True)
class Topic:
    """A topic that holds ``events``, of which ``clicks`` must be counted."""

    name: str
    events: int
    clicks: int


@dataclass(frozen=True)
class MeasuredRun:
    """A run, and what the broker used meanwhile: a sink on the broker is not free."""

    run: Run
    broker_cpu_seconds: float


@dataclass
class Match:
    """``settings.home`` has the tables that each home of ours starts from; ``contestants`` go by name."""

    settings: Settings
    broker_pid: int
    contestants: dict[str, Contestant]
    _runs: int = field(default=0, init=False)

    def run(self, name: str, *, has_archive: bool, topic: Topic) -> MeasuredRun:
        """One run over the whole topic. ``ContestantError`` if it does not count exactly the topic's clicks."""
        self._runs += 1
        home = self.settings.home / "runs" / str(self._runs)
        shutil.copytree(self.settings.home / "tables", home / "tables")
        job = {
            "home": str(home),
            "bootstrap": self.settings.bootstrap,
            "topic": topic.name,
            "batch_events": self.settings.max_batch_events,
            "has_archive": has_archive,
            "sink_topic": f"sink-{self._runs}",
        }
        make_sink(self.settings, job["sink_topic"])
        try:
            before = tree_cpu_seconds(self.broker_pid)
            run = self.contestants[name].run(job)
            broker_cpu_seconds = tree_cpu_seconds(self.broker_pid) - before
            counted = counted_clicks(self.settings, run.answer)
        finally:
            drop_sink(self.settings, job["sink_topic"])
            shutil.rmtree(home)
        if counted != topic.clicks:
            raise ContestantError(
                f"{name} counted {counted:,} clicks of {topic.name}",
                f"{topic.clicks:,}",
                "a faster wrong count is none",
            )
        return MeasuredRun(run, broker_cpu_seconds)


def counted_clicks(settings: Settings, answer: dict[str, Any]) -> int:
    """What a contestant really stored, by its answer: a number of its own, a Delta table or a topic."""
    if "counted" in answer:
        return int(answer["counted"])
    if "counts_path" in answer:
        counts = DeltaTable(answer["counts_path"]).to_pyarrow_table(columns=["count"])
        return int(compute.sum(counts["count"]).as_py())
    return sum(stored_counts(settings, answer["sink_topic"]).values())


def stored_counts(settings: Settings, topic: str) -> dict[bytes, int]:
    """The newest count of each key of an upsert topic."""
    counts: dict[bytes, int] = {}
    with log_consumer(settings, topic, {}) as consumer:
        consumer.assign([TopicPartition(topic, partition, 0) for partition in range(SINK_PARTITIONS)])
        ended = 0
        while ended < SINK_PARTITIONS:
            messages = consumer.consume(CONSUME_AT_ONCE, CONSUME_TIMEOUT_SECONDS)
            if not messages:
                raise ContestantError(f"topic {topic} gave nothing", "its records or its end", "see to the broker")
            for message in messages:
                if message.error():
                    ended += 1
                elif message.value() is None:
                    counts.pop(message.key(), None)
                else:
                    counts[message.key()] = json.loads(message.value())["clicks"]
    return counts


def make_sink(settings: Settings, topic: str) -> None:
    """An empty compacted topic."""
    new = NewTopic(topic, SINK_PARTITIONS, 1, config={"cleanup.policy": "compact"})
    with log_admin(settings, topic) as admin:
        answer_of(admin.create_topics([new])[topic])


def drop_sink(settings: Settings, topic: str) -> None:
    """Its space is for the next run."""
    with log_admin(settings, topic) as admin:
        answer_of(admin.delete_topics([topic])[topic])


def on_topic(settings: Settings, topic: str) -> Settings:
    """The same installation with its clicks elsewhere."""
    return replace(settings, clicks_topic=topic)


def run_home(settings: Settings, name: str) -> Path:
    """A folder for what a contestant logs."""
    folder = settings.home / "contestants" / name
    folder.mkdir(parents=True)
    return folder
