"""The history of URLs: one row for every change, and one for every commit that came too late."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from sqlalchemy import Connection, insert

from crawler.frontier.schema import URL_EVENTS

STALE_COMMIT = "stale_commit"


class UrlEvent(NamedTuple):
    """What a URL became, and why, by whom, under which fence."""

    url_id: int
    happened_at: int
    state: str
    reason: str
    actor: str
    fence: int
    detail: str | None = None


def log_urls(connection: Connection, events: Iterable[UrlEvent]) -> None:
    """Adds the events, in the transaction of the change itself."""
    rows = [event._asdict() for event in events]
    if rows:
        connection.execute(insert(URL_EVENTS), rows)
