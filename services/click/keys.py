"""The signing keys of this installation: one secret file that holds the key ring as JSON.

Belongs here: the file's form, the first key, rotation. What a signature is, is ``domain/signing.py``; how a secret is
kept is ``services/secrets.py``.
"""

from __future__ import annotations

import base64
import json
import secrets
from datetime import datetime, timedelta

from domain.buckets import format_utc, parse_utc
from domain.errors import UsageError
from domain.settings import Settings
from domain.signing import SECRET_BYTES, KeyRing, SigningKey
from services.secrets import SecretError, change_secret, ensure_secret, read_secret, secret_path

FILE_NAME = "click-keys.json"
_KEY_ID_BYTES = 4


def load_key_ring(settings: Settings) -> KeyRing:
    """The ring of this home; its first key is made if there is none yet."""
    encoded = ensure_secret(settings, FILE_NAME, lambda: _encoded(KeyRing((_new_key(),))))
    return _decoded(settings, encoded)


def read_key_ring(settings: Settings) -> KeyRing:
    """The ring of this home, which must be there: a service that lost its keys keeps those it has."""
    return _decoded(settings, read_secret(secret_path(settings, FILE_NAME)))


def rotate_keys(settings: Settings, at: datetime, term: timedelta) -> KeyRing:
    """Adds a key that signs from now on; links signed before are accepted for ``term``. Running services follow."""
    load_key_ring(settings)
    encoded = change_secret(
        settings, FILE_NAME, lambda old: _encoded(_decoded(settings, old).rotated(_new_key(), at, term))
    )
    return _decoded(settings, encoded)


def _new_key() -> SigningKey:
    return SigningKey(secrets.token_hex(_KEY_ID_BYTES), secrets.token_bytes(SECRET_BYTES))


def _encoded(ring: KeyRing) -> bytes:
    keys = [
        {
            "key_id": key.key_id,
            "secret": base64.b64encode(key.secret).decode(),
            "accepted_until": key.accepted_until and format_utc(key.accepted_until),
        }
        for key in ring.keys
    ]
    return json.dumps({"keys": keys}, indent=2).encode() + b"\n"


def _decoded(settings: Settings, encoded: bytes) -> KeyRing:
    try:
        document = json.loads(encoded)
        return KeyRing(
            tuple(
                SigningKey(
                    key["key_id"],
                    base64.b64decode(key["secret"], validate=True),
                    parse_utc(key["accepted_until"]) if key["accepted_until"] else None,
                )
                for key in document["keys"]
            )
        )
    except UsageError as error:
        detail = str(error)
    except (ValueError, KeyError, TypeError) as error:
        # Named by its kind alone: the text of such an error may quote the secret.
        detail = type(error).__name__
    path = secret_path(settings, FILE_NAME)
    raise SecretError(f"{path} holds no key ring ({detail})", "the form in docs/click-service.md", "mend or move it")
