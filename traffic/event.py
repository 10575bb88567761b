"""One planned record: its key and bytes, and the facts from which the truth about it is counted.

Belongs here: the types that plan, truth and senders share. Times are microseconds since 1970 in UTC, because
millions of them are made.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from domain.events import Kind, Reason

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
SECOND_US = 1_000_000
MINUTE_US = 60 * SECOND_US
HOUR_US = 60 * MINUTE_US
DAY_US = 24 * HOUR_US


class Dimensions(NamedTuple):
    """Everything that a click is counted by, but its minute."""

    advertiser_id: int
    campaign_id: int
    ad_id: int
    country: str
    device: str


class PlannedEvent(NamedTuple):
    """A record of the log, in the order in which it is sent.

    ``reason`` is None for a valid event, else why it must be quarantined; its other facts then mean nothing.
    ``has_copies`` is False where no other click-kind event of the identity ``(key, ad_id)`` exists: it saves the
    truth from keeping every identity.
    """

    key: bytes
    value: bytes | None
    kind: Kind
    dimensions: Dimensions
    clicked_us: int
    has_copies: bool
    reason: Reason | None


def microseconds(at: datetime) -> int:
    """The instant as whole microseconds since 1970."""
    return (at - EPOCH) // MICROSECOND


def instant(us: int) -> datetime:
    """The instant of whole microseconds since 1970, aware UTC."""
    return EPOCH + us * MICROSECOND
