"""Files of other programs as rows of named texts, one at a time, whatever their size.

Belongs here: access logs in combined format, JSON lines, CSV, Parquet. What the texts mean is ``mapping.py``.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args
from urllib.parse import parse_qsl, urlsplit

import pyarrow as pa
import pyarrow.parquet as pq

from domain.errors import UsageError

Format = Literal["combined", "jsonl", "csv", "parquet"]
FORMATS: tuple[Format, ...] = get_args(Format)
MAX_LINE_BYTES = 65_536
QUERY = "query."
"""Columns of a combined log that come from the query string begin with this."""

_COMBINED = re.compile(
    r'(?P<ip>\S+) \S+ \S+ \[(?P<time>[^\]]+)\] "(?P<request>(?:[^"\\]|\\.)*)" (?P<status>\d{3}) \S+'
    r'(?: "(?P<referer>(?:[^"\\]|\\.)*)" "(?P<user_agent>(?:[^"\\]|\\.)*)")?\s*\Z'
)
_REQUEST_PARTS = 3


@dataclass(frozen=True)
class Row:
    """A row of a file. ``values`` is None for one that cannot be taken apart; ``text`` is what stands there."""

    number: int
    text: str
    values: Mapping[str, str] | None


def read_rows(path: Path, given: Format) -> Iterator[Row]:
    """The rows in their order, numbered from 1; of CSV the header is line 1.

    ``UsageError`` if the file is not there or is of another format as a whole. Bytes that are no UTF-8 are read as
    Latin-1, as old logs have them.
    """
    readers: dict[Format, Callable[[Path], Iterator[Row]]] = {
        "combined": _read_combined,
        "jsonl": _read_json_lines,
        "csv": _read_csv,
        "parquet": _read_parquet,
    }
    try:
        yield from readers[given](path)
    except (OSError, pa.ArrowInvalid, csv.Error) as error:
        raise UsageError(f"{path}: {error}", f"a file of format {given}", "name another file or format") from error


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if len(line) > MAX_LINE_BYTES:
                yield number, _text(line[:MAX_LINE_BYTES]) + " ..."
            elif line.strip():
                yield number, _text(line.rstrip(b"\r\n"))


def _text(line: bytes) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError:
        return line.decode("latin-1")


def _read_combined(path: Path) -> Iterator[Row]:
    for number, line in _lines(path):
        found = _COMBINED.match(line)
        yield Row(number, line, None if found is None else _of_request(found.groupdict(default="")))


def _of_request(values: dict[str, str]) -> dict[str, str] | None:
    parts = values.pop("request").split(" ")
    if len(parts) != _REQUEST_PARTS:
        return None
    try:
        target = urlsplit(parts[1])
        pairs = parse_qsl(target.query, keep_blank_values=True)
    except ValueError:
        return None
    asked = {f"{QUERY}{name}": value for name, value in reversed(pairs)}
    return {**asked, **values, "method": parts[0], "path": target.path}


def _read_json_lines(path: Path) -> Iterator[Row]:
    for number, line in _lines(path):
        try:
            document = json.loads(line)
        except (ValueError, RecursionError):
            document = None
        yield Row(number, line, _texts(document) if isinstance(document, dict) else None)


def _read_csv(path: Path) -> Iterator[Row]:
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        reader = csv.DictReader(file)
        for values in reader:
            is_whole = None not in values and None not in values.values()
            text = ",".join(str(value) for value in values.values())
            yield Row(reader.line_num, text, dict(values) if is_whole else None)


def _read_parquet(path: Path) -> Iterator[Row]:
    number = 0
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches():
            for values in batch.to_pylist():
                number += 1
                texts = _texts(values)
                yield Row(number, json.dumps(texts, ensure_ascii=False), texts)


def _texts(document: Mapping[str, object]) -> dict[str, str]:
    return {name: _value_text(value) for name, value in document.items() if value is not None}


def _value_text(value: object) -> str:
    if isinstance(value, str):
        return value
    isoformat = getattr(value, "isoformat", None)
    return str(isoformat()) if isoformat is not None else json.dumps(value, default=str)
