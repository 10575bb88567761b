"""Bodies under the hash of their content, each once, compressed.

Belongs here: a folder of files ``ab/cd/<sha256>.zst``. Does not belong here: which URL had which body (the frontier's
documents) and how long bodies are kept.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path

import zstandard

from crawler.outcomes import FetchLimits
from domain.errors import IntegrityError, TallystickError
from domain.settings import Settings
from warehouse.whole_files import sync_folder, written_beside

LEVEL = 3
OWNER_ONLY = 0o600
_HASH = re.compile(r"[0-9a-f]{64}")
_SUFFIX = ".zst"


class BodyMissingError(TallystickError):
    """A body that should be in the store is not there."""


def store_of(settings: Settings) -> BodyStore:
    """The store of an installation."""
    return BodyStore(settings.bodies_path, FetchLimits().decoded_bytes)


def hash_of(body: bytes) -> str:
    """The name of a body in the store, and that by which a page is the same as before."""
    return hashlib.sha256(body).hexdigest()


class BodyStore:
    """Bodies in one folder, for any number of processes. All calls block for the disk."""

    def __init__(self, root: Path, max_body_bytes: int) -> None:
        self._root = root
        self._max_body_bytes = max_body_bytes

    def put(self, body: bytes) -> str:
        """Keep a body and return its hash. Durable and read back when this returns; atomic and repeatable.

        ``IntegrityError`` if the disk gives back something else, ``OSError`` if it cannot be written.
        """
        digest = hash_of(body)
        path = self._path(digest)
        if not self._is_whole(digest):
            path.parent.mkdir(parents=True, exist_ok=True)
            self._write(path, zstandard.ZstdCompressor(level=LEVEL, write_content_size=True).compress(body))
            self.get(digest)
        return digest

    def keep(self, digest: str, body: bytes) -> None:
        """Puts the body again if somebody deleted it since; as safe as ``put``, and cheap where it is there."""
        if not self._path(digest).exists():
            self.put(body)

    def discard(self, digest: str) -> int:
        """Deletes a body; how many bytes its file had, 0 if it was not there. Repeatable, not undone."""
        path = self._path(digest)
        try:
            size_bytes = path.stat().st_size
            path.unlink()
        except FileNotFoundError:
            return 0
        return size_bytes

    def written_before(self, at: datetime) -> Iterator[str]:
        """The hashes of bodies that were first written before an instant, in no order; they may go meanwhile."""
        for path in self._root.glob(f"??/??/*{_SUFFIX}"):
            digest = path.name.removesuffix(_SUFFIX)
            with suppress(FileNotFoundError):
                if _HASH.fullmatch(digest) and path.stat().st_mtime < at.timestamp():
                    yield digest

    def get(self, digest: str) -> bytes:
        """The body of a hash, verified. ``BodyMissingError``, or ``IntegrityError`` if the file holds another."""
        path = self._path(digest)
        try:
            packed = path.read_bytes()
        except FileNotFoundError:
            raise BodyMissingError(f"no body {digest}", f"the file {path}", "fetch the page again") from None
        body = self._unpacked(packed)
        if body is None or hashlib.sha256(body).hexdigest() != digest:
            raise IntegrityError(f"{path} holds another body", f"one of SHA-256 {digest}", "restore or remove the file")
        return body

    def _is_whole(self, digest: str) -> bool:
        """Whether the body is there; what is damaged is written again."""
        try:
            self.get(digest)
        except (BodyMissingError, IntegrityError):
            return False
        return True

    def _unpacked(self, packed: bytes) -> bytes | None:
        """The content of a file, or None; a file that claims to hold more than any body is not unpacked."""
        try:
            size_bytes = zstandard.frame_content_size(packed)
            if not 0 <= size_bytes <= self._max_body_bytes:
                return None
            return zstandard.ZstdDecompressor().decompress(packed) if size_bytes else b""
        except zstandard.ZstdError:
            return None

    def _path(self, digest: str) -> Path:
        if not _HASH.fullmatch(digest):
            raise BodyMissingError(f"hash {digest!r}", "64 digits of SHA-256", "correct it")
        return self._root / digest[:2] / digest[2:4] / (digest + _SUFFIX)

    def _write(self, path: Path, packed: bytes) -> None:
        """Whole or not at all, under its name, on the disk."""
        with written_beside(path, OWNER_ONLY) as file:
            file.write(packed)
        for folder in (path.parent.parent, self._root):  # that of the file is on the disk already
            sync_folder(folder)
