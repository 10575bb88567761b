"""Legal holds: the hours that disputes hold, which whoever deletes has to ask for first.

Belongs here: one reading of the ledger of disputes. For how long a case holds is ``domain/disputes.py``.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from domain.disputes import Hold, holds_of
from domain.settings import Settings
from warehouse.disputes import read_disputes
from warehouse.seals import read_seals


def holds(settings: Settings, now: datetime) -> list[Hold]:
    """What may not be deleted now, by case. Reads only.

    Ask under the lock of the table that is to be deleted from; a dispute that is opened later finds what is left.
    """
    days = max([settings.final_horizon_days, *(seal.horizon_days for seal in read_seals(settings))])
    after = timedelta(days=settings.dispute_hold_days)
    return holds_of(read_disputes(settings).values(), now, after, timedelta(days=days))
