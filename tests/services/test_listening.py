"""A port that cannot be had is one error that names it and its setting."""

from __future__ import annotations

import socket

import pytest

from services.listening import ListenError, listen


def test_a_busy_port_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ListenError) as caught:
            listen("127.0.0.1", port, "click_port")
    assert f"port {port} of 127.0.0.1" in caught.value.found
    assert "TALLYSTICK_CLICK_PORT" in caught.value.remedy
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("address", ["203.0.113.1", "no.such.host.invalid", "::ffff:203.0.113.1"])
def test_an_address_that_is_not_ours_is_refused(address: str) -> None:
    with pytest.raises(ListenError):
        listen(address, 18_310, "click_port")


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_both_families(address: str) -> None:
    with socket.create_server((address, 0), family=socket.AF_INET6 if ":" in address else socket.AF_INET) as probe:
        port = probe.getsockname()[1]
    with listen(address, port, "click_port") as listener, socket.create_connection((address, port)):
        assert listener.getsockname()[1] == port
