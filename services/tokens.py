"""Bearer tokens of the metrics API: who a caller is, signed with a key that only this installation knows.

Belongs here: making and reading a token (a JWT, HMAC-SHA256). What a caller may see is ``services/metrics/access.py``.
A token cannot be called back singly; a new key file makes all of them void.
"""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, get_args

import jwt

from domain.buckets import format_utc
from domain.errors import TallystickError, UsageError
from domain.settings import Settings
from services.secrets import SecretError, ensure_secret, secret_path
from warehouse.counts_query import read_id

Role = Literal["advertiser", "finance", "auditor", "operator", "approve", "verdicts"]
ROLES: tuple[Role, ...] = get_args(Role)
NAMED_ROLES: tuple[Role, ...] = ("approve", "verdicts")
"""What they do is kept under the name of a person, or of a system that hands in verdicts."""

KEY_NAME = "metrics-token-key"
KEY_BYTES = 32
ALGORITHM = "HS256"
ISSUER = "tallystick"
AUDIENCE = "tallystick-metrics"
DEFAULT_DAYS = 30
MAX_DAYS = 366
MAX_TOKEN_CHARACTERS = 2_048
PERSON = re.compile(r"[a-z0-9][a-z0-9._@-]{0,63}", re.ASCII)
"""Lower case, so that nobody is two people."""
REMEDY = "send a token made by `tallystick token` as `Authorization: Bearer TOKEN`"


class TokenError(TallystickError):
    """A token is not one of ours, or no longer valid."""


@dataclass(frozen=True)
class Caller:
    """Who asks. An advertiser has an ``advertiser_id`` and sees its own rows; the other roles have none and see all.

    ``person`` is who the token was made for, where it matters; one that approves or hands in verdicts always names
    one, and the latter sees nothing.
    """

    role: Role
    advertiser_id: int | None = None
    person: str | None = None

    def __post_init__(self) -> None:
        if (self.role == "advertiser") != (self.advertiser_id is not None):
            raise UsageError(
                f"role {self.role} with advertiser {self.advertiser_id}",
                "an advertiser id with role advertiser, and none with another role",
                "correct the role or the advertiser",
            )
        is_named = self.person is not None and PERSON.fullmatch(self.person) is not None
        if not is_named and (self.person is not None or self.role in NAMED_ROLES):
            raise UsageError(
                f"role {self.role} with person {self.person!r}",
                f"1 to 64 lower-case letters, digits or . _ @ -; always with role {' and '.join(NAMED_ROLES)}",
                "correct the person",
            )


def token_key(settings: Settings) -> bytes:
    """The key that signs tokens; made on first use, readable by its owner alone. ``SecretError`` if it is too short."""
    key = ensure_secret(settings, KEY_NAME, lambda: secrets.token_bytes(KEY_BYTES))
    if len(key) < KEY_BYTES:
        path = secret_path(settings, KEY_NAME)
        raise SecretError(f"{path} holds {len(key)} bytes", f"at least {KEY_BYTES}", "remove it and make new tokens")
    return key


def make_token(key: bytes, caller: Caller, made_at: datetime, days: int = DEFAULT_DAYS) -> str:
    """A token that is valid for so many days from ``made_at``."""
    if not 1 <= days <= MAX_DAYS:
        raise UsageError(f"a token for {days} days", f"1 to {MAX_DAYS} days", "correct the number of days")
    claims = {
        "iss": ISSUER,
        "aud": AUDIENCE,
        "sub": caller.role if caller.advertiser_id is None else str(caller.advertiser_id),
        "role": caller.role,
        "iat": int(made_at.timestamp()),
        "exp": int((made_at + timedelta(days=days)).timestamp()),
    }
    if caller.person is not None:
        claims["person"] = caller.person
    return jwt.encode(claims, key, algorithm=ALGORITHM)


def bearer_of(header: str | None) -> str:
    """The token in a header ``Authorization``; ``TokenError`` if there is none."""
    scheme, _, token = (header or "").partition(" ")
    if scheme.lower() != "bearer":
        raise TokenError("no bearer token", "one in the header Authorization", REMEDY)
    return token.strip()


def read_token(key: bytes, token: str, now: datetime) -> Caller:
    """Who the token speaks for; ``TokenError`` if it is not ours, is damaged or has expired at ``now``."""
    if len(token) > MAX_TOKEN_CHARACTERS:
        raise TokenError(f"a token of {len(token):,} characters", f"at most {MAX_TOKEN_CHARACTERS:,}", REMEDY)
    claims = _verified_claims(key, token)
    expires_at = datetime.fromtimestamp(claims["exp"], UTC)
    if now >= expires_at:
        raise TokenError(f"a token that expired at {format_utc(expires_at)}", "a valid one", REMEDY)
    return _caller(claims)


def _verified_claims(key: bytes, token: str) -> dict[str, Any]:
    """Signature, algorithm, issuer and audience are checked here; the time by the caller, whose clock it is."""
    try:
        claims: dict[str, Any] = jwt.decode(
            token,
            key,
            algorithms=[ALGORITHM],
            issuer=ISSUER,
            audience=AUDIENCE,
            options={"require": ["iss", "aud", "sub", "exp"], "verify_exp": False, "verify_iat": False},
        )
    except jwt.InvalidTokenError as error:
        raise TokenError("a token that is damaged or was not signed by us", "one of ours", REMEDY) from error
    return claims


def _caller(claims: dict[str, Any]) -> Caller:
    for role in ROLES:
        if claims.get("role") == role:
            return Caller(role, read_id("sub", claims["sub"]) if role == "advertiser" else None, claims.get("person"))
    raise TokenError(f"a token for role {claims.get('role')!r}", f"one of {', '.join(ROLES)}", REMEDY)
