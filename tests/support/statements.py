"""Statements as the bytes of their files."""

from __future__ import annotations

import io
from pathlib import Path

from warehouse.statement_files import write_statement
from warehouse.statements import Statement


def statement_bytes(statement: Statement, file_format: str, scratch: Path | None = None) -> bytes:
    """What is written to a file."""
    file = io.BytesIO()
    write_statement(statement, file_format, file, scratch)
    return file.getvalue()
