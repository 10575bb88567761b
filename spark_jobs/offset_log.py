"""The offsets that a micro-batch covers, from the query's own checkpoint.

Belongs here: reading Spark's offset log. It is written before the batch runs and is what a restart repeats, and it
counts the records too that parsing or deduplication removed, which the batch's rows do not show.
"""

from __future__ import annotations

import json

from pyarrow import fs

from domain.errors import IntegrityError

_LOG_VERSION = "v1"


def batch_end_offsets(checkpoint: str, batch_id: int, topic: str) -> dict[int, int]:
    """Per partition the offset after the batch's last record."""
    filesystem, root = fs.FileSystem.from_uri(checkpoint)
    with filesystem.open_input_stream(f"{root}/offsets/{batch_id}") as stream:
        lines = stream.read().decode("utf-8").splitlines()
    if lines[0] != _LOG_VERSION:
        raise IntegrityError(
            f"the offset log of {checkpoint} has version {lines[0]}", _LOG_VERSION, "use the pinned version of Spark"
        )
    return {int(partition): int(offset) for partition, offset in json.loads(lines[-1])[topic].items()}
