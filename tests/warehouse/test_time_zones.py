"""A zone is known by its name in the IANA database and by nothing else."""

from __future__ import annotations

from zoneinfo import ZoneInfo

import pytest

from domain.errors import UsageError
from warehouse.time_zones import read_zone


def test_names() -> None:
    assert read_zone("zone", "Europe/Budapest") == ZoneInfo("Europe/Budapest")
    assert read_zone("zone", "UTC") is None


NO_ZONES = ["", "CEST", "+02:00", "Europe", "europe/budapest", "../../etc/passwd", "a\0b", "\ud800", "x" * 9_999]


@pytest.mark.parametrize("text", NO_ZONES)
def test_what_is_no_zone(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_zone("zone", text)
    assert len(caught.value.found) < 700
    assert "Europe/Budapest" in caught.value.expected
