"""The SQL of ``live_differences.py``, in the order in which it is run.

Belongs here: statements for DuckDB; instants are microseconds since 1970, so that no time zone gets in.
"""

from __future__ import annotations

_KEY = "advertiser_id, campaign_id, ad_id, minute_us, country, device"
_CLICK = f'log, partition, "offset", impression_id, {_KEY}'

CLICKS_SQL = (
    """
    CREATE TABLE live AS SELECT * EXCLUDE (minute), epoch_us(minute) AS minute_us FROM live_clicks_minute_once
    """,
    """
    CREATE TABLE counted AS
    SELECT advertiser_id, campaign_id, ad_id, minute_us, country, device,
           split_part(entry.key, ':', 1)::INTEGER AS log, split_part(entry.key, ':', 2)::INTEGER AS partition,
           entry.value AS counted_offset
    FROM (SELECT *, unnest(map_entries(versions)) AS entry FROM live)
    """,
    """
    CREATE TABLE clicks AS
    SELECT raw.* EXCLUDE (logged_at, clicked_at), epoch_us(logged_at) AS logged_us,
           epoch_us(date_trunc('minute', clicked_at)) AS minute_us,
           coalesce("offset" < end_offset, false) AS is_below_cut,
           excluded.reason, winner_log, winner_partition, winner_offset, verdict_id, late.reason AS late_reason
    FROM raw_clicks_once AS raw
    LEFT JOIN cut USING (log, partition)
    LEFT JOIN click_exclusions_once AS excluded USING (log, partition, "offset")
    LEFT JOIN (SELECT DISTINCT ON (log, partition, "offset") * FROM late_clicks_once) AS late
        USING (log, partition, "offset")
    """,
)
"""``clicks``: the click-kind events of the hour, what the sealed attempt and the live stream said of them. ``counted``:
up to which offset of each place a row of the live count goes."""

ASKED_SQL = """
CREATE TABLE asked AS
SELECT *, unhex(substr(sha256(impression_id || chr(10) || ad_id::VARCHAR), 1, 32)) AS identity FROM clicks
WHERE reason IN ('duplicate', 'conflicting_duplicate') OR NOT is_below_cut OR $is_live_longer
"""
"""Clicks that are no duplicate within the seal's horizon are none within a shorter one; the others are looked up."""
ASKED_SPAN_SQL = "SELECT min(logged_us), max(logged_us) FROM asked"
"""When they were logged."""

FIRST_COPIES_SQL = """
CREATE TABLE repeats AS
WITH copies AS (
    SELECT * EXCLUDE (logged_at), epoch_us(logged_at) AS logged_us
    FROM copies_once SEMI JOIN asked USING (identity)
),
placed AS (
    SELECT *,
        min(logged_us) OVER (
            PARTITION BY identity ORDER BY logged_us RANGE BETWEEN $horizon_us PRECEDING AND CURRENT ROW
        ) AS first_us,
        row_number() OVER (PARTITION BY identity, logged_us ORDER BY log, partition, "offset") AS place
    FROM copies
)
SELECT own.log, own.partition, own."offset",
       first.log AS first_log, first.partition AS first_partition, first."offset" AS first_offset
FROM placed AS own JOIN placed AS first
    ON own.identity = first.identity AND own.first_us = first.logged_us AND first.place = 1
WHERE NOT (own.first_us = own.logged_us AND own.place = 1)
"""
"""Copies that another one precedes within the live horizon, and the first of these."""

JUDGED_SQL = f"""
CREATE TABLE judged AS
SELECT clicks.*, first_log, first_partition, first_offset,
       is_below_cut AND reason IS NULL AS is_final,
       coalesce("offset" <= counted_offset, false) AS is_reached,
       first_log IS NULL AND late_reason IS NULL AND is_reached AS is_live
FROM clicks LEFT JOIN repeats USING (log, partition, "offset") LEFT JOIN counted USING ({_KEY}, log, partition)
"""  # noqa: S608 (made of constants)
"""Whether each click is final, and whether live counted it."""

KEYS_SQL = f"""
SELECT {_KEY}, coalesce(live.clicks, 0) - coalesce(derived.clicks, 0)
FROM live FULL JOIN (SELECT {_KEY}, count(*) AS clicks FROM judged WHERE is_live GROUP BY ALL) AS derived USING ({_KEY})
WHERE coalesce(live.clicks, 0) <> coalesce(derived.clicks, 0)
"""  # noqa: S608 (made of constants)
"""Rows of the live count that hold another number than the clicks that live should have counted, and by how many."""

DIFFERENCES_SQL = f"""
SELECT {_CLICK},
       CASE WHEN is_live THEN 'live' ELSE 'final' END,
       CASE
           WHEN is_live AND NOT is_below_cut THEN 'late_arrival'
           WHEN is_live AND reason = 'fraud' THEN 'fraud'
           WHEN is_live THEN 'dedup_horizon'
           WHEN late_reason IS NOT NULL THEN late_reason
           WHEN first_log IS NOT NULL THEN 'dedup_horizon'
           ELSE 'missing' END,
       CASE WHEN is_live THEN winner_log ELSE first_log END,
       CASE WHEN is_live THEN winner_partition ELSE first_partition END,
       CASE WHEN is_live THEN winner_offset ELSE first_offset END,
       verdict_id
FROM judged WHERE is_live <> is_final
"""  # noqa: S608 (made of constants)
"""Clicks that one count has and the other has not, with the cause and its evidence."""

OTHER_COPIES_SQL = f"""
WITH duplicates AS (
    SELECT * FROM judged
    WHERE reason IN ('duplicate', 'conflicting_duplicate') AND NOT is_live AND late_reason IS NULL AND is_reached
)
SELECT {", ".join(f"own.{name}" for name in _CLICK.split(", "))},
       {", ".join(f"winner.{name}" for name in _CLICK.split(", "))}
FROM duplicates AS own JOIN judged AS winner
    ON own.winner_log = winner.log AND own.winner_partition = winner.partition AND own.winner_offset = winner."offset"
WHERE winner.is_final AND winner.first_log IS NULL AND winner.late_reason IS NULL
ORDER BY own.log, own.partition, own."offset"
"""  # noqa: S608 (made of constants)
"""Duplicates that live may have counted in their winner's stead."""

TOTALS_SQL = """
SELECT advertiser_id, sum(live)::BIGINT, sum(final)::BIGINT, sum(drift_live)::BIGINT, sum(drift_final)::BIGINT
FROM (
    SELECT advertiser_id, clicks AS live, 0 AS final, 0 AS drift_live, 0 AS drift_final FROM live
    UNION ALL SELECT advertiser_id, 0, 1, 0, 0 FROM judged WHERE is_final
    UNION ALL SELECT advertiser_id, 0, 0, live_clicks, final_clicks FROM drift_once
)
GROUP BY advertiser_id ORDER BY advertiser_id
"""
"""What both counts are, and what they were at the seal."""
