"""Parsing and validation of one event in plain Python: the oracle that the Spark parsing is held equal to.

Belongs here: bytes in, event or reason out. The engine's twin is ``spark_jobs/transforms/parse.py``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Container
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from domain.buckets import parse_utc
from domain.events import (
    CONTROL_CHARACTERS,
    EVENT_VERSION,
    FIELDS,
    FUTURE_BOUND,
    MAX_EVENT_BYTES,
    MAX_INT64,
    EventField,
    Reason,
)

_CONTROL = re.compile(CONTROL_CHARACTERS)
_SURROGATE = re.compile("[\ud800-\udfff]")
MAX_NUMBER_CHARACTERS = 1_000
"""The engine's JSON reader refuses longer numbers, in any key."""


@dataclass(frozen=True)
class ParsedEvent:
    """A valid event. ``clicked_at`` is aware UTC; personal fields are left out, nothing counts by them."""

    impression_id: str
    ad_id: int
    advertiser_id: int
    campaign_id: int
    clicked_at: datetime
    country: str
    device: str
    kind: str
    server_id: str
    server_seq: int


class _RepeatedKeyError(ValueError):
    pass


def _object_without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise _RepeatedKeyError
    return result


def _refuse_constant(text: str) -> Any:
    raise ValueError(f"{text} is not JSON")


def _wrong_type(field: EventField, value: Any) -> bool:
    if field.json_type == "string":
        return not isinstance(value, str)
    return isinstance(value, bool) or not isinstance(value, int) or not -MAX_INT64 - 1 <= value <= MAX_INT64


def _bad_value(field: EventField, value: Any) -> bool:
    if isinstance(value, int):
        return field.minimum is not None and value < field.minimum
    if _CONTROL.search(value) or len(value) > (field.max_length or MAX_EVENT_BYTES):
        return True
    if field.pattern is not None and not re.search(field.pattern, value):
        return True
    if field.is_instant:
        try:
            parse_utc(value)
        except ValueError:
            return True
    return False


def _bounded_int(text: str) -> int:
    if len(text) > MAX_NUMBER_CHARACTERS:
        raise ValueError("a number of too many digits")
    return int(text)


def _bounded_float(text: str) -> float:
    if len(text) > MAX_NUMBER_CHARACTERS:
        raise ValueError("a number of too many digits")
    return float(text)


def _load(payload: bytes | None) -> dict[str, Any] | Reason:
    if not payload:
        return "empty"
    if len(payload) > MAX_EVENT_BYTES:
        return "too_large"
    try:
        text = payload.decode("utf-8")
    except UnicodeDecodeError:
        return "not_utf8"
    try:
        document = json.loads(
            text,
            object_pairs_hook=_object_without_repeats,
            parse_constant=_refuse_constant,
            parse_int=_bounded_int,
            parse_float=_bounded_float,
        )
    except (ValueError, RecursionError):
        return "malformed_json"
    if not isinstance(document, dict) or _SURROGATE.search(json.dumps(document, ensure_ascii=False)):
        return "malformed_json"
    return document


def _judge_fields(document: dict[str, Any]) -> Reason | None:
    present = [(field, document.get(field.name)) for field in FIELDS]
    version = document.get("v")
    if version is not None and not _wrong_type(FIELDS[0], version) and version != EVENT_VERSION:
        return "unknown_version"
    if any(field.is_required and value is None for field, value in present):
        return "missing_field"
    given = [(field, value) for field, value in present if value is not None]
    if any(_wrong_type(field, value) for field, value in given):
        return "wrong_type"
    if any(_bad_value(field, value) for field, value in given):
        return "bad_value"
    return None


def parse_event(payload: bytes | None, appended_at: datetime, known_ads: Container[int]) -> ParsedEvent | Reason:
    """The event, or the first reason (in the order of ``REASONS``) for which it is quarantined. Never raises."""
    document = _load(payload)
    if isinstance(document, str):
        return document
    reason = _judge_fields(document)
    if reason is not None:
        return reason
    event = ParsedEvent(
        impression_id=document["impression_id"],
        ad_id=document["ad_id"],
        advertiser_id=document["advertiser_id"],
        campaign_id=document["campaign_id"],
        clicked_at=parse_utc(document["clicked_at"]),
        country=document["country"],
        device=document["device"],
        kind=document["kind"],
        server_id=document["server_id"],
        server_seq=document["server_seq"],
    )
    if event.clicked_at - appended_at > FUTURE_BOUND:
        return "future_dated"
    if event.ad_id not in known_ads:
        return "unknown_ad"
    return event
