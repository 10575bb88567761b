"""Tests run in several processes at once: no two of them may choose the same port."""

from __future__ import annotations

import socket
import subprocess
import sys
from contextlib import closing

import pytest

from tests.conventions.sources import ROOT
from tests.support import ports

FIRST, END = 19_990, 19_993
"""Three ports that no other test chooses from."""
ASK = f"""
from tests.support import ports
ports.FIRST_PORT, ports.LAST_PORT = {FIRST}, {END}
print(ports.free_port(), ports.free_port(), flush=True)
input()
"""


def test_a_port_that_another_process_has_found_is_not_found_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither listens yet; the third port is all that is left, until the other process ends."""
    monkeypatch.setattr(ports, "FIRST_PORT", FIRST)
    monkeypatch.setattr(ports, "LAST_PORT", END)
    monkeypatch.setattr(ports, "_CLAIMS", [])
    command = [sys.executable, "-c", ASK]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        theirs = {int(port) for port in other.stdout.readline().split()}
        ours = ports.free_port()
        other.communicate("\n")
    assert len(theirs) == 2
    assert {*theirs, ours} == set(range(FIRST, END))
    assert {ports.free_port(), ports.free_port()} == theirs
    for claim in ports._CLAIMS:
        claim.close()


def test_a_port_where_somebody_listens_is_not_found(monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
        assert ports._is_taken(port)
    assert not ports._is_taken(port)
