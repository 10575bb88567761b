"""The questions that ``warehouse/pack/evidence.py`` asks DuckDB. Instants are microseconds since 1970 in here.

Belongs here: SQL and what each statement answers. ``$own`` is the advertiser of the dispute.
"""

from __future__ import annotations

TABLES_SQL = """
CREATE TABLE hours (hour_us BIGINT PRIMARY KEY, attempt VARCHAR);
CREATE TABLE cut (hour_us BIGINT, log INTEGER, partition INTEGER, end_offset BIGINT);
CREATE TABLE events (
    hour_us BIGINT, log INTEGER, partition INTEGER, "offset" BIGINT, logged_us BIGINT, clicked_us BIGINT,
    impression_id VARCHAR, ad_id BIGINT, advertiser_id BIGINT, campaign_id BIGINT, country VARCHAR, device VARCHAR,
    kind VARCHAR, contradiction VARCHAR
);
CREATE TABLE look_back AS FROM events LIMIT 0;
CREATE TABLE exclusions (
    attempt VARCHAR, log INTEGER, partition INTEGER, "offset" BIGINT, reason VARCHAR,
    winner_log INTEGER, winner_partition INTEGER, winner_offset BIGINT, verdict_id VARCHAR
);
CREATE VIEW outcomes AS
SELECT events.*, exclusions.* EXCLUDE (attempt, log, partition, "offset"), CASE
    WHEN hours.attempt IS NULL THEN 'unsealed'
    WHEN (events."offset" < end_offset) IS NOT TRUE THEN 'after_cut'
    WHEN reason IS NULL THEN 'billable'
    ELSE 'excluded' END AS outcome
FROM events JOIN hours USING (hour_us)
LEFT JOIN cut USING (hour_us, log, partition)
LEFT JOIN exclusions ON exclusions.attempt = hours.attempt AND exclusions.log = events.log
    AND exclusions.partition = events.partition AND exclusions."offset" = events."offset";
"""
"""``events``: what the hours hold in raw; ``look_back``: earlier copies. Where payload and parsed columns disagree, the
payload is believed and ``contradiction`` names the columns. ``outcomes``: by the attempts that seals name."""

_FIELDS = ("impression_id", "ad_id", "advertiser_id", "campaign_id", "clicked_at", "country", "device", "kind")
_PATHS = ", ".join(f"'$.{name}'" for name in _FIELDS)
_BIGINTS = ("ad_id", "advertiser_id", "campaign_id")
_SAID = {
    name: f"try_cast(field[{place}] AS {'BIGINT' if name in _BIGINTS else 'TIMESTAMPTZ'})"
    if name in _BIGINTS or name == "clicked_at"
    else f"field[{place}]"
    for place, name in enumerate(_FIELDS, start=1)
}
_UNLIKE = ", ".join(f"CASE WHEN {name} IS DISTINCT FROM {said} THEN '{name}' END" for name, said in _SAID.items())
_BELIEVED = ", ".join(f"coalesce({said}, {name}) AS {name}" for name, said in _SAID.items())
_READ_SQL = f"""
SELECT epoch_us(date_trunc('hour', clicked_at)) AS hour_us, log, partition, "offset", epoch_us(logged_at) AS logged_us,
       epoch_us(clicked_at) AS clicked_us, impression_id, ad_id, advertiser_id, campaign_id, country, device, kind,
       contradiction
FROM (
    SELECT log, partition, "offset", logged_at, {_BELIEVED}, nullif(concat_ws(' ', {_UNLIKE}), '') AS contradiction
    FROM (
        SELECT *, json_extract_string(CASE WHEN json_valid(text) THEN text END, [{_PATHS}]) AS field
        FROM (SELECT *, try(decode(payload)) AS text FROM raw_once)
    )
)
"""  # noqa: S608 (made of constants)

EVENTS_SQL = f"INSERT INTO events {_READ_SQL}"
"""Parses raw rows."""

LOOK_BACK_SQL = f"""
INSERT INTO look_back
SELECT * FROM ({_READ_SQL}) AS copies
SEMI JOIN (SELECT impression_id, ad_id FROM events WHERE advertiser_id = $own AND kind = 'click') AS clicks
    USING (impression_id, ad_id)
ANTI JOIN events USING (log, partition, "offset")
WHERE kind = 'click' AND advertiser_id = $own AND logged_us >= $since_us
"""  # noqa: S608 (made of constants)
"""Parses raw rows, and keeps the copies of own clicks among them that are not in the hours themselves."""

SPAN_SQL = "SELECT min(logged_us), max(logged_us) FROM events WHERE advertiser_id = $own AND kind = 'click'"
"""From when to when the own clicks were logged."""

CLICKS_SQL = """
SELECT CAST(make_timestamp(hour_us) AS TIMESTAMPTZ) AS hour, log, partition, "offset",
       CAST(make_timestamp(logged_us) AS TIMESTAMPTZ) AS logged_at,
       CAST(make_timestamp(clicked_us) AS TIMESTAMPTZ) AS clicked_at,
       CAST(make_timestamp(clicked_us // 60000000 * 60000000) AS TIMESTAMPTZ) AS minute,
       impression_id, ad_id, advertiser_id, campaign_id, country, device, kind,
       outcome, reason, winner_log, winner_partition, winner_offset, verdict_id,
       CASE
           WHEN outcome = 'billable' THEN 'counted in its minute'
           WHEN outcome = 'unsealed' THEN 'its hour is not sealed yet'
           WHEN outcome = 'after_cut' THEN 'logged after the cut of the seal, so in no figure of it'
           WHEN outcome = 'look_back' THEN 'an earlier copy of a click of these hours, shown for the recount'
           WHEN reason = 'head' THEN 'a HEAD request is no click'
           WHEN reason = 'prefetch' THEN 'a prefetch is no click'
           WHEN reason = 'duplicate' THEN 'the same click was logged before, at ' || winner
           WHEN reason = 'conflicting_duplicate' THEN
               'the same click was logged before, with another campaign, country or device, at ' || winner
           WHEN reason = 'fraud' THEN 'judged fraud by verdict ' || verdict_id
       END AS why,
       contradiction
FROM (
    SELECT *, concat_ws(':', winner_log, winner_partition, winner_offset) AS winner
    FROM (FROM outcomes UNION ALL BY NAME SELECT *, 'look_back' AS outcome FROM look_back)
    WHERE advertiser_id = $own
)
ORDER BY log, partition, "offset"
"""
"""Every click event of the advertiser with its outcome, and the copies before them."""

_WORDS = ", ".join(f"sum(('0x' || substr(hash, {first}, 8))::UBIGINT)" for first in range(1, 65, 8))

FOREIGN_SQL = f"""
SELECT hour_us, count(*), {_WORDS}
FROM (
    SELECT hour_us, sha256(concat_ws('|', log, partition, "offset", impression_id, ad_id, advertiser_id, campaign_id,
        strftime(make_timestamp(clicked_us), '%Y-%m-%dT%H:%M'), country, device)) AS hash
    FROM outcomes WHERE advertiser_id <> $own AND outcome = 'billable'
)
GROUP BY hour_us ORDER BY hour_us
"""  # noqa: S608 (made of constants)
"""What the clicks of other advertisers add to the digest of docs/seals.md, by hour: their count and eight sums."""

VERDICTS_SQL = """
SELECT verdict_id, set_version, target_kind, impression_id, ad_id, log, partition, "offset", verdict, reason, source,
       decided_at
FROM verdicts
WHERE set_version <= $newest AND (
    (impression_id, ad_id) IN (SELECT (impression_id, ad_id) FROM events WHERE advertiser_id = $own)
    OR (log, partition, "offset") IN (SELECT (log, partition, "offset") FROM events WHERE advertiser_id = $own)
)
ORDER BY set_version, verdict_id
"""
"""Verdicts about clicks of the hours."""

EXCLUDED_SQL = """
SELECT hour_us, ad_id, coalesce(reason, outcome), count(*) FROM outcomes
WHERE advertiser_id = $own AND outcome <> 'billable' AND clicked_us >= $start_us AND clicked_us < $end_us
GROUP BY ALL ORDER BY ALL
"""
"""How many clicks of the range are in no figure, and why."""

RAW_COUNTS_SQL = """
SELECT hours.hour_us, count(outcome) FILTER (outcome IN ('billable', 'excluded'))
FROM hours LEFT JOIN outcomes USING (hour_us) GROUP BY ALL ORDER BY ALL
"""
"""Raw events below the cut, by hour."""

MISSING_WINNERS_SQL = """
SELECT DISTINCT winner_log, winner_partition, winner_offset FROM outcomes
WHERE advertiser_id = $own AND winner_log IS NOT NULL
    AND (winner_log, winner_partition, winner_offset) NOT IN (
        SELECT (log, partition, "offset") FROM (FROM events UNION ALL FROM look_back) WHERE advertiser_id = $own
    )
ORDER BY ALL
"""
"""Copies that own clicks are duplicates of, and that will not be shown."""
