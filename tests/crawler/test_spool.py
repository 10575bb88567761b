"""The spool: durable, whole or not there, bounded by priority, taken over from the dead."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from crawler.spool import Spool
from domain.errors import IntegrityError

MOST = 1_000


def drained(spool: Spool) -> list[dict[str, Any]]:
    found = []
    while (entry := spool.first()) is not None:
        found.append(entry)
        spool.drop_first()
    return found


def entries(count: int) -> list[dict[str, Any]]:
    return [{"number": number, "text": "\u00e9" * number} for number in range(count)]


def test_results_come_back_in_their_order_and_the_file_goes(tmp_path: Path) -> None:
    with Spool(tmp_path, "w", MOST) as spool:
        assert (spool.is_empty, spool.first()) == (True, None)
        for entry in entries(5):
            assert spool.keep(entry, 0)
        assert spool.first() == spool.first() == entries(1)[0]
        assert drained(spool) == entries(5)
        assert spool.is_empty
        assert spool.keep({"again": 1}, 0)
        assert drained(spool) == [{"again": 1}]
    assert list(tmp_path.iterdir()) == []


def test_the_last_part_is_kept_for_what_has_a_priority(tmp_path: Path) -> None:
    """A record of 100 bytes: seven fit into three quarters of 1,000, ten into all."""
    entry = {"x": "y" * (100 - 8 - len('{"x":""}'))}
    with Spool(tmp_path, "w", MOST) as spool:
        assert [spool.keep(entry, 0) for _ in range(9)] == [True] * 7 + [False] * 2
        assert [spool.keep(entry, 1) for _ in range(4)] == [True] * 3 + [False]
        assert len(drained(spool)) == 10
        assert spool.keep(entry, 0), "there is room again"


@pytest.mark.parametrize("cut_bytes", range(1, 30, 4))
def test_what_a_dead_worker_had_finished_is_taken_over(tmp_path: Path, cut_bytes: int) -> None:
    """It died in the middle of its last record, which was never said to be kept."""
    dead = Spool(tmp_path, "dead", MOST)
    with dead as spool:
        for entry in entries(3):
            spool.keep(entry, 0)
        size_bytes = (tmp_path / "dead.spool").stat().st_size
        spool.keep({"last": "x" * 30}, 0)
    with (tmp_path / "dead.spool").open("r+b") as file:
        file.truncate(size_bytes + cut_bytes)
    with Spool(tmp_path, "next", MOST) as spool:
        assert not (tmp_path / "dead.spool").exists()
        assert drained(spool) == entries(3)


def test_a_living_worker_keeps_its_own(tmp_path: Path) -> None:
    with Spool(tmp_path, "living", MOST) as living:
        living.keep({"its": 1}, 0)
        with Spool(tmp_path, "next", MOST) as other:
            assert other.is_empty
        assert drained(living) == [{"its": 1}]


def test_a_damaged_record_is_not_replayed(tmp_path: Path) -> None:
    with Spool(tmp_path, "w", MOST) as spool:
        for entry in entries(2):
            spool.keep(entry, 0)
        with (tmp_path / "w.spool").open("r+b") as file:
            file.seek(10)
            file.write(b"?")
        with pytest.raises(IntegrityError, match="a damaged result at byte 0"):
            spool.first()
