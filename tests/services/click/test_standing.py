"""A server's own memory of whether hours wait for it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from services.click.standing import Standing

AT = datetime(2026, 5, 4, 10, 0, 0, 250, tzinfo=UTC)


def test_what_was_promised_outlives_the_process(tmp_path: Path) -> None:
    Standing(tmp_path).keep(AT)
    assert Standing(tmp_path).promised_until() == AT


def test_nobody_waits_for_a_new_server_nor_for_one_that_has_closed(tmp_path: Path) -> None:
    standing = Standing(tmp_path)
    assert standing.promised_until() is None
    standing.keep(AT)
    standing.end()
    assert standing.promised_until() is None
    standing.end()


@pytest.mark.parametrize("content", ["", "{}", "[]", '{"accepted_until": 5}', '{"accepted_until": "soon"}'])
def test_what_cannot_be_read_says_nothing(tmp_path: Path, content: str) -> None:
    (tmp_path / "standing.json").write_text(content)
    assert Standing(tmp_path).promised_until() is None
