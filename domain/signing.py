"""Signatures of click links: which bytes are signed, which keys sign and which are still accepted.

Belongs here: canonical bytes, HMAC-SHA256, key ids, rotation with a term. Does not belong here: the text of a link
(``domain/links.py``) and where secrets are kept (``services/secrets.py``).
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Literal

from domain.errors import UsageError

SCHEME = "tallystick-click-1"
"""First line of the signed bytes, so that a signature made for anything else is never one of a click."""
EXPIRING_SCHEME = "tallystick-click-2"
"""The same of a link that carries its own end."""

_KEY_ID = re.compile(r"[A-Za-z0-9_-]{1,32}\Z")
SECRET_BYTES = 32
"""The output of SHA-256: a longer HMAC key adds nothing, a shorter one is refused."""

SIGNATURE_CHARACTERS = 43
"""32 bytes in base64url without padding: no character that a proxy would encode again."""

SignatureFault = Literal["unknown_key", "expired_key", "bad_signature", "expired_link"]


def canonical_bytes(key_id: str, impression_id: str, ad_id: int, expires_seconds: int | None = None) -> bytes:
    """What is signed: the decoded values in a fixed order, one a line; the end of the link, if it has one, last.

    Neither the order of the parameters nor their percent-encoding matters. No value may hold a line feed, which
    ``domain/links.py`` guarantees for all it reads, so two different links never share these bytes.
    """
    if expires_seconds is None:
        return f"{SCHEME}\n{key_id}\n{impression_id}\n{ad_id}".encode()
    return f"{EXPIRING_SCHEME}\n{key_id}\n{impression_id}\n{ad_id}\n{expires_seconds}".encode()


@dataclass(frozen=True)
class SigningKey:
    """A secret with its id. ``accepted_until`` None: it signs; else it is retired and accepted until then."""

    key_id: str
    secret: bytes = field(repr=False)
    accepted_until: datetime | None = None

    def __post_init__(self) -> None:
        if not _KEY_ID.match(self.key_id):
            raise UsageError(f"key id {self.key_id!r}", "1 to 32 letters, digits, - or _", "name the key so")
        if len(self.secret) != SECRET_BYTES:
            raise UsageError(f"key {self.key_id} of {len(self.secret)} bytes", f"{SECRET_BYTES} bytes", "make another")

    def signature(self, impression_id: str, ad_id: int, expires_seconds: int | None = None) -> str:
        """base64url, unpadded, of HMAC-SHA256 over the canonical bytes."""
        signed = canonical_bytes(self.key_id, impression_id, ad_id, expires_seconds)
        digest = hmac.digest(self.secret, signed, hashlib.sha256)
        return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


@dataclass(frozen=True)
class SignedLink:
    """What a click link carries; nothing of it is trusted before ``KeyRing.fault_of`` found no fault.

    ``expires_seconds``: Unix time from which on the link is refused; None for one without an end.
    """

    impression_id: str
    ad_id: int
    key_id: str
    signature: str
    expires_seconds: int | None = None


@dataclass(frozen=True)
class KeyRing:
    """All keys that links may be signed with, oldest first; exactly the keys without a term may sign."""

    keys: tuple[SigningKey, ...]

    def __post_init__(self) -> None:
        if len({key.key_id for key in self.keys}) != len(self.keys):
            raise UsageError("two keys of one id", "an id a key", "remove one of them")
        if not any(key.accepted_until is None for key in self.keys):
            raise UsageError("no key that may sign", "at least one key without a term", "add one")

    def sign(self, impression_id: str, ad_id: int, expires_seconds: int | None = None) -> SignedLink:
        """A link signed with the newest key."""
        key = next(key for key in reversed(self.keys) if key.accepted_until is None)
        signature = key.signature(impression_id, ad_id, expires_seconds)
        return SignedLink(impression_id, ad_id, key.key_id, signature, expires_seconds)

    def fault_of(self, link: SignedLink, at: datetime) -> SignatureFault | None:
        """Why the link is refused at this instant; None where its signature holds.

        The texts are compared, not the decoded bytes: 43 characters have two bits to spare, so that four texts
        decode to the same bytes. The comparison takes the same time wherever they differ.
        """
        key = next((key for key in self.keys if key.key_id == link.key_id), None)
        if key is None:
            return "unknown_key"
        expected = key.signature(link.impression_id, link.ad_id, link.expires_seconds)
        if not hmac.compare_digest(expected.encode(), link.signature.encode()):
            return "bad_signature"
        if key.accepted_until is not None and at >= key.accepted_until:
            return "expired_key"
        if link.expires_seconds is not None and at.timestamp() >= link.expires_seconds:
            return "expired_link"
        return None

    def rotated(self, key: SigningKey, at: datetime, term: timedelta) -> KeyRing:
        """A ring in which ``key`` signs, the keys before it are accepted for ``term``, and ended ones are gone."""
        kept = (old for old in self.keys if old.accepted_until is None or old.accepted_until > at)
        retired = (old if old.accepted_until else replace(old, accepted_until=at + term) for old in kept)
        return KeyRing((*retired, key))
