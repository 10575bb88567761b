"""A webhook on this machine: takes messages, or does what bad ones do."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Literal

from domain.settings import Settings

Manner = Literal["take", "hang", "redirect", "close"] | int
SECRET = "T0ps3cret"


class Webhook:
    """What came, and how it answers; ``manners`` are used up one by one, the last one stays."""

    def __init__(self, server: ThreadingHTTPServer, manners: list[Manner]) -> None:
        self.address = f"http://127.0.0.1:{server.server_address[1]}/hook/{SECRET}"
        self.manners = manners
        self.messages: list[dict[str, Any]] = []
        self.paths: list[str] = []
        self.is_over = threading.Event()

    def next_manner(self) -> Manner:
        return self.manners.pop(0) if len(self.manners) > 1 else self.manners[0]

    def configured(self, settings: Settings) -> Path:
        """Writes the file of the secret under home."""
        path = settings.home / "webhook"
        path.write_text(f"{self.address}\n", encoding="utf-8")
        return path


@contextmanager
def webhook(*manners: Manner) -> Iterator[Webhook]:
    """A server on a free port of its own."""
    holder: list[Webhook] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            hook = holder[0]
            hook.paths.append(self.path)
            hook.messages.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            manner = hook.next_manner()
            if manner == "hang":
                hook.is_over.wait()
            elif manner == "close":
                self.connection.close()
            elif manner == "redirect":
                self._answer(302, {"Location": "/elsewhere"})
            else:
                self._answer(200 if manner == "take" else manner, {})

        def _answer(self, status: int, headers: dict[str, str]) -> None:
            self.send_response(status)
            for name, value in (headers | {"Content-Length": "0"}).items():
                self.send_header(name, value)
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing."""

        def finish(self) -> None:
            if not self.wfile.closed and self.connection.fileno() >= 0:
                super().finish()

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    holder.append(Webhook(server, list(manners) or ["take"]))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield holder[0]
    finally:
        holder[0].is_over.set()
        server.shutdown()
        server.server_close()
        thread.join()
