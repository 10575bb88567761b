"""What a server knows of itself when the log does not answer: that hours wait for it, and what it has promised.

Belongs here: one small file. It is there while the last watermark that the log acknowledged was no closing one; a
server that finds it may answer clicks at once, into the spool, since no hour is sealed without it.
"""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path

from domain.buckets import format_utc, parse_utc


class Standing:
    """The file ``standing.json`` in the folder of a server's spool."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "standing.json"

    def promised_until(self) -> datetime | None:
        """What was promised last; None for a server that no hour waits for, as far as is known here."""
        try:
            return parse_utc(json.loads(self._path.read_text(encoding="utf-8"))["accepted_until"])
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def keep(self, promised_until: datetime) -> None:
        """The log has a watermark that says so. Survives the process; a power cut may cost the last ones."""
        beside = self._path.with_suffix(".new")
        beside.write_text(json.dumps({"accepted_until": format_utc(promised_until)}), encoding="utf-8")
        beside.rename(self._path)

    def end(self) -> None:
        """A closing watermark is about to be sent: from now on only the log knows."""
        self._path.unlink(missing_ok=True)
