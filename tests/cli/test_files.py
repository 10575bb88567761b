"""A file is written whole, or what stood there stays."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.files import ExportError, check_writable, write_whole
from tests.support.disk import room_for


def test_a_file_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "statement.csv"
    write_whole(path, b"one")
    write_whole(path, b"two")
    assert path.read_bytes() == b"two"
    assert [one.name for one in tmp_path.iterdir()] == ["statement.csv"]
    assert path.stat().st_mode & 0o777 == 0o644


def test_a_full_disk_leaves_what_stood_there_and_nothing_beside(tmp_path: Path) -> None:
    path = tmp_path / "statement.csv"
    write_whole(path, b"one")
    with room_for(1_000), pytest.raises(ExportError, match=r"statement.csv: File too large; expected room"):
        write_whole(path, b"x" * 100_000)
    assert path.read_bytes() == b"one"
    assert [one.name for one in tmp_path.iterdir()] == ["statement.csv"]


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match=r"no folder .*absent in which we may write"):
        write_whole(tmp_path / "absent" / "statement.csv", b"one")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match="is a folder"):
        check_writable(tmp_path)
