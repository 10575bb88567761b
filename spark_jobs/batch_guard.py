"""What a micro-batch must know before it writes: which offsets it covers, and that the topic is still the same.

Belongs here: checks that both queries share.
"""

from __future__ import annotations

from dataclasses import dataclass

from clicklog.topics import topic_id
from domain.settings import Settings
from spark_jobs.offset_log import batch_end_offsets
from warehouse.logs import TopicRecreatedError


@dataclass(frozen=True)
class BatchGuard:
    """One query's guard. ``checkpoint`` is its folder or URI, ``topic_id`` what the log's number stands for."""

    settings: Settings
    checkpoint: str
    topic_id: str

    def end_offsets(self, batch_id: int) -> dict[int, int]:
        """Per partition the offset after the batch's last record; refuses a topic that was made anew."""
        topic = self.settings.clicks_topic
        found = topic_id(self.settings, topic)
        if found != self.topic_id:
            raise TopicRecreatedError(
                f"topic {topic} has id {found}",
                f"the id {self.topic_id} that was read so far",
                "find out who recreated it; to go on with the new topic run `tallystick stream --accept-new-log`",
            )
        return batch_end_offsets(self.checkpoint, batch_id, topic)
