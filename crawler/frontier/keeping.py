"""Which bodies are needed, and what goes: bodies that no page has any more, and documents that are over.

Belongs here: the look and the deletion as one step, while no document can be committed, so that no document ever loses
its body. Who commits a document looks once more whether the body is there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlalchemy import Connection, Select, and_, delete, exists, insert, or_, select, union

from crawler.frontier.database import Frontier, hold_documents, now_of
from crawler.frontier.schema import DOCUMENTS, RETENTIONS, URLS
from crawler.frontier.suppressing import deletable_ids, suppression_of, write_deletion
from domain.politeness import SECOND_MICROS

CHUNK = 500
"""Bodies, or documents, of one transaction: workers wait for it."""
DAY_MICROS = 86_400 * SECOND_MICROS
Discard = Callable[[str], int]
"""Deletes the body of a hash; the bytes that it freed, 0 if it was gone."""


def discard_suppressed(frontier: Frontier, suppression_id: int, actor: str, discard: Discard) -> int:
    """Deletes the bodies of suppressed pages that no other page has, with a row of the audit trail; how many.

    To be called before the documents go. Repeatable.
    """
    suppression = suppression_of(frontier, suppression_id)
    last, count = "", 0
    while True:
        with frontier.writing() as connection:
            ids = deletable_ids(connection, suppression)
            hold_documents(connection)
            found = _only_of(connection, ids, last)
            count += sum(discard(digest) > 0 for digest in found)
            if not found:
                write_deletion(connection, suppression_id, "bodies", count, actor)
                return count
            last = found[-1]


def _only_of(connection: Connection, ids: Select[tuple[int]], last: str) -> list[str]:
    """Some hashes after ``last`` that these URLs have or had, and no other one."""
    kept = [
        select(table.c.content_hash.label("digest"), table.c.url_id).where(table.c.content_hash.is_not(None))
        for table in (DOCUMENTS, URLS)
    ]
    theirs = union(*(one.where(one.selected_columns.url_id.in_(ids)) for one in kept)).subquery()
    is_needed = or_(
        *(
            exists().where(and_(table.c.content_hash == theirs.c.digest, table.c.url_id.not_in(ids)))
            for table in (DOCUMENTS, URLS)
        )
    )
    some = select(theirs.c.digest).distinct().order_by(theirs.c.digest).limit(CHUNK)
    return list(connection.execute(some.where(theirs.c.digest > last, ~is_needed)).scalars())


def discard_unneeded(frontier: Frontier, digests: Sequence[str], kept_days: int, discard: Discard) -> tuple[int, int]:
    """Deletes those of these bodies that no visit of the last days found or confirmed; how many, and their bytes."""
    count = freed_bytes = 0
    for first in range(0, len(digests), CHUNK):
        some = digests[first : first + CHUNK]
        with frontier.writing() as connection:
            hold_documents(connection)
            kept_since = now_of(connection) - kept_days * DAY_MICROS
            found = select(DOCUMENTS.c.content_hash).where(DOCUMENTS.c.fetched_at >= kept_since)
            confirmed = select(URLS.c.content_hash).where(URLS.c.visited_at >= kept_since)
            needed = union(
                found.where(DOCUMENTS.c.content_hash.in_(some)), confirmed.where(URLS.c.content_hash.in_(some))
            )
            kept = set(connection.execute(needed).scalars())
            freed = [discard(digest) for digest in some if digest not in kept]
        count += sum(one > 0 for one in freed)
        freed_bytes += sum(freed)
    return count, freed_bytes


def delete_old_documents(frontier: Frontier, kept_days: int) -> int:
    """Deletes the frontier's documents that are older, in portions; how many. Repeatable."""
    count = 0
    while True:
        with frontier.writing() as connection:
            is_over = DOCUMENTS.c.fetched_at < now_of(connection) - kept_days * DAY_MICROS
            some = select(DOCUMENTS.c.document_id).where(is_over).limit(CHUNK)
            deleted = connection.execute(delete(DOCUMENTS).where(DOCUMENTS.c.document_id.in_(some))).rowcount
        count += deleted
        if deleted < CHUNK:
            return count


def write_retention(frontier: Frontier, data_class: str, row_count: int, kept_days: int, actor: str) -> None:
    """The row of the audit trail; none of nothing."""
    if row_count:
        policy = f"{kept_days} days"
        with frontier.writing() as connection:
            row = {"data_class": data_class, "row_count": row_count, "policy": policy, "actor": actor}
            connection.execute(insert(RETENTIONS), [row | {"deleted_at": now_of(connection)}])


def now_micros(frontier: Frontier) -> int:
    """This instant by the database's clock."""
    with frontier.reading() as connection:
        return now_of(connection)
