"""A file is created once, whole, and never written over; what cannot be a place is refused."""

from __future__ import annotations

import os
import socket
import stat
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from domain.errors import UsageError
from tests.support.object_store import BUCKET, ObjectStore, StoredObject
from tests.support.periods import CLOSED_AT
from warehouse.head_places import HeadPlaceError, head_place

OLD, NEW = (f"head-{number:010}-0000000001-0000000000-000000.json" for number in (9, 10))


@pytest.fixture(params=["folder", "bucket"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Every place there is, empty but for a file that is not ours, which sorts behind all heads."""
    if request.param == "folder":
        (tmp_path / "head-zzz.json").write_text("not ours")
        return str(tmp_path)
    store: ObjectStore = request.getfixturevalue("store")
    store.objects["tally/head-zzz.json"] = StoredObject(b"not ours", None, None, None)
    return f"s3://{BUCKET}/tally"


def test_a_name_is_taken_once(target: str) -> None:
    place = head_place(target, None)
    assert place.newest_name() is None
    assert [place.create(name, name.encode()) for name in (NEW, OLD, NEW)] == [True, True, False]
    assert place.create(OLD, b"another") is False
    assert place.read(OLD) == OLD.encode()
    assert place.newest_name() == NEW
    assert place.address(NEW) == f"{target}/{NEW}"


def test_the_newest_of_many(target: str) -> None:
    """More than a listing of the store answers with at once, kept in any order."""
    place = head_place(target, None)
    names = [f"head-{number:010}-0000000001-0000000000-000000.json" for number in (3, 7, 1, 5, 2, 6, 4)]
    assert all(place.create(name, b"") for name in names)
    assert place.newest_name() == names[1]


def test_one_of_many_at_once_keeps_a_name(target: str) -> None:
    """Who was told that it is theirs finds their content."""
    place = head_place(target, None)
    contents = [str(number).encode() for number in range(8)]
    with ThreadPoolExecutor(len(contents)) as pool:
        kept = list(pool.map(lambda content: place.create(NEW, content), contents))
    assert [content for content, is_new in zip(contents, kept, strict=True) if is_new] == [place.read(NEW)]


def test_a_folder_holds_whole_files_that_nobody_writes(tmp_path: Path) -> None:
    assert head_place(str(tmp_path), None).create(NEW, b"")
    assert os.listdir(tmp_path) == [NEW]
    assert stat.S_IMODE((tmp_path / NEW).stat().st_mode) == 0o444


def test_an_object_is_locked_until_the_time(store: ObjectStore) -> None:
    """In the mode that no account can lift, and not a fraction of a second less; without a time there is no lock."""
    assert head_place(f"s3://{BUCKET}/tally/", CLOSED_AT).create(OLD, b"{}")
    assert head_place(f"s3://{BUCKET}", None).create(NEW, b"{}")
    assert store.objects == {
        f"tally/{OLD}": StoredObject(b"{}", "application/json", "COMPLIANCE", "2026-12-02T08:00:01Z"),
        NEW: StoredObject(b"{}", "application/json", None, None),
    }


def test_a_bucket_without_object_lock_keeps_nothing(store: ObjectStore) -> None:
    store.has_lock = False
    with pytest.raises(HeadPlaceError, match=r"bucket audit: .*InvalidRequest"):
        head_place(f"s3://{BUCKET}", CLOSED_AT).create(OLD, b"{}")
    assert store.objects == {}


def test_a_bucket_that_is_not_there(store: ObjectStore) -> None:
    place = head_place("s3://absent/tally", None)
    for call in (place.newest_name, lambda: place.read(NEW), lambda: place.create(NEW, b"")):
        with pytest.raises(HeadPlaceError, match=r"bucket absent: .*NoSuchBucket"):
            call()


def test_a_store_that_does_not_answer(store: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", f"http://127.0.0.1:{port}")
    place = head_place(f"s3://{BUCKET}", None)
    for call in (place.newest_name, lambda: place.read(NEW), lambda: place.create(NEW, b"")):
        with pytest.raises(HeadPlaceError, match="Could not connect to the endpoint"):
            call()


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    place = head_place(str(tmp_path / "absent"), None)
    for call in (place.newest_name, lambda: place.read(NEW), lambda: place.create(NEW, b"")):
        with pytest.raises(HeadPlaceError, match="absent: No such file or directory"):
            call()


@pytest.mark.parametrize("target", ["", "https://example.org/x", "file:///tmp", "s3:///prefix"])
def test_what_is_no_place(target: str) -> None:
    with pytest.raises(UsageError, match="target "):
        head_place(target, None)


def test_a_folder_cannot_promise_to_keep(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="that keeps files until some time; expected s3:// of a bucket"):
        head_place(str(tmp_path), CLOSED_AT)


def test_an_object_store_needs_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "boto3", None)
    monkeypatch.setitem(sys.modules, "botocore.exceptions", None)
    with pytest.raises(UsageError, match=r"without boto3; expected the extra s3 .*; pip install 'tallystick\[s3\]'"):
        head_place("s3://bucket/prefix", None)
