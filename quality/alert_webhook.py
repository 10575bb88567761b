"""Telling somebody: one message to the address in the file that setting ``alert_webhook_file`` names.

Belongs here: the request, its limits, and what is said of one that failed. The address is a secret: it stands in no
log, no row and no error; nor does what ``requests`` says, which names it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import requests
from requests.adapters import HTTPAdapter
from urllib3.util import Retry

from domain.errors import SettingError, TallystickError
from domain.settings import Settings

TIMEOUT_SECONDS = 5.0
"""For the connection, and for each wait for the answer."""
RETRIES = Retry(
    total=2,
    redirect=0,
    backoff_factor=0.5,
    status_forcelist=(429, 500, 502, 503, 504),
    allowed_methods=None,  # a message may arrive twice; its receiver knows it by alert_id and step
    respect_retry_after_header=False,
    raise_on_status=False,
)
"""Waits 0, then 1 second between tries, whatever the other side asks for."""
OK = range(200, 300)


class WebhookError(TallystickError):
    """The webhook did not take a message, after all tries."""

    is_transient = True


def webhook_address(settings: Settings) -> str | None:
    """The secret address; None if no file is named. ``SettingError`` if the file does not hold one."""
    if not settings.alert_webhook_file:
        return None
    path = settings.home / Path(settings.alert_webhook_file)
    try:
        address = path.read_text(encoding="utf-8").strip()
        parts = urlsplit(address)
        is_address = parts.scheme in {"http", "https"} and bool(parts.hostname) and len(address.split()) == 1
    except (OSError, ValueError) as error:
        raise _refusal(path, f"cannot be read: {type(error).__name__}") from error
    if not is_address:
        raise _refusal(path, "does not hold one")
    return address


def post(address: str, payload: dict[str, Any], timeout_seconds: float = TIMEOUT_SECONDS) -> str:
    """Sends it and returns what the other side answered, in a word. Blocks for a bounded time. Uses no proxy.

    ``WebhookError`` if it is not taken: no connection, no answer in time, a redirect, any answer but 2xx. It may have
    arrived all the same.
    """
    with requests.Session() as session:
        session.trust_env = False
        for scheme in ("http://", "https://"):
            session.mount(scheme, HTTPAdapter(max_retries=RETRIES))
        try:
            answer = session.post(address, json=payload, timeout=timeout_seconds, allow_redirects=False, stream=True)
        except (requests.RequestException, ValueError) as error:
            raise _failure(type(error).__name__) from None
    if answer.status_code not in OK:
        raise _failure(f"status {answer.status_code}")
    return f"status {answer.status_code}"


def _failure(what: str) -> WebhookError:
    return WebhookError(
        f"the webhook did not take a message: {what}",
        "an answer 2xx, without a redirect",
        "look at the receiver, then at setting alert_webhook_file; `tallystick alerts test` tries it",
    )


def _refusal(path: Path, what: str) -> SettingError:
    return SettingError(
        f"the file {path} of setting alert_webhook_file {what}", "one line, an http or https address", "correct it"
    )
