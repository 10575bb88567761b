"""A file comes to be there whole, with its mode, or what stood there stays; nothing is left beside."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from warehouse.whole_files import written_beside


def _modes(folder: Path) -> dict[str, int]:
    return {one.name: one.stat().st_mode & 0o777 for one in folder.iterdir()}


def _end_half_way(path: Path, error: type[BaseException]) -> None:
    with written_beside(path, 0o600) as file:
        file.write(b"half")
        raise error


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o444])
def test_it_is_its_owners_alone_until_it_is_whole(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "secret"
    with written_beside(path, mode) as file:
        file.write(b"half")
        file.flush()
        assert list(_modes(tmp_path).values()) == [0o600]
        assert not path.exists()
    assert _modes(tmp_path) == {"secret": mode}
    assert path.read_bytes() == b"half"


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_what_stood_there_stays_if_the_block_does_not_end(tmp_path: Path, error: type[BaseException]) -> None:
    path = tmp_path / "secret"
    path.write_bytes(b"former")
    with pytest.raises(error):
        _end_half_way(path, error)
    assert [one.name for one in tmp_path.iterdir()] == ["secret"]
    assert path.read_bytes() == b"former"


def test_a_link_replaces_nothing(tmp_path: Path) -> None:
    path = tmp_path / "head"
    with written_beside(path, 0o444, os.link) as file:
        file.write(b"one")
    with pytest.raises(FileExistsError), written_beside(path, 0o444, os.link) as file:
        file.write(b"two")
    assert (path.read_bytes(), _modes(tmp_path)) == (b"one", {"head": 0o444})
