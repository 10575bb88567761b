"""The one answer engine for counts: final figures of one publication, the live estimate elsewhere. No JVM.

Belongs here: deciding, before the first row is read, which versions of the tables an answer is made of. What may be
asked is ``warehouse/counts_query.py``; which table answers which part of a range, ``warehouse/ranges.py``; adding up,
``warehouse/counts_sql.py``; answers about the past, ``warehouse/counts_as_of.py``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache, partial

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from domain.errors import IntegrityError
from domain.finality import final_from
from domain.publications import Publication, shown_seals
from domain.settings import Settings
from warehouse.counts_answer import CountsAnswer, Finality
from warehouse.counts_as_of import answer_as_of
from warehouse.counts_query import CountsQuery
from warehouse.counts_sql import CountsEngine
from warehouse.layout import open_table, table_uri
from warehouse.periods import NAME as PERIOD_CLOSES
from warehouse.periods import read_closed
from warehouse.publications import NAME as PUBLICATIONS
from warehouse.publications import latest_publication
from warehouse.ranges import (
    ATTEMPT_TABLE,
    FINAL_TABLE,
    LIVE_TABLE,
    FinalRange,
    Slice,
    by_split_hours,
    cut,
    from_attempts,
)
from warehouse.retention_steps import deleted_hours
from warehouse.seals import read_seals

MAX_ROWS = 200_000
"""Of one answer: about 20 MB of JSON."""
TABLES_KEPT = 6
"""Snapshots of final tables that stay open: the three of the newest publication, and of the one before."""


@dataclass(frozen=True)
class _Published:
    """The newest publication at a version of its ledger, and the hours that it makes final.

    ``gone``: by table the hours whose retention is over there; their figures are those of ``attempts``.
    """

    ledger_version: int
    publication: Publication
    final: FinalRange
    gone: Mapping[str, Collection[datetime]]
    attempts: Mapping[datetime, str]

    def version_of(self, table: str) -> int:
        return {
            FINAL_TABLE["minute"]: self.publication.minute_version,
            FINAL_TABLE["hour"]: self.publication.hour_version,
            FINAL_TABLE["day"]: self.publication.day_version,
        }[table]


class CountsReader:
    """Answers questions about one installation's counts. Made once a process; threads may share it.

    Reading only; each answer is a snapshot, whatever is written meanwhile. Blocks on disk and CPU.
    """

    def __init__(self, settings: Settings, max_rows: int = MAX_ROWS) -> None:
        self._settings = settings
        self._max_rows = max_rows
        self._engine = CountsEngine(settings)
        self._known: _Published | None = None
        self._closed_until: tuple[int, datetime | None] | None = None
        self._final_table = lru_cache(maxsize=TABLES_KEPT)(partial(open_version, settings))

    def finality(self) -> Finality:
        """How far figures are final now."""
        return _finality(self._published(), self._closed())

    def answer(self, query: CountsQuery) -> CountsAnswer:
        """The answer by the newest publication and live estimate; as of an instant, by what was final then.

        ``AnswerTooLargeError`` if it has too many rows.
        """
        if query.as_of is not None:
            return answer_as_of(self._settings, self._engine, query, query.as_of, self._max_rows)
        closed_until, published = self._closed(), self._published()
        live = open_table(self._settings, LIVE_TABLE)
        final = None if published is None else published.final
        nothing = Slice(LIVE_TABLE, query.start, query.start)
        slices = cut(query.start, query.end, query.grain, final) or (nothing,)
        slices = by_split_hours(slices, query.buckets.split_hours)
        if published is not None:
            slices = from_attempts(slices, published.gone, published.attempts)
        parts = [(part, self._pinned(part.table, published, live)) for part in slices]
        table = self._engine.added_up(query, parts, final, self._max_rows)
        return CountsAnswer(query, _finality(published, closed_until), live.version(), table)

    def _published(self) -> _Published | None:
        """The newest publication. The ledgers are read only when the one of publications has grown."""
        version = open_table(self._settings, PUBLICATIONS).version()
        if self._known is None or self._known.ledger_version != version:
            publication = latest_publication(self._settings)
            if publication is None:
                return None
            until = publication.final_until
            shown = shown_seals(read_seals(self._settings), publication)
            gone = {name: deleted_hours(self._settings, name).any_of for name in FINAL_TABLE.values()}
            attempts = {hour: seal.attempt for hour, seal in shown.items()} if any(gone.values()) else {}
            self._known = _Published(version, publication, FinalRange(final_from(shown, until), until), gone, attempts)
        return self._known

    def _closed(self) -> datetime | None:
        """``closed_until``. Looked up before the publication, so that what is said to be closed is always shown."""
        version = open_table(self._settings, PERIOD_CLOSES).version()
        if self._closed_until is None or self._closed_until[0] != version:
            self._closed_until = (version, read_closed(self._settings).closed_until)
        return self._closed_until[1]

    def _pinned(self, table: str, published: _Published | None, live: DeltaTable) -> DeltaTable:
        if published is None or table == LIVE_TABLE:
            return live
        if table == ATTEMPT_TABLE:
            return open_table(self._settings, ATTEMPT_TABLE)
        return self._final_table(table, published.version_of(table))


def open_version(settings: Settings, name: str, version: int) -> DeltaTable:
    """A table at a version that a publication names; ``IntegrityError`` if it is gone."""
    try:
        return DeltaTable(table_uri(settings, name), version=version)
    except DeltaError as error:
        raise IntegrityError(
            f"version {version} of {name} cannot be opened: {error}",
            "the version that the newest publication names",
            "publish the sealed hours again",
        ) from error


def _finality(published: _Published | None, closed_until: datetime | None) -> Finality:
    if published is None:
        return Finality(None, None, None, closed_until)
    number, final = published.publication.publication_number, published.final
    return Finality(number, final.start, final.until, closed_until)
