"""Seals: conservation, revisions, and the digest of a set of billable clicks."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.chain import GENESIS_HASH, chain_hash
from domain.errors import IntegrityError
from domain.seals import Seal, SetDigest, billable_line, chain_drafts, check_chain, commitment_of, current_seals
from tests.support.ledgers import FIRST_HOUR, WRITTEN_AT, fixed_salt, seal_draft

CLICK: dict[str, Any] = {
    "log": 1,
    "partition": 5,
    "offset": 1_234_567_890_123,
    "impression_id": "0197a1b2-0000-7000-8000-000000000001",
    "ad_id": 7,
    "advertiser_id": 10,
    "campaign_id": 100,
    "clicked_at": datetime(2026, 5, 4, 9, 8, 59, 999_999, tzinfo=UTC),
    "country": "DE",
    "device": "mobile",
}
LINE = "1|5|1234567890123|0197a1b2-0000-7000-8000-000000000001|7|10|100|2026-05-04T09:08|DE|mobile"


def _seals(*hours: int) -> list[Seal]:
    return chain_drafts([], [seal_draft(hour) for hour in hours], WRITTEN_AT, fixed_salt)


def _texts(seal: Seal) -> dict[str, str]:
    return {"actor": seal.actor, "case_id": seal.case_id, "reason": seal.reason}


def _digest(lines: list[str]) -> str:
    digest = SetDigest()
    for line in lines:
        digest.add(line)
    return digest.hex()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"raw_clicks": 11}, r"has 11 raw clicks; expected 7 billable \+ 3 excluded"),
        ({"excluded_clicks": {}}, r"expected 7 billable \+ 0 excluded"),
        ({"billable_clicks": 11, "excluded_clicks": {"head": -1}}, "a negative count"),
        ({"hour": FIRST_HOUR + timedelta(minutes=30)}, "expected the start of a UTC hour"),
        ({"hour": FIRST_HOUR.replace(tzinfo=None)}, "expected the start of a UTC hour"),
        ({"hour": FIRST_HOUR.replace(tzinfo=timezone(timedelta(minutes=330)))}, "expected the start of a UTC hour"),
        ({"digest": "0" * 63}, "expected 64 lower-case hex digits"),
        ({"digest": "A" * 64}, "expected 64 lower-case hex digits"),
        ({"digest": "0" * 64 + "\n"}, "expected 64 lower-case hex digits"),
        ({"attempt": ""}, "no attempt, actor or code version"),
        ({"actor": ""}, "no attempt, actor or code version"),
        ({"code_version": ""}, "no attempt, actor or code version"),
    ],
)
def test_a_draft_that_cannot_be_true_is_refused(change: dict[str, Any], message: str) -> None:
    """Law 3: raw = billable + sum(excluded by reason), exactly; nothing else can be sealed."""
    with pytest.raises(IntegrityError, match=message):
        seal_draft(**change)


def test_an_hour_without_clicks_can_be_sealed() -> None:
    """F4: an hour with no clicks is sealed too."""
    draft = seal_draft(raw_clicks=0, billable_clicks=0, excluded_clicks={}, digest="0" * 64)
    assert chain_drafts([], [draft], WRITTEN_AT, fixed_salt)[0].columns()["excluded_clicks"] == "{}"


def test_drafts_chain_behind_what_is_sealed() -> None:
    first, second = _seals(0, 1)
    third = chain_drafts([first, second], [seal_draft(2)], WRITTEN_AT, fixed_salt)[0]
    assert [seal.seal_number for seal in (first, second, third)] == [1, 2, 3]
    assert [first.previous_hash, second.previous_hash, third.previous_hash] == [GENESIS_HASH, first.hash, second.hash]
    assert check_chain([first, second, third]) == []


def test_the_hash_of_a_seal_is_what_it_always_was() -> None:
    """A golden value, made with sha256sum: a change of the rule would break every chain there is."""
    assert _seals(0)[0].hash == "8412d826eaa16a072f743ed12be947b77bd28edbebac1fd86348add29d056e3e"


@pytest.mark.parametrize(
    ("revisions", "due"),
    [
        ([1], "expected revision 0, since it has no seal yet"),
        ([0, 0], "expected revision 1, since revision 0 is sealed"),
        ([0, 2], "expected revision 1"),
        ([0, 1, 0], "expected revision 2"),
    ],
)
def test_a_revision_that_is_not_the_next_is_refused(revisions: list[int], due: str) -> None:
    """F9: nothing sealed is sealed over by accident, nor twice in one commit."""
    with pytest.raises(IntegrityError, match=due):
        chain_drafts([], [seal_draft(0, revision=revision) for revision in revisions], WRITTEN_AT, fixed_salt)


@pytest.mark.parametrize(
    ("revision", "said"),
    [
        (0, {"reason": "why", "case_id": "C-1"}),
        (0, {"reason": "why"}),
        (1, {"reason": "", "case_id": "C-1"}),
        (1, {"reason": "why", "case_id": ""}),
        (1, {"reason": "", "case_id": ""}),
    ],
)
def test_a_revision_says_why_and_a_first_seal_does_not(revision: int, said: dict[str, str]) -> None:
    """Law 10: refused when it is sealed, and found in a chain that somebody else wrote."""
    before = _seals(0) if revision else []
    draft = seal_draft(0, revision=revision, **said)
    with pytest.raises(IntegrityError, match="expected both on a revision, neither on a first seal"):
        chain_drafts(before, [draft], WRITTEN_AT, fixed_salt)
    (right,) = chain_drafts(before, [seal_draft(0, revision=revision)], WRITTEN_AT, fixed_salt)
    wrong = replace(right, **said)
    wrong = replace(wrong, commitment=commitment_of(wrong.salt, _texts(wrong)))
    wrong = replace(wrong, hash=chain_hash(wrong.previous_hash, wrong.hashed_columns()))
    number = revision + 1
    assert check_chain([*before, wrong]) == [
        f"seal {number}: revision {revision} has not the reason and case that it should"
    ]


def test_the_highest_revision_of_an_hour_holds() -> None:
    drafts = [seal_draft(0), seal_draft(1), seal_draft(0, revision=1), seal_draft(0, revision=2)]
    seals = chain_drafts([], drafts, WRITTEN_AT, fixed_salt)
    holding = {FIRST_HOUR: seals[3], FIRST_HOUR + timedelta(hours=1): seals[1]}
    assert current_seals(seals) == current_seals(reversed(seals)) == holding


@pytest.mark.parametrize(
    "field", ["billable_clicks", "excluded_clicks", "cut", "digest", "attempt", "verdict_set", "sealed_at", "hour"]
)
def test_a_changed_column_is_found(field: str) -> None:
    """Law 11: a sealed figure that was changed afterwards does not have its hash any more."""
    seals = _seals(0, 1, 2)
    other = _seals(7)[0]
    changes = {
        "billable_clicks": {"billable_clicks": 8, "raw_clicks": 11},
        "excluded_clicks": {"excluded_clicks": {"head": 3}},
        "cut": {"cut": {"1:0": 13}},
        "digest": {"digest": "f" * 64},
        "verdict_set": {"verdict_set": 3},
        "sealed_at": {"sealed_at": WRITTEN_AT + timedelta(microseconds=1)},
    }
    seals[1] = replace(seals[1], **changes.get(field, {field: getattr(other, field)}))
    assert check_chain(seals) == ["seal 2: its columns do not have its hash, they were changed"]


@pytest.mark.parametrize("field", ["actor", "case_id", "reason", "salt"])
def test_a_changed_text_is_found_by_its_commitment(field: str) -> None:
    """Law 10, law 11: what the chain can be shown without is covered by it all the same."""
    seals = chain_drafts([], [seal_draft(0), seal_draft(0, revision=1)], WRITTEN_AT, fixed_salt)
    seals[1] = replace(seals[1], **{field: "another"})
    assert check_chain(seals) == ["seal 2: its actor, case, reason or salt was changed"]
    forged = replace(seals[1], commitment=commitment_of(seals[1].salt, _texts(seals[1])))
    assert check_chain([seals[0], forged]) == ["seal 2: its columns do not have its hash, they were changed"]


def test_who_may_know_of_one_case_reads_no_text_of_another() -> None:
    """Law 13: the chain is the same, and only the seals of the case say who asked for them and why."""
    drafts = [seal_draft(0), seal_draft(0, revision=1, case_id="D-1"), seal_draft(0, revision=2, case_id="D-10")]
    seals = chain_drafts([], drafts, WRITTEN_AT, fixed_salt)
    first, own, other = (seal.columns_for("D-1") for seal in seals)
    assert own == seals[1].columns()
    nothing = {"actor": "", "case_id": "", "reason": "", "salt": ""}
    assert (first, other) == (seals[0].columns() | nothing, seals[2].columns() | nothing)


def test_a_revision_out_of_turn_is_found() -> None:
    seals = _seals(0, 1)
    assert "seal 1: revision 0 is not the next of its hour" not in check_chain(seals)
    forged = replace(seals[1], hour=seals[0].hour)
    assert "seal 2: revision 0 is not the next of its hour" in check_chain([seals[0], forged])


def test_the_line_of_a_click() -> None:
    assert billable_line(**CLICK) == LINE
    shifted = CLICK["clicked_at"].astimezone(timezone(timedelta(hours=5)))
    assert billable_line(**CLICK | {"clicked_at": shifted}) == LINE


def test_the_digest_of_nothing_is_all_zeros() -> None:
    assert _digest([]) == "0" * 64


def test_the_digest_of_one_line_is_its_sha256() -> None:
    assert _digest([LINE]) == hashlib.sha256(LINE.encode()).hexdigest()


def test_each_word_is_summed_on_its_own() -> None:
    """Worked by hand: SHA-256("a") starts ca978112, SHA-256("b") 3e23e816; their sum modulo 2**32 is 08bb6928."""
    assert 0xCA978112 + 0x3E23E816 == 0x108BB6928
    assert _digest(["a", "b"])[:8] == "08bb6928"


@given(st.lists(st.text(max_size=20), unique=True, max_size=12), st.randoms(use_true_random=False))
def test_the_order_does_not_matter_and_the_set_does(lines: list[str], random: Any) -> None:
    shuffled = random.sample(lines, len(lines))
    assert _digest(shuffled) == _digest(lines)
    words = [
        sum(int(hashlib.sha256(line.encode()).hexdigest()[8 * n : 8 * n + 8], 16) for line in lines) % 2**32
        for n in range(8)
    ]
    assert _digest(lines) == "".join(f"{word:08x}" for word in words)
    if lines:
        assert _digest(lines[1:]) != _digest(lines)
