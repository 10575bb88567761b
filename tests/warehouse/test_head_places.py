"""A file is created once, whole, and never written over; what cannot be a place is refused."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import pytest

from domain.errors import UsageError
from tests.support.periods import CLOSED_AT
from warehouse.head_places import HeadPlaceError, head_place

OLD, NEW = (f"head-{number:010}-0000000001-0000000000-000000.json" for number in (9, 10))


def test_a_name_is_taken_once(tmp_path: Path) -> None:
    place = head_place(str(tmp_path), None)
    assert place.newest_name() is None
    assert [place.create(name, name.encode()) for name in (NEW, OLD, NEW)] == [True, True, False]
    assert place.create(OLD, b"another") is False
    assert place.read(OLD) == OLD.encode()
    (tmp_path / "head-zzz.json").write_text("not ours")
    assert place.newest_name() == NEW
    assert place.address(NEW) == str(tmp_path / NEW)
    assert sorted(os.listdir(tmp_path)) == sorted([OLD, NEW, "head-zzz.json"])
    assert stat.S_IMODE((tmp_path / NEW).stat().st_mode) == 0o444


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
