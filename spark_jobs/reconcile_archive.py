"""Whether the archive holds a range of the log as it should: once, and findable by look-backs. Without a JVM.

Belongs here: what is doubled in raw_clicks and quarantined_clicks, and what click_identities lacks. What is missing
altogether is found by ``quality/archive_gaps.py``; what a finding means for an hour is said in ``planning.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from domain.identity import Place
from domain.settings import Settings
from quality.archive_gaps import find_gaps
from quality.slices import Range, in_ranges
from warehouse.duck_engine import opened_engine
from warehouse.layout import dataset_of, open_table

NAMED_AT_MOST = 20
"""So many doubled and unidentified rows are named; the first one is enough to look for the cause."""
COLUMNS = {
    "raw_clicks": ["log", "partition", "offset", "kind"],
    "quarantined_clicks": ["log", "partition", "offset"],
    "click_identities": ["log", "partition", "offset"],
}

HELD_SQL = """
CREATE TEMP TABLE held AS
SELECT log, partition, "offset", kind = 'click' AS is_click FROM raw_clicks
UNION ALL SELECT log, partition, "offset", false FROM quarantined_clicks
"""
"""One row for each row of the archive in the ranges."""
REPEATS_SQL = f"""
SELECT log, partition, "offset" FROM held GROUP BY ALL HAVING count(*) > 1 ORDER BY ALL LIMIT {NAMED_AT_MOST}
"""  # noqa: S608 (made of constants)
"""Offsets that are held more than once."""
UNIDENTIFIED_SQL = f"""
SELECT log, partition, "offset" FROM held ANTI JOIN click_identities USING (log, partition, "offset")
WHERE is_click ORDER BY ALL LIMIT {NAMED_AT_MOST}
"""  # noqa: S608 (made of constants)
"""Clicks that look-backs for duplicates would not find."""


@dataclass(frozen=True)
class ArchiveFindings:
    """What is wrong with the archive in the ranges that were looked at; positions are (log, partition, offset)."""

    gaps: list[tuple[Place, Range]]
    repeats: list[tuple[int, int, int]]
    unidentified: list[tuple[int, int, int]]


def look_through_archive(settings: Settings, ranges: Mapping[Place, Range]) -> ArchiveFindings:
    """Looks at each offset of the ranges in all three tables. Reads only; spills to home where memory is short."""
    wanted = {place: (start, end) for place, (start, end) in ranges.items() if start < end}
    if not wanted:
        return ArchiveFindings([], [], [])
    with opened_engine(settings) as engine:
        for table, columns in COLUMNS.items():
            rows = dataset_of(open_table(settings, table)).scanner(columns=columns, filter=in_ranges(wanted))
            engine.register(table, rows.to_reader())
        engine.execute(HELD_SQL)
        repeats, unidentified = (engine.execute(sql).fetchall() for sql in (REPEATS_SQL, UNIDENTIFIED_SQL))
    return ArchiveFindings(find_gaps(settings, wanted), repeats, unidentified)
