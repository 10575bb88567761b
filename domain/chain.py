"""The hash chain of a ledger: canonical JSON of a row, and the hash that ties it to the row before.

Belongs here: what seals and publications share. An auditor recomputes it with any JSON library and SHA-256, see
``docs/seals.md``.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

from domain.buckets import format_utc

GENESIS_HASH = "0" * 64
"""What the first row of a chain has as its previous hash."""


class ChainLink(Protocol):
    """A row of a chained ledger: its place, the hash before it, its own, and what its own covers."""

    @property
    def number(self) -> int: ...

    @property
    def previous_hash(self) -> str: ...

    @property
    def hash(self) -> str: ...

    def hashed_columns(self) -> Mapping[str, Any]: ...


def canonical_json(value: Any) -> str:
    """JSON with sorted keys and no spaces, nothing escaped that need not be, instants as ISO 8601 with Z."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=_instant)


def _instant(value: Any) -> str:
    if isinstance(value, datetime):
        return format_utc(value)
    raise TypeError(f"{value!r} has no canonical form")


def chain_hash(previous_hash: str, columns: Mapping[str, Any]) -> str:
    """SHA-256 in hex over ``previous_hash``, a line feed and the canonical JSON of the columns."""
    return hashlib.sha256(f"{previous_hash}\n{canonical_json(columns)}".encode()).hexdigest()


def broken_links(ledger: str, links: Sequence[ChainLink]) -> list[str]:
    """What is wrong with a chain, one line a finding, ``links`` in ascending order; empty if it holds.

    A tail that was cut off leaves no trace in the rows that stand: compare the last hash with one kept elsewhere.
    """
    findings = []
    previous_hash = GENESIS_HASH
    for expected, link in enumerate(links, start=1):
        if link.number != expected:
            findings.append(f"{ledger} {link.number}: stands where number {expected} should")
        if link.previous_hash != previous_hash:
            findings.append(f"{ledger} {link.number}: does not follow the hash of the row before it")
        if link.hash != chain_hash(link.previous_hash, link.hashed_columns()):
            findings.append(f"{ledger} {link.number}: its columns do not have its hash, they were changed")
        previous_hash = link.hash
    return findings
