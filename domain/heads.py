"""The head of the ledgers: what somebody keeps elsewhere, so that a missing tail or a rewritten history is seen.

Belongs here: what a head says, its file, and what of it the ledgers no longer hold. Gathering and keeping heads is
``warehouse/heads.py``.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from domain.adjustments import Adjustment
from domain.buckets import parse_utc
from domain.chain import ChainLink, canonical_json
from domain.errors import UsageError
from domain.periods import PeriodClose
from domain.publications import Publication
from domain.seals import Seal

FORMAT = 1
_HASH = re.compile(r"[0-9a-f]{64}\Z")
NAME = re.compile(r"head-[0-9]{10}-[0-9]{10}-[0-9]{10}-[0-9]{6}\.json")
"""Of a head's file: its numbers, which only grow, so that of two names the newer is the greater text."""


@dataclass(frozen=True)
class Ledgers:
    """The append-only ledgers as they are, each in its order."""

    seals: Sequence[Seal]
    publications: Sequence[Publication]
    adjustments: Sequence[Adjustment]
    closes: Sequence[PeriodClose]

    def chains(self) -> Iterable[tuple[str, Sequence[ChainLink]]]:
        """The ledgers whose rows are chained, by name."""
        by_number = sorted(self.adjustments, key=lambda one: one.number)
        return ("seal", self.seals), ("publication", self.publications), ("adjustment", by_number)

    def close_digests(self) -> dict[str, str]:
        """By closed period the SHA-256 of its certificate."""
        return {str(close.period): hashlib.sha256(close.certificate()).hexdigest() for close in self.closes}


@dataclass(frozen=True, kw_only=True)
class Head:
    """The newest number and hash of each chain (0 and empty where there is no row), and each close's digest."""

    seal_number: int
    seal_hash: str
    publication_number: int
    publication_hash: str
    adjustment_number: int
    adjustment_hash: str
    closes: Mapping[str, str]
    exported_at: datetime
    code_version: str

    @property
    def name(self) -> str:
        """Of its file."""
        numbers = f"{self.seal_number:010}-{self.publication_number:010}-{self.adjustment_number:010}"
        return f"head-{numbers}-{len(self.closes):06}.json"

    def document(self) -> bytes:
        """The head as JSON."""
        return canonical_json({"format": FORMAT, **vars(self)}).encode() + b"\n"


def head_of(ledgers: Ledgers, exported_at: datetime, code_version: str) -> Head:
    """The head of these ledgers."""
    ends: dict[str, Any] = {}
    for name, rows in ledgers.chains():
        ends |= {f"{name}_number": rows[-1].number if rows else 0, f"{name}_hash": rows[-1].hash if rows else ""}
    return Head(**ends, closes=ledgers.close_digests(), exported_at=exported_at, code_version=code_version)


def parse_head(name: str, content: bytes) -> Head:
    """The head of a file; ``UsageError`` if it is none."""
    refusal = UsageError(f"{name} holds no head of the ledgers", "a file of `tallystick head export`", "name that one")
    try:
        said = json.loads(content)
        if said.pop("format") != FORMAT:
            raise refusal
        head = Head(**said | {"exported_at": parse_utc(said["exported_at"])})
    except (ValueError, TypeError, KeyError, AttributeError):
        raise refusal from None
    numbers = (head.seal_number, head.publication_number, head.adjustment_number)
    hashes = (head.seal_hash, head.publication_hash, head.adjustment_hash)
    is_whole = all(type(number) is int and number >= 0 for number in numbers) and isinstance(head.closes, dict)
    if not is_whole or not all(
        _is_hash(text) if number else text == "" for number, text in zip(numbers, hashes, strict=True)
    ):
        raise refusal
    return head


def _is_hash(text: Any) -> bool:
    return isinstance(text, str) and _HASH.match(text) is not None


def missing_of(head: Head, ledgers: Ledgers) -> list[str]:
    """What a kept head says and the ledgers no longer do, in words; empty if they only grew since."""
    found = []
    for name, rows in ledgers.chains():
        number, kept_hash = getattr(head, f"{name}_number"), getattr(head, f"{name}_hash")
        row = next((one for one in rows if one.number == number), None)
        if number and row is None:
            ends = rows[-1].number if rows else 0
            found.append(f"the kept head has {name} {number}, the last one is {ends}: the tail was cut off")
        elif number and row is not None and row.hash != kept_hash:
            found.append(f"{name} {number} has hash {row.hash}, the kept head {kept_hash}: history was written anew")
    digests = ledgers.close_digests()
    for period, digest in sorted(head.closes.items()):
        if period not in digests:
            found.append(f"the kept head has period {period} closed, it is open")
        elif digests[period] != digest:
            found.append(f"the close of period {period} is not the one of the kept head")
    return found
