"""Hours and instants as commands take them: a first hour, and an end or one hour."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import typer

from domain.buckets import HOUR, format_utc, hour_of, hours_between, parse_utc
from domain.errors import UsageError

FirstHour = Annotated[str, typer.Argument(metavar="FROM", help="First hour, UTC, such as 2026-01-31T13:00Z.")]
RangeEnd = Annotated[
    str | None, typer.Argument(metavar="[TO]", help="End, not part of the range; left out, it is one hour.")
]


def hours_asked_for(from_: str, to: str | None) -> list[datetime]:
    """The hours (starts, UTC) of ``[FROM, TO)``, of one hour without TO; ``UsageError`` says what is wrong."""
    start = whole_hour("FROM", from_)
    end = whole_hour("TO", to) if to is not None else start + HOUR
    if end <= start:
        raise UsageError(f"TO {format_utc(end)} is not after FROM {format_utc(start)}", "a later end", "swap them")
    return list(hours_between(start, end))


def whole_hour(name: str, text: str) -> datetime:
    """An hour start (UTC) from the text of an argument of that name; ``UsageError`` otherwise."""
    expected = "a whole UTC hour such as 2026-01-31T13:00Z"
    at = instant(name, text, expected)
    if at != hour_of(at):
        raise _refusal(name, text, expected)
    return at


def instant(name: str, text: str, expected: str) -> datetime:
    """An instant from the text of an argument of that name; ``UsageError`` with what is ``expected`` otherwise."""
    try:
        return parse_utc(text)
    except ValueError:
        raise _refusal(name, text, expected) from None


def _refusal(name: str, text: str, expected: str) -> UsageError:
    return UsageError(f"{name} is {text!r}", expected, "write it like that")
