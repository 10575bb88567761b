"""The page: a few static files of this package, sent as they are. Figures come from the API, with the reader's token.

Belongs here: which files there are, and the headers that keep the page from asking anybody else. What may be seen is
checked by each path of the API, not here.
"""

from __future__ import annotations

import hashlib
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

MEDIA_TYPE = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
START = "index.html"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-cache",
}
"""A browser asks each time whether a file is still the same: after an upgrade no old script meets a new API."""
NOT_MODIFIED = 304


def page_routes() -> list[Route]:
    """The routes of all files, which are read once."""
    routes = []
    for file in files("services.metrics").joinpath("page").iterdir():
        suffix = f".{file.name.rpartition('.')[2]}"
        if suffix in MEDIA_TYPE:
            static = _StaticFile(file.read_bytes(), f"{MEDIA_TYPE[suffix]}; charset=utf-8")
            routes.append(Route("/" if file.name == START else f"/page/{file.name}", static.get))
    return routes


class _StaticFile:
    def __init__(self, content: bytes, media_type: str) -> None:
        self._content, self._media_type = content, media_type
        self._headers = HEADERS | {"ETag": f'"{hashlib.sha256(content).hexdigest()[:32]}"'}

    async def get(self, request: Request) -> Response:
        if request.headers.get("if-none-match") == self._headers["ETag"]:
            return Response(status_code=NOT_MODIFIED, headers=self._headers)
        return Response(self._content, media_type=self._media_type, headers=self._headers)
