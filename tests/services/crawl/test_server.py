"""The process of the crawl API: a port that is taken is one clear line."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from domain.settings import Settings
from services.crawl.server import run_crawl_api
from services.listening import ListenError


def test_a_port_that_is_taken_names_its_setting(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        settings = Settings(home=tmp_path / "home", crawl_api_port=taken.getsockname()[1])
        with pytest.raises(ListenError, match="TALLYSTICK_CRAWL_API_PORT"):
            run_crawl_api(settings)
    assert not settings.home.exists(), "nothing was made"
