"""A metrics API that really listens, over real tables of two advertisers."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from domain.ads import Ad
from domain.settings import Settings
from services.metrics.server import make_server
from services.tokens import Caller, make_token, token_key
from tests.services.metrics.page_server import Page, running
from tests.support.counts_tables import Clicks, counts_tables, hours
from tests.support.page_world import page_world
from warehouse.ads import snapshot_ads
from warehouse.clock import now

PATH = "/v1/ads/metrics"
JOIN_SECONDS = 20


class Api:
    """One running server, and callers with tokens."""

    def __init__(self, settings: Settings, url: str) -> None:
        self.settings = settings
        self.http = httpx.Client(base_url=url, timeout=30)
        self._key = token_key(settings)

    def token(self, caller: Caller, age: timedelta = timedelta(0)) -> str:
        return make_token(self._key, caller, now() - age, days=1)

    def get(self, caller: Caller, **parameters: str) -> httpx.Response:
        asked = {"from": "2026-05-03T00:00Z", "to": "2026-05-04T00:00Z"} | _named(parameters)
        return self.http.get(PATH, params=asked, headers={"Authorization": f"Bearer {self.token(caller)}"})

    def rows(self, caller: Caller, **parameters: str) -> list[dict[str, Any]]:
        response = self.get(caller, **parameters)
        assert response.status_code == 200, response.text
        return list(response.json()["rows"])


def _named(parameters: dict[str, str]) -> dict[str, str]:
    return {name.rstrip("_"): value for name, value in parameters.items()}


@pytest.fixture(scope="session")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """Advertiser 10 has ads 1 and 3, advertiser 11 has ad 2; hour 10 is final, hour 12 is live."""
    settings = _filled(tmp_path_factory.mktemp("metrics") / "home")
    server = make_server(settings)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        api = Api(settings, f"http://127.0.0.1:{port}")
        with api.http:
            yield api
        server.should_exit = True
        thread.join(JOIN_SECONDS)
        assert not thread.is_alive()


def _filled(home: Path) -> Settings:
    tables = counts_tables(home)
    ads = [
        Ad(1, 10, 100, "https://a.example/"),
        Ad(2, 11, 200, "https://b.example/"),
        Ad(3, 10, 300, "https://a.example/"),
    ]
    snapshot_ads(tables.settings, ads, now())
    mine, theirs = {"ad": 1, "advertiser": 10, "campaign": 100}, {"ad": 2, "advertiser": 11, "campaign": 200}
    tables.write_live(
        [
            Clicks("2026-05-03T10:05Z", 900, **mine),
            Clicks("2026-05-03T12:05Z", 3, **mine),
            Clicks("2026-05-03T12:05Z", 4, **theirs),
        ]
    )
    final = [Clicks("2026-05-03T10:05Z", 1, **mine), Clicks("2026-05-03T10:06Z", 2, **theirs)]
    tables.settle(final, hours("2026-05-03T10:00Z", 2))
    return tables.settings


@pytest.fixture(scope="session")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """A server over a home that has something in each view."""
    with running(page_world(tmp_path_factory.mktemp("page") / "home").settings) as served:
        yield served
