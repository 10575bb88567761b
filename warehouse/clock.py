"""The one file that reads the system clock. Everything else takes time as an argument."""

from __future__ import annotations

from datetime import UTC, datetime


def now() -> datetime:
    """This instant, aware UTC."""
    return datetime.now(UTC)
