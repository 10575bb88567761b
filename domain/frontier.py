"""What the frontier knows a URL by."""

from __future__ import annotations

from typing import NamedTuple


class UrlIdentity(NamedTuple):
    """A URL in its one form, and the groups that it belongs to."""

    url: str
    origin: str
    host: str
    registrable_domain: str
