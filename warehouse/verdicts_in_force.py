"""Verdicts by SQL, for as many as there may be: what was in force at older sets and is not so at the newest one.

Belongs here: the rule of ``domain/proposals.py`` once more, over batches, with bounded memory; tests hold both equal.
The table itself is ``warehouse/verdicts.py``.
"""

from __future__ import annotations

import duckdb

from domain.settings import Settings
from warehouse.verdicts import scan_verdicts

COLUMNS = ["verdict_id", "set_version", "impression_id", "ad_id", "log", "partition", "offset", "verdict", "decided_at"]
_TARGET = 'impression_id, ad_id, log, partition, "offset"'
"""Of a click the place is null, of a place the click."""
CHANGED_SQL = f"""
CREATE TABLE changed AS
WITH
last_of_set AS (
    SELECT {_TARGET}, set_version, max({{
        'decided_us': epoch_us(decided_at), 'set_version': set_version, 'id': verdict_id, 'verdict': verdict
    }}) AS last
    FROM verdicts_once GROUP BY ALL
),
held AS (
    SELECT {_TARGET}, set_version AS first_set, max(last) OVER (
        PARTITION BY {_TARGET} ORDER BY set_version
    ) AS held
    FROM last_of_set
),
steps AS (
    SELECT {_TARGET}, first_set, CASE WHEN held.verdict = 'fraud' THEN held.id END AS id FROM held
    UNION ALL
    SELECT DISTINCT {_TARGET}, 0, NULL FROM last_of_set
),
spans AS (
    SELECT *,
        lead(first_set, 1, $newest + 1) OVER (PARTITION BY {_TARGET} ORDER BY first_set) AS end_set,
        last_value(id) OVER (
            PARTITION BY {_TARGET} ORDER BY first_set ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
        ) AS verdict_id
    FROM steps
)
SELECT {_TARGET}, first_set, end_set, verdict_id FROM spans WHERE id IS DISTINCT FROM verdict_id
"""  # noqa: S608 (made of constants)
"""The spans of sets at which something else was in force than at the newest one, and what is in force there."""


def know_changes(settings: Settings, engine: duckdb.DuckDBPyConnection, newest: int) -> bool:
    """Makes table ``changed`` in the engine, as of set ``newest``; whether there is any change."""
    engine.register("verdicts_once", scan_verdicts(settings, newest, COLUMNS))
    engine.execute(CHANGED_SQL, {"newest": newest})
    engine.unregister("verdicts_once")
    return bool(engine.execute("SELECT 1 FROM changed LIMIT 1").fetchall())
