"""Waiting until a running stream has passed the end that the log has now.

Belongs here: the comparison of the streams' marks with the log. Running the stream is ``spark_jobs/stream.py``.
"""

from __future__ import annotations

import time

from clicklog.offsets import end_offsets
from domain.errors import TallystickError
from domain.settings import Settings
from warehouse.logs import current_log
from warehouse.marks import ARCHIVE_QUERY, LIVE_QUERY, reached_offsets

QUERIES = (ARCHIVE_QUERY, LIVE_QUERY)
WAIT_SECONDS = 600.0
POLL_SECONDS = 1.0


class StreamBehindError(TallystickError):
    """The running stream did not reach the end of the log in time."""

    is_transient = True


def lag(settings: Settings, query: str, ends: dict[int, int]) -> dict[int, int]:
    """Per partition the count of records below ``ends`` (offset after the last) that a query has not looked at."""
    log = current_log(settings, settings.clicks_topic)
    if log is None:
        return dict(ends)
    reached = {**log.first_offsets, **reached_offsets(settings, query, log.log)}
    return {partition: max(end - reached.get(partition, 0), 0) for partition, end in ends.items()}


def wait_until_caught_up(settings: Settings, wait_seconds: float = WAIT_SECONDS) -> dict[int, int]:
    """Returns the ends that the log had at the call once both queries have passed them.

    ``StreamBehindError`` names what is missing after ``wait_seconds``.
    """
    ends = end_offsets(settings, settings.clicks_topic)
    deadline = time.monotonic() + wait_seconds
    while True:
        behind = {query: sum(lag(settings, query, ends).values()) for query in QUERIES}
        if not any(behind.values()):
            return ends
        if time.monotonic() > deadline:
            raise StreamBehindError(
                ", ".join(f"{query} is {count} records behind" for query, count in behind.items()),
                f"both queries past the end of the log within {wait_seconds:.0f} s",
                "see `tallystick status`; if the stream hangs, stop it and start it again",
            )
        time.sleep(POLL_SECONDS)
