"""Raw payloads in SQL: their fields, and whether the columns beside them say the same.

Belongs here: what reads bytes. The rule that is applied to them, and the engine, are ``raw_recount.py``. Shares
nothing with the product's parsing, on purpose.
"""

from __future__ import annotations

from quality.findings import NAMED_AT_MOST

PAYLOADS_SQL = """
SELECT *, json_extract_string(CASE WHEN json_valid(text) THEN text END, [
    '$.v', '$.impression_id', '$.ad_id', '$.advertiser_id', '$.campaign_id', '$.clicked_at', '$.country', '$.device',
    '$.kind', '$.server_id', '$.server_seq', '$.spooled_at', '$.ip', '$.user_agent'
]) AS field
FROM (SELECT *, try(decode(payload)) AS text FROM read_parquet($paths, filename = true, hive_partitioning = false))
"""
"""Raw rows, with the fields of their payloads as text; nulls where a payload is not JSON."""

LOAD_SQL = f"""
INSERT INTO events
SELECT * EXCLUDE (v), (
    v = '1' AND kind IN ('click', 'head', 'prefetch') AND ad_id > 0 AND advertiser_id > 0 AND campaign_id > 0
    AND impression_id <> '' AND country <> '' AND device <> '' AND clicked_us > 0
) IS TRUE
FROM (
    SELECT hour_us, log, partition, "offset", epoch_us(logged_at) AS logged_us,
           field[2] AS impression_id, try_cast(field[3] AS BIGINT) AS ad_id,
           try_cast(field[4] AS BIGINT) AS advertiser_id, try_cast(field[5] AS BIGINT) AS campaign_id,
           epoch_us(try_cast(field[6] AS TIMESTAMPTZ)) AS clicked_us,
           field[7] AS country, field[8] AS device, field[9] AS kind, field[1] AS v
    FROM ({PAYLOADS_SQL}) JOIN files ON path = filename
)
"""  # noqa: S608 (made of constants)
"""Parses each payload of some files, once."""

PARSED_COLUMNS = {
    "impression_id": "field[2]",
    "ad_id": "try_cast(field[3] AS BIGINT)",
    "advertiser_id": "try_cast(field[4] AS BIGINT)",
    "campaign_id": "try_cast(field[5] AS BIGINT)",
    "clicked_at": "try_cast(field[6] AS TIMESTAMPTZ)",
    "country": "field[7]",
    "device": "field[8]",
    "kind": "field[9]",
    "server_id": "field[10]",
    "server_seq": "try_cast(field[11] AS BIGINT)",
    "spooled_at": "try_cast(field[12] AS TIMESTAMPTZ)",
}
"""What a raw row says beside its payload, and the same out of the payload."""
ERASABLE_COLUMNS = {"ip": "field[13]", "user_agent": "field[14]"}
"""These may be gone from either."""
_UNLIKE = ", ".join(
    [f"CASE WHEN {name} IS DISTINCT FROM {field} THEN '{name}' END" for name, field in PARSED_COLUMNS.items()]
    + [f"CASE WHEN {name} <> {field} THEN '{name}' END" for name, field in ERASABLE_COLUMNS.items()]
    + ["CASE WHEN epoch_us(date_trunc('hour', clicked_at)) <> $hour_us THEN 'click_date and click_hour' END"]
)
DISAGREEMENTS_SQL = f"""
SELECT log, partition, "offset", what, count(*) OVER () AS row_count
FROM (
    SELECT log, partition, "offset", CASE
        WHEN json_valid(text) THEN 'its payload says something else than its ' || nullif(concat_ws(', ', {_UNLIKE}), '')
        ELSE 'its payload is not JSON' END AS what
    FROM ({PAYLOADS_SQL})
)
WHERE what IS NOT NULL ORDER BY ALL LIMIT {NAMED_AT_MOST}
"""  # noqa: S608 (made of constants)
"""Rows of one hour's files whose columns, or whose place in the table, are not what their payload says."""

REPEATS_SQL = f"""
SELECT log, partition, "offset", 'it is there ' || count(*) || ' times' AS what, count(*) OVER () AS row_count
FROM events WHERE hour_us = $hour_us GROUP BY log, partition, "offset" HAVING count(*) > 1
ORDER BY ALL LIMIT {NAMED_AT_MOST}
"""  # noqa: S608 (made of constants)
"""Log positions that raw holds more than once in an hour."""
