"""Which bodies are needed, and what goes: bodies that no kept document refers to, and documents that are over.

Belongs here: the look and the deletion as one step, while no document can be committed, so that no document ever loses
its body. Who commits a document looks once more whether the body is there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlalchemy import and_, delete, exists, insert, select

from crawler.frontier.database import Frontier, hold_documents, now_of
from crawler.frontier.schema import DOCUMENTS, RETENTIONS
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
            others = DOCUMENTS.alias("others")
            is_needed = exists().where(
                and_(others.c.content_hash == DOCUMENTS.c.content_hash, others.c.url_id.not_in(ids))
            )
            some = select(DOCUMENTS.c.content_hash).distinct().order_by(DOCUMENTS.c.content_hash).limit(CHUNK)
            of_them = DOCUMENTS.c.url_id.in_(ids)
            digests = connection.execute(some.where(of_them, DOCUMENTS.c.content_hash > last, ~is_needed)).scalars()
            found = list(digests)
            count += sum(discard(digest) > 0 for digest in found)
            if not found:
                write_deletion(connection, suppression_id, "bodies", count, actor)
                return count
            last = found[-1]


def discard_unneeded(frontier: Frontier, digests: Sequence[str], kept_days: int, discard: Discard) -> tuple[int, int]:
    """Deletes those of these bodies that no document of the last days refers to; how many, and their bytes."""
    count = freed_bytes = 0
    for first in range(0, len(digests), CHUNK):
        some = digests[first : first + CHUNK]
        with frontier.writing() as connection:
            hold_documents(connection)
            kept_since = now_of(connection) - kept_days * DAY_MICROS
            is_kept = and_(DOCUMENTS.c.content_hash.in_(some), DOCUMENTS.c.fetched_at >= kept_since)
            needed = set(connection.execute(select(DOCUMENTS.c.content_hash).where(is_kept)).scalars())
            freed = [discard(digest) for digest in some if digest not in needed]
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
