"""How a row of a foreign log becomes a click event: which column is which field, and which rows are clicks at all.

Belongs here: the small language of ``--map`` and ``--only``, and reading times. Pure: the same row gives the same
event, so importing a file again sends copies of the same clicks.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from domain.buckets import from_unix_micros
from domain.errors import UsageError
from domain.events import CONTROL_CHARACTERS, FIELDS, UNKNOWN_COUNTRY
from services.click.devices import device_of
from services.imports.formats import Row

REQUIRED = ("impression_id", "ad_id", "clicked_at")
OPTIONAL = ("country", "device", "ip", "user_agent", "kind")
ROW = "@row"
"""As the source of ``impression_id``: a hash of the row, for logs that know no impressions."""

_COMBINED_DEFAULTS = {"clicked_at": "time", "ip": "ip", "user_agent": "user_agent", "kind": "method"}
_UNIX_MICROS = {10: 1_000_000, 13: 1_000, 16: 1}
"""By the number of digits: seconds, milliseconds, microseconds since 1970."""
_CONTROL = re.compile(CONTROL_CHARACTERS)
_MAX_LENGTH = {field.name: field.max_length for field in FIELDS}


class RowRefusedError(ValueError):
    """A row is no click event. Its text is the reason."""


@dataclass(frozen=True)
class Source:
    """A column, all of it or the first group of ``pattern`` in it; or a text that is the same in every row."""

    column: str | None
    pattern: re.Pattern[str] | None = None
    constant: str | None = None

    def value_in(self, values: Mapping[str, str]) -> str | None:
        """The text, or None if the row has none."""
        if self.column is None:
            return self.constant
        value = values.get(self.column)
        if value is None or self.pattern is None:
            return value
        found = self.pattern.search(value)
        return None if found is None else found[1]


@dataclass(frozen=True)
class Condition:
    """Of rows that are clicks. The others are left out, not refused."""

    column: str
    expected: str | None
    pattern: re.Pattern[str] | None = None

    def holds_in(self, values: Mapping[str, str]) -> bool:
        value = values.get(self.column, "")
        return value == self.expected if self.pattern is None else self.pattern.search(value) is not None


@dataclass(frozen=True)
class ForeignClick:
    """What a row says of a click. Whose the ad is comes from our own table."""

    impression_id: str
    ad_id: int
    clicked_at: datetime
    country: str
    device: str
    ip: str
    user_agent: str
    kind: str


def parse_map(texts: Sequence[str], is_combined: bool) -> dict[str, Source]:
    """Sources by field, from ``FIELD=COLUMN``, ``FIELD=COLUMN~REGEX``, ``FIELD=:TEXT`` and ``impression_id=@row``.

    ``UsageError`` for an unknown field, a bad pattern, or a required field without a source.
    """
    given = dict(_COMBINED_DEFAULTS) if is_combined else {}
    for text in texts:
        field, equals, source = text.partition("=")
        if field not in REQUIRED + OPTIONAL or not equals or not source:
            fields = ", ".join(REQUIRED + OPTIONAL)
            raise UsageError(f"--map {text!r}", f"FIELD=COLUMN with a field of {fields}", "correct it")
        given[field] = source
    for field in REQUIRED:
        if field not in given:
            raise UsageError(f"no source for {field}", f"--map {field}=COLUMN", "say which column it is")
    return {field: _source(field, text) for field, text in given.items()}


def parse_conditions(texts: Sequence[str]) -> list[Condition]:
    """Conditions from ``COLUMN=TEXT`` and ``COLUMN~REGEX``. ``UsageError`` for anything else."""
    conditions = []
    for text in texts:
        found = re.match(r"([^=~]+)([=~])(.*)\Z", text, re.DOTALL)
        if found is None:
            raise UsageError(f"--only {text!r}", "COLUMN=TEXT or COLUMN~REGEX", "correct it")
        column, sign, rest = found.groups()
        pattern = _pattern(text, rest, 0) if sign == "~" else None
        conditions.append(Condition(column, rest if sign == "=" else None, pattern))
    return conditions


def foreign_click(row: Row, occurrence: int, sources: Mapping[str, Source]) -> ForeignClick:
    """The click in a row. ``occurrence``: how often the same text stood in the file before.

    ``RowRefusedError`` with the reason if there is none.
    """
    if row.values is None:
        raise RowRefusedError("unreadable_row")
    values = row.values
    texts = {field: source.value_in(values) for field, source in sources.items()}
    if sources["impression_id"].column == ROW:
        texts["impression_id"] = hashlib.sha256(f"{occurrence}\n{row.text}".encode()).hexdigest()[:32]
    for field in REQUIRED:
        if not texts.get(field):
            raise RowRefusedError(f"no_{field}")
    user_agent = _clean(texts.get("user_agent"), "user_agent")
    return ForeignClick(
        impression_id=str(texts["impression_id"]),
        ad_id=_whole_number(str(texts["ad_id"])),
        clicked_at=_instant(str(texts["clicked_at"])),
        country=(texts.get("country") or UNKNOWN_COUNTRY).upper(),
        device=texts.get("device") or device_of(user_agent),
        ip=_clean(texts.get("ip"), "ip"),
        user_agent=user_agent,
        kind=_kind(texts.get("kind")),
    )


def _source(field: str, text: str) -> Source:
    if text.startswith(":"):
        return Source(None, None, text[1:])
    if text == ROW and field == "impression_id":
        return Source(ROW)
    column, tilde, pattern = text.partition("~")
    return Source(column, _pattern(text, pattern, 1) if tilde else None)


def _pattern(text: str, pattern: str, group_count: int) -> re.Pattern[str]:
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        raise UsageError(f"{text!r}: {error}", "a regular expression", "correct it") from None
    if compiled.groups < group_count:
        raise UsageError(f"{text!r} has no group", "a regular expression with one (group)", "put the value in ()")
    return compiled


def _whole_number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(2**63))):
        raise RowRefusedError("ad_id_is_no_number")
    return int(text)


def _instant(text: str) -> datetime:
    """ISO 8601 with a zone, the time of an access log, or whole seconds, milliseconds or microseconds since 1970."""
    if text.isascii() and text.isdigit() and len(text) in _UNIX_MICROS:
        return from_unix_micros(int(text) * _UNIX_MICROS[len(text)])
    try:
        at = datetime.strptime(text, "%d/%b/%Y:%H:%M:%S %z") if "/" in text else datetime.fromisoformat(text)
        in_utc = at.astimezone(UTC)
    except (ValueError, OverflowError):
        raise RowRefusedError("clicked_at_unreadable") from None
    if at.tzinfo is None:
        raise RowRefusedError("clicked_at_without_zone")
    return in_utc


def _kind(text: str | None) -> str:
    """Of a method or a kind: HEAD is ``head``, GET and nothing are ``click``; other methods are no clicks."""
    match (text or "click").lower():
        case "click" | "get":
            return "click"
        case "head" | "prefetch" as kind:
            return kind
        case _:
            raise RowRefusedError("no_click_method")


def _clean(text: str | None, field: str) -> str:
    return _CONTROL.sub("", text or "")[: _MAX_LENGTH[field]]
