"""Views for all who read counts: who the token is, counts as a file, statements. An advertiser's are its own.

Belongs here: shaping answers. Counting is ``warehouse/counts.py``, what a statement says ``warehouse/statements.py``.
"""

from __future__ import annotations

import csv
import io
import tempfile
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from functools import partial
from typing import IO, Any

import pyarrow as pa
import xlsxwriter

from domain.errors import UsageError
from domain.periods import parse_period
from domain.settings import Settings
from services.metrics.access import narrowed
from services.metrics.openapi import PARAMETER_NAME
from services.metrics.views import READERS, Asked, Download, View, own_advertiser, paged
from services.tokens import Role
from warehouse.ad_owners import advertisers_of
from warehouse.counts import CountsReader
from warehouse.counts_answer import CountsAnswer
from warehouse.counts_query import read_query
from warehouse.csv_cells import csv_rows, csv_text
from warehouse.duck_engine import scratch_folder
from warehouse.periods import read_closes
from warehouse.statement_files import MAX_NUMBER, write_statement
from warehouse.statements import read_statement

MEDIA_TYPE = {
    "csv": "text/csv; charset=utf-8",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "parquet": "application/vnd.apache.parquet",
}
STATED: tuple[Role, ...] = ("advertiser", "finance", "auditor", "approve")
BATCH_ROWS = 5_000


def who(settings: Settings, asked: Asked) -> dict[str, Any]:
    """Who the token speaks for, and how far figures are final: what the page shows first."""
    caller = asked.caller
    said = {"role": caller.role, "advertiser_id": caller.advertiser_id, "person": caller.person, "now": asked.at}
    return said | CountsReader(settings).finality().document()


def counts_file(settings: Settings, asked: Asked) -> Download:
    """Counts as the API would answer them, as a file."""
    file_format = asked.parts.get("format", "csv")
    if file_format not in FORMATS:
        raise UsageError(f"format {file_format[:60]!r}", f"one of {', '.join(FORMATS)}", "correct it")
    parts = {part: asked.parts.get(name) for part, name in PARAMETER_NAME.items()}
    query = read_query(parts, PARAMETER_NAME, asked.at)
    answer = CountsReader(settings).answer(narrowed(query, asked.caller, partial(advertisers_of, settings)))
    file = tempfile.TemporaryFile(dir=scratch_folder(settings))  # noqa: SIM115 (it is closed once it was sent)
    FORMATS[file_format](answer, file)
    name = f"clicks-{query.granularity}-{query.start:%Y%m%dT%H%MZ}-{query.end:%Y%m%dT%H%MZ}.{file_format}"
    return Download(name, MEDIA_TYPE[file_format], file)


def statements(settings: Settings, asked: Asked) -> dict[str, Any]:
    """The closed periods, newest first: each has a statement."""
    closes = reversed(read_closes(settings))
    rows = [
        {"period": one.period, "start": one.period.start, "end": one.period.end, "closed_at": one.closed_at}
        for one in closes
    ]
    return paged(rows, asked)


def statement(settings: Settings, asked: Asked) -> Download:
    """What an advertiser is billed for in a closed period, as a file."""
    advertiser, period = own_advertiser(asked), parse_period(asked.required("period"))
    file_format = asked.parts.get("format", "csv")
    scratch = scratch_folder(settings)
    found = read_statement(settings, advertiser, period, asked.parts.get("time_zone", "UTC"))
    file = tempfile.TemporaryFile(dir=scratch)  # noqa: SIM115 (it is closed once it was sent)
    write_statement(found, file_format, file, scratch)
    return Download(f"statement-{advertiser}-{period}.{file_format}", MEDIA_TYPE[file_format], file)


def _batches(answer: CountsAnswer) -> Iterator[pa.RecordBatch]:
    yield from answer.table.drop_columns("json").to_batches(max_chunksize=BATCH_ROWS)


def _head(answer: CountsAnswer) -> list[tuple[str, str]]:
    return [(name, csv_text(value)) for name, value in answer.finality.document().items()]


def _csv(answer: CountsAnswer, file: IO[bytes]) -> None:
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(answer.table.drop_columns("json").column_names)
    for batch in _batches(answer):
        writer.writerows(csv_rows(batch))
    text.detach()  # which writes out what is left, and leaves the file open


def _xlsx(answer: CountsAnswer, file: IO[bytes]) -> None:
    """Sheets: how far figures are final, and the rows. Ids and instants are text: nothing becomes a formula."""
    options = {"constant_memory": True, "strings_to_formulas": False, "strings_to_urls": False}
    book = xlsxwriter.Workbook(file, options)
    number = book.add_format({"num_format": "#,##0"})
    for row, cells in enumerate(_head(answer)):
        _write(book.worksheets()[0] if row else book.add_worksheet("Finality"), row, cells, number)
    sheet = book.add_worksheet("Clicks")
    names = answer.table.drop_columns("json").column_names
    _write(sheet, 0, names, number)
    row = 0
    for batch in _batches(answer):
        for cells in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            row += 1
            said = (csv_text(cell) if name.endswith("_id") else cell for name, cell in zip(names, cells, strict=True))
            _write(sheet, row, said, number)
    book.close()


def _write(sheet: Any, row: int, cells: Iterable[object], number: Any) -> None:
    for place, cell in enumerate(cells):
        if isinstance(cell, bool):
            sheet.write_boolean(row, place, cell)
        elif isinstance(cell, int) and cell <= MAX_NUMBER:
            sheet.write_number(row, place, cell, number)
        else:
            sheet.write_string(row, place, csv_text(cell) if isinstance(cell, datetime) else str(cell))


FORMATS: dict[str, Callable[[CountsAnswer, IO[bytes]], None]] = {"csv": _csv, "xlsx": _xlsx}
_QUESTION = dict.fromkeys(PARAMETER_NAME.values(), "as in /v1/ads/metrics")
COUNT_VIEWS = (
    View("/v1/me", "who the token is, and how far figures are final", READERS, who),
    View(
        "/v1/ads/metrics/file",
        "counts as a file",
        READERS,
        counts_file,
        _QUESTION | {"format": f"one of {', '.join(FORMATS)}; csv if left out"},
    ),
    View(
        "/v1/statements",
        "the closed periods, newest first",
        STATED,
        statements,
        {"limit": "so many rows", "offset": "rows to pass over"},
    ),
    View(
        "/v1/statements/{period}",
        "what an advertiser is billed for in a closed period, as a file",
        STATED,
        statement,
        {
            "advertiser_id": "whose; an advertiser's is its own",
            "time_zone": "in which a day begins at midnight; UTC if left out",
            "format": "csv, parquet or xlsx; csv if left out",
        },
    ),
)
