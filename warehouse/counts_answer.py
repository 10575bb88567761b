"""The answer to a question about counts, and its one JSON form: what the command line prints and the metrics API sends.

Belongs here: the shape of an answer. How it comes about is ``warehouse/counts.py``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any

import orjson
import pyarrow as pa

from domain.buckets import format_utc
from warehouse.counts_query import CountsQuery

CHUNK_ROWS = 5_000
"""Of one piece of the JSON form: about half a megabyte."""


@dataclass(frozen=True)
class Finality:
    """How far figures are final, by the newest publication.

    Every hour from ``final_from`` to ``final_until`` is sealed and published. These three are None before the first
    publication. Nothing before ``closed_until`` ever changes; None before the first close.
    """

    publication_number: int | None
    final_from: datetime | None
    final_until: datetime | None
    closed_until: datetime | None

    def document(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "publication_number": self.publication_number,
            "final_from": _format_or_none(self.final_from),
            "final_until": _format_or_none(self.final_until),
            "closed_until": _format_or_none(self.closed_until),
        }


@dataclass(frozen=True)
class PastAnswer:
    """What an answer about the past says beside its rows.

    ``not_final``: the parts of the range that were not final at ``at``; of them ``sealed_later_count`` hours are
    sealed by now. ``later_errors``: live against final of these hours by their first seal, a row per hour and
    advertiser.
    """

    at: datetime
    not_final: tuple[tuple[datetime, datetime], ...]
    sealed_later_count: int
    later_errors: list[dict[str, Any]] = field(default_factory=list)

    def document(self) -> dict[str, Any]:
        """For JSON, without the errors."""
        parts = [{"from": format_utc(start), "to": format_utc(end)} for start, end in self.not_final]
        return {"as_of": format_utc(self.at), "not_final": parts, "sealed_later_count": self.sealed_later_count}


@dataclass(frozen=True)
class CountsAnswer:
    """Rows out of one publication and one version of the live table, sorted by bucket and group.

    An answer about the past has ``past`` and no live version: its rows are of sealed attempts only.

    ``table`` has the columns bucket (start, UTC), those of the group, clicks, final, and json: the row as text. A
    bucket at the edge of the asked range counts only the clicks inside the range. A bucket without a click has no row.
    """

    query: CountsQuery
    finality: Finality
    live_version: int | None
    table: pa.Table
    past: PastAnswer | None = None

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """The rows as plain Python; ``bucket`` is an aware instant."""
        return self.table.drop_columns("json").to_pylist()

    def json_chunks(self) -> Iterator[bytes]:
        """The answer as one JSON object, in pieces."""
        yield orjson.dumps(self._head())[:-1] + b',"rows":['
        separator = ""
        for batch in self.table.select(["json"]).to_batches(max_chunksize=CHUNK_ROWS):
            yield (separator + ",".join(map(str, batch.column(0).to_pylist()))).encode()
            separator = ","
        yield b"]}" if self.past is None else b'],"later_errors":' + orjson.dumps(_errors(self.past)) + b"}"

    def _head(self) -> dict[str, Any]:
        return {
            "from": format_utc(self.query.start),
            "to": format_utc(self.query.end),
            "time_zone": self.query.time_zone,
            "granularity": self.query.granularity,
            "group_by": self.query.group_by,
            **self.finality.document(),
            **({"live_version": self.live_version} if self.past is None else self.past.document()),
        }


def _errors(past: PastAnswer) -> list[dict[str, Any]]:
    return [row | {"hour": format_utc(row["hour"])} for row in past.later_errors]


def _format_or_none(at: datetime | None) -> str | None:
    return None if at is None else format_utc(at)
