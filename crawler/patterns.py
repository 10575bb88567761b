"""Patterns of suppressions as people type them, brought to the form that URLs are compared with."""

from __future__ import annotations

from crawler.urls import normalise
from domain.errors import UsageError
from domain.suppressions import SuppressionKind, check_pattern


def normal_pattern(kind: SuppressionKind, typed: str) -> str:
    """The pattern in its one form. ``UsageError`` if it is none of that kind, ``UrlRefusedError`` if it is no URL."""
    if kind in {"url", "prefix"}:
        check_pattern(kind, typed)
        return normalise(typed).url
    identity = normalise(f"https://{typed}/")
    if identity.url != f"https://{identity.host}/":
        raise UsageError(f"{kind} {typed!r}", "a name such as example.org", "correct it")
    if kind == "registrable_domain" and identity.registrable_domain != identity.host:
        raise UsageError(
            f"{typed!r} lies in the domain {identity.registrable_domain}",
            "a name that somebody registered",
            "name that domain, or suppress a host",
        )
    check_pattern(kind, identity.host)
    return identity.host
