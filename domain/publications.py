"""Publications: which versions of the final tables belong together, and how the rows chain.

Belongs here: drafts, their place in the chain, its check. Reading and appending them is ``warehouse/publications.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any

from domain.buckets import format_utc
from domain.chain import GENESIS_HASH, broken_links, chain_hash
from domain.errors import IntegrityError
from domain.seals import Seal, current_seals


@dataclass(frozen=True, kw_only=True)
class PublicationDraft:
    """What is to be made visible: the versions that contain all seals up to ``seal_number``."""

    seal_number: int
    minute_version: int
    hour_version: int
    day_version: int
    final_until: datetime


@dataclass(frozen=True, kw_only=True)
class Publication(PublicationDraft):
    """A draft with its place in the chain. The newest one is what readers open."""

    publication_number: int
    published_at: datetime
    previous_hash: str
    hash: str

    @property
    def number(self) -> int:
        """Its place in the chain, from 1."""
        return self.publication_number

    def hashed_columns(self) -> dict[str, Any]:
        """What its hash covers: every column of table ``publications`` but the two hashes."""
        return {name: value for name, value in asdict(self).items() if name not in ("previous_hash", "hash")}


def chain_draft(before: Publication | None, draft: PublicationDraft, published_at: datetime) -> Publication:
    """What the draft becomes behind ``before``. ``IntegrityError`` if it would hide seals that are visible, or call an
    hour not final again.
    """
    if before is not None and draft.seal_number < before.seal_number:
        raise IntegrityError(
            f"a publication of seals up to {draft.seal_number}",
            f"at least seal {before.seal_number}, which is published",
            "build the final tables from all seals and publish again",
        )
    if before is not None and draft.final_until < before.final_until:
        raise IntegrityError(
            f"a publication that is final until {format_utc(draft.final_until)}",
            f"at least {format_utc(before.final_until)}, which is published",
            "go on from the final_until that readers know",
        )
    publication = Publication(
        **asdict(draft),
        publication_number=1 if before is None else before.publication_number + 1,
        published_at=published_at,
        previous_hash=GENESIS_HASH if before is None else before.hash,
        hash="",
    )
    return replace(publication, hash=chain_hash(publication.previous_hash, publication.hashed_columns()))


def check_publications(publications: Sequence[Publication]) -> list[str]:
    """What is wrong with the chain of publications (ascending), one line a finding; empty if it holds."""
    return broken_links("publication", publications)


def shown_seals(seals: Iterable[Seal], publication: Publication | None) -> dict[datetime, Seal]:
    """By hour the seal that readers of a publication see: its highest revision among those that it shows."""
    shown_up_to = publication.seal_number if publication else 0
    return current_seals(seal for seal in seals if seal.seal_number <= shown_up_to)
