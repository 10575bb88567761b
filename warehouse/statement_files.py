"""A statement as a file: CSV, Parquet or a workbook. The same statement gives the same bytes.

Belongs here: formats, written piece by piece, so that no more than one is in memory. What a statement says is
``warehouse/statements.py``; that a file is whole or not there, the command's.
"""

from __future__ import annotations

import csv
import io
import tempfile
from collections.abc import Callable, Iterable, Iterator
from datetime import date, datetime
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq
import xlsxwriter
from xlsxwriter.worksheet import Worksheet

from domain.buckets import format_utc
from domain.errors import UsageError
from warehouse.csv_cells import csv_rows, csv_text
from warehouse.prices import MONEY
from warehouse.statements import ADJUSTMENTS, Statement, pieces_of

_FIELDS: list[pa.Field[Any]] = [
    pa.field("kind", pa.string(), nullable=False),
    pa.field("period", pa.string(), nullable=False),
    pa.field("advertiser_id", pa.int64(), nullable=False),
    pa.field("time_zone", pa.string(), nullable=False),
    pa.field("date", pa.date32()),
    pa.field("campaign_id", pa.int64()),
    pa.field("ad_id", pa.int64()),
    pa.field("clicks", pa.int64(), nullable=False),
    *MONEY,
    *(
        ADJUSTMENTS.field(name)
        for name in ADJUSTMENTS.names
        if name not in ("campaign_id", "ad_id", "clicks", *MONEY.names)
    ),
]
SCHEMA = pa.schema(_FIELDS)
"""Columns of the flat formats. ``kind`` is clicks or adjustment, the sum of either, which is always there, or what
either costs in one currency."""
MAX_NUMBER = 10**15 - 1
"""A spreadsheet keeps 15 digits of a number; a longer one is text."""
MAX_SHEET_ROWS = 1_000_000
"""A sheet has 1,048,576 rows."""
_AMOUNTS: dict[str, pa.DataType] = {"currency": pa.string(), "clicks": pa.int64(), "amount_micros": pa.int64()}
AMOUNTS = pa.schema(_AMOUNTS)
DAY_FORMAT, COUNT_FORMAT = "yyyy-mm-dd", "#,##0"


def write_statement(statement: Statement, file_format: str, file: IO[bytes], scratch: Path | None) -> None:
    """Writes the statement in one of ``FORMATS``; ``UsageError`` for another, or for more rows than a workbook takes,
    and then nothing is written. A workbook's sheets wait in folder ``scratch``, None for the system's, until it is
    packed, and leave nothing there.
    """
    if file_format not in FORMATS:
        raise UsageError(f"format {file_format!r}", f"one of {', '.join(FORMATS)}", "correct it")
    FORMATS[file_format](statement, file, scratch)


def flat_pieces(statement: Statement) -> Iterator[pa.Table]:
    """All of the statement in tables of the columns of ``SCHEMA``, one after the other."""
    parts = {
        "clicks": statement.clicks,
        "total": _sum(statement.total_clicks),
        "amount": pa.Table.from_pylist([one._asdict() for one in statement.amounts], AMOUNTS),
        "adjustment": statement.adjustments,
        "adjustments total": _sum(statement.adjusted_clicks),
        "adjustments amount": pa.Table.from_pylist([one._asdict() for one in statement.adjusted_amounts], AMOUNTS),
    }
    for kind, rows in parts.items():
        for piece in pieces_of(rows):
            yield _shaped(statement, kind, piece)


def _sum(clicks: int) -> pa.Table:
    return pa.table({"clicks": pa.array([clicks], pa.int64())})


def _shaped(statement: Statement, kind: str, rows: pa.Table) -> pa.Table:
    same = {
        "kind": kind,
        "period": str(statement.close.period),
        "advertiser_id": statement.advertiser_id,
        "time_zone": statement.time_zone,
    }
    columns = [
        rows.column(field.name)
        if field.name in rows.column_names
        else pa.repeat(pa.scalar(same.get(field.name), field.type), rows.num_rows)
        for field in SCHEMA
    ]
    return pa.table(columns, schema=SCHEMA)


def _csv(statement: Statement, file: IO[bytes], _scratch: Path | None) -> None:
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(SCHEMA.names)
    for piece in flat_pieces(statement):
        for batch in piece.to_batches():
            writer.writerows(csv_rows(batch))
    text.detach()  # which writes out what is left, and leaves the file open


def _parquet(statement: Statement, file: IO[bytes], _scratch: Path | None) -> None:
    with pq.ParquetWriter(file, SCHEMA, compression="zstd") as writer:
        for piece in flat_pieces(statement):
            writer.write_table(piece)


def _xlsx(statement: Statement, file: IO[bytes], scratch: Path | None) -> None:
    """Sheets: head, clicks, adjustments. Text stays text: nothing becomes a formula or a link."""
    row_count = max(statement.clicks.num_rows, statement.adjustments.num_rows)
    if row_count > MAX_SHEET_ROWS:
        raise UsageError(
            f"a sheet of {row_count:,} rows",
            f"at most {MAX_SHEET_ROWS:,} in a workbook",
            "take csv",
        )
    with tempfile.TemporaryDirectory(prefix="workbook-", dir=scratch) as spill:
        _write_book(statement, file, spill)


def _write_book(statement: Statement, file: IO[bytes], spill: str) -> None:
    options = {"constant_memory": True, "tmpdir": spill, "strings_to_formulas": False, "strings_to_urls": False}
    book = xlsxwriter.Workbook(file, options)
    book.set_properties({"created": statement.close.closed_at.replace(tzinfo=None, microsecond=0)})
    formats = {date: book.add_format({"num_format": DAY_FORMAT}), int: book.add_format({"num_format": COUNT_FORMAT})}
    _write_rows(book.add_worksheet("Statement"), _head(statement), formats)
    for name, rows in (("Clicks", statement.clicks), ("Adjustments", statement.adjustments)):
        _write_rows(book.add_worksheet(name), _sheet_rows(rows), formats)
    book.close()


def _head(statement: Statement) -> list[tuple[str, Any]]:
    close = statement.close
    return [
        ("period", str(close.period)),
        ("from", format_utc(close.period.start)),
        ("to", format_utc(close.period.end)),
        ("advertiser_id", str(statement.advertiser_id)),
        ("time_zone", statement.time_zone),
        ("closed_at", format_utc(close.closed_at)),
        ("root_digest", close.root_digest),
        ("clicks", statement.total_clicks),
        *((f"amount_micros {one.currency}", one.amount_micros) for one in statement.amounts),
        ("adjustments", statement.adjusted_clicks),
        *((f"adjustments amount_micros {one.currency}", one.amount_micros) for one in statement.adjusted_amounts),
    ]


def _sheet_rows(rows: pa.Table) -> Iterator[Any]:
    """Names of the columns, then the rows. Ids are names and not quantities, and a spreadsheet keeps 15 digits of a
    number: they are text there.
    """
    yield rows.column_names
    for piece in pieces_of(rows):
        yield from zip(*(_cells(name, piece.column(name)) for name in rows.column_names), strict=True)


def _cells(name: str, values: pa.ChunkedArray[Any]) -> list[Any]:
    return [
        csv_text(value) if value is not None and (name.endswith("_id") or isinstance(value, datetime)) else value
        for value in values.to_pylist()
    ]


def _write_rows(sheet: Worksheet, rows: Iterable[Any], formats: dict[type, Any]) -> None:
    for number, row in enumerate(rows):
        for place, value in enumerate(row):
            if value is None:
                continue
            if isinstance(value, str) or (isinstance(value, int) and abs(value) > MAX_NUMBER):
                sheet.write_string(number, place, str(value))
            elif isinstance(value, date):
                sheet.write_datetime(number, place, value, formats[date])
            else:
                sheet.write_number(number, place, value, formats[int])


FORMATS: dict[str, Callable[[Statement, IO[bytes], Path | None], None]] = {
    "csv": _csv,
    "parquet": _parquet,
    "xlsx": _xlsx,
}
"""What a statement can be written as."""
