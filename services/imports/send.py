"""Sends the events of an import, announced as those of a click server, so that no hour is sealed while they are on
their way.

Belongs here: the order: a watermark before the first event, all of them acknowledged, then a closing watermark.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from clicklog.producer import ClickProducer
from clicklog.watermarks import Watermark
from domain.settings import Settings
from services.imports.judge import Event

FLUSH_TIMEOUT_SECONDS = 60


def send_events(
    settings: Settings, events: Iterable[Event], server_id: str, first_clicked_at: datetime, at: datetime
) -> int:
    """How many events the log has now. Repeatable: sent again, they are copies of the same clicks.

    ``UndeliveredError`` if the log does not acknowledge all of them; then hours from ``first_clicked_at`` on wait until
    the same file was imported again, or its server retired.
    """
    producer = ClickProducer(settings)
    _announce(settings, producer, Watermark(server_id, first_clicked_at, is_closing=False, sent_at=at))
    count = 0
    for event in events:
        producer.send(event.key, event.value)
        count += 1
    producer.flush(FLUSH_TIMEOUT_SECONDS)
    _announce(settings, producer, Watermark(server_id, at, is_closing=True, sent_at=at))
    return count


def _announce(settings: Settings, producer: ClickProducer, watermark: Watermark) -> None:
    producer.send(watermark.server_id.encode(), watermark.encode(), topic=settings.edge_watermarks_topic)
    producer.flush(FLUSH_TIMEOUT_SECONDS)
