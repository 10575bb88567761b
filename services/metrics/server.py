"""The process of the metrics API: its port, and uvicorn.

Belongs here: listening and stopping. What is answered: ``app.py``.
"""

from __future__ import annotations

import uvicorn

from domain.settings import Settings
from services.listening import listen
from services.metrics.app import make_app
from warehouse.clock import now

SHUTDOWN_SECONDS = 10
"""How long answers that are on their way may take after the signal to stop."""


def run_metrics_api(settings: Settings) -> None:
    """Answers until the process is told to stop. ``ListenError`` if the port cannot be had; nothing is served then."""
    with listen(settings.bind_address, settings.metrics_port, "metrics_port") as listener:
        make_server(settings).run(sockets=[listener])


def make_server(settings: Settings) -> uvicorn.Server:
    """The server, ready to run on a socket that listens."""
    config = uvicorn.Config(
        make_app(settings, now),
        access_log=False,
        log_level="warning",
        server_header=False,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
    )
    return uvicorn.Server(config)
