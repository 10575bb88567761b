"""An object store on loopback for tests: one bucket, what S3 answers to a conditional put, a get and a list in pages.

Belongs here: as much of the protocol as ``warehouse/head_places.py`` uses; anything else is refused, as a store does.
"""

from __future__ import annotations

import base64
import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, quote, unquote, urlsplit
from xml.sax.saxutils import escape

BUCKET = "audit"
ACCESS_KEY = "key-of-a-test"
PAGE = 2
"""Keys that a listing answers with at once: few, so that whoever reads the first page only is found out."""
LOCK_MODE, LOCK_UNTIL = "x-amz-object-lock-mode", "x-amz-object-lock-retain-until-date"


@dataclass(frozen=True)
class StoredObject:
    """Content with the headers that say what it is and how long it is kept."""

    content: bytes
    content_type: str | None
    lock_mode: str | None
    lock_until: str | None


@dataclass
class ObjectStore:
    """What the bucket holds, by key. ``has_lock``: whether it was made with object lock."""

    has_lock: bool = True
    objects: dict[str, StoredObject] = field(default_factory=dict)
    endpoint: str = ""
    turn: threading.Lock = field(default_factory=threading.Lock)
    """One put at a time."""

    def environment(self) -> dict[str, str]:
        """Where boto3 looks for an endpoint and credentials."""
        return {
            "AWS_ENDPOINT_URL_S3": self.endpoint,
            "AWS_ACCESS_KEY_ID": ACCESS_KEY,
            "AWS_SECRET_ACCESS_KEY": "secret-of-a-test",
            "no_proxy": "127.0.0.1",
            "AWS_DEFAULT_REGION": "eu-central-1",
            "AWS_MAX_ATTEMPTS": "1",
            "AWS_CONFIG_FILE": "/absent",
            "AWS_SHARED_CREDENTIALS_FILE": "/absent",
        }


@contextmanager
def object_store() -> Iterator[ObjectStore]:
    """A store that answers until the block ends."""
    store = ObjectStore()

    class Handler(_Handler):
        held = store

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        store.endpoint = f"http://127.0.0.1:{server.server_port}"
        try:
            yield store
        finally:
            server.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    held: ObjectStore

    def log_message(self, format: str, *args: object) -> None:
        """Nothing on stderr."""

    def do_PUT(self) -> None:
        content = self.rfile.read(int(self.headers["Content-Length"]))
        key = self._key()
        if key is None:
            return
        digest = base64.b64encode(hashlib.sha256(content).digest()).decode()
        lock = self.headers.get(LOCK_MODE), self.headers.get(LOCK_UNTIL)
        if not key or self.headers.get("x-amz-checksum-sha256") != digest:
            self._refuse(HTTPStatus.BAD_REQUEST, "BadDigest")
        elif any(lock) and not (all(lock) and self.held.has_lock):
            self._refuse(HTTPStatus.BAD_REQUEST, "InvalidRequest")
        elif self._is_put(key, StoredObject(content, self.headers.get("Content-Type"), *lock)):
            self._answer(HTTPStatus.OK, b"")
        else:
            self._refuse(HTTPStatus.PRECONDITION_FAILED, "PreconditionFailed")

    def _is_put(self, key: str, found: StoredObject) -> bool:
        with self.held.turn:
            if self.headers.get("If-None-Match") == "*" and key in self.held.objects:
                return False
            self.held.objects[key] = found
            return True

    def do_GET(self) -> None:
        key = self._key()
        if key == "":
            self._list()
        elif key is not None and key in self.held.objects:
            self._answer(HTTPStatus.OK, self.held.objects[key].content)
        elif key is not None:
            self._refuse(HTTPStatus.NOT_FOUND, "NoSuchKey")

    def _list(self) -> None:
        """A page of the keys with a prefix, in their order, and where the next page begins."""
        asked = {name: values[0] for name, values in parse_qs(urlsplit(self.path).query).items()}
        if (asked.get("list-type"), asked.get("encoding-type")) != ("2", "url"):
            self._refuse(HTTPStatus.BAD_REQUEST, "InvalidArgument")
            return
        after = asked.get("continuation-token", "")
        keys = sorted(key for key in self.held.objects if key.startswith(asked.get("prefix", "")) and key > after)
        page, is_cut = keys[:PAGE], len(keys) > PAGE
        found = "".join(f"<Contents><Key>{escape(quote(key))}</Key></Contents>" for key in page)
        more = f"<NextContinuationToken>{escape(page[-1])}</NextContinuationToken>" if is_cut else ""
        flags = f"<EncodingType>url</EncodingType><IsTruncated>{str(is_cut).lower()}</IsTruncated>"
        self._answer(HTTPStatus.OK, f"<ListBucketResult>{flags}{more}{found}</ListBucketResult>".encode())

    def _key(self) -> str | None:
        """Of the object that is asked for, empty for the bucket; None where the request was refused."""
        _, bucket, *rest = unquote(urlsplit(self.path).path).split("/", 2)
        if f"Credential={ACCESS_KEY}/" not in self.headers.get("Authorization", ""):
            self._refuse(HTTPStatus.FORBIDDEN, "InvalidAccessKeyId")
        elif bucket != BUCKET:
            self._refuse(HTTPStatus.NOT_FOUND, "NoSuchBucket")
        else:
            return rest[0] if rest else ""
        return None

    def _refuse(self, status: HTTPStatus, code: str) -> None:
        self._answer(status, f"<Error><Code>{code}</Code><Message>{status.phrase}</Message></Error>".encode())

    def _answer(self, status: HTTPStatus, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/xml")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
