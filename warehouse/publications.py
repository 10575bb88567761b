"""Table ``publications``: reading it, and appending to its chain.

Belongs here: rows to publications and back. What one says is ``domain/publications.py``.
"""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime

from deltalake import DeltaTable

from domain.publications import Publication, PublicationDraft, chain_draft
from domain.settings import Settings
from warehouse.layout import open_table, rows_of
from warehouse.ledger import append_after, check_head, check_stored

NAME = "publications"


def append_publication(
    settings: Settings, draft: PublicationDraft, expected_head: int, published_at: datetime
) -> Publication:
    """Makes the draft visible behind publication ``expected_head`` (0 for an empty ledger), and reads it back.

    Atomic, not repeatable. ``LedgerConflictError`` if the newest publication is another one, however close the
    race; then nothing became visible.
    """
    snapshot = open_table(settings, NAME)
    publications = _publications(snapshot)
    before = publications[-1] if publications else None
    check_head(NAME, before.publication_number if before else 0, expected_head)
    fresh = chain_draft(before, draft, published_at)
    append_after(settings, NAME, snapshot, [asdict(fresh)])
    stored = [publication for publication in read_publications(settings) if publication.number > expected_head]
    check_stored(NAME, stored[:1], [fresh])
    return fresh


def latest_publication(settings: Settings) -> Publication | None:
    """The publication that readers open; None before the first."""
    publications = read_publications(settings)
    return publications[-1] if publications else None


def read_publications(settings: Settings) -> list[Publication]:
    """All publications in the order of the chain."""
    return _publications(open_table(settings, NAME))


def _publications(snapshot: DeltaTable) -> list[Publication]:
    records = rows_of(snapshot).sort_by("publication_number").to_pylist()
    return [Publication(**record) for record in records]
