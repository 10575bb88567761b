"""Which hours are sealed and visible, from the two ledgers.

Belongs here: the look into the ledgers. What final_until means is ``domain/finality.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from domain.seals import Seal, current_seals
from domain.settings import Settings
from warehouse.publications import latest_publication
from warehouse.seals import read_seals


def published_seals(settings: Settings) -> dict[datetime, Seal]:
    """By hour the seal that readers see: its highest revision among those that are published."""
    publication = latest_publication(settings)
    shown_up_to = publication.seal_number if publication else 0
    return current_seals(seal for seal in read_seals(settings) if seal.seal_number <= shown_up_to)


def unsealed_hours(settings: Settings, hours: Sequence[datetime]) -> list[datetime]:
    """Those of ``hours`` (starts, UTC) that are not both sealed and published."""
    published = published_seals(settings)
    return [hour for hour in hours if hour not in published]
