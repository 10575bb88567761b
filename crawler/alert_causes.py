"""What is wrong with the crawl, one cause for each kind of alert that its frontier has open.

Belongs here: reading them. Who raises and closes them: ``crawler/frontier/alerts.py``.
"""

from __future__ import annotations

from itertools import groupby

from sqlalchemy import RowMapping, select

from crawler.frontier.database import frontier_of
from crawler.frontier.trap_schema import ALERTS
from domain.alerts import Cause
from domain.settings import Settings

EXPECTED = {
    "trap": "origins within their limits of URLs",
    "no_new_urls": "new URLs where listings were read",
}


def crawl_causes(settings: Settings) -> list[Cause]:
    """The open alerts by kind, however many origins share one; none where nothing was ever crawled."""
    if not settings.frontier_url and not (settings.home / "frontier.sqlite").exists():
        return []
    frontier = frontier_of(settings)
    try:
        with frontier.reading() as connection:
            is_open = ALERTS.c.closed_at.is_(None)
            asked = select(ALERTS).where(is_open).order_by(ALERTS.c.kind, ALERTS.c.alert_id)
            rows = list(connection.execute(asked).mappings())
    finally:
        frontier.close()
    return [_cause(kind, list(found)) for kind, found in groupby(rows, key=lambda row: str(row["kind"]))]


def _cause(kind: str, rows: list[RowMapping]) -> Cause:
    first = rows[0]
    more = f" and {len(rows) - 1} more" if len(rows) > 1 else ""
    return Cause(
        key=kind,
        severity="warn",
        about=f"crawl of {first['subject']}{more}",
        rule=kind,
        observed=str(first["detail"]),
        expected=EXPECTED.get(kind, "none of it"),
        see="tallystick crawl status DOMAIN",
    )
