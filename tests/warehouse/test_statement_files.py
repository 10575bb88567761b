"""The same statement, the same bytes: CSV by hand, Parquet and workbook read back."""

from __future__ import annotations

import io
import re
import tempfile
import time
import zipfile
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from domain.errors import UsageError
from domain.periods import close_of
from tests.support.periods import CLOSED_AT, NOVEMBER, month_seals
from tests.support.statements import statement_bytes
from warehouse import statement_files
from warehouse.statement_files import FORMATS, SCHEMA, flat_pieces
from warehouse.statements import ADJUSTMENTS, CLICKS, Statement

NO_MONEY: list[list[object]] = [[None, None]] * 3
CLOSE = close_of(NOVEMBER, month_seals(NOVEMBER), "ada", CLOSED_AT)
BIG_ID = 2**63 - 1
STATEMENT = Statement(
    CLOSE,
    10,
    "Asia/Kolkata",
    pa.table([[date(2026, 11, 1), date(2026, 12, 1)], [100, BIG_ID], [1, 2], [3, 1_000_000], *NO_MONEY], schema=CLICKS),
    ADJUSTMENTS.empty_table(),
)
ZERO = replace(STATEMENT, clicks=CLICKS.empty_table())
HOUR = datetime(2026, 10, 5, 7, tzinfo=UTC)
ADJUSTED = replace(
    ZERO,
    adjustments=pa.table(
        [
            *([HOUR], [100], [1], ["DE"], ["mobile"], [-4], [250_000], ["EUR"], [-1_000_000]),
            *(["C-1"], [1], [77], ["late, seen twice"]),
        ],
        schema=ADJUSTMENTS,
    ),
)
HEAD = (
    "kind,period,advertiser_id,time_zone,date,campaign_id,ad_id,clicks,price_micros,currency,amount_micros,"
    "charge_hour,country,device,case_id,line_number,corrects_seal_number,reason\n"
)


def _sheet(content: bytes, number: int) -> list[str]:
    """The cells of a sheet in order."""
    with zipfile.ZipFile(io.BytesIO(content)) as book:
        return re.findall(
            r"<c [^>]*>(?:<is><t[^>]*>|<v>)(.*?)<", book.read(f"xl/worksheets/sheet{number}.xml").decode()
        )


def test_csv() -> None:
    assert statement_bytes(STATEMENT, "csv").decode() == (
        HEAD + "clicks,2026-11,10,Asia/Kolkata,2026-11-01,100,1,3,,,,,,,,,,\n"
        f"clicks,2026-11,10,Asia/Kolkata,2026-12-01,{BIG_ID},2,1000000,,,,,,,,,,\n"
        "total,2026-11,10,Asia/Kolkata,,,,1000003,,,,,,,,,,\n"
        "adjustments total,2026-11,10,Asia/Kolkata,,,,0,,,,,,,,,,\n"
    )


def test_a_statement_of_nothing_says_zero() -> None:
    assert statement_bytes(ZERO, "csv").decode() == (
        HEAD
        + "total,2026-11,10,Asia/Kolkata,,,,0,,,,,,,,,,\nadjustments total,2026-11,10,Asia/Kolkata,,,,0,,,,,,,,,,\n"
    )
    assert pq.read_table(io.BytesIO(statement_bytes(ZERO, "parquet"))).column("clicks").to_pylist() == [0, 0]
    assert _sheet(statement_bytes(ZERO, "xlsx"), 1)[-4:] == ["clicks", "0", "adjustments", "0"]


def test_adjustments_stand_apart() -> None:
    lines = statement_bytes(ADJUSTED, "csv").decode().splitlines()
    assert lines[1:] == [
        "total,2026-11,10,Asia/Kolkata,,,,0,,,,,,,,,,",
        "adjustment,2026-11,10,Asia/Kolkata,,100,1,-4,250000,EUR,-1000000,"
        '2026-10-05T07:00:00Z,DE,mobile,C-1,1,77,"late, seen twice"',
        "adjustments total,2026-11,10,Asia/Kolkata,,,,-4,,,,,,,,,,",
        "adjustments amount,2026-11,10,Asia/Kolkata,,,,-4,,EUR,-1000000,,,,,,,",
    ]
    cells = ["2026-10-05T07:00:00Z", "100", "1", "DE", "mobile", "-4", "250000", "EUR", "-1000000"]
    cells += ["C-1", "1", "77", "late, seen twice"]
    assert _sheet(statement_bytes(ADJUSTED, "xlsx"), 3) == [*ADJUSTMENTS.names, *cells]
    assert pq.read_table(io.BytesIO(statement_bytes(ADJUSTED, "parquet"))) == pa.concat_tables(flat_pieces(ADJUSTED))


def test_parquet() -> None:
    found = pq.read_table(io.BytesIO(statement_bytes(STATEMENT, "parquet")))
    assert found == pa.concat_tables(flat_pieces(STATEMENT))
    assert found.schema == SCHEMA
    assert found.column("kind").to_pylist() == ["clicks", "clicks", "total", "adjustments total"]


def test_workbook() -> None:
    """A date is the number of days since 30 December 1899."""
    content = statement_bytes(STATEMENT, "xlsx")
    assert _sheet(content, 1) == [
        *("period", "2026-11", "from", "2026-11-01T00:00:00Z", "to", "2026-12-01T00:00:00Z"),
        *("advertiser_id", "10", "time_zone", "Asia/Kolkata", "closed_at", "2026-12-02T08:00:00.500000Z"),
        *("root_digest", CLOSE.root_digest, "clicks", "1000003", "adjustments", "0"),
    ]
    days = [str((date(2026, month, 1) - date(1899, 12, 30)).days) for month in (11, 12)]
    assert _sheet(content, 2) == [
        *CLICKS.names,
        *(days[0], "100", "1", "3"),
        *(days[1], str(BIG_ID), "2", "1000000"),
    ]


def test_several_currencies_are_summed_apart() -> None:
    day = date(2026, 11, 1)
    rows = [
        (day, 100, 1, 3, 250_000, "EUR", 750_000),
        (day, 100, 1, 2, 10**12, "JPY", 2 * 10**12),
        (day, 100, 2, 4, 100_000, "EUR", 400_000),
        (day, 100, 3, 5, None, None, None),
    ]
    priced = replace(STATEMENT, clicks=pa.table(list(map(list, zip(*rows, strict=True))), schema=CLICKS))
    lines = statement_bytes(priced, "csv").decode().splitlines()
    assert lines[1:] == [
        "clicks,2026-11,10,Asia/Kolkata,2026-11-01,100,1,3,250000,EUR,750000,,,,,,,",
        "clicks,2026-11,10,Asia/Kolkata,2026-11-01,100,1,2,1000000000000,JPY,2000000000000,,,,,,,",
        "clicks,2026-11,10,Asia/Kolkata,2026-11-01,100,2,4,100000,EUR,400000,,,,,,,",
        "clicks,2026-11,10,Asia/Kolkata,2026-11-01,100,3,5,,,,,,,,,,",
        "total,2026-11,10,Asia/Kolkata,,,,14,,,,,,,,,,",
        "amount,2026-11,10,Asia/Kolkata,,,,7,,EUR,1150000,,,,,,,",
        "amount,2026-11,10,Asia/Kolkata,,,,2,,JPY,2000000000000,,,,,,,",
        "adjustments total,2026-11,10,Asia/Kolkata,,,,0,,,,,,,,,,",
    ]
    assert pq.read_table(io.BytesIO(statement_bytes(priced, "parquet"))).schema == SCHEMA
    assert _sheet(statement_bytes(priced, "xlsx"), 1)[-8:] == [
        *("clicks", "14", "amount_micros EUR", "1150000", "amount_micros JPY", "2000000000000", "adjustments", "0")
    ]


def test_a_number_of_more_digits_than_a_spreadsheet_keeps_is_text() -> None:
    rows = [[date(2026, 11, 1)], [100], [1], [1], [10**15], ["EUR"], [10**15 - 1]]
    big = replace(STATEMENT, clicks=pa.table(rows, schema=CLICKS))
    with zipfile.ZipFile(io.BytesIO(statement_bytes(big, "xlsx"))) as book:
        kinds = re.findall(r"<c ([^>]*)>", book.read("xl/worksheets/sheet2.xml").decode())
    assert ["inlineStr" in kind for kind in kinds[-3:]] == [True, True, False]
    assert _sheet(statement_bytes(big, "xlsx"), 2)[-3:] == [str(10**15), "EUR", str(10**15 - 1)]


@pytest.mark.parametrize("file_format", FORMATS)
def test_the_same_statement_has_the_same_bytes(file_format: str) -> None:
    first = statement_bytes(STATEMENT, file_format)
    time.sleep(2.1)  # a zip file keeps times by two seconds
    assert statement_bytes(replace(STATEMENT), file_format) == first
    assert statement_bytes(ZERO, file_format) != first


def test_another_format_is_refused() -> None:
    with pytest.raises(UsageError, match="format 'pdf'; expected one of csv, parquet, xlsx"):
        statement_bytes(STATEMENT, "pdf")


def test_a_workbook_takes_so_many_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statement_files, "MAX_SHEET_ROWS", 1)
    with pytest.raises(UsageError, match="a sheet of 2 rows; expected at most 1 in a workbook"):
        statement_bytes(STATEMENT, "xlsx")


def test_a_workbook_spills_where_it_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The system's folder may be small, and memory."""
    expected = statement_bytes(STATEMENT, "xlsx")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "absent"))
    assert statement_bytes(STATEMENT, "xlsx", tmp_path) == expected
    assert list(tmp_path.iterdir()) == []
