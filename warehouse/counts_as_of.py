"""Answers about the past: final figures as they were published at an instant, from attempts and ledgers. No JVM.

Belongs here: which attempts an answer is made of, and what is said of hours that were not final then. Never a look at
old versions of the final tables, which are not kept for ever. Which books stood at an instant is ``domain/as_of.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds

from domain.as_of import BooksAt, books_at, sealed_later
from domain.buckets import HOUR, format_utc, hour_of
from domain.errors import IntegrityError
from domain.seals import Seal
from domain.settings import Settings
from warehouse.counts_answer import CountsAnswer, Finality, PastAnswer
from warehouse.counts_query import CountsQuery
from warehouse.counts_sql import CountsEngine, too_large
from warehouse.layout import dataset_of, of_attempts, open_table
from warehouse.periods import read_closes
from warehouse.publications import read_publications
from warehouse.ranges import ATTEMPT_TABLE, FinalRange, Slice
from warehouse.seals import read_seals

ERROR_COLUMNS = ["hour", "advertiser_id", "live_clicks", "final_clicks", "difference_clicks"]


def answer_as_of(
    settings: Settings, engine: CountsEngine, query: CountsQuery, at: datetime, max_rows: int
) -> CountsAnswer:
    """What was final at ``at``. Reads only; the rows are the same whenever it is asked, whatever was revised since.

    ``UsageError`` before the first publication, ``AnswerTooLargeError`` if there are too many rows or errors,
    ``IntegrityError`` if the attempts are no longer what their seals say.
    """
    # Closes and publications before seals: whatever they speak of is there.
    closes, publications = read_closes(settings), read_publications(settings)
    seals = read_seals(settings)
    books = books_at(at, seals, publications, closes)
    later = sealed_later(books, seals, publications, query.start, query.end)
    past = PastAnswer(
        at, books.not_final(query.start, query.end), len(later), _later_errors(settings, query, later, max_rows)
    )
    table = _added_up(settings, engine, query, books, max_rows)
    number = books.publication.publication_number
    finality = Finality(number, books.final_from, books.final_until, books.closed_until)
    return CountsAnswer(query, finality, None, table, past)


def _added_up(settings: Settings, engine: CountsEngine, query: CountsQuery, books: BooksAt, max_rows: int) -> pa.Table:
    start = min(max(query.start, books.final_from), query.end)
    end = max(min(query.end, books.final_until), start)
    held = [seal for hour, seal in books.seals.items() if start < hour + HOUR and hour < end]
    attempts = frozenset(seal.attempt for seal in held)
    snapshot = open_table(settings, ATTEMPT_TABLE)
    if held:
        whole = Slice(ATTEMPT_TABLE, hour_of(start), held[-1].hour + HOUR, attempts)
        _check_sums(held, engine.attempt_sums(whole, snapshot, max_rows))
    part = Slice(ATTEMPT_TABLE, start, end, attempts)
    return engine.added_up(query, [(part, snapshot)], FinalRange(books.final_from, books.final_until), max_rows)


def _check_sums(seals: Sequence[Seal], found: dict[str, int]) -> None:
    """``IntegrityError`` unless every attempt has the clicks that were sealed."""
    for seal in seals:
        clicks = found.get(seal.attempt, 0)
        if clicks != seal.billable_clicks:
            raise IntegrityError(
                f"attempt {seal.attempt} of hour {format_utc(seal.hour)} has {clicks} clicks in {ATTEMPT_TABLE}",
                f"{seal.billable_clicks}, which seal {seal.number} says",
                "run `tallystick verify`; restore the table's files from a copy",
            )


def _later_errors(settings: Settings, query: CountsQuery, seals: Sequence[Seal], max_rows: int) -> list[dict[str, Any]]:
    """Live against final by these seals, of the advertiser that is asked for; of all, where none is."""
    if not seals or query.ad_ids == frozenset():
        return []
    is_ours = of_attempts({seal.hour: seal.attempt for seal in seals})
    if query.advertiser_id is not None:
        is_ours &= ds.field("advertiser_id") == query.advertiser_id
    drift = dataset_of(open_table(settings, "drift")).scanner(columns=ERROR_COLUMNS, filter=is_ours)
    rows = drift.head(max_rows + 1)
    if rows.num_rows > max_rows:
        raise too_large(f"live against final of more than {max_rows:,} hours of advertisers", max_rows)
    return rows.sort_by([("hour", "ascending"), ("advertiser_id", "ascending")]).to_pylist()
