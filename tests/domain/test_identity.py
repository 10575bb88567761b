"""Click identity, mint times and the order of copies."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.identity import IDENTITY_BYTES, LoggedOrder, LogPosition, click_identity, minted_at, place_of

RFC_9562_EXAMPLE = "017F22E2-79B0-7CC3-98C4-DC0C0C07398F"
"""RFC 9562, appendix A.6: Tuesday, February 22, 2022 2:22:22.00 PM GMT-05:00."""


@pytest.mark.parametrize(
    ("impression_id", "ad_id", "expected"),
    [
        ("imp-1", 7, "4ffe5f9b40f5935c6afc0f045eb19e0d"),  # printf 'imp-1\n7' | sha256sum | cut -c1-32
        (RFC_9562_EXAMPLE, 2**63 - 1, "c04522877beef922a10bdaf09a843552"),
    ],
    ids=["short", "long"],
)
def test_known_identities(impression_id: str, ad_id: int, expected: str) -> None:
    assert click_identity(impression_id, ad_id).hex() == expected


@given(st.text("abcXYZ019_-", min_size=1, max_size=64), st.integers(1, 2**63 - 1))
def test_an_identity_is_16_bytes_of_sha256(impression_id: str, ad_id: int) -> None:
    identity = click_identity(impression_id, ad_id)
    assert len(identity) == IDENTITY_BYTES
    assert hashlib.sha256(impression_id.encode() + b"\n" + str(ad_id).encode()).digest().startswith(identity)


def test_the_parts_do_not_run_into_each_other() -> None:
    """L5: another ad's click on the same impression, or digits moved over the border, are other identities."""
    assert len({click_identity("1", 23), click_identity("12", 3), click_identity("1", 2), click_identity("1", 3)}) == 4


def test_case_matters() -> None:
    assert click_identity("a", 1) != click_identity("A", 1)


def test_mint_time_of_the_rfc_example() -> None:
    expected = datetime(2022, 2, 22, 19, 22, 22, tzinfo=UTC)
    assert minted_at(RFC_9562_EXAMPLE) == minted_at(RFC_9562_EXAMPLE.lower()) == expected


@given(st.datetimes(datetime(1970, 1, 1), datetime(9999, 12, 31), timezones=st.just(UTC)))  # noqa: DTZ001
def test_the_mint_time_is_the_first_48_bits_to_the_millisecond(at: datetime) -> None:
    at = at.replace(microsecond=at.microsecond // 1000 * 1000)
    unix_ms = (at - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)
    digits = f"{unix_ms:012x}"
    assert minted_at(f"{digits[:8]}-{digits[8:]}-7000-8000-000000000000") == at


@pytest.mark.parametrize(
    "impression_id",
    [
        "",
        "imp-1",
        "017F22E2-79B0-4CC3-98C4-DC0C0C07398F",
        "017F22E2-79B0-7CC3-08C4-DC0C0C07398F",
        "017F22E2-79B0-7CC3-C8C4-DC0C0C07398F",
        "017F22E279B07CC398C4DC0C0C07398F",
        "017F22E2-79B0-7CC3-98C4-DC0C0C07398",
        "017F22E2-79B0-7CC3-98C4-DC0C0C07398F0",
        "017F22E2-79B0-7CC3-98C4-DC0C0C07398F\n",
        "x017F22E2-79B0-7CC3-98C4-DC0C0C07398F",
        "G17F22E2-79B0-7CC3-98C4-DC0C0C07398F",
        "FFFFFFFF-FFFF-7CC3-98C4-DC0C0C07398F",
        "\u0660" + "17F22E2-79B0-7CC3-98C4-DC0C0C07398F",
    ],
    ids=[
        "empty",
        "opaque",
        "version 4",
        "variant 0",
        "variant c",
        "no dashes",
        "short",
        "long",
        "line feed",
        "prefix",
        "no hex digit",
        "beyond year 9999",
        "other digit",
    ],
)
def test_anything_else_is_opaque(impression_id: str) -> None:
    assert minted_at(impression_id) is None


def test_a_place_is_two_numbers() -> None:
    assert place_of("2:17") == (2, 17)


def test_copies_are_ordered_by_time_then_position() -> None:
    at = datetime(2026, 5, 4, tzinfo=UTC)
    later = at + timedelta(microseconds=1)
    ordered = [
        LoggedOrder(at, 1, 1, 9),
        LoggedOrder(at, 1, 2, 0),
        LoggedOrder(at, 2, 0, 0),
        LoggedOrder(later, 1, 0, 0),
    ]
    assert sorted(ordered[2:] + ordered[:2]) == ordered
    assert LogPosition(1, 2, 3) < LogPosition(1, 2, 4) < LogPosition(1, 3, 0) < LogPosition(2, 0, 0)
