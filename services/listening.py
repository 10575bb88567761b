"""The socket of a service, bound before anything else is started, so that a busy port is one clear line.

Belongs here: address and port in, a listening socket out. What answers on it is the service's.
"""

from __future__ import annotations

import socket

from domain.errors import TallystickError

BACKLOG = 2_048


class ListenError(TallystickError):
    """A service cannot listen where its settings say."""

    exit_code = 2


def listen(address: str, port: int, port_setting: str) -> socket.socket:
    """A listening socket; ``ListenError`` names the setting that gave the port."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        return socket.create_server((address, port), family=family, backlog=BACKLOG)
    except OSError as error:
        raise ListenError(
            f"port {port} of {address} cannot be had: {error.strerror or error}",
            "a free port of this machine",
            f"end the program that listens there, or set TALLYSTICK_{port_setting.upper()} or TALLYSTICK_BIND_ADDRESS",
        ) from error
