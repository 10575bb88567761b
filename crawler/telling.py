"""What the frontier answers, as plain objects for JSON: instants as such instead of microseconds.

Belongs here: the form in which commands and the crawl API tell it. What is told is ``crawler/frontier/reading.py``.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from crawler.frontier.reading import DomainStatus, Record, Why
from domain.buckets import from_unix_micros


def status_object(found: DomainStatus) -> dict[str, Any]:
    """How an origin, host or domain stands."""
    origins = [timed(one._asdict()) | {"cuts": [timed(cut) for cut in one.cuts]} for one in found.origins]
    parts = {name: [timed(one) for one in getattr(found, name)] for name in ("suppressions", "alerts")}
    return found._asdict() | parts | {"origins": origins}


def why_object(told: Why) -> dict[str, Any]:
    """Everything that happened to a URL."""
    chains = ("events", "origin_events", "refusals", "suppressions")
    return told._asdict() | {name: [timed(one) for one in getattr(told, name)] for name in chains}


def timed(record: Record) -> Record:
    """The record with its instants as such; 0 is none."""
    told = {name: _at(value) if name.endswith("_at") else value for name, value in record.items()}
    return told | {"deletions": [timed(one) for one in record["deletions"]]} if "deletions" in record else told


def _at(micros: int | None) -> datetime | None:
    return from_unix_micros(micros) if micros else None
