"""Where the servers of a test can listen.

A port that is free is found first and taken later, so each one is claimed for the life of the process that found it:
tests in several processes, of one run or of several, never start two servers at one place.
"""

from __future__ import annotations

import random
import socket

FIRST_PORT, LAST_PORT = 20_000, 32_000
"""Below the range from which the system takes ports for outgoing connections."""
_CLAIMS: list[socket.socket] = []


def free_port() -> int:
    """A port that is free, and nobody else's."""
    return _first_free(1)


def free_broker_port() -> int:
    """A port that is free together with the next one, which the broker's controller takes."""
    return _first_free(2)


def _first_free(count: int) -> int:
    """The first of so many in a row."""
    while True:
        port = random.randrange(FIRST_PORT, LAST_PORT - count + 1)
        if all(_claim(each) and not _is_taken(each) for each in range(port, port + count)):
            return port


def _claim(port: int) -> bool:
    """False if another process, or this one, has it. By a name without a file: the system forgets it with its owner."""
    claim = socket.socket(socket.AF_UNIX)
    try:
        claim.bind(f"\0tallystick-test-port-{port}")
    except OSError:
        claim.close()
        return False
    _CLAIMS.append(claim)
    return True


def _is_taken(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return True
        return False
