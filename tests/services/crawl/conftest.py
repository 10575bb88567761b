"""A crawl API that really listens, over a frontier of its own."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from crawler.frontier.database import Frontier, opened_frontier
from domain.settings import Settings
from services.crawl.server import make_server
from services.tokens import Caller, make_token, token_key
from warehouse.clock import now

ANN = Caller("operator", person="ann")
JOIN_SECONDS = 20


class CrawlApi:
    """One running server, its frontier, and callers with tokens."""

    def __init__(self, settings: Settings, frontier: Frontier, url: str) -> None:
        self.settings = settings
        self.frontier = frontier
        self.http = httpx.Client(base_url=url, timeout=30)
        self._key = token_key(settings)

    def ask(self, method: str, path: str, caller: Caller | None = ANN, **arguments: Any) -> httpx.Response:
        token = None if caller is None else make_token(self._key, caller, now(), days=1)
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        return self.http.request(method, path, headers=headers, **arguments)

    def post(self, path: str, **fields: Any) -> httpx.Response:
        return self.ask("POST", path, json=fields)

    def get(self, path: str, **parameters: str) -> dict[str, Any]:
        answer = self.ask("GET", path, params=parameters)
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found


@pytest.fixture
def api(tmp_path: Path) -> Iterator[CrawlApi]:
    settings = Settings(home=tmp_path / "home")
    with opened_frontier(settings) as frontier, socket.create_server(("127.0.0.1", 0)) as listener:
        server = make_server(settings, frontier)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        served = CrawlApi(settings, frontier, f"http://127.0.0.1:{listener.getsockname()[1]}")
        yield served
        served.http.close()
        server.should_exit = True
        thread.join(JOIN_SECONDS)
        assert not thread.is_alive()
