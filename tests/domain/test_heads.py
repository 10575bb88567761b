"""Heads: there and back, and each thing that a kept one no longer finds."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from domain.adjustments import chain_adjustments
from domain.errors import UsageError
from domain.heads import NAME, Head, Ledgers, head_of, missing_of, parse_head
from domain.periods import close_of
from domain.seals import chain_drafts
from tests.domain.test_adjustments import CASE, HELD, LINE, adjustments_of_november
from tests.support.ledgers import fixed_salt, seal_draft
from tests.support.periods import CLOSED_AT, NOVEMBER, month_seals, publication_of

SEALS = month_seals(NOVEMBER)
ADJUSTMENTS = chain_adjustments([], adjustments_of_november(CASE, LINE, LINE))
CLOSE = close_of(NOVEMBER, SEALS, "ada", CLOSED_AT)
LEDGERS = Ledgers(SEALS, publication_of(SEALS), ADJUSTMENTS, [CLOSE])
HEAD = head_of(LEDGERS, CLOSED_AT, "0.1.0")


def test_there_and_back() -> None:
    document = HEAD.document()
    assert parse_head("kept", document) == HEAD
    said = json.loads(document)
    assert (said["format"], said["seal_number"], said["seal_hash"]) == (1, 720, SEALS[-1].hash)
    assert (said["publication_number"], said["adjustment_number"], list(said["closes"])) == (1, 2, ["2026-11"])
    assert len(HELD) == said["seal_number"]


def test_a_newer_head_has_a_greater_name() -> None:
    names = [head_of(ledgers, CLOSED_AT, "0.1.0").name for ledgers in _growing()]
    assert names == sorted(set(names))
    assert all(NAME.fullmatch(name) for name in names)
    assert names[-1] == "head-0000000721-0000000001-0000000002-000001.json"


def _growing() -> list[Ledgers]:
    """Each ledger longer than before, by one that the others do not see."""
    bare = Ledgers(SEALS, [], [], [])
    published = replace(bare, publications=LEDGERS.publications)
    closed = replace(published, closes=[CLOSE])
    more = chain_drafts(SEALS, [seal_draft(hour=NOVEMBER.end, attempt="a")], CLOSED_AT, fixed_salt)
    return [bare, published, closed, LEDGERS, replace(LEDGERS, seals=[*SEALS, *more])]


def test_ledgers_that_only_grew_hold_every_older_head() -> None:
    """F6: a kept head is found below the newer rows."""
    growing = _growing()
    for number, ledgers in enumerate(growing):
        for older in growing[: number + 1]:
            assert missing_of(head_of(older, CLOSED_AT, "0.1.0"), ledgers) == []


ANEW = chain_drafts(
    [], [replace(seal_draft(hour=seal.hour, attempt="another")) for seal in SEALS], CLOSED_AT, fixed_salt
)
MISSED: dict[str, tuple[Ledgers, str]] = {
    "F6: the tail of seals": (
        replace(LEDGERS, seals=SEALS[:-1]),
        "the kept head has seal 720, the last one is 719: the tail was cut off",
    ),
    "the chain written anew": (
        replace(LEDGERS, seals=ANEW),
        f"seal 720 has hash {ANEW[-1].hash}, the kept head {SEALS[-1].hash}: history was written anew",
    ),
    "publications": (
        replace(LEDGERS, publications=[]),
        "the kept head has publication 1, the last one is 0: the tail was cut off",
    ),
    "the last adjustment": (
        replace(LEDGERS, adjustments=ADJUSTMENTS[:1]),
        "the kept head has adjustment 2, the last one is 1: the tail was cut off",
    ),
    "a close": (replace(LEDGERS, closes=[]), "the kept head has period 2026-11 closed, it is open"),
    "a close by another": (
        replace(LEDGERS, closes=[replace(CLOSE, actor="bob")]),
        "the close of period 2026-11 is not the one of the kept head",
    ),
}


@pytest.mark.parametrize(("ledgers", "found"), MISSED.values(), ids=MISSED)
def test_what_is_gone_or_another_is_named(ledgers: Ledgers, found: str) -> None:
    assert missing_of(HEAD, ledgers) == [found]


def _said(**changes: Any) -> bytes:
    return json.dumps(json.loads(HEAD.document()) | changes).encode()


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"[]", id="no object"),
        pytest.param(b"\xff", id="no text"),
        pytest.param(_said(format=2), id="another format"),
        pytest.param(_said(more=1), id="a field more"),
        pytest.param(_said(seal_hash="abc"), id="no hash"),
        pytest.param(_said(seal_number=0), id="a hash of nothing"),
        pytest.param(_said(seal_number="1"), id="no number"),
        pytest.param(_said(exported_at="now"), id="no time"),
        pytest.param(_said(closes=[]), id="no closes"),
    ],
)
def test_what_is_no_head(content: bytes) -> None:
    with pytest.raises(UsageError, match=r"x\.json holds no head of the ledgers"):
        parse_head("x.json", content)


def test_a_head_of_nothing_misses_nothing() -> None:
    empty = Ledgers([], [], [], [])
    head = head_of(empty, CLOSED_AT, "0.1.0")
    assert isinstance(head, Head)
    assert missing_of(head, empty) == missing_of(head, LEDGERS) == []
