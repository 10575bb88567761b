"""The language of --map and --only, and how texts become the fields of a click."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from domain.errors import UsageError
from services.imports.formats import Row
from services.imports.mapping import ForeignClick, RowRefusedError, foreign_click, parse_conditions, parse_map

MAP = ["impression_id=imp", "ad_id=ad", "clicked_at=at"]
VALUES = {"imp": "i-1", "ad": "7", "at": "2026-05-04T12:00:00+02:00"}


def _click(maps: list[str] | None = None, **changes: str) -> ForeignClick:
    values = VALUES | changes
    return foreign_click(Row(1, str(values), values), 0, parse_map(maps or MAP, is_combined=False))


def test_a_row_becomes_a_click() -> None:
    assert _click() == ForeignClick(
        "i-1", 7, datetime(2026, 5, 4, 10, tzinfo=UTC), "ZZ", "other", ip="", user_agent="", kind="click"
    )


def test_optional_fields_patterns_and_constants() -> None:
    maps = [*MAP, "ad_id=path~/ad/([0-9]+)", "country=:de", "user_agent=ua", "kind=method", "ip=ip"]
    click = _click(maps, path="/x/ad/42/y", ua="Mozilla/5.0 (iPhone) Mobile\x00", method="HEAD", ip="198.51.100.7")
    assert (click.ad_id, click.country, click.device, click.kind) == (42, "DE", "mobile", "head")
    assert (click.user_agent, click.ip) == ("Mozilla/5.0 (iPhone) Mobile", "198.51.100.7")


@pytest.mark.parametrize(
    "text",
    [
        "1777888800",
        "1777888800000",
        "1777888800000000",
        "2026-05-04T10:00:00Z",
        "2026-05-04 10:00:00+00:00",
        "04/May/2026:12:00:00 +0200",
    ],
)
def test_times_in_the_forms_that_logs_have(text: str) -> None:
    assert _click(at=text).clicked_at == datetime(2026, 5, 4, 10, tzinfo=UTC)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"at": "2026-05-04T10:00:00"}, "clicked_at_without_zone"),
        ({"at": "soon"}, "clicked_at_unreadable"),
        ({"at": "99999"}, "clicked_at_unreadable"),
        ({"at": "0001-01-01T00:00:00+14:00"}, "clicked_at_unreadable"),
        ({"at": ""}, "no_clicked_at"),
        ({"imp": ""}, "no_impression_id"),
        ({"ad": "7.0"}, "ad_id_is_no_number"),
        ({"ad": "-7"}, "ad_id_is_no_number"),
        ({"ad": "\u0667"}, "ad_id_is_no_number"),
        ({"ad": "9" * 5_000}, "ad_id_is_no_number"),
    ],
)
def test_a_row_that_is_no_click_says_why(changes: dict[str, str], reason: str) -> None:
    with pytest.raises(RowRefusedError, match=reason):
        _click(**changes)


def test_other_methods_are_no_clicks() -> None:
    with pytest.raises(RowRefusedError, match="no_click_method"):
        _click([*MAP, "kind=method"], method="POST")


def test_a_row_without_values_is_refused() -> None:
    with pytest.raises(RowRefusedError, match="unreadable_row"):
        foreign_click(Row(1, "?", None), 0, parse_map(MAP, is_combined=False))


def test_an_impression_out_of_the_row_is_the_same_each_time_and_another_for_each_occurrence() -> None:
    sources = parse_map(["impression_id=@row", "ad_id=ad", "clicked_at=at"], is_combined=False)
    row = Row(1, "the text", VALUES)
    first, again, second = (foreign_click(row, occurrence, sources).impression_id for occurrence in (0, 0, 1))
    assert first == again != second
    assert len(first) == 32


def test_a_combined_log_knows_its_own_columns() -> None:
    sources = parse_map(["impression_id=query.imp", "ad_id=query.ad"], is_combined=True)
    assert {field: source.column for field, source in sources.items()} == {
        "clicked_at": "time",
        "ip": "ip",
        "user_agent": "user_agent",
        "kind": "method",
        "impression_id": "query.imp",
        "ad_id": "query.ad",
    }


@pytest.mark.parametrize(
    "maps",
    [
        ["impression_id=imp", "ad_id=ad"],
        [*MAP, "price=x"],
        [*MAP, "country"],
        [*MAP, "country="],
        [*MAP, "country=c~("],
        [*MAP, "country=c~x"],
    ],
)
def test_a_map_that_cannot_be_meant_is_refused(maps: list[str]) -> None:
    with pytest.raises(UsageError):
        parse_map(maps, is_combined=False)


def test_conditions() -> None:
    equal, like = parse_conditions(["status=302", "path~^/c/"])
    assert equal.holds_in({"status": "302"})
    assert not equal.holds_in({"status": "404"})
    assert not equal.holds_in({})
    assert like.holds_in({"path": "/c/1"})
    assert not like.holds_in({"path": "/x/c/1"})
    for text in ("status", "=302", "path~("):
        with pytest.raises(UsageError):
            parse_conditions([text])
