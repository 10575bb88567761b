"""The OpenAPI document of the metrics API, made of the same names and limits that the code checks.

Belongs here: the description for machines. The one for people is ``docs/metrics-api.md``.
"""

from __future__ import annotations

from typing import Any, get_args

from domain.events import DEVICES
from domain.identity import LogPosition
from domain.texts import MAX_CHARACTERS
from domain.verdicts import FIELD_NAMES, MAX_REASON_LENGTH, Judgement
from services.metrics.intake import MAX_BODY_BYTES, SOURCE, SUFFIX_OF, VERDICTS_PATH
from services.metrics.refusals import PATH
from services.metrics.stream_gauges import GAUGES_PATH
from warehouse.counts_query import (
    DEFAULT_GRANULARITY,
    DEFAULT_GROUP_BY,
    GRANULARITIES,
    GROUP_COLUMN,
    MAX_ADS,
    MAX_COUNTRIES,
)
from warehouse.layout import code_version
from warehouse.time_zones import UTC_NAME

PARAMETER_NAME = {
    "ads": "ad_ids",
    "campaign": "campaign_id",
    "advertiser": "advertiser_id",
    "country": "country",
    "device": "device",
    "from": "from",
    "to": "to",
    "time_zone": "time_zone",
    "granularity": "granularity",
    "group_by": "group_by",
    "as_of": "as_of",
}
"""What each part of a question is called in a URL."""

_ID = {"type": "integer", "format": "int64", "minimum": 1}
_COUNTRY = {"type": "string", "pattern": "^[A-Z]{2}$"}
_INSTANT = {"type": "string", "format": "date-time"}
_EDGE = {"anyOf": [_INSTANT, {"type": "string", "format": "date"}]}
_MAYBE_INSTANT = {"type": ["string", "null"], "format": "date-time"}


def document() -> dict[str, Any]:
    """OpenAPI 3.1."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Tallystick metrics API",
            "version": code_version(),
            "description": "Clicks of ads by minute, hour or day, each row final or live. Half-open ranges, in UTC or "
            "by the clock of a zone. And the intake of fraud verdicts.",
        },
        "paths": {PATH: {"get": _metrics()}, VERDICTS_PATH: {"post": _verdicts()}, GAUGES_PATH: {"get": _gauges()}},
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}},
            "schemas": {
                "Counts": counts_schema(),
                "CountsAsOf": counts_as_of_schema(),
                "Refusal": refusal_schema(),
                "Verdict": verdict_schema(),
                "VerdictSet": verdict_set_schema(),
            },
        },
    }


def _metrics() -> dict[str, Any]:
    refused = {"content": _json("Refusal")}
    return {
        "operationId": "adsMetrics",
        "security": [{"token": []}],
        "parameters": _parameters(),
        "responses": {
            "200": {
                "description": "rows of one publication, sorted by bucket and group; CountsAsOf where as_of is given",
                "content": _json("Counts", "CountsAsOf"),
            },
            "400": {"description": "the question cannot be answered as asked", **refused},
            "401": {"description": "no valid token", **refused},
            "403": {"description": "another advertiser's ad, or another advertiser", **refused},
            "500": {"description": "an error of ours", **refused},
            "503": {"description": "too many questions at once, or nothing counted yet; ask again", **refused},
        },
    }


def _verdicts() -> dict[str, Any]:
    refused = {"content": _json("Refusal")}
    body: dict[str, Any] = {name: {"schema": {"type": "string"}} for name in SUFFIX_OF}
    body["application/json"] = {
        "schema": {"type": "array", "items": {"$ref": "#/components/schemas/Verdict"}, "minItems": 1}
    }
    source = {"type": "string", "maxLength": MAX_CHARACTERS}
    return {
        "operationId": "addVerdicts",
        "security": [{"token": []}],
        "parameters": [
            {
                "name": SOURCE,
                "in": "query",
                "required": False,
                "description": "who decided; left out, it is who the token was made for",
                "schema": source,
            }
        ],
        "requestBody": {"required": True, "content": body},
        "responses": {
            "201": {"description": "all of it was taken in, as this set", "content": _json("VerdictSet")},
            "400": {"description": "a line is no verdict; nothing was taken in", **refused},
            "401": {"description": "no valid token", **refused},
            "403": {"description": "a token of another role", **refused},
            "409": {"description": "the same content was taken in before", **refused},
            "413": {"description": f"a body of more than {MAX_BODY_BYTES:,} bytes", **refused},
            "415": {"description": "a body of another type", **refused},
            "500": {"description": "an error of ours", **refused},
            "503": {"description": "too many at once, or no tables yet; nothing was taken in, send again", **refused},
        },
    }


def _gauges() -> dict[str, Any]:
    refused = {"content": _json("Refusal")}
    return {
        "operationId": "streamGauges",
        "security": [{"token": []}],
        "responses": {
            "200": {
                "description": "how the stream is doing, in the text format of Prometheus",
                "content": {"text/plain": {"schema": {"type": "string"}}},
            },
            "401": {"description": "no valid token", **refused},
            "403": {"description": "a token of another role than operator", **refused},
        },
    }


def _json(*schemas: str) -> dict[str, Any]:
    references = [{"$ref": f"#/components/schemas/{schema}"} for schema in schemas]
    return {"application/json": {"schema": references[0] if len(references) == 1 else {"oneOf": references}}}


def _parameters() -> list[dict[str, Any]]:
    groups = {"type": "array", "items": {"enum": list(GROUP_COLUMN)}, "default": list(DEFAULT_GROUP_BY)}
    schemas: dict[str, tuple[dict[str, Any], str]] = {
        "ads": ({"type": "array", "items": _ID, "maxItems": MAX_ADS}, "these ads only; empty means none"),
        "campaign": (_ID, "this campaign only"),
        "advertiser": (_ID, "this advertiser only; an advertiser's token may name its own only"),
        "country": ({"type": "array", "items": _COUNTRY, "maxItems": MAX_COUNTRIES}, "these only; empty means none"),
        "device": ({"type": "array", "items": {"enum": list(DEVICES)}}, "these classes only; empty means none"),
        "from": (_EDGE, "start of the range, a whole minute; with time_zone a date, too"),
        "to": (_EDGE, "end of the range, a whole minute, not part of it; with time_zone a date, too"),
        "time_zone": ({"type": "string", "default": UTC_NAME}, "whose hours and days, a name of the IANA database"),
        "granularity": ({"enum": list(GRANULARITIES), "default": DEFAULT_GRANULARITY}, "length of a bucket"),
        "group_by": (groups, "one row for each of these in a bucket; empty means one row a bucket"),
        "as_of": (_INSTANT, "what was final at this instant, at least a minute ago; left out, what holds now"),
    }
    return [_parameter(part, schema, text) for part, (schema, text) in schemas.items()]


def _parameter(part: str, schema: dict[str, Any], text: str) -> dict[str, Any]:
    is_list = schema.get("type") == "array"
    return {
        "name": PARAMETER_NAME[part],
        "in": "query",
        "required": part in ("from", "to"),
        "description": text,
        "schema": schema,
        **({"style": "form", "explode": False} if is_list else {}),
    }


def counts_schema() -> dict[str, Any]:
    """The JSON Schema of an answer."""
    head = _head() | {"live_version": {"type": "integer"}}
    return _closed(head, list(head))


def counts_as_of_schema() -> dict[str, Any]:
    """The JSON Schema of an answer about the past."""
    part = {"from": _INSTANT, "to": _INSTANT}
    clicks = {"type": "integer", "minimum": 0}
    error = {
        "hour": _INSTANT,
        "advertiser_id": _ID,
        "live_clicks": clicks,
        "final_clicks": clicks,
        "difference_clicks": {"type": "integer"},
    }
    head = _head() | {
        "as_of": _INSTANT,
        "publication_number": {"type": "integer"},
        "final_from": _INSTANT,
        "final_until": _INSTANT,
        "not_final": {"type": "array", "items": _closed(part, list(part))},
        "sealed_later_count": {"type": "integer", "minimum": 0},
        "later_errors": {"type": "array", "items": _closed(error, list(error))},
    }
    return _closed(head, list(head))


def _head() -> dict[str, Any]:
    row = {
        "bucket": _INSTANT,
        "advertiser_id": _ID,
        "campaign_id": _ID,
        "ad_id": _ID,
        "country": {"type": "string"},
        "device": {"type": "string"},
        "clicks": {"type": "integer", "minimum": 0},
        "final": {"type": "boolean"},
    }
    return {
        "from": _INSTANT,
        "to": _INSTANT,
        "time_zone": {"type": "string"},
        "granularity": {"enum": list(GRANULARITIES)},
        "group_by": {"type": "array", "items": {"enum": list(GROUP_COLUMN)}},
        "publication_number": {"type": ["integer", "null"]},
        "final_from": _MAYBE_INSTANT,
        "final_until": _MAYBE_INSTANT,
        "closed_until": _MAYBE_INSTANT,
        "rows": {"type": "array", "items": _closed(row, ["bucket", "clicks", "final"])},
    }


def verdict_schema() -> dict[str, Any]:
    """The JSON Schema of one verdict of an array."""
    whole = {"type": "integer", "minimum": 0}
    said: dict[str, Any] = {
        "impression_id": {"type": "string"},
        "ad_id": _ID,
        **dict.fromkeys(LogPosition._fields, whole),
        "verdict": {"enum": list(get_args(Judgement))},
        "reason": {"type": "string", "maxLength": MAX_REASON_LENGTH},
        "score_micros": whole,
        "decided_at": _INSTANT,
    }
    return _closed({name: said[name] for name in FIELD_NAMES}, ["verdict", "reason", "decided_at"])


def verdict_set_schema() -> dict[str, Any]:
    """The JSON Schema of what was taken in."""
    count = {"type": "integer", "minimum": 0}
    names = {"set_version": _ID, "file_digest": {"type": "string"}, "verdict_count": count, "unknown_count": count}
    return _closed(names, list(names))


def refusal_schema() -> dict[str, Any]:
    """The JSON Schema of a refusal."""
    names = ["error", "found", "expected", "remedy"]
    return _closed({name: {"type": "string"} for name in names}, names)


def _closed(properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
