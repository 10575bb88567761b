"""From the bytes of a record to a valid event or a reason, as columns: one code for stream and batch.

Belongs here: parsing, validation and the derived columns every job needs. The rules are data in ``domain/events.py``;
``domain/parsing.py`` is the plain-Python twin that tests hold this equal to. Deduplication is not done here.
"""

from __future__ import annotations

from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from domain.events import (
    CONTROL_CHARACTERS,
    EVENT_VERSION,
    FIELDS,
    FUTURE_BOUND,
    MAX_EVENT_BYTES,
    EventField,
)

_JSON_TYPE_AS_VARIANT = {"integer": "BIGINT", "string": "STRING"}
_UUID7 = "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-7[0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}$"
IDENTITY_HEX_DIGITS = 32


def parse_events(records: DataFrame, known_ads: DataFrame) -> DataFrame:
    """Each record with its event's columns and ``reason``: null for a valid event, else why it is quarantined.

    ``records``: value BINARY, partition INT, offset LONG, timestamp TIMESTAMP (append time), in any order, streaming
    or not. ``known_ads``: ad_id LONG, one row an ad; small enough to broadcast. Adds the fields of the event (instants
    as TIMESTAMP), ``appended_at`` and ``reason``; keeps ``value``. One row out for each row in; never fails on data.
    """
    ads = F.broadcast(known_ads.select(F.col("ad_id").alias("known_ad_id")))
    judged = _judged(_typed(records))
    reason = F.when(F.col("reason").isNull() & F.col("known_ad_id").isNull(), F.lit("unknown_ad")).otherwise(
        F.col("reason")
    )
    return (
        judged.join(ads, F.col("ad_id") == F.col("known_ad_id"), "left")
        .withColumn("reason", reason)
        .drop("known_ad_id")
    )


def _typed(records: DataFrame) -> DataFrame:
    """The value as text, as strictly checked JSON (types only) and as typed fields.

    JSON is read twice because no one reader does both: the variant reader refuses repeated keys, trailing text and
    everything else that is not JSON, and knows each field's JSON type, but is slow at handing out values; ``from_json``
    hands out values fast but turns numbers into strings. Wrapping the value in an array makes trailing text an error.
    """
    is_readable = (F.length("value") > 0) & (F.length("value") <= MAX_EVENT_BYTES)
    text = F.when(is_readable & F.expr("is_valid_utf8(CAST(value AS STRING))"), F.col("value").cast("string"))
    array = F.expr("try_parse_json(concat('[', text, ']'))")
    as_variants = ",".join(f"{field.name}: variant" for field in FIELDS)
    type_names = [F.schema_of_variant(F.col(f"variants.{field.name}")).alias(field.name) for field in FIELDS]
    as_values = ",".join(f"{field.name} {_JSON_TYPE_AS_VARIANT[field.json_type]}" for field in FIELDS)
    return (
        records.withColumn("text", text)
        .withColumn("json", array)
        .withColumn("variants", F.expr(f"try_variant_get(json, '$[0]', 'struct<{as_variants}>')"))
        .withColumn("is_object", F.expr("variants IS NOT NULL AND try_variant_get(json, '$[1]', 'variant') IS NULL"))
        .withColumn("type", F.struct(*type_names))
        .withColumn("event", F.from_json("text", as_values))
    )


def _type_name(field: EventField) -> Column:
    return F.col(f"type.{field.name}")


def _is_absent(field: EventField) -> Column:
    type_name = _type_name(field)
    return type_name.isNull() | (type_name == "VOID")


def _has_wrong_type(field: EventField) -> Column:
    return ~_is_absent(field) & (_type_name(field) != _JSON_TYPE_AS_VARIANT[field.json_type])


def _is_bad(field: EventField) -> Column:
    value = F.col(f"event.{field.name}")
    if field.json_type == "integer":
        return value < F.lit(field.minimum)
    bad = value.rlike(CONTROL_CHARACTERS) if field.pattern is None else ~value.rlike(_to_the_very_end(field.pattern))
    if field.max_length is not None:
        bad = bad | (F.length(value) > field.max_length)
    if field.is_instant:
        bad = bad | (value.isNotNull() & value.try_cast("timestamp").isNull())
    return F.coalesce(bad, F.lit(False))


def _to_the_very_end(pattern: str) -> str:
    """Java's ``$`` lets a line feed follow; no pattern of ours allows one, or any other control character."""
    return pattern.removesuffix("$") + r"\z"


def _any(conditions: list[Column]) -> Column:
    return reduce(lambda a, b: a | b, conditions)


def _judged(typed: DataFrame) -> DataFrame:
    version = F.col("event.v")
    is_version_readable = _type_name(FIELDS[0]) == _JSON_TYPE_AS_VARIANT["integer"]
    clicked_at = F.col("event.clicked_at").try_cast("timestamp")
    future_bound = F.expr(f"INTERVAL {int(FUTURE_BOUND.total_seconds())} SECONDS")
    reason = (
        F.when(F.col("value").isNull() | (F.length("value") == 0), "empty")
        .when(F.length("value") > MAX_EVENT_BYTES, "too_large")
        .when(F.col("text").isNull(), "not_utf8")
        .when(~F.col("is_object"), "malformed_json")
        .when(is_version_readable & (version != EVENT_VERSION), "unknown_version")
        .when(_any([_is_absent(field) for field in FIELDS if field.is_required]), "missing_field")
        .when(_any([_has_wrong_type(field) for field in FIELDS]), "wrong_type")
        .when(_any([_is_bad(field) for field in FIELDS]), "bad_value")
        .when(clicked_at > F.col("timestamp") + future_bound, "future_dated")
    )
    fields = [
        (
            F.col(f"event.{field.name}").try_cast("timestamp") if field.is_instant else F.col(f"event.{field.name}")
        ).alias(field.name)
        for field in FIELDS
        if field.name != "v"
    ]
    # A generator is a barrier: without it the optimizer copies the whole parsing into every later filter on its result.
    event = F.inline(F.array(F.struct(reason.alias("reason"), *fields)))
    return typed.select("value", "partition", "offset", F.col("timestamp").alias("appended_at"), event)


def identity() -> Column:
    """BINARY(16), as ``domain.identity.click_identity``; needs impression_id and ad_id."""
    text = F.concat(F.col("impression_id"), F.lit("\n"), F.col("ad_id").cast("string"))
    return F.unhex(F.substring(F.sha2(text, 256), 1, IDENTITY_HEX_DIGITS))


def minted_at() -> Column:
    """TIMESTAMP at which a UUIDv7 impression id was minted; null where the id is opaque."""
    unix_ms = F.conv(F.concat(F.substring("impression_id", 1, 8), F.substring("impression_id", 10, 4)), 16, 10)
    return F.when(F.col("impression_id").rlike(_UUID7), F.timestamp_millis(unix_ms.cast("bigint")))


def dimensions() -> Column:
    """LONG hash of what may not differ between copies of a click: campaign, country, device."""
    return F.xxhash64("campaign_id", "country", "device")


def minute() -> Column:
    """TIMESTAMP: start of the minute of clicked_at."""
    return F.date_trunc("minute", F.col("clicked_at"))


def click_date() -> Column:
    """DATE of clicked_at, UTC."""
    return F.to_date("clicked_at")


def click_hour() -> Column:
    """INT hour of the day of clicked_at, UTC."""
    return F.hour("clicked_at")
