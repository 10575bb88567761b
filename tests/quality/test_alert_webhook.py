"""The webhook on a real server: what is taken, what is tried again, what is refused; and its address stays secret."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from traceback import format_exception

import pytest

from domain.errors import SettingError
from domain.settings import Settings
from quality.alert_webhook import RETRIES, WebhookError, post, webhook_address
from tests.support.ports import free_port
from tests.support.webhooks import SECRET, Manner, webhook

MESSAGE = {"alert_id": "a", "step": "opened"}
TIMEOUT_SECONDS = 0.3
TRIES = RETRIES.total + 1


def test_a_message_arrives_whole() -> None:
    with webhook() as hook:
        assert post(hook.address, MESSAGE) == "status 200"
    assert (hook.messages, hook.paths) == ([MESSAGE], [f"/hook/{SECRET}"])


def test_a_server_that_is_busy_once_is_asked_again() -> None:
    with webhook(503, "take") as hook:
        assert post(hook.address, MESSAGE) == "status 200"
    assert len(hook.messages) == 2


@pytest.mark.parametrize(
    ("manner", "said", "tries"),
    [
        (500, "status 500", TRIES),
        ("hang", "ReadTimeout|ConnectionError", TRIES),
        ("close", "ConnectionError", TRIES),
        ("redirect", "status 302", 1),
        (404, "status 404", 1),
    ],
    ids=["500", "hangs", "closes", "redirects", "404"],
)
def test_what_is_not_taken_is_said_without_the_address(manner: Manner, said: str, tries: int) -> None:
    with webhook(manner) as hook, pytest.raises(WebhookError, match=said) as refused:
        post(hook.address, MESSAGE, TIMEOUT_SECONDS)
    assert len(hook.messages) == tries
    assert set(hook.paths) == {f"/hook/{SECRET}"}, "a redirect is not followed"
    assert SECRET not in "".join(format_exception(refused.value))


def test_nobody_listening_is_a_refusal() -> None:
    with pytest.raises(WebhookError, match="ConnectionError"):
        post(f"http://127.0.0.1:{free_port()}/{SECRET}", MESSAGE, TIMEOUT_SECONDS)


def test_the_address_is_read_from_its_file(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path)
    assert webhook_address(settings) is None
    (tmp_path / "hook").write_text("https://hooks.example/x\n", encoding="utf-8")
    assert webhook_address(replace(settings, alert_webhook_file="hook")) == "https://hooks.example/x"


@pytest.mark.parametrize("content", [None, "", "ftp://x/", "https://", f"https://x/{SECRET} y", "http://[x/"])
def test_a_file_without_an_address_is_refused(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "hook").write_text(content, encoding="utf-8")
    with pytest.raises(SettingError, match="alert_webhook_file") as refused:
        webhook_address(Settings(home=tmp_path, alert_webhook_file="hook"))
    assert SECRET not in str(refused.value)
