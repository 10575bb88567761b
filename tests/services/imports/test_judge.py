"""An import judged before it is sent: every row is an event, left out, or refused with a reason."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import orjson
import pytest

from domain.ads import Ad
from domain.buckets import parse_utc
from services.imports.formats import Row, read_rows
from services.imports.judge import Event, Import, Judge, Refused
from services.imports.mapping import parse_conditions, parse_map

AT = datetime(2026, 5, 4, 12, tzinfo=UTC)
AD = Ad(7, 3, 5, "https://shop.example/")
MAP = ["impression_id=imp", "ad_id=ad", "clicked_at=at", "kind=kind"]
REAL_LOG = Path(__file__).resolve().parents[4] / "shared" / "real" / "access_combined.log"


def _row(number: int = 1, **changes: str) -> Row:
    values = {"imp": "i-1", "ad": "7", "at": "2026-05-04T10:00:00Z", "kind": "click"} | changes
    return Row(number, str(values), values)


def _judged(
    rows: Sequence[Row], maps: Sequence[str] = MAP, only: Sequence[str] = ()
) -> tuple[Judge, list[Event], list[Refused]]:
    refused: list[Refused] = []
    given = Import(parse_map(maps, is_combined=False), parse_conditions(only), {7: AD}, "import-1", AT)
    judge = Judge(given, refused.append)
    return judge, list(judge.events(rows)), refused


def test_an_event_is_what_the_product_counts() -> None:
    _, (event,), _ = _judged([_row(9)])
    assert event.key == b"i-1"
    assert orjson.loads(event.value) == {
        "v": 1,
        "impression_id": "i-1",
        "ad_id": 7,
        "advertiser_id": 3,
        "campaign_id": 5,
        "clicked_at": "2026-05-04T10:00:00.000000Z",
        "country": "ZZ",
        "device": "other",
        "ip": "",
        "user_agent": "",
        "kind": "click",
        "server_id": "import-1",
        "server_seq": 9,
    }


def test_every_row_is_somewhere() -> None:
    rows = [
        _row(1),
        _row(2),
        _row(3, kind="head"),
        _row(4, ad="8"),
        _row(5, at="2026-05-05T10:00:00Z"),
        _row(6, imp="not allowed!"),
        _row(7, status="404"),
        _row(8, imp="i-2", at="2026-05-04T11:00:00Z"),
        Row(9, "?", None),
    ]
    judge, events, refused = _judged(rows, only=["status~^$"])
    tally = judge.tally
    assert tally.row_count == len(events) + len(refused) + tally.left_out_count == 9
    assert (tally.by_kind, tally.copy_count, tally.left_out_count) == ({"click": 3, "head": 1}, 1, 1)
    assert tally.by_reason == {"unknown_ad": 1, "future_dated": 1, "bad_value": 1, "unreadable_row": 1}
    assert [one.number for one in refused] == [4, 5, 6, 9]
    assert tally.by_hour == {parse_utc("2026-05-04T10:00Z"): 3, parse_utc("2026-05-04T11:00Z"): 1}
    assert tally.first_clicked_at == parse_utc("2026-05-04T10:00Z")


def test_the_same_file_gives_the_same_events() -> None:
    rows = [_row(1), _row(2), _row(3)]
    maps = ["impression_id=@row", *MAP[1:]]
    assert _judged(rows, maps)[1] == _judged(rows, maps)[1]
    assert len({event.key for event in _judged(rows, maps)[1]}) == 3, "equal rows are different clicks"


def test_half_of_a_surrogate_pair_is_a_refused_row(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text('{"imp": "a", "ad": 7, "at": "2026-05-04T10:00:00Z", "kind": "click", "ua": "\\ud800"}\n')
    _, _, refused = _judged(list(read_rows(path, "jsonl")), [*MAP, "user_agent=ua"])
    assert [one.reason for one in refused] == ["not_utf8"]


def test_a_program_that_names_itself_is_flagged() -> None:
    _, events, _ = _judged([_row(1, ua="Googlebot/2.1"), _row(2, ua="Mozilla/5.0 (iPad)")], [*MAP, "user_agent=ua"])
    assert [orjson.loads(event.value).get("bot") for event in events] == [True, None]


def test_only_some_of_each_reason_are_named() -> None:
    judge, _, refused = _judged([_row(n, ad="8") for n in range(100)])
    assert (len(refused), len(judge.tally.examples)) == (100, 5)


LINES = (
    '198.19.0.1 - - [17/May/2015:10:05:03 +0000] "GET /ad/7?x HTTP/1.1" 302 0 "-" "Mozilla/5.0 (iPad)"\n'
    '198.19.0.1 - - [17/May/2015:10:05:04 +0000] "HEAD /ad/7 HTTP/1.1" 302 0 "-" "\xff"\n'
    '198.19.0.1 - - [17/May/2015:11:05:04 +0000] "POST /ad/7 HTTP/1.1" 302 0 "-" "x"\n'
    "half a line\n"
)


@pytest.mark.parametrize("is_real", [False, True])
def test_an_access_log_of_real_traffic(tmp_path: Path, is_real: bool) -> None:
    """5,000 lines of a public site where they are at hand; four of our own in any case."""
    if is_real and not REAL_LOG.exists():
        pytest.skip("the sample of real traffic is not part of the repository")
    path = REAL_LOG if is_real else tmp_path / "log"
    if not is_real:
        path.write_bytes(LINES.encode("latin-1"))
    sources = parse_map(["impression_id=@row", "ad_id=:7"], is_combined=True)
    refused: list[Refused] = []
    judge = Judge(Import(sources, (), {7: AD}, "import-1", AT), refused.append)
    events = list(judge.events(read_rows(path, "combined")))
    tally = judge.tally
    assert len(events) + len(refused) == tally.row_count == (5_000 if is_real else 4)
    assert set(tally.by_reason) <= {"unreadable_row", "no_click_method"}
    assert tally.by_kind["head"] > 0
    if not is_real:
        assert (tally.by_kind, tally.by_reason) == (
            {"click": 1, "head": 1},
            {"no_click_method": 1, "unreadable_row": 1},
        )
