"""An installation of a test's own on the broker that all tests share."""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

from clicklog.broker import Broker
from clicklog.topics import ensure_topics
from domain.settings import Settings


def own_topics(broker: Broker, home: Path) -> Settings:
    """Settings of this home, with three fresh topics."""
    tag = uuid4().hex[:12]
    settings = Settings(
        home=home,
        kafka_bootstrap=broker.bootstrap,
        clicks_topic=f"clicks-{tag}",
        edge_counts_topic=f"edge_counts-{tag}",
        edge_watermarks_topic=f"edge_watermarks-{tag}",
        clicks_partitions=3,  # no power of two, which would hide a wrong partitioner
    )
    ensure_topics(settings)
    return settings
