"""The books as they stood at an instant: which seals were visible then, and so which hours were final.

Belongs here: the pure rule over the ledgers. Answering by it is ``warehouse/counts_as_of.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from domain.buckets import HOUR, format_utc
from domain.errors import IntegrityError, UsageError
from domain.finality import final_from
from domain.periods import PeriodClose, closed_periods
from domain.publications import Publication
from domain.seals import Seal, current_seals

SETTLED_AFTER = timedelta(minutes=1)
"""A ledger's row says when it was about to be written: of the last minute, one may still appear."""


@dataclass(frozen=True)
class BooksAt:
    """What readers saw at ``at``: the newest publication of that time and, by hour, the seals that it made final.

    Every hour from ``final_from`` to ``final_until`` is in ``seals``, and no other: an hour that was sealed behind a
    hole was not final.
    """

    at: datetime
    publication: Publication
    seals: Mapping[datetime, Seal]
    closed_until: datetime | None

    @property
    def final_from(self) -> datetime:
        return min(self.seals)

    @property
    def final_until(self) -> datetime:
        return self.publication.final_until

    def not_final(self, start: datetime, end: datetime) -> tuple[tuple[datetime, datetime], ...]:
        """The parts of ``[start, end)`` that were not final, ascending; at most two."""
        parts = ((start, min(end, self.final_from)), (max(start, self.final_until), end))
        return tuple((first, last) for first, last in parts if first < last)


def check_settled(name: str, at: datetime, now: datetime) -> None:
    """``UsageError`` for an instant about which the ledgers cannot be said to be complete yet."""
    if at <= now - SETTLED_AFTER:
        return
    age = "lies in the future" if at > now else f"is less than {SETTLED_AFTER.seconds} seconds ago"
    raise UsageError(
        f"{name} {format_utc(at)} {age}",
        f"an instant at least {SETTLED_AFTER.seconds} seconds ago, since what was published then can still change",
        "ask for an earlier one, or leave it out for what holds now",
    )


def books_at(
    at: datetime, seals: Sequence[Seal], publications: Sequence[Publication], closes: Iterable[PeriodClose]
) -> BooksAt:
    """The books at an instant, from the ledgers as they are now; rows that were appended since change nothing.

    ``UsageError`` for an instant before the first publication.
    """
    visible = [publication for publication in publications if publication.published_at <= at]
    if not visible:
        first = format_utc(publications[0].published_at) if publications else None
        raise UsageError(
            f"as of {format_utc(at)} nothing was published",
            f"an instant from {first} on, when the first hours were" if first else "a publication",
            "ask for a later instant" if first else "reconcile an hour first",
        )
    newest = max(visible, key=lambda publication: publication.publication_number)
    shown = [seal for seal in seals if seal.seal_number <= newest.seal_number]
    _check_whole(newest, shown)
    held = current_seals(shown)
    start = final_from(held, newest.final_until)
    final = {hour: seal for hour, seal in sorted(held.items()) if start <= hour < newest.final_until}
    closed = closed_periods(close for close in closes if close.closed_at <= at)
    return BooksAt(at, newest, final, closed.closed_until)


def sealed_later(
    books: BooksAt, seals: Iterable[Seal], publications: Sequence[Publication], start: datetime, end: datetime
) -> list[Seal]:
    """The first seal of each hour of ``[start, end)`` that was not final then and is visible now, by hour.

    The first one, whatever was revised since: an answer about the past changes by an hour's first seal, never again.
    """
    shown_up_to = max(publication.seal_number for publication in publications)
    found = [
        seal
        for seal in seals
        if seal.revision == 0
        and seal.seal_number <= shown_up_to
        and seal.hour not in books.seals
        and start < seal.hour + HOUR
        and seal.hour < end
    ]
    return sorted(found, key=lambda seal: seal.hour)


def _check_whole(publication: Publication, shown: Sequence[Seal]) -> None:
    """``IntegrityError`` if a seal is missing: its hour would be answered as one that was not final."""
    if len(shown) != publication.seal_number:
        raise IntegrityError(
            f"publication {publication.number} shows seals up to {publication.seal_number}, {len(shown)} are there",
            "every seal from the first one on",
            "run `tallystick verify`; restore tables seals and publications from a copy",
        )
