"""Alerts: rows that somebody has to look at, one open at a time of each kind and subject."""

from __future__ import annotations

from sqlalchemy import Connection, update
from sqlalchemy.dialects import postgresql, sqlite

from crawler.frontier.trap_schema import ALERTS

TRAP_ALERT, NO_NEW_URLS_ALERT = "trap", "no_new_urls"


def raise_alert(connection: Connection, kind: str, subject: str, detail: str, at: int) -> None:
    """Adds the alert unless one is open already. Part of the caller's transaction; repeatable."""
    inserting = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    row = {"kind": kind, "subject": subject, "detail": detail, "raised_at": at}
    connection.execute(inserting(ALERTS).on_conflict_do_nothing(), [row])


def close_alert(connection: Connection, kind: str, subject: str, at: int) -> None:
    """Closes what is open of it; another one may be raised then."""
    is_it = (ALERTS.c.kind == kind) & (ALERTS.c.subject == subject) & ALERTS.c.closed_at.is_(None)
    connection.execute(update(ALERTS).where(is_it).values(closed_at=at))
