"""What is asked of an attempt's hours to measure them, as SQL over the tables that ``reconcile_written.py`` opens.

Belongs here: the questions. Raw clicks are read once, with the law's own reading; all figures are made of its groups. A
quantile is the smallest value that at least so many percent do not exceed, so it does not depend on any order.
"""

from __future__ import annotations

COUNTED_NULLS = ("impression_id", "country", "user_agent")
"""Without the first a click has no identity; the second is a dimension; the third a client may stop sending."""
SCANNED = ("server_id", "kind", "logged_at", "clicked_at", "impression_id", "user_agent")
"""What measuring reads of raw clicks beyond what the laws read."""
BY_KEY, BY_SERVER, BY_LAG = 3, 5, 6
"""``part`` of the rows of ``scanned``: DuckDB's ``grouping`` sets a bit for what was not grouped by."""
TOP_ADS = 50
LAG_BITS = 7
"""So many leading bits of a lag are kept: it is told to less than 1 in 64, and hours have some hundreds of buckets."""
_EXACT_LAGS = 2**LAG_BITS
LAG_PERCENTS = (50, 95, 99)
CLICKS_PER_AD_PERCENTS = (50, 95)


def bucket_sql(lag: str) -> str:
    """The lag (ms, of either sign) that stands for all lags of its bucket."""
    cut_bits = f"(floor(log2(abs({lag})))::INT - {LAG_BITS - 1})"
    cut = f"sign({lag}) * (abs({lag}) >> {cut_bits} << {cut_bits})"
    return f"CASE WHEN abs({lag}) < {_EXACT_LAGS} THEN {lag} ELSE {cut} END"


def _quantiles(percents: tuple[int, ...], value: str, rank: str, whole: str) -> str:
    return ", ".join(f"min({value}) FILTER (WHERE {rank} * 100 >= {whole} * {each}) AS p{each}" for each in percents)


def _groups(name: str, column: str, table: str = "clicks") -> str:
    where = f"WHERE part = {BY_SERVER}" if table == "scanned" else ""
    return f"""
SELECT click_hour, '{name}' AS name, {column}::VARCHAR AS "group", sum(raw)::BIGINT AS amount
FROM {table} {where} GROUP BY ALL
"""  # noqa: S608 (made of constants)


def _unpivoted(name: str, rows: str) -> str:
    return f"""
SELECT click_hour, '{name}', "group", amount::BIGINT FROM (UNPIVOT ({rows}) ON COLUMNS(* EXCLUDE click_hour) INTO
NAME "group" VALUE amount)
"""  # noqa: S608 (made of constants)


_NULLS = f"""
SELECT click_hour, {", ".join(f"sum(null_{name})::BIGINT AS {name}" for name in COUNTED_NULLS)}
FROM scanned WHERE part = {BY_SERVER} GROUP BY click_hour
"""  # noqa: S608 (made of constants)
_LAGS = f"""
SELECT click_hour, {_quantiles(LAG_PERCENTS, "lag_ms", "below", "whole")}, max(max_lag_ms) AS max
FROM (
    SELECT click_hour, lag_ms, max_lag_ms, sum(raw) OVER (PARTITION BY click_hour) AS whole,
           sum(raw) OVER (PARTITION BY click_hour ORDER BY lag_ms) AS below
    FROM scanned WHERE part = {BY_LAG}
)
GROUP BY click_hour
"""  # noqa: S608 (made of constants)
_CLICKS_PER_AD = f"""
SELECT click_hour, {_quantiles(CLICKS_PER_AD_PERCENTS, "clicks", "below", "whole")}, max(clicks) AS max
FROM (
    SELECT click_hour, clicks, count(*) OVER (PARTITION BY click_hour) AS whole,
           row_number() OVER (PARTITION BY click_hour ORDER BY clicks) AS below
    FROM clicks_per_ad
)
GROUP BY click_hour
"""  # noqa: S608 (made of constants)
_DISTINCT = """
SELECT click_hour, count(DISTINCT ad_id) AS ad_id, count(DISTINCT advertiser_id) AS advertiser_id
FROM clicks GROUP BY click_hour
"""
_TOP_ADS = f"""
SELECT click_hour, 'by_ad', ad_id::VARCHAR, clicks FROM clicks_per_ad
QUALIFY row_number() OVER (PARTITION BY click_hour ORDER BY clicks DESC, ad_id) <= {TOP_ADS}
"""  # noqa: S608 (made of constants)
_LATE = """
SELECT click_hour, 'late', '', count(*)
FROM (SELECT *, (epoch_us(minute) // 3_600_000_000 % 24)::INT AS click_hour FROM late_clicks)
JOIN ends USING (click_hour, log, partition) WHERE "offset" < end_offset GROUP BY click_hour
"""
_QUARANTINED = """
SELECT click_hour, 'quarantined', reason, count(*)
FROM (SELECT *, hour(logged_at)::INT AS click_hour FROM quarantined_clicks_once)
JOIN ends USING (click_hour, log, partition) WHERE "offset" < end_offset GROUP BY ALL
"""
"""What could not be read has no hour of its own: it counts in the one in which it was logged."""
_TURNOVER = """
SELECT click_hour, "group", '', amount FROM (UNPIVOT (
SELECT coalesce(now.click_hour, before.click_hour) AS click_hour,
       count(*) FILTER (WHERE before.ad_id IS NULL) AS new_ads,
       count(*) FILTER (WHERE now.ad_id IS NULL) AS vanished_ads
FROM clicks_per_ad AS now FULL JOIN ads_before AS before USING (click_hour, ad_id) GROUP BY ALL
) ON new_ads, vanished_ads INTO NAME "group" VALUE amount)
"""
_UNKNOWN_ADS = """
SELECT click_hour, 'unknown_ads', '', sum(clicks)::BIGINT
FROM clicks_per_ad ANTI JOIN known_ads USING (ad_id) GROUP BY click_hour
"""
_COMPARED = """
SELECT click_hour, 'live', advertiser_id::VARCHAR, live FROM compared WHERE live != 0
UNION ALL SELECT click_hour, 'final', advertiser_id::VARCHAR, final FROM compared WHERE final != 0
"""

CLICKS_PER_AD_SQL = """
CREATE TEMP TABLE clicks_per_ad AS SELECT click_hour, ad_id, sum(raw)::BIGINT AS clicks FROM clicks GROUP BY ALL
"""
"""Raw clicks by hour and ad."""
ADS_BEFORE_SQL = """
CREATE TEMP TABLE ads_before AS
SELECT DISTINCT click_hour, ad_id
FROM (SELECT (click_hour + 1) % 24 AS click_hour, log, partition, "offset", ad_id FROM raw_clicks_before_once)
JOIN ends USING (click_hour, log, partition) WHERE "offset" < end_offset
UNION SELECT click_hour + 1, ad_id FROM clicks_per_ad WHERE click_hour + 1 IN (SELECT click_hour FROM ends)
"""
"""By hour the ads that the hour before had. It is read only where it is not measured itself, one column of it."""
METRICS_SQL = " UNION ALL ".join(
    (
        _groups("by_country", "country"),
        _groups("by_device", "device"),
        _groups("by_advertiser", "advertiser_id"),
        _groups("by_server", "server_id", "scanned"),
        _groups("by_kind", "kind", "scanned"),
        f"FROM ({_TOP_ADS})",
        _unpivoted("nulls", _NULLS),
        _unpivoted("lag", _LAGS),
        _unpivoted("clicks_per_ad", _CLICKS_PER_AD),
        _unpivoted("distinct", _DISTINCT),
        _LATE,
        _QUARANTINED,
        f"FROM ({_TURNOVER})",
        _UNKNOWN_ADS,
        f"FROM ({_COMPARED})",
    )
)
"""click_hour, name, group, amount: a row a figure that there is; what is 0 may be missing."""
