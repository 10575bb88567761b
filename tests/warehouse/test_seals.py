"""Seals in their table: one commit, behind the expected head, stored as hashed."""

from __future__ import annotations

import hashlib
import json
from datetime import datetime, timedelta
from typing import Any

import pytest

from domain.errors import IntegrityError, LedgerConflictError
from domain.seals import SALT_BYTES, check_chain
from domain.settings import Settings
from tests.support.ledgers import WRITTEN_AT, seal_draft
from warehouse.layout import open_table, rows_of
from warehouse.seals import append_seals, read_seals


def _version(settings: Settings) -> int:
    return open_table(settings, "seals").version()


def test_seals_come_back_as_they_were_appended(settings: Settings) -> None:
    first = append_seals(settings, [seal_draft(0), seal_draft(1)], 0, WRITTEN_AT)
    second = append_seals(settings, [seal_draft(2)], 2, WRITTEN_AT + timedelta(hours=1))
    assert read_seals(settings) == first + second
    assert [seal.seal_number for seal in read_seals(settings)] == [1, 2, 3]
    assert check_chain(read_seals(settings)) == []


def test_several_seals_are_one_commit(settings: Settings) -> None:
    append_seals(settings, [seal_draft(hour) for hour in range(24)], 0, WRITTEN_AT)
    assert _version(settings) == 1


def test_no_drafts_are_no_commit(settings: Settings) -> None:
    assert append_seals(settings, [], 0, WRITTEN_AT) == []
    assert _version(settings) == 0


@pytest.mark.parametrize("expected_head", [0, 2], ids=["behind", "ahead"])
def test_another_head_than_expected_seals_nothing(settings: Settings, expected_head: int) -> None:
    append_seals(settings, [seal_draft(0)], 0, WRITTEN_AT)
    with pytest.raises(LedgerConflictError, match=rf"seals has number 1; expected number {expected_head}"):
        append_seals(settings, [seal_draft(1)], expected_head, WRITTEN_AT)
    assert len(read_seals(settings)) == 1


def test_a_second_seal_of_an_hour_is_refused_unless_it_is_the_next_revision(settings: Settings) -> None:
    """F9: an hour that is sealed is not sealed again by accident."""
    append_seals(settings, [seal_draft(0)], 0, WRITTEN_AT)
    with pytest.raises(IntegrityError, match="expected revision 1, since revision 0 is sealed"):
        append_seals(settings, [seal_draft(1), seal_draft(0)], 1, WRITTEN_AT)
    assert len(read_seals(settings)) == 1
    assert append_seals(settings, [seal_draft(0, revision=1)], 1, WRITTEN_AT)[0].revision == 1


def test_an_instant_without_a_zone_seals_nothing(settings: Settings) -> None:
    with pytest.raises(ValueError, match="without a zone"):
        append_seals(settings, [seal_draft(0)], 0, WRITTEN_AT.replace(tzinfo=None))
    assert _version(settings) == 0


def test_an_auditor_can_recompute_the_hash_from_the_columns(settings: Settings) -> None:
    """Law 11, with nothing of ours but the rows: SHA-256, JSON, and the rule in docs/seals.md."""
    append_seals(settings, [seal_draft(0), seal_draft(1, actor='Ünïcode "quoted"')], 0, WRITTEN_AT)
    previous = "0" * 64
    for row in rows_of(open_table(settings, "seals")).sort_by("seal_number").to_pylist():
        texts = _json_text({name: row.pop(name) for name in ("actor", "case_id", "reason")})
        assert row["commitment"] == hashlib.sha256(f"{row.pop('salt')}\n{texts}".encode()).hexdigest()
        text = _json_text({name: value for name, value in row.items() if name not in ("hash", "previous_hash")})
        assert row["previous_hash"] == previous
        previous = hashlib.sha256(f"{previous}\n{text}".encode()).hexdigest()
        assert row["hash"] == previous


def _json_text(columns: dict[str, Any]) -> str:
    return json.dumps(
        columns,
        sort_keys=True,
        separators=(",", ":"),
        ensure_ascii=False,
        default=lambda at: at.isoformat().replace("+00:00", "Z"),
    )


def test_each_seal_has_a_salt_of_its_own(settings: Settings) -> None:
    """Law 13: with a salt that another seal has too, one case told would let the words of another be guessed."""
    seals = append_seals(settings, [seal_draft(hour) for hour in range(3)], 0, WRITTEN_AT)
    assert len({seal.salt for seal in seals}) == len({seal.commitment for seal in seals}) == 3
    assert all(len(bytes.fromhex(seal.salt)) == SALT_BYTES for seal in seals)


def test_the_stored_maps_are_canonical_json(settings: Settings) -> None:
    append_seals(settings, [seal_draft(0)], 0, WRITTEN_AT)
    row = rows_of(open_table(settings, "seals")).to_pylist()[0]
    assert row["cut"] == '{"1:0":12,"1:10":3,"1:2":5}'
    assert row["excluded_clicks"] == '{"duplicate":2,"head":1}'
    assert isinstance(row["sealed_at"], datetime)
    assert row["sealed_at"] == WRITTEN_AT
