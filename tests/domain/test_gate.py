"""The completeness gate as a table: facts in, reasons in words out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from domain.gate import GateFacts, Hole, expected_at, reasons_to_wait

HOUR = datetime(2026, 11, 30, 9, tzinfo=UTC)
END = datetime(2026, 11, 30, 10, tzinfo=UTC)
GRACE = timedelta(minutes=5)
SECOND = timedelta(seconds=1)
MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True)
class Report:
    accepted_until: datetime
    is_closing: bool = False


OPEN = GateFacts(
    now=END + GRACE,
    grace=GRACE,
    hours=(HOUR,),
    watermarks={"edge-1": Report(END)},
    end_offsets={0: 150, 7: 150},
    archive_ends={0: 150, 7: 150},
)

CASES = [
    pytest.param({}, [], id="all-in"),
    pytest.param({"watermarks": {}}, [], id="no-click-server-ever-registered"),
    pytest.param(
        {"now": END + GRACE - MICROSECOND},
        ["ends at 2026-11-30T10:00:00Z, grace until 2026-11-30T10:05:00Z"],
        id="O20-a-microsecond-before-the-grace-is-over",
    ),
    pytest.param(
        {"watermarks": {"edge-1": Report(END), "edge-2": Report(END - timedelta(minutes=2))}},
        ["click server edge-2 has not reported past 2026-11-30T10:00:00Z, last 2026-11-30T09:58:00Z"],
        id="one-click-server-behind",
    ),
    pytest.param(
        {"watermarks": {"edge-1": Report(END - MICROSECOND)}},
        ["click server edge-1 has not reported past 2026-11-30T10:00:00Z, last 2026-11-30T09:59:59.999999Z"],
        id="click-server-a-microsecond-behind",
    ),
    pytest.param(
        {"watermarks": {"edge-1": Report(END), "edge-2": Report(HOUR, is_closing=True)}},
        [],
        id="a-closed-server-blocks-nothing",
    ),
    pytest.param(
        {"archive_ends": {0: 150, 7: 120}},
        ["waits for the archive: partition 7 is at 120, the log ends at 150"],
        id="F1-archive-behind-in-one-partition",
    ),
    pytest.param(
        {"archive_ends": {0: 150, 7: 149}},
        ["waits for the archive: partition 7 is at 149, the log ends at 150"],
        id="F1-archive-lacks-the-last-event",
    ),
    pytest.param(
        {"archive_ends": {0: 150}},
        ["waits for the archive: partition 7 is at 0, the log ends at 150"],
        id="F1-archive-has-not-begun-a-partition",
    ),
    pytest.param({"archive_ends": {0: 151, 7: 400}}, [], id="archive-went-on-since-the-log-was-asked"),
    pytest.param({"end_offsets": {0: 150, 7: 150, 8: 0}}, [], id="L10-an-empty-partition-blocks-nothing"),
    pytest.param(
        {"end_offsets": {}},
        ["waits for the log: the end of no partition is known"],
        id="no-fact-about-the-log-is-no-permission",
    ),
    pytest.param(
        {"holes": [Hole(7, 100, 103)]},
        ["the archive has a hole: partition 7 lacks offsets 100 to 102, which the log does not explain"],
        id="A6-A11-hole-in-the-archive",
    ),
    pytest.param(
        {"now": END, "watermarks": {"edge-1": Report(HOUR)}, "archive_ends": {0: 150, 7: 120}},
        [
            "ends at 2026-11-30T10:00:00Z, grace until 2026-11-30T10:05:00Z",
            "click server edge-1 has not reported past 2026-11-30T10:00:00Z, last 2026-11-30T09:00:00Z",
            "waits for the archive: partition 7 is at 120, the log ends at 150",
        ],
        id="every-reason-is-named",
    ),
]


@pytest.mark.parametrize(("changes", "expected"), CASES)
def test_reasons(changes: dict[str, object], expected: list[str]) -> None:
    """Law 7; F1, A6, A11, L10, O20 by case id."""
    assert reasons_to_wait(replace(OPEN, **changes)) == {HOUR: expected}


def test_each_hour_is_judged_by_its_own_end_and_the_archive_holds_up_all() -> None:
    facts = replace(OPEN, hours=(HOUR, END), archive_ends={0: 150, 7: 120})
    behind = "waits for the archive: partition 7 is at 120, the log ends at 150"
    assert reasons_to_wait(facts) == {
        HOUR: [behind],
        END: [
            "ends at 2026-11-30T11:00:00Z, grace until 2026-11-30T11:05:00Z",
            "click server edge-1 has not reported past 2026-11-30T11:00:00Z, last 2026-11-30T10:00:00Z",
            behind,
        ],
    }


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param({"now": HOUR}, END + GRACE, id="grace"),
        pytest.param({"now": END + GRACE + GRACE}, END + GRACE + GRACE, id="now"),
        pytest.param(
            {"now": END - SECOND, "grace": timedelta(0), "watermarks": {"edge-1": Report(END - 4 * SECOND)}},
            END + 3 * SECOND,
            id="server-lag",
        ),
        pytest.param(
            {"now": END + GRACE, "watermarks": {"edge-1": Report(END - MICROSECOND)}}, None, id="silent-server"
        ),
        pytest.param(
            {"now": END + GRACE, "watermarks": {"edge-1": Report(HOUR, is_closing=True)}},
            END + GRACE,
            id="closed-server",
        ),
        pytest.param({"now": HOUR, "holes": [Hole(0, 1, 2)]}, None, id="hole"),
    ],
)
def test_when_an_hour_may_be_sealed(changes: dict[str, Any], expected: datetime | None) -> None:
    assert expected_at(replace(OPEN, **changes), HOUR) == expected
