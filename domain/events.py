"""The click event as data: every field, its type, its bounds, and the reasons for which an event is quarantined.

This is the one place that defines the event. The JSON Schema file for other producers, the Spark parsing and the
plain-Python parsing are all made from ``FIELDS``; tests hold them equal. Patterns keep to what Java, Python and
ECMAScript read alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal

EVENT_VERSION = 1
MAX_EVENT_BYTES = 65_536
FUTURE_BOUND = timedelta(minutes=5)
"""An event clicked later than this after its append time is future-dated: its server's clock is wrong."""

MAX_INT64 = 2**63 - 1
CONTROL_CHARACTERS = r"[\x00-\x1f\x7f]"
INSTANT_PATTERN = (
    r"^[2-9][0-9]{3}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
    r"T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,6})?(Z|\+00:00)$"
)

Kind = Literal["click", "head", "prefetch"]
KINDS: tuple[Kind, ...] = ("click", "head", "prefetch")
DEVICES = ("mobile", "desktop", "tablet", "other")
UNKNOWN_COUNTRY = "ZZ"

Reason = Literal[
    "empty",
    "too_large",
    "not_utf8",
    "malformed_json",
    "unknown_version",
    "missing_field",
    "wrong_type",
    "bad_value",
    "future_dated",
    "unknown_ad",
]
REASONS: dict[Reason, str] = {
    "empty": "the record has no value",
    "too_large": f"the value is larger than {MAX_EVENT_BYTES} bytes",
    "not_utf8": "the value is not UTF-8",
    "malformed_json": "the value is not exactly one JSON object, or an object in it repeats a key",
    "unknown_version": f"v is an integer other than {EVENT_VERSION}",
    "missing_field": "a required field is absent or null",
    "wrong_type": "a field has another JSON type than declared, or an integer beyond 64 bits",
    "bad_value": "a field is out of its bounds, does not match its pattern or holds a control character",
    "future_dated": f"clicked_at lies more than {FUTURE_BOUND} after the append time",
    "unknown_ad": "ad_id is not in the ads table",
}
"""In the order of judgement: the first that applies is the reason."""


@dataclass(frozen=True)
class EventField:
    """One field of the event. ``pattern`` and ``max_length`` (code points) bind strings, ``minimum`` integers."""

    name: str
    json_type: Literal["integer", "string"]
    description: str
    pattern: str | None = None
    max_length: int | None = None
    minimum: int | None = None
    is_instant: bool = False
    is_required: bool = True


FIELDS: tuple[EventField, ...] = (
    EventField("v", "integer", f"schema version, {EVENT_VERSION}", minimum=0),
    EventField(
        "impression_id", "string", "the impression that was clicked; UUIDv7 by default", r"^[A-Za-z0-9_-]{1,64}$"
    ),
    EventField("ad_id", "integer", "the ad", minimum=1),
    EventField("advertiser_id", "integer", "who pays for the ad", minimum=1),
    EventField("campaign_id", "integer", "the ad's campaign at the time of the click", minimum=1),
    EventField(
        "clicked_at", "string", "when the click service saw it: ISO 8601, UTC", INSTANT_PATTERN, is_instant=True
    ),
    EventField("country", "string", "ISO 3166-1 alpha-2, ZZ if unknown", r"^[A-Z]{2}$"),
    EventField("device", "string", "class of device", rf"^({'|'.join(DEVICES)})$"),
    EventField("ip", "string", "client address; personal, erasable, never counted by", max_length=64),
    EventField("user_agent", "string", "client software; personal, erasable, never counted by", max_length=4096),
    EventField("kind", "string", "click, or a request that is served but never billable", rf"^({'|'.join(KINDS)})$"),
    EventField("server_id", "string", "the click server", r"^[A-Za-z0-9._-]{1,64}$"),
    EventField("server_seq", "integer", "counts up by one per event of a server's run", minimum=0),
    EventField(
        "spooled_at",
        "string",
        "when a server without a broker spooled it",
        INSTANT_PATTERN,
        is_instant=True,
        is_required=False,
    ),
)


def json_schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of the event, for producers that are not ours."""
    properties: dict[str, Any] = {}
    for field in FIELDS:
        schema: dict[str, Any] = {"type": field.json_type if field.is_required else [field.json_type, "null"]}
        schema["description"] = field.description
        if field.pattern is not None:
            schema["pattern"] = field.pattern
        if field.max_length is not None:
            schema["maxLength"] = field.max_length
        if field.json_type == "string":  # by itself: a final $ lets a line feed pass in some languages
            schema["not"] = {"type": "string", "pattern": CONTROL_CHARACTERS}
        if field.minimum is not None:
            schema["minimum"] = field.minimum
            schema["maximum"] = MAX_INT64
        if field.name == "v":
            schema = {"const": EVENT_VERSION, "description": field.description}
        properties[field.name] = schema
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"Tallystick click event, version {EVENT_VERSION}",
        "description": "One UTF-8 JSON object a record on the clicks topic, keyed by impression_id. "
        "Unknown keys are kept in the raw payload and ignored; a repeated key makes the event malformed.",
        "type": "object",
        "properties": properties,
        "required": [field.name for field in FIELDS if field.is_required],
        "additionalProperties": True,
    }
