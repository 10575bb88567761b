"""Foreign logs as rows: each format, whatever stands in it; nothing that cannot be taken apart is lost."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from domain.errors import UsageError
from services.imports.formats import MAX_LINE_BYTES, Format, Row, read_rows

LINE = '198.19.0.1 - - [17/May/2015:10:05:03 +0000] "{request}" 200 203 "http://a.example/" "Mozilla/5.0 \\"x\\""'


def _rows(path: Path, given: Format, content: bytes) -> list[Row]:
    path.write_bytes(content)
    return list(read_rows(path, given))


def test_an_access_log(tmp_path: Path) -> None:
    line = LINE.format(request="GET /c?imp=a%20b&ad=7&imp=second HTTP/1.1")
    (row,) = _rows(tmp_path / "log", "combined", line.encode() + b"\n")
    assert row.values == {
        "query.imp": "a b",
        "query.ad": "7",
        "ip": "198.19.0.1",
        "time": "17/May/2015:10:05:03 +0000",
        "status": "200",
        "referer": "http://a.example/",
        "user_agent": 'Mozilla/5.0 \\"x\\"',
        "method": "GET",
        "path": "/c",
    }


def test_a_common_log_has_no_user_agent(tmp_path: Path) -> None:
    line = b'198.19.0.1 - - [17/May/2015:10:05:03 +0000] "HEAD / HTTP/1.0" 304 -\n'
    (row,) = _rows(tmp_path / "log", "combined", line)
    assert row.values is not None
    assert (row.values["method"], row.values["user_agent"]) == ("HEAD", "")


@pytest.mark.parametrize(
    "line",
    [b"nonsense", LINE.format(request="").encode(), LINE.format(request="GET").encode(), b"\x00\xff\xfe", b'"' * 5_000],
)
def test_what_is_no_request_is_a_row_without_values(tmp_path: Path, line: bytes) -> None:
    good = LINE.format(request="GET / HTTP/1.1").encode()
    rows = _rows(tmp_path / "log", "combined", line + b"\n\n" + good + b"\r\n")
    assert [(row.number, row.values is None) for row in rows] == [(1, True), (3, False)]


def test_an_endless_line_is_cut_and_refused(tmp_path: Path) -> None:
    (row,) = _rows(tmp_path / "log", "jsonl", b'{"a": "' + b"x" * MAX_LINE_BYTES + b'"}')
    assert row.values is None
    assert len(row.text) < MAX_LINE_BYTES + 10


def test_json_lines(tmp_path: Path) -> None:
    content = b'{"imp": "a", "ad": 7, "none": null, "deep": {"x": [1]}}\n[1]\n{bad\n'
    rows = _rows(tmp_path / "log", "jsonl", content)
    assert [row.values for row in rows] == [{"imp": "a", "ad": "7", "deep": '{"x": [1]}'}, None, None]


def test_csv_with_a_byte_order_mark_and_ragged_rows(tmp_path: Path) -> None:
    content = '\ufeffimp,ad\na,7\n"b\nc",8\nshort\nlong,9,10\n'.encode()
    rows = _rows(tmp_path / "log", "csv", content)
    assert [row.values for row in rows] == [{"imp": "a", "ad": "7"}, {"imp": "b\nc", "ad": "8"}, None, None]


def test_parquet_keeps_instants(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    at = datetime(2026, 5, 4, 10, tzinfo=UTC)
    pq.write_table(pa.table({"imp": ["a", None], "at": pa.array([at, at], pa.timestamp("us", "UTC"))}), path)
    rows = list(read_rows(path, "parquet"))
    assert rows[0].values == {"imp": "a", "at": "2026-05-04T10:00:00+00:00"}
    assert rows[1].values == {"at": "2026-05-04T10:00:00+00:00"}


@pytest.mark.parametrize("given", ["parquet", "csv"])
def test_a_file_that_is_no_such_file_is_one_line(tmp_path: Path, given: Format) -> None:
    with pytest.raises(UsageError, match="a file of format"):
        list(read_rows(tmp_path / "missing", given))
    (tmp_path / "text").write_text("text")
    if given == "parquet":
        with pytest.raises(UsageError, match="a file of format parquet"):
            list(read_rows(tmp_path / "text", given))
