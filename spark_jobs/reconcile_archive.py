"""Whether the archive holds every offset of a range of the log, once, without a JVM.

Belongs here: looking for what is missing or doubled in raw_clicks, quarantined_clicks and click_identities. Whether the
log itself explains a gap is asked in ``planning.py``; what a hole means for an hour is ``domain/gate.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds

from domain.settings import Settings
from warehouse.layout import dataset_of, open_table

Place = tuple[int, int]
"""Log and partition."""
Range = tuple[int, int]
"""First offset, and the one after the last."""

NAMED_AT_MOST = 20
"""Of doubled and missing rows so many are named; the first one is enough to look for the cause."""
MEMORY_LIMIT = "512MB"

HELD_SQL = """
CREATE TEMP TABLE held AS
SELECT log, partition, "offset", kind = 'click' AS is_click FROM raw_clicks
UNION ALL
SELECT log, partition, "offset", false FROM quarantined_clicks
"""
"""One row for each row of the archive in the ranges."""
NEIGHBOURS_SQL = """
SELECT log, partition, "offset", lead("offset") OVER (PARTITION BY log, partition ORDER BY "offset") AS next_offset
FROM (
    SELECT log, partition, "offset" FROM held
    UNION ALL SELECT log, partition, start_offset - 1 FROM ranges
    UNION ALL SELECT log, partition, end_offset FROM ranges
)
"""
"""Each offset that is held, and the bounds of its range, with the one that follows."""
GAPS_SQL = f"""
SELECT log, partition, "offset" + 1, next_offset FROM ({NEIGHBOURS_SQL})
WHERE next_offset > "offset" + 1 ORDER BY ALL
"""  # noqa: S608 (made of constants)
"""Offsets that nothing is held of."""
REPEATS_SQL = f"""
SELECT log, partition, "offset" FROM ({NEIGHBOURS_SQL}) WHERE next_offset = "offset" ORDER BY ALL LIMIT {NAMED_AT_MOST}
"""  # noqa: S608 (made of constants)
"""Offsets that are held more than once."""
UNIDENTIFIED_SQL = f"""
SELECT log, partition, "offset" FROM held ANTI JOIN click_identities USING (log, partition, "offset")
WHERE is_click ORDER BY ALL LIMIT {NAMED_AT_MOST}
"""  # noqa: S608 (made of constants)
"""Clicks that look-backs for duplicates would not find."""


@dataclass(frozen=True)
class ArchiveFindings:
    """What is wrong with the archive in the ranges that were looked at. ``gaps``: log, partition, start, end."""

    gaps: tuple[tuple[int, int, int, int], ...] = ()
    repeats: tuple[tuple[int, int, int], ...] = ()
    unidentified: tuple[tuple[int, int, int], ...] = ()


def look_through_archive(settings: Settings, ranges: Mapping[Place, Range]) -> ArchiveFindings:
    """Looks at each offset of the ranges in all three tables. Reading only; spills to home where memory is short."""
    ranges = {place: (start, end) for place, (start, end) in ranges.items() if start < end}
    if not ranges:
        return ArchiveFindings()
    spill = settings.home / "scratch"
    config = {"memory_limit": MEMORY_LIMIT, "temp_directory": str(spill)}
    with duckdb.connect(":memory:", config=config) as engine:
        engine.register("ranges", _range_rows(ranges))
        for table in ("raw_clicks", "quarantined_clicks", "click_identities"):
            columns = ["log", "partition", "offset", *(["kind"] if table == "raw_clicks" else [])]
            rows = dataset_of(open_table(settings, table)).scanner(columns=columns, filter=_within(ranges))
            engine.register(table, rows.to_reader())
        engine.execute(HELD_SQL)
        return ArchiveFindings(
            *(tuple(engine.execute(sql).fetchall()) for sql in (GAPS_SQL, REPEATS_SQL, UNIDENTIFIED_SQL))
        )


def _range_rows(ranges: Mapping[Place, Range]) -> pa.Table:
    rows = [(*place, *bounds) for place, bounds in ranges.items()]
    names = ("log", "partition", "start_offset", "end_offset")
    types = (pa.int32(), pa.int32(), pa.int64(), pa.int64())
    columns = [pa.array(values, kind) for values, kind in zip(zip(*rows, strict=True), types, strict=True)]
    return pa.table(dict(zip(names, columns, strict=True)))


def _within(ranges: Mapping[Place, Range]) -> ds.Expression:
    """Tells files apart by their statistics: only those that reach into a range are opened."""
    log, partition, offset = (ds.field(name) for name in ("log", "partition", "offset"))
    return reduce(
        lambda one, other: one | other,
        (
            (log == pa.scalar(place[0], pa.int32()))
            & (partition == pa.scalar(place[1], pa.int32()))
            & (offset >= start)
            & (offset < end)
            for place, (start, end) in ranges.items()
        ),
    )
