"""A spool as seen from beside: what waits, what has left, what could not be read."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

from services.click.spool import Spool
from services.click.spool_report import report_spool

AT = datetime(2026, 5, 4, 10, 59, 59, tzinfo=UTC)


def test_of_a_server_without_a_spool_there_is_nothing(tmp_path: Path) -> None:
    found = report_spool(tmp_path / "none")
    assert (found.waiting_count, found.oldest_waiting, found.shipped_by_hour) == (0, None, {})


def test_what_waits_is_what_the_position_leaves(tmp_path: Path) -> None:
    async def scenario() -> None:
        spool = Spool(tmp_path, 1 << 20, lambda _: None)
        await asyncio.gather(*(spool.append(AT + timedelta(seconds=n), b"k", b"v") for n in range(3)))
        batch = spool.read_batch()
        assert batch is not None
        spool.shipped(batch)
        await spool.append(AT + timedelta(seconds=7), b"k", b"v")
        found = report_spool(tmp_path)
        assert (found.waiting_count, found.waiting_bytes) == (1, spool.waiting_bytes)
        assert found.oldest_waiting == AT + timedelta(seconds=7)
        await spool.close()

    asyncio.run(scenario())


def test_the_ledger_adds_up_and_damage_is_named(tmp_path: Path) -> None:
    line = b'{"shipped_at": "2026-05-04T11:00:00Z", "clicks_by_hour": {"2026-05-04T10:00:00Z": 2}}\n'
    (tmp_path / "shipped.jsonl").write_bytes(line + b'{"shipped_at": "20' + b"\n" + line)
    (tmp_path / "000000000001.damaged").write_bytes(b"torn")
    found = report_spool(tmp_path)
    assert found.shipped_by_hour == {datetime(2026, 5, 4, 10, tzinfo=UTC): 4}
    assert found.damaged_bytes == 4
