"""Which hours are sealed and visible, from the two ledgers.

Belongs here: the look into the ledgers. What final_until means is ``domain/finality.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from domain.publications import shown_seals
from domain.seals import Seal
from domain.settings import Settings
from warehouse.publications import latest_publication
from warehouse.seals import read_seals


def published_seals(settings: Settings) -> dict[datetime, Seal]:
    """By hour the seal that readers see: its highest revision among those that are published."""
    return shown_seals(read_seals(settings), latest_publication(settings))


def unsealed_hours(settings: Settings, hours: Sequence[datetime]) -> list[datetime]:
    """Those of ``hours`` (starts, UTC) that are not both sealed and published."""
    published = published_seals(settings)
    return [hour for hour in hours if hour not in published]
