"""From the bytes of a record to a valid event or a reason, as columns: one code for stream and batch.

Belongs here: parsing, validation and the derived columns every job needs. The rules are data in ``domain/events.py``;
``domain/parsing.py`` is the plain-Python twin that tests hold this equal to. They are put into SQL text: built from
column objects they take a call into the JVM for each operator, half a second a batch. Deduplication is not done here.
"""

from __future__ import annotations

from collections.abc import Iterable

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
_INSTANTS = tuple(field.name for field in FIELDS if field.is_instant)
IDENTITY_HEX_DIGITS = 32


def parse_events(records: DataFrame, known_ads: DataFrame) -> DataFrame:
    """Each record with its event's columns and ``reason``: null for a valid event, else why it is quarantined.

    ``records``: value BINARY, partition INT, offset LONG, timestamp TIMESTAMP (append time), in any order, streaming
    or not. ``known_ads``: ad_id LONG, one row an ad; small enough to broadcast. Adds the fields of the event (instants
    as TIMESTAMP, null with a reason: they may be beyond what others can hold), ``appended_at`` and ``reason``; keeps
    ``value``. One row out for each row in; never fails on data.
    """
    ads = F.broadcast(known_ads.select(F.col("ad_id").alias("known_ad_id")))
    judged = _judged(_typed(records))
    reason = "CASE WHEN reason IS NULL AND known_ad_id IS NULL THEN 'unknown_ad' ELSE reason END"
    instants = {name: F.expr(f"CASE WHEN reason IS NULL THEN {name} END") for name in _INSTANTS}
    return (
        judged.join(ads, F.col("ad_id") == F.col("known_ad_id"), "left")
        .withColumn("reason", F.expr(reason))
        .withColumns(instants)
        .drop("known_ad_id")
    )


def _typed(records: DataFrame) -> DataFrame:
    """The value as text, as strictly checked JSON (types only) and as typed fields.

    JSON is read twice because no one reader does both: the variant reader refuses repeated keys, trailing text and
    everything else that is not JSON, and knows each field's JSON type, but is slow at handing out values; ``from_json``
    hands out values fast but turns numbers into strings. A reader stops behind the first whole value: in an array with
    the hash of the text behind it, the text is one value and no more if and only if that hash is the second and last.
    """
    is_readable = f"length(value) > 0 AND length(value) <= {MAX_EVENT_BYTES} AND is_valid_utf8(CAST(value AS STRING))"
    as_variants = ", ".join(f"{field.name}: variant" for field in FIELDS)
    type_names = ", ".join(f"schema_of_variant(variants.{field.name}) AS {field.name}" for field in FIELDS)
    as_values = ", ".join(f"{field.name} {_JSON_TYPE_AS_VARIANT[field.json_type]}" for field in FIELDS)
    steps = {
        "text": f"CASE WHEN {is_readable} THEN CAST(value AS STRING) END",
        "json": "try_parse_json(concat('[', text, ',', xxhash64(text), ']'))",
        "variants": f"try_variant_get(json, '$[0]', 'struct<{as_variants}>')",
        "is_object": "coalesce(variants IS NOT NULL AND try_variant_get(json, '$[1]', 'bigint') = xxhash64(text) "
        "AND try_variant_get(json, '$[2]', 'variant') IS NULL, false)",
        "type": f"struct({type_names})",
        "event": f"from_json(text, '{as_values}')",
    }
    for name, expression in steps.items():
        records = records.withColumn(name, F.expr(expression))
    return records


def _judged(typed: DataFrame) -> DataFrame:
    reasons = {
        "empty": "value IS NULL OR length(value) = 0",
        "too_large": f"length(value) > {MAX_EVENT_BYTES}",
        "not_utf8": "text IS NULL",
        "malformed_json": "NOT is_object",
        "unknown_version": f"type.v = 'BIGINT' AND event.v != {EVENT_VERSION}",
        "missing_field": _any(_is_absent(field) for field in FIELDS if field.is_required),
        "wrong_type": _any(_has_wrong_type(field) for field in FIELDS),
        "bad_value": _any(_is_bad(field) for field in FIELDS),
        "future_dated": (
            "try_cast(event.clicked_at AS TIMESTAMP) > "
            f"timestamp + INTERVAL {int(FUTURE_BOUND.total_seconds())} SECONDS"
        ),
    }
    branches = " ".join(f"WHEN {condition} THEN '{reason}'" for reason, condition in reasons.items())
    fields = ", ".join(f"{_value(field)} AS {field.name}" for field in FIELDS if field.name != "v")
    # A generator is a barrier: without it the optimizer copies the whole parsing into every later filter on its result.
    event = f"inline(array(struct(CASE {branches} END AS reason, {fields})))"
    return typed.selectExpr("value", "partition", "offset", "timestamp AS appended_at", event)


def _value(field: EventField) -> str:
    value = f"event.{field.name}"
    return f"try_cast({value} AS TIMESTAMP)" if field.is_instant else value


def _is_absent(field: EventField) -> str:
    return f"coalesce(type.{field.name} = 'VOID', true)"


def _has_wrong_type(field: EventField) -> str:
    return f"(NOT {_is_absent(field)} AND type.{field.name} != '{_JSON_TYPE_AS_VARIANT[field.json_type]}')"


def _is_bad(field: EventField) -> str:
    value = f"event.{field.name}"
    if field.json_type == "integer":
        return f"coalesce({value} < {field.minimum}, false)"
    if field.pattern is None:
        bad = f"{value} RLIKE {_pattern(CONTROL_CHARACTERS)}"
    else:
        bad = f"NOT {value} RLIKE {_pattern(_to_the_very_end(field.pattern))}"
    if field.max_length is not None:
        bad += f" OR length({value}) > {field.max_length}"
    if field.is_instant:
        bad += f" OR ({value} IS NOT NULL AND try_cast({value} AS TIMESTAMP) IS NULL)"
    return f"coalesce({bad}, false)"


def _pattern(regex: str) -> str:
    return f"r'{regex}'"


def _to_the_very_end(pattern: str) -> str:
    """Java's ``$`` lets a line feed follow; no pattern of ours allows one, or any other control character."""
    return pattern.removesuffix("$") + r"\z"


def _any(conditions: Iterable[str]) -> str:
    return "(" + " OR ".join(conditions) + ")"


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
