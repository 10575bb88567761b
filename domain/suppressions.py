"""Opt-outs: what a suppression covers, and how its pattern is written.

Belongs here: kinds, patterns and matching. Keeping them, and what is deleted under them, is ``crawler/frontier/``.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple, get_args

from domain.errors import UsageError
from domain.frontier import UrlIdentity

SuppressionKind = Literal["url", "prefix", "host", "registrable_domain"]
SUPPRESSION_KINDS: tuple[SuppressionKind, ...] = get_args(SuppressionKind)
_NAME = re.compile(r"[^\s/?#@\\]{1,255}")
_ORIGIN = re.compile(r"(https?://[^\s/?#@\\]+)/\S*")


class Suppression(NamedTuple):
    """Nothing that it covers is fetched or kept, for ever."""

    suppression_id: int
    kind: SuppressionKind
    pattern: str

    def covers(self, identity: UrlIdentity) -> bool:
        """Whether this URL is under it."""
        match self.kind:
            case "url":
                return identity.url == self.pattern
            case "prefix":
                return identity.url.startswith(self.pattern)
            case "host":
                return identity.host == self.pattern
            case "registrable_domain":
                return identity.registrable_domain == self.pattern


def check_pattern(kind: str, pattern: str) -> None:
    """``UsageError`` unless it is a pattern of that kind, in its normal form.

    A URL or prefix holds a whole origin with the slash behind it, or it would cover strangers: ``http://a.example`` is
    the beginning of ``http://a.example.org/`` too.
    """
    if kind not in SUPPRESSION_KINDS:
        raise UsageError(f"kind {kind!r}", f"one of {', '.join(SUPPRESSION_KINDS)}", "name one of them")
    is_name = kind in {"host", "registrable_domain"}
    if is_name and (not _NAME.fullmatch(pattern) or pattern != pattern.lower()):
        raise UsageError(f"{kind} {pattern!r}", "a name in small letters such as example.org", "correct it")
    if not is_name and not _ORIGIN.fullmatch(pattern):
        raise UsageError(f"{kind} {pattern!r}", "http or https, a host and a path: https://example.org/", "correct it")


def origin_of_pattern(pattern: str) -> str:
    """The origin that a URL or prefix lies in; the pattern was checked."""
    matched = _ORIGIN.fullmatch(pattern)
    if matched is None:
        raise UsageError(f"pattern {pattern!r}", "a URL or prefix", "check it first")
    return matched[1]
