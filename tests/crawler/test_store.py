"""Bodies under their hash: what was kept is what is read, or it is said."""

from __future__ import annotations

import hashlib
import threading
from pathlib import Path

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crawler.store import BodyMissingError, BodyStore
from domain.errors import IntegrityError

MAX_BODY_BYTES = 1_000_000


@pytest.fixture
def store(tmp_path: Path) -> BodyStore:
    return BodyStore(tmp_path / "bodies", MAX_BODY_BYTES)


def _files(tmp_path: Path) -> list[Path]:
    return [path for path in (tmp_path / "bodies").rglob("*") if path.is_file()]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25, deadline=None)
@given(st.binary(max_size=2_000))
def test_what_was_kept_is_read(store: BodyStore, body: bytes) -> None:
    digest = store.put(body)
    assert digest == hashlib.sha256(body).hexdigest()
    assert store.get(digest) == body


def test_a_body_is_kept_once_under_its_hash(store: BodyStore, tmp_path: Path) -> None:
    digest = store.put(b"a page" * 1_000)
    assert store.put(b"a page" * 1_000) == digest
    (path,) = _files(tmp_path)
    assert path == tmp_path / "bodies" / digest[:2] / digest[2:4] / f"{digest}.zst"
    assert path.stat().st_size < 200


def test_a_missing_body_is_named(store: BodyStore) -> None:
    with pytest.raises(BodyMissingError, match="0" * 64):
        store.get("0" * 64)


@pytest.mark.parametrize("digest", ["", "../../x", "0" * 63, "A" * 64, "0" * 64 + "\n"])
def test_what_is_no_hash_opens_no_file(store: BodyStore, digest: str) -> None:
    with pytest.raises(BodyMissingError):
        store.get(digest)


@pytest.mark.parametrize(
    "damage",
    [b"", b"junk", zstandard.compress(b"another body"), zstandard.compress(bytes(MAX_BODY_BYTES + 1))],
    ids=["empty", "junk", "another", "bomb"],
)
def test_a_damaged_file_is_seen_and_written_again(store: BodyStore, tmp_path: Path, damage: bytes) -> None:
    digest = store.put(b"a page")
    (path,) = _files(tmp_path)
    path.write_bytes(damage)
    with pytest.raises(IntegrityError):
        store.get(digest)
    store.put(b"a page")
    assert store.get(digest) == b"a page"


def test_a_body_that_is_read_back_differently_is_not_kept_silently(tmp_path: Path) -> None:
    """A store that may not unpack what it just wrote: reading back is part of keeping."""
    with pytest.raises(IntegrityError):
        BodyStore(tmp_path, max_body_bytes=10).put(b"longer than ten bytes")


def test_a_failed_write_leaves_nothing(store: BodyStore, tmp_path: Path) -> None:
    digest = hashlib.sha256(b"a page").hexdigest()
    (tmp_path / "bodies" / digest[:2] / digest[2:4] / f"{digest}.zst" / "in the way").mkdir(parents=True)
    with pytest.raises(OSError, match="directory"):
        store.put(b"a page")
    assert _files(tmp_path) == []


def test_many_writers_of_one_body(store: BodyStore, tmp_path: Path) -> None:
    writers = [threading.Thread(target=store.put, args=(b"a page",)) for _ in range(8)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert len(_files(tmp_path)) == 1
