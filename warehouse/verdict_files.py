"""Files of fraud verdicts: CSV, JSON lines or Parquet, read line by line, so that each bad line is named.

Belongs here: formats, line numbers, the refusal of a file with bad lines. What a verdict may look like is
``domain/verdicts.py``; keeping them is ``warehouse/verdicts.py``. CSV and JSON are read with the standard library,
because the faster readers give neither the number nor the text of a line that they cannot read.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from domain.errors import UsageError
from domain.verdicts import FIELD_NAMES, FraudVerdict, parse_verdict
from warehouse.verdicts import RejectedLine

NAMED_AT_MOST = 20
"""So many bad lines are named in a refusal."""
_DIGEST_LENGTH = 16
"""Hex digits of the file's digest in a verdict's id: two files of one installation never share them by chance."""


class BadVerdictsError(UsageError):
    """A file of verdicts has lines that are none; ``rejected`` are these lines."""

    def __init__(self, name: str, rejected: list[RejectedLine], remedy: str) -> None:
        named = [f"line {line.line_number}: {line.reason}" for line in rejected[:NAMED_AT_MOST]]
        more = [f"{len(rejected) - NAMED_AT_MOST:,} more"] if len(rejected) > NAMED_AT_MOST else []
        super().__init__(
            f"{name} has {len(rejected):,} bad lines: {'; '.join([*named, *more])}",
            "a verdict in each line",
            f"nothing was taken in; {remedy}",
        )
        self.rejected = rejected


class _Line(NamedTuple):
    """``record`` is what the line holds, or in words why it cannot be read."""

    number: int
    text: str
    record: dict[str, Any] | str


@dataclass(frozen=True)
class VerdictFile:
    """What a file holds; ``rejected`` only where bad lines may be skipped."""

    file_digest: str
    verdicts: list[FraudVerdict]
    rejected: list[RejectedLine]


def read_verdict_file(path: Path, received_at: datetime, *, is_skipping_bad: bool = False) -> VerdictFile:
    """All verdicts of a file, whose name ends in .csv, .json, .jsonl or .parquet; empty lines are passed over.

    A value may not hold a line feed. ``BadVerdictsError`` names the lines that are no verdicts; with
    ``is_skipping_bad`` they are in the answer instead. ``UsageError`` if the file cannot be read at all.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise _unreadable(str(path), f"cannot be read: {error.strerror}") from error
    found = _read(str(path), path.suffix.lower(), content, received_at)
    if found.rejected and not is_skipping_bad:
        raise BadVerdictsError(str(path), found.rejected, "correct them, or leave them out with --skip-bad")
    return found


def read_verdict_bytes(name: str, suffix: str, content: bytes, received_at: datetime) -> VerdictFile:
    """As ``read_verdict_file``, for content that came in another way, called ``name`` in errors. Never skips a line."""
    found = _read(name, suffix, content, received_at)
    if found.rejected:
        raise BadVerdictsError(name, found.rejected, "correct them")
    return found


def _read(name: str, suffix: str, content: bytes, received_at: datetime) -> VerdictFile:
    read = _READERS.get(suffix)
    if read is None:
        raise _unreadable(name, f"ends in {suffix!r}")
    file_digest = hashlib.sha256(content).hexdigest()
    verdicts: list[FraudVerdict] = []
    rejected: list[RejectedLine] = []
    for line in read(name, content):
        found = line.record
        if isinstance(found, dict):
            found_or_reason = parse_verdict(found, f"{file_digest[:_DIGEST_LENGTH]}-{line.number:09}", received_at)
        else:
            found_or_reason = found
        if isinstance(found_or_reason, str):
            rejected.append(RejectedLine(line.number, found_or_reason, line.text))
        else:
            verdicts.append(found_or_reason)
    return VerdictFile(file_digest, verdicts, rejected)


def _csv_lines(name: str, content: bytes) -> Iterator[_Line]:
    lines = _text_lines(content.removeprefix("\ufeff".encode()))
    _, header, is_text = next(lines, (0, "", True))
    names = _cells(header) if is_text else "no UTF-8"
    wrong = names if isinstance(names, str) else ", ".join(sorted(set(names) - set(FIELD_NAMES)))
    if isinstance(names, str) or wrong or len(set(names)) != len(names):
        raise _unreadable(name, f"has {wrong or 'a column twice'} in line 1, which names the columns")
    for number, text, is_utf8 in lines:
        cells = _cells(text) if is_utf8 else "no UTF-8"
        if isinstance(cells, str):
            yield _Line(number, text, cells)
        elif len(cells) != len(names):
            yield _Line(number, text, f"{len(cells)} values, for {len(names)} columns")
        else:
            yield _Line(number, text, {name: cell or None for name, cell in zip(names, cells, strict=True)})


def _cells(text: str) -> list[str] | str:
    """Of one line of CSV, or what is wrong with it."""
    try:
        return next(csv.reader([text], strict=True), [])
    except csv.Error as error:
        return f"no CSV: {error}"


def _json_lines(_name: str, content: bytes) -> Iterator[_Line]:
    for number, text, is_utf8 in _text_lines(content):
        yield _Line(number, text, _json_record(text) if is_utf8 else "no UTF-8")


def _json_records(name: str, content: bytes) -> Iterator[_Line]:
    """Of one array; its first object is line 1."""
    try:
        found = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise _unreadable(name, f"is no JSON: {error}") from error
    if not isinstance(found, list):
        raise _unreadable(name, "is no array of JSON objects")
    for number, record in enumerate(found, start=1):
        text = json.dumps(record, ensure_ascii=False)
        yield _Line(number, text, record if isinstance(record, dict) else "no JSON object")


def _json_record(text: str) -> dict[str, Any] | str:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        return f"no JSON: {error}"
    return found if isinstance(found, dict) else "no JSON object"


def _text_lines(content: bytes) -> Iterator[tuple[int, str, bool]]:
    """Number, text, and whether it is UTF-8; bytes that are not stand in the text as escapes."""
    for number, line in enumerate(content.split(b"\n"), start=1):
        if line.strip():
            text = line.removesuffix(b"\r").decode(errors="backslashreplace")
            yield number, text, text.encode() == line.removesuffix(b"\r")


def _parquet_rows(name: str, content: bytes) -> Iterator[_Line]:
    try:
        table = pq.ParquetFile(io.BytesIO(content)).read()
        rows = table.cast(pa.schema(map(_in_micros, table.schema)), safe=False).to_pylist()
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise _unreadable(name, f"cannot be read as Parquet: {error}") from error
    unknown = sorted(set(table.column_names) - set(FIELD_NAMES))
    if unknown:
        raise _unreadable(name, f"has unknown columns {', '.join(unknown)}")
    for number, record in enumerate(rows, start=1):
        yield _Line(number, json.dumps(record, default=str, ensure_ascii=False), record)


def _in_micros(field: pa.Field[Any]) -> pa.Field[Any]:
    """Instants in the unit that tables keep; what is finer is cut off."""
    return field.with_type(pa.timestamp("us", field.type.tz)) if pa.types.is_timestamp(field.type) else field


_READERS: dict[str, Callable[[str, bytes], Iterator[_Line]]] = {
    ".csv": _csv_lines,
    ".json": _json_records,
    ".jsonl": _json_lines,
    ".parquet": _parquet_rows,
}


_NAMES = ".csv, .json, .jsonl or .parquet"


def _unreadable(name: str, what: str) -> UsageError:
    return UsageError(
        f"{name} {what}",
        f"a file of verdicts, {_NAMES}, with fields {', '.join(FIELD_NAMES)}",
        "nothing was taken in; docs/verdicts.md describes the file",
    )
