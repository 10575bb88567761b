"""A metrics API over the home of ``tests/support/page_world.py``, whose clock stands still."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import httpx
import uvicorn

from domain.settings import Settings
from services.metrics.app import make_app
from services.tokens import Caller, make_token, token_key
from tests.support.page_world import AT

JOIN_SECONDS = 20


class Page:
    """One running server, and callers with tokens."""

    def __init__(self, settings: Settings, http: httpx.Client, url: str) -> None:
        self.settings, self.http, self.url = settings, http, url

    def token(self, caller: Caller) -> str:
        return make_token(token_key(self.settings), caller, AT - timedelta(hours=1), days=1)

    def get(self, caller: Caller, path: str, **parameters: str) -> httpx.Response:
        named = {name.rstrip("_"): value for name, value in parameters.items()}
        return self.http.get(path, params=named, headers={"Authorization": f"Bearer {self.token(caller)}"})

    def document(self, caller: Caller, path: str, **parameters: str) -> dict[str, Any]:
        response = self.get(caller, path, **parameters)
        assert response.status_code == 200, response.text
        return dict(response.json())


@contextmanager
def running(settings: Settings) -> Iterator[Page]:
    config = uvicorn.Config(make_app(settings, lambda: AT), access_log=False, log_level="warning")
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        with httpx.Client(base_url=url, timeout=60) as http:
            yield Page(settings, http, url)
        server.should_exit = True
        thread.join(JOIN_SECONDS)
        assert not thread.is_alive()
