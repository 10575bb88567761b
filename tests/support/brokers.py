"""Where a test's own broker can listen."""

from __future__ import annotations

import random
import socket

FIRST_PORT, LAST_PORT = 20_000, 32_000
"""Below the range from which the system takes ports for outgoing connections."""


def free_broker_port() -> int:
    """A port that is free together with the next one, which the broker's controller takes."""
    while True:
        port = random.randrange(FIRST_PORT, LAST_PORT)
        if not any(_is_taken(each) for each in (port, port + 1)):
            return port


def _is_taken(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return True
        return False
