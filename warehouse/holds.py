"""Legal holds: the hours that disputes hold, which whoever deletes has to ask for first.

Belongs here: one reading of the ledger of disputes. For how long a case holds is ``domain/disputes.py``.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from domain.disputes import Hold, holds_of
from domain.settings import Settings
from warehouse.disputes import read_disputes


def holds(settings: Settings, now: datetime) -> list[Hold]:
    """What may not be deleted now, by case. Reads only.

    Ask under the lock of the table that is to be deleted from; a dispute that is opened later finds what is left.
    """
    return holds_of(read_disputes(settings).values(), now, timedelta(days=settings.dispute_hold_days))
