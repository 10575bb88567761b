"""Seals: what one says, how they chain, and the digest of the clicks that one bills.

Belongs here: drafts and their checks, the chain, the plain-Python twin of the digest. Reading and appending them is
``warehouse/seals.py``; computing what goes into one is ``spark_jobs/reconcile.py``.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from typing import Any

from domain.buckets import hour_of
from domain.chain import GENESIS_HASH, broken_links, canonical_json, chain_hash
from domain.errors import IntegrityError

FIRST_REVISION = 0
SALT_BYTES = 32
PRIVATE_TEXTS = ("actor", "case_id", "reason")
PRIVATE_COLUMNS = (*PRIVATE_TEXTS, "salt")
"""What the chain covers by its commitment, so that the chain can be shown without them."""
DIGEST_WORDS = 8
WORD_BYTES = 4
_WORD_MODULUS = 1 << (8 * WORD_BYTES)
_DIGEST = re.compile(r"[0-9a-f]{64}\Z")


@dataclass(frozen=True, kw_only=True)
class SealDraft:
    """What an attempt says of its hour, before it has a place in the chain.

    ``cut`` maps ``"log:partition"`` to the end offset up to which raw was read; ``excluded_clicks`` maps a reason to a
    count. ``reason`` and ``case_id`` are those of a revision, empty on a first seal. ``IntegrityError`` if raw is not
    billable plus excluded, exactly.
    """

    hour: datetime
    revision: int
    attempt: str
    cut: Mapping[str, int]
    raw_clicks: int
    billable_clicks: int
    excluded_clicks: Mapping[str, int]
    digest: str
    verdict_set: int
    ads_version: int
    rule_version: int
    horizon_days: int
    code_version: str
    actor: str
    reason: str = ""
    case_id: str = ""

    def __post_init__(self) -> None:
        excluded = sum(self.excluded_clicks.values())
        if self.raw_clicks != self.billable_clicks + excluded:
            raise self._refusal(
                f"{self.raw_clicks} raw clicks", f"{self.billable_clicks} billable + {excluded} excluded"
            )
        if min(self.billable_clicks, *self.excluded_clicks.values(), 0) < 0:
            raise self._refusal("a negative count", "counts from 0 up")
        if self.hour.tzinfo is None or self.hour != hour_of(self.hour.astimezone(UTC)):
            raise self._refusal(f"hour {self.hour}", "the start of a UTC hour, with its zone")
        if not _DIGEST.match(self.digest):
            raise self._refusal(f"digest {self.digest!r}", "64 lower-case hex digits")
        if not (self.attempt and self.actor and self.code_version):
            raise self._refusal("no attempt, actor or code version", "all three")

    def _refusal(self, found: str, expected: str) -> IntegrityError:
        return IntegrityError(
            f"the seal of {self.hour:%Y-%m-%dT%H:%M} has {found}", expected, "do not seal it; find the cause"
        )


@dataclass(frozen=True, kw_only=True)
class Seal(SealDraft):
    """A draft with its place in the chain: the truth of its hour unless a later revision stands.

    ``commitment`` binds the chain to the seal's texts without showing them; ``salt`` keeps it from being guessed.
    """

    seal_number: int
    sealed_at: datetime
    salt: str
    commitment: str
    previous_hash: str
    hash: str

    @property
    def number(self) -> int:
        """Its place in the chain, from 1."""
        return self.seal_number

    def columns(self) -> dict[str, Any]:
        """The row of table ``seals``: the two maps are canonical JSON text there."""
        row = {field.name: getattr(self, field.name) for field in fields(self)}
        return row | {"cut": canonical_json(self.cut), "excluded_clicks": canonical_json(self.excluded_clicks)}

    def hashed_columns(self) -> dict[str, Any]:
        """What its hash covers, as the table stores it: of the texts their commitment only."""
        uncovered = {*PRIVATE_COLUMNS, "previous_hash", "hash"}
        return {name: value for name, value in self.columns().items() if name not in uncovered}

    def columns_for(self, case_id: str) -> dict[str, Any]:
        """Its row for a reader who may know of this case alone: the texts of any other seal are left out."""
        hidden = {} if self.case_id == case_id else dict.fromkeys(PRIVATE_COLUMNS, "")
        return self.columns() | hidden


def commitment_of(salt: str, texts: Mapping[str, str]) -> str:
    """SHA-256 in hex over ``salt``, a line feed and the canonical JSON of the private texts."""
    return hashlib.sha256(f"{salt}\n{canonical_json(texts)}".encode()).hexdigest()


def _commitment(seal: SealDraft, salt: str) -> str:
    return commitment_of(salt, {name: getattr(seal, name) for name in PRIVATE_TEXTS})


def chain_drafts(
    seals: Sequence[Seal], drafts: Sequence[SealDraft], sealed_at: datetime, new_salt: Callable[[], str]
) -> list[Seal]:
    """What the drafts become behind ``seals`` (ascending). ``IntegrityError`` if one is not the next of its hour.

    ``new_salt`` gives ``SALT_BYTES`` random bytes in hex, others each time.
    """
    revisions = {hour: seal.revision for hour, seal in current_seals(seals).items()}
    previous_hash = seals[-1].hash if seals else GENESIS_HASH
    first = seals[-1].seal_number + 1 if seals else 1
    chained: list[Seal] = []
    for number, draft in enumerate(drafts, start=first):
        _check_revision(draft, revisions.get(draft.hour))
        said = {field.name: getattr(draft, field.name) for field in fields(SealDraft)}
        salt = new_salt()
        seal = Seal(
            **said,
            seal_number=number,
            sealed_at=sealed_at,
            salt=salt,
            commitment=_commitment(draft, salt),
            previous_hash=previous_hash,
            hash="",
        )
        seal = replace(seal, hash=chain_hash(previous_hash, seal.hashed_columns()))
        chained.append(seal)
        revisions[seal.hour] = seal.revision
        previous_hash = seal.hash
    return chained


def _check_revision(draft: SealDraft, newest: int | None) -> None:
    due = FIRST_REVISION if newest is None else newest + 1
    if draft.revision != due:
        raise IntegrityError(
            f"revision {draft.revision} of hour {draft.hour:%Y-%m-%dT%H:%M}",
            f"revision {due}, since " + ("it has no seal yet" if newest is None else f"revision {newest} is sealed"),
            "read the seals again; a sealed hour changes only by a revision",
        )
    if not _is_accounted_for(draft):
        raise IntegrityError(
            f"revision {draft.revision} of hour {draft.hour:%Y-%m-%dT%H:%M} with reason {draft.reason!r} and case "
            f"{draft.case_id!r}",
            "both on a revision, neither on a first seal",
            "give a reason and a case; sealed figures never change without",
        )


def _is_accounted_for(seal: SealDraft) -> bool:
    """Law 10: a revision says why and for which case; a first seal needs neither."""
    return bool(seal.reason) == bool(seal.case_id) == (seal.revision > FIRST_REVISION)


def current_seals(seals: Iterable[Seal]) -> dict[datetime, Seal]:
    """The seal that holds for each hour: its highest revision."""
    current: dict[datetime, Seal] = {}
    for seal in seals:
        if seal.hour not in current or seal.revision > current[seal.hour].revision:
            current[seal.hour] = seal
    return current


def next_revision(held: Seal | None) -> int:
    """The revision that the next seal of an hour has, after the one that holds for it."""
    return FIRST_REVISION if held is None else held.revision + 1


def check_chain(seals: Sequence[Seal]) -> list[str]:
    """What is wrong with the chain of seals (ascending), one line a finding; empty if it holds."""
    findings = broken_links("seal", seals)
    revisions: dict[datetime, int] = {}
    for seal in seals:
        if seal.revision != revisions.get(seal.hour, -1) + 1:
            findings.append(f"seal {seal.number}: revision {seal.revision} is not the next of its hour")
        if seal.commitment != _commitment(seal, seal.salt):
            findings.append(f"seal {seal.number}: its actor, case, reason or salt was changed")
        if not _is_accounted_for(seal):
            findings.append(f"seal {seal.number}: revision {seal.revision} has not the reason and case that it should")
        revisions[seal.hour] = seal.revision
    return findings


def billable_line(
    *,
    log: int,
    partition: int,
    offset: int,
    impression_id: str,
    ad_id: int,
    advertiser_id: int,
    campaign_id: int,
    clicked_at: datetime,
    country: str,
    device: str,
) -> str:
    """One billable click as its digest reads it; never ip or user agent, so that these can be erased."""
    minute = f"{clicked_at.astimezone(UTC):%Y-%m-%dT%H:%M}"
    who = f"{impression_id}|{ad_id}|{advertiser_id}|{campaign_id}"
    return f"{log}|{partition}|{offset}|{who}|{minute}|{country}|{device}"


class SetDigest:
    """The digest of a set of billable clicks, free of order and of engine.

    Of each line the SHA-256, read as eight 32-bit big-endian words; each word summed modulo 2**32 over all lines.
    """

    def __init__(self) -> None:
        self._words = [0] * DIGEST_WORDS

    def add(self, line: str) -> None:
        """Takes one more click in."""
        hashed = hashlib.sha256(line.encode()).digest()
        for index in range(DIGEST_WORDS):
            word = int.from_bytes(hashed[index * WORD_BYTES : (index + 1) * WORD_BYTES], "big")
            self._words[index] = (self._words[index] + word) % _WORD_MODULUS

    def hex(self) -> str:
        """The eight sums, 8 lower-case hex digits each; all zeros for the empty set."""
        return sum_hex(self._words)


def sum_hex(words: Iterable[int]) -> str:
    """Eight sums of words as a digest writes them: modulo 2**32, 8 lower-case hex digits each."""
    return "".join(f"{word % _WORD_MODULUS:08x}" for word in words)
