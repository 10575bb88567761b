"""The process of the crawl API: its port, its frontier, and uvicorn.

Belongs here: listening and stopping. What is answered: ``app.py``.
"""

from __future__ import annotations

import uvicorn

from crawler.frontier.database import Frontier, opened_frontier
from domain.settings import Settings
from services.crawl.app import make_app
from services.listening import listen
from warehouse.clock import now

SHUTDOWN_SECONDS = 10
"""How long answers that are on their way may take after the signal to stop."""


def run_crawl_api(settings: Settings) -> None:
    """Answers until the process is told to stop. ``ListenError`` if the port cannot be had; nothing is served then."""
    with (
        listen(settings.bind_address, settings.crawl_api_port, "crawl_api_port") as listener,
        opened_frontier(settings) as frontier,
    ):
        make_server(settings, frontier).run(sockets=[listener])


def make_server(settings: Settings, frontier: Frontier) -> uvicorn.Server:
    """The server, ready to run on a socket that listens."""
    config = uvicorn.Config(
        make_app(settings, frontier, now),
        access_log=False,
        log_level="warning",
        server_header=False,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
    )
    return uvicorn.Server(config)
