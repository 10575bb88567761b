"""The file of known events: none without the setting, and clear words where it cannot be used."""

from __future__ import annotations

from pathlib import Path

import pytest

from domain.quality_calendar import CalendarError
from domain.settings import Settings
from quality.calendar_file import read_calendar

GOOD = """[[event]]
name = "launch"
from = "2026-12-01T00:00Z"
to = "2026-12-02T00:00Z"
explains = ["volume"]
reason = "a new feed"
"""


def test_no_setting_no_events(tmp_path: Path) -> None:
    assert read_calendar(Settings(home=tmp_path)) == []


def test_a_file_is_found_below_home(tmp_path: Path) -> None:
    (tmp_path / "events.toml").write_text(GOOD)
    (event,) = read_calendar(Settings(home=tmp_path, quality_calendar="events.toml"))
    assert event.name == "launch"


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (None, "No such file"),
        (b"[[event]\n", "calendar"),
        (b"\xff\xfe", "decode"),
        (GOOD.replace("volume", "volum").encode(), "event 1 explains volum"),
    ],
    ids=["missing", "no toml", "no text", "unknown rule"],
)
def test_a_bad_file_is_a_clear_error(tmp_path: Path, content: bytes | None, found: str) -> None:
    if content is not None:
        (tmp_path / "events.toml").write_bytes(content)
    with pytest.raises(CalendarError, match=found):
        read_calendar(Settings(home=tmp_path, quality_calendar="events.toml"))
