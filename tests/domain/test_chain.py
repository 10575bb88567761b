"""Hash chains: what is hashed, and that no change of a row goes unseen."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.chain import GENESIS_HASH, broken_links, canonical_json, chain_hash

AT = datetime(2026, 5, 4, 12, tzinfo=UTC)


@dataclass(frozen=True)
class Link:
    """A row of a ledger that says one thing."""

    number: int
    said: str
    previous_hash: str
    hash: str

    def hashed_columns(self) -> Mapping[str, Any]:
        return {"number": self.number, "said": self.said}


def _chain(length: int) -> list[Link]:
    return _numbered(range(1, length + 1))


def _numbered(numbers: Iterable[int]) -> list[Link]:
    links: list[Link] = []
    for number in numbers:
        link = Link(number, f"row {number}", links[-1].hash if links else GENESIS_HASH, "")
        links.append(replace(link, hash=chain_hash(link.previous_hash, link.hashed_columns())))
    return links


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"b": 1, "a": [True, None]}, '{"a":[true,null],"b":1}'),
        ({"10": 1, "9": 2}, '{"10":1,"9":2}'),
        ({"at": AT}, '{"at":"2026-05-04T12:00:00Z"}'),
        ({"at": AT + timedelta(microseconds=120)}, '{"at":"2026-05-04T12:00:00.000120Z"}'),
        ({"at": AT.astimezone(timezone(timedelta(hours=2)))}, '{"at":"2026-05-04T12:00:00Z"}'),
        ("ü€😀", '"ü€😀"'),
        ('"\\\n\x00/', '"\\"\\\\\\n\\u0000/"'),
    ],
    ids=["keys sorted", "keys are text", "whole second", "microseconds", "another zone", "not escaped", "escaped"],
)
def test_canonical_json(value: Any, expected: str) -> None:
    assert canonical_json(value) == expected


def test_a_value_without_a_canonical_form_is_refused() -> None:
    with pytest.raises(TypeError, match="no canonical form"):
        canonical_json({"set": {1}})


def test_the_hash_is_sha256_over_previous_hash_line_feed_and_json() -> None:
    text = GENESIS_HASH + '\n{"a":1}'
    assert chain_hash(GENESIS_HASH, {"a": 1}) == hashlib.sha256(text.encode()).hexdigest()
    assert chain_hash(GENESIS_HASH, {"a": 1}) == "f21735afd2cd6af4fc5804b0045cebfd545aef8396d29d030c39cb8880b45b7f"


@pytest.mark.parametrize("length", [0, 1, 5])
def test_an_intact_chain_has_no_finding(length: int) -> None:
    assert broken_links("row", _chain(length)) == []


@given(index=st.integers(0, 5), field=st.sampled_from(["number", "said", "previous_hash", "hash"]))
def test_any_change_of_one_row_is_found_at_that_row(index: int, field: str) -> None:
    chain = _chain(6)
    changed = 99 if field == "number" else "f" * 64
    chain[index] = replace(chain[index], **{field: changed})
    number = 99 if field == "number" else index + 1
    assert any(finding.startswith(f"row {number}: ") for finding in broken_links("row", chain))


@given(st.permutations(range(4)).filter(lambda order: order != [0, 1, 2, 3]))
def test_another_order_is_found(order: list[int]) -> None:
    chain = _chain(4)
    assert broken_links("row", [chain[index] for index in order]) != []


@pytest.mark.parametrize("index", [0, 1, 2])
def test_a_row_taken_out_is_found_where_the_gap_is(index: int) -> None:
    chain = _chain(4)
    del chain[index]
    assert f"row {index + 2}: does not follow the hash of the row before it" in broken_links("row", chain)


@pytest.mark.parametrize(("numbers", "found"), [([2, 3], 2), ([1, 3], 3), ([1, 1], 1), ([1, 2, 4, 5], 4)], ids=str)
def test_a_number_left_out_or_given_twice_is_found_though_all_hashes_fit(numbers: list[int], found: int) -> None:
    expected = next(place for place, number in enumerate(numbers, start=1) if place != number)
    assert f"row {found}: stands where number {expected} should" in broken_links("row", _numbered(numbers))


def test_a_tail_that_was_cut_is_seen_only_by_its_head_hash() -> None:
    """F6: the rows that stand still hold together; the hash kept elsewhere is what tells."""
    chain = _chain(4)
    kept_elsewhere = chain[-1].hash
    assert broken_links("row", chain[:2]) == []
    assert chain[:2][-1].hash != kept_elsewhere


def test_a_row_made_anew_with_a_fitting_hash_breaks_the_next_one() -> None:
    chain = _chain(3)
    forged = replace(chain[1], said="another")
    chain[1] = replace(forged, hash=chain_hash(forged.previous_hash, forged.hashed_columns()))
    assert broken_links("row", chain) == ["row 3: does not follow the hash of the row before it"]
