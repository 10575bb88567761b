"""A token speaks for whom it was made, until it expires; anything else is refused."""

from __future__ import annotations

import base64
import json
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import jwt
import pytest

from domain.errors import UsageError
from domain.settings import Settings
from services.secrets import SecretError, secret_path
from services.tokens import (
    ALGORITHM,
    AUDIENCE,
    ISSUER,
    KEY_NAME,
    MAX_DAYS,
    Caller,
    TokenError,
    make_token,
    read_token,
    token_key,
)

KEY, OTHER_KEY = b"k" * 32, b"o" * 32
MADE_AT = datetime(2026, 5, 3, 10, tzinfo=UTC)
EXPIRES_AT = MADE_AT + timedelta(days=7)
CALLERS = [
    Caller("advertiser", 5),
    Caller("finance"),
    Caller("auditor"),
    Caller("operator"),
    Caller("approve", person="ada"),
    Caller("verdicts", person="lab"),
]
CLAIMS = {"iss": ISSUER, "aud": AUDIENCE, "sub": "5", "role": "advertiser", "exp": int(EXPIRES_AT.timestamp())}


@pytest.mark.parametrize("caller", CALLERS, ids=lambda caller: caller.role)
def test_there_and_back(caller: Caller) -> None:
    token = make_token(KEY, caller, MADE_AT, days=7)
    assert read_token(KEY, token, EXPIRES_AT - timedelta(seconds=1)) == caller
    with pytest.raises(TokenError, match="expired at 2026-05-10T10:00:00Z"):
        read_token(KEY, token, EXPIRES_AT)


def _signed(key: bytes = KEY, algorithm: str = ALGORITHM, **changes: Any) -> str:
    claims = {name: value for name, value in (CLAIMS | changes).items() if value is not None}
    return jwt.encode(claims, key, algorithm=algorithm)


def _unsigned() -> str:
    """The oldest trick: a token that says of itself that it needs no signature."""
    parts = [json.dumps(part).encode() for part in ({"alg": "none", "typ": "JWT"}, CLAIMS)]
    return ".".join([*(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts), ""])


def _tampered() -> str:
    head, _, signature = _signed().split(".")
    return ".".join([head, _signed(sub="6").split(".")[1], signature])


REFUSED = {
    "empty": "",
    "no token": "secret",
    "another key": _signed(OTHER_KEY),
    "another algorithm": _signed(algorithm="HS512", key=KEY * 2),
    "no signature": _unsigned(),
    "tampered": _tampered(),
    "another issuer": _signed(iss="somebody"),
    "another audience": _signed(aud="somewhere"),
    "no audience": _signed(aud=None),
    "no end": _signed(exp=None),
    "no subject": _signed(sub=None),
    "no role": _signed(role=None),
    "an unknown role": _signed(role="root"),
    "too long": "a" * 5_000,
}


@pytest.mark.parametrize("token", REFUSED.values(), ids=REFUSED)
def test_refused(token: str) -> None:
    with pytest.raises(TokenError) as caught:
        read_token(KEY, token, MADE_AT)
    assert "tallystick token" in caught.value.remedy


def test_a_good_one_is_not_refused() -> None:
    assert read_token(KEY, _signed(), MADE_AT) == Caller("advertiser", 5)


@pytest.mark.parametrize("role", ["finance", "auditor", "operator"])
def test_only_an_advertiser_has_an_advertiser(role: Any) -> None:
    """Law 13: a caller without an advertiser sees all, so a missing one must not pass for that."""
    with pytest.raises(UsageError):
        Caller(role, 5)
    with pytest.raises(UsageError):
        Caller("advertiser")


@pytest.mark.parametrize("days", [0, -1, MAX_DAYS + 1])
def test_days_are_bounded(days: int) -> None:
    with pytest.raises(UsageError, match=f"a token for {days} days"):
        make_token(KEY, Caller("finance"), MADE_AT, days)


def test_the_key_is_made_once_and_for_the_owner_alone(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path)
    key = token_key(settings)
    assert len(key) == 32
    assert token_key(settings) == key
    assert stat.S_IMODE(secret_path(settings, KEY_NAME).stat().st_mode) == 0o600


def test_a_short_key_is_refused(tmp_path: Path) -> None:
    """An emptied file would let anybody sign."""
    settings = Settings(home=tmp_path)
    token_key(settings)
    secret_path(settings, KEY_NAME).write_bytes(b"")
    with pytest.raises(SecretError, match="holds 0 bytes"):
        token_key(settings)


@pytest.mark.parametrize("role", ["approve", "verdicts"])
@pytest.mark.parametrize("person", [None, "", "Ada", "a b", "-a", "a" * 65])
def test_who_approves_or_hands_in_has_one_name(role: Any, person: str | None) -> None:
    with pytest.raises(UsageError, match="lower-case letters"):
        Caller(role, person=person)
