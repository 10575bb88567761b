"""What sealed hours do not know: raw clicks beyond their cuts, and newer verdicts about clicks that they counted.

Belongs here: comparing seals with raw and verdicts as they are now, date by date, without a JVM. An hour that holds as
many raw clicks as were sealed is told by the table's log alone. That count is of rows on both sides of the cut: where
as many below it were lost as came late beyond it, nothing is found, and ``tallystick verify`` is what sees the loss.
What becomes of findings is ``domain/proposals.py``;
what somebody has dismissed is left out, see ``warehouse/proposal_dismissals.py``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import date, datetime

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds

from domain.buckets import hours_by_day
from domain.identity import LogPosition
from domain.proposals import ChangedVerdict, Findings
from domain.seals import Seal, current_seals
from domain.settings import Settings
from domain.verdicts import ClickTarget
from warehouse.cut_ends import cut_ends
from warehouse.duck_engine import opened_engine
from warehouse.layout import dataset_of, open_table
from warehouse.proposal_dismissals import dismissed_keys
from warehouse.row_counts import rows_by_hour
from warehouse.seals import read_seals
from warehouse.verdicts import NAME as VERDICTS
from warehouse.verdicts import current_set
from warehouse.verdicts_in_force import know_changes
from warehouse.verifications import read_verifications

_POSITION = list(LogPosition._fields)
_LEDGERS = ("seals", VERDICTS, "verifications", "proposal_dismissals")

LATE_SQL = """
SELECT click_hour, log, partition, "offset" FROM raw_clicks LEFT JOIN ends USING (click_hour, log, partition)
WHERE end_offset IS NULL OR "offset" >= end_offset ORDER BY ALL
"""
"""Raw clicks of a date that lie beyond the cuts of their hours."""
TOUCHED_SQL = """
WITH counted AS (
    SELECT click_hour, verdict_set, log, partition, "offset", impression_id, ad_id
    FROM raw_clicks JOIN ends USING (click_hour, log, partition) JOIN hours USING (click_hour)
    ANTI JOIN excluded USING (log, partition, "offset")
    WHERE "offset" < end_offset AND kind = 'click'
)
SELECT click_hour, changed.impression_id, changed.ad_id, NULL::INTEGER AS log, NULL::INTEGER AS partition,
       NULL::BIGINT AS "offset", verdict_id
FROM counted JOIN changed USING (impression_id, ad_id)
WHERE verdict_set >= first_set AND verdict_set < end_set
UNION SELECT click_hour, NULL, NULL, changed.log, changed.partition, changed."offset", verdict_id
FROM counted JOIN changed USING (log, partition, "offset")
WHERE verdict_set >= first_set AND verdict_set < end_set
ORDER BY click_hour, impression_id NULLS FIRST, ad_id, log, partition, "offset"
"""
"""By hour which of the changed verdicts are about a click that was counted, or left out as fraud, and so may change."""


def read_findings(settings: Settings, hours: Collection[datetime] | None = None) -> list[Findings]:
    """Of all sealed hours, or of those among ``hours``, the ones with findings that nobody has dismissed; ascending.

    Reads only. Of raw it reads the log positions of hours that hold more or fewer clicks than were sealed, and more
    columns where verdicts have changed. Memory is bounded but for what is found.
    """
    held = current_seals(read_seals(settings))
    if hours is not None:
        held = {hour: held[hour] for hour in hours if hour in held}
    known = _known_sets(settings, held)
    newest = current_set(settings)
    others = {verdict_set for verdict_set in known.values() if verdict_set != newest}
    counted = rows_by_hour(settings, "raw_clicks")
    found: list[Findings] = []
    with opened_engine(settings) as engine:
        is_changed = bool(others) and know_changes(settings, engine, max(newest, *others))
        for day, of_day in hours_by_day(list(held)).items():
            behind = {hour.hour: known[hour] for hour in of_day if is_changed and known[hour] != newest}
            unlike = [hour.hour for hour in of_day if counted.get(hour, 0) != held[hour].raw_clicks]
            if behind or unlike:
                look = _Day(settings, engine, day, [held[hour] for hour in of_day])
                found += look.findings(unlike, behind)
    dismissed = dismissed_keys(settings) if found else set()
    return [one for one in found if (one.hour, one.digest) not in dismissed]


def basis_of_findings(settings: Settings, hours: Collection[datetime]) -> tuple[int, ...] | None:
    """What findings of these hours rest on: while it stays the same, so do they. None where that cannot be told.

    Versions of ledgers, and how many raw clicks each hour has. No data file is opened.
    """
    counted = rows_by_hour(settings, "raw_clicks")
    rows = [counted.get(hour, 0) for hour in hours]
    versions = [open_table(settings, name).version() for name in _LEDGERS]
    return None if None in rows else (*versions, *(count for count in rows if count is not None))


def _known_sets(settings: Settings, held: Mapping[datetime, Seal]) -> dict[datetime, int]:
    """By hour the newest set that its seal was counted with: then, or again with the same outcome."""
    known = {hour: seal.verdict_set for hour, seal in held.items()}
    for one in read_verifications(settings):
        if one.hour in held and held[one.hour].seal_number == one.seal_number:
            known[one.hour] = max(known[one.hour], one.verdict_set)
    return known


class _Day:
    """The sealed hours of one date, and what raw holds of them now."""

    def __init__(self, settings: Settings, engine: duckdb.DuckDBPyConnection, day: date, seals: Sequence[Seal]) -> None:
        self._settings, self._engine, self._day = settings, engine, day
        self._seals = {seal.hour.hour: seal for seal in seals}
        self._engine.register("ends", cut_ends({hour: seal.cut for hour, seal in self._seals.items()}))

    def findings(self, unlike: Collection[int], behind: Mapping[int, int]) -> list[Findings]:
        """``unlike``: hours of the day with another count of raw clicks than was sealed. ``behind``: by hour the set
        that it was counted with, where verdicts may have changed since.
        """
        late = self._late(unlike) if unlike else {}
        touched = self._touched(behind) if behind else {}
        return [
            Findings(seal.hour, seal.seal_number, tuple(late.get(hour, ())), tuple(touched.get(hour, ())))
            for hour, seal in sorted(self._seals.items())
            if hour in late or hour in touched
        ]

    def _late(self, unlike: Collection[int]) -> dict[int, list[LogPosition]]:
        self._register("raw_clicks", unlike, ["click_hour", *_POSITION])
        late: dict[int, list[LogPosition]] = {}
        for hour, *place in self._engine.execute(LATE_SQL).fetchall():
            late.setdefault(hour, []).append(LogPosition(*place))
        return late

    def _touched(self, behind: Mapping[int, int]) -> dict[int, list[ChangedVerdict]]:
        self._engine.register("hours", pa.table({"click_hour": list(behind), "verdict_set": list(behind.values())}))
        attempts = [self._seals[hour].attempt for hour in behind]
        is_out = ds.field("attempt").isin(attempts) & (ds.field("reason") != "fraud")
        self._register("click_exclusions", behind, _POSITION, is_out, name="excluded")
        self._register("raw_clicks", behind, ["click_hour", *_POSITION, "impression_id", "ad_id", "kind"])
        found: dict[int, list[ChangedVerdict]] = {}
        for hour, impression_id, ad_id, *place, verdict_id in self._engine.execute(TOUCHED_SQL).fetchall():
            target = LogPosition(*place) if impression_id is None else ClickTarget(impression_id, ad_id)
            found.setdefault(hour, []).append(ChangedVerdict(target, verdict_id))
        return found

    def _register(
        self,
        table: str,
        hours: Collection[int],
        columns: list[str],
        condition: ds.Expression | None = None,
        *,
        name: str | None = None,
    ) -> None:
        """Offers rows of some hours to the next query, once."""
        wanted = (ds.field("click_date") == self._day) & ds.field("click_hour").isin(
            pa.array(sorted(hours), pa.int32())
        )
        rows = dataset_of(open_table(self._settings, table)).scanner(
            columns=columns, filter=wanted if condition is None else wanted & condition
        )
        self._engine.register(name or table, rows.to_reader())
