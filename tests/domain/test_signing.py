"""Signatures: what holds, what never does, which keys are accepted until when."""

from __future__ import annotations

import base64
import hashlib
import hmac
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.errors import UsageError
from domain.events import MAX_INT64
from domain.signing import SECRET_BYTES, SIGNATURE_CHARACTERS, KeyRing, SignedLink, SigningKey, canonical_bytes

AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
KEY = SigningKey("k1", b"1" * SECRET_BYTES)
RING = KeyRing((KEY,))

impressions = st.from_regex(r"[A-Za-z0-9_-]{1,64}", fullmatch=True)
ads = st.integers(1, MAX_INT64)
secrets = st.binary(min_size=SECRET_BYTES, max_size=SECRET_BYTES)


def test_the_documented_bytes_are_signed() -> None:
    """What another program computes from the documents, without our code."""
    expected = hmac.new(b"1" * 32, b"tallystick-click-1\nk1\nimp-7\n42", hashlib.sha256).digest()
    assert base64.urlsafe_b64decode(RING.sign("imp-7", 42).signature + "=") == expected


def test_a_known_signature() -> None:
    """Frozen: links that are out must hold with later versions too."""
    assert RING.sign("imp-7", 42).signature == "5Y52Z7fUlUga0yEih7rF5ydXj7ZTtCnZBmRoPG5OgwY"


@given(impressions, ads, secrets)
def test_what_was_signed_is_accepted(impression_id: str, ad_id: int, secret: bytes) -> None:
    ring = KeyRing((SigningKey("k1", secret),))
    link = ring.sign(impression_id, ad_id)
    assert len(link.signature) == SIGNATURE_CHARACTERS
    assert ring.fault_of(link, AT) is None


@given(impressions, ads, impressions, ads)
def test_a_signature_holds_for_one_link_only(impression_id: str, ad_id: int, other_id: str, other_ad: int) -> None:
    """R4: an impression or ad that was not signed is refused."""
    signed = RING.sign(impression_id, ad_id)
    forged = SignedLink(other_id, other_ad, signed.key_id, signed.signature)
    is_same = (impression_id, ad_id) == (other_id, other_ad)
    assert RING.fault_of(forged, AT) == (None if is_same else "bad_signature")


@given(st.integers(0, SIGNATURE_CHARACTERS - 1), st.sampled_from("ABCDEFGHIJKLMNOPabcdefghijklmnop0123456789-_"))
def test_any_other_text_of_a_signature_is_refused(position: int, character: str) -> None:
    """The last character has two spare bits: texts that decode to the same bytes are refused too."""
    link = RING.sign("imp-7", 42)
    changed = link.signature[:position] + character + link.signature[position + 1 :]
    fault = RING.fault_of(SignedLink("imp-7", 42, "k1", changed), AT)
    assert fault == (None if changed == link.signature else "bad_signature")


def test_the_four_texts_of_the_same_bytes_are_three_forgeries() -> None:
    link = RING.sign("imp-7", 42)
    signed_bytes = base64.urlsafe_b64decode(link.signature + "=")
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    twins = [
        link.signature[:-1] + last
        for last in alphabet
        if base64.urlsafe_b64decode(link.signature[:-1] + last + "=") == signed_bytes
    ]
    assert len(twins) == 4
    assert [RING.fault_of(SignedLink("imp-7", 42, "k1", twin), AT) for twin in twins].count(None) == 1


@given(impressions, ads, impressions, ads)
def test_two_links_never_share_canonical_bytes(first_id: str, first_ad: int, second_id: str, second_ad: int) -> None:
    is_same = (first_id, first_ad) == (second_id, second_ad)
    assert (canonical_bytes("k1", first_id, first_ad) == canonical_bytes("k1", second_id, second_ad)) == is_same


def test_the_key_id_is_signed_too() -> None:
    """Two ids of one secret do not lend each other signatures."""
    ring = KeyRing((KEY, SigningKey("k2", KEY.secret)))
    link = KeyRing((KEY,)).sign("imp-7", 42)
    assert ring.fault_of(SignedLink("imp-7", 42, "k2", link.signature), AT) == "bad_signature"


def test_an_unknown_key_is_named_so() -> None:
    assert RING.fault_of(SignedLink("imp-7", 42, "k9", "A" * SIGNATURE_CHARACTERS), AT) == "unknown_key"


def test_a_retired_key_is_accepted_until_its_term_and_signs_no_more() -> None:
    """R3: rotation does not kill live links; the end of the term does."""
    link = RING.sign("imp-7", 42)
    term = timedelta(days=90)
    ring = RING.rotated(SigningKey("k2", b"2" * SECRET_BYTES), AT, term)
    assert ring.sign("imp-7", 42).key_id == "k2"
    assert ring.fault_of(link, AT + term - timedelta(microseconds=1)) is None
    assert ring.fault_of(link, AT + term) == "expired_key"
    assert ring.fault_of(ring.sign("imp-7", 42), AT + term) is None


def test_a_later_rotation_prolongs_no_term_and_drops_ended_keys() -> None:
    term = timedelta(days=90)
    twice = RING.rotated(SigningKey("k2", b"2" * SECRET_BYTES), AT, term).rotated(
        SigningKey("k3", b"3" * SECRET_BYTES), AT + timedelta(days=1), term
    )
    assert [key.accepted_until for key in twice.keys] == [AT + term, AT + term + timedelta(days=1), None]
    thrice = twice.rotated(SigningKey("k4", b"4" * SECRET_BYTES), AT + term, term)
    assert [key.key_id for key in thrice.keys] == ["k2", "k3", "k4"]


def test_a_forged_signature_of_an_ended_key_is_a_bad_signature() -> None:
    """Whether a key has ended is told to those only who hold a link that it signed."""
    ring = RING.rotated(SigningKey("k2", b"2" * SECRET_BYTES), AT, timedelta(0))
    assert ring.fault_of(SignedLink("imp-7", 42, "k1", "A" * SIGNATURE_CHARACTERS), AT) == "bad_signature"


@pytest.mark.parametrize(
    ("key_id", "secret"),
    [
        ("", b"1" * SECRET_BYTES),
        ("k 1", b"1" * SECRET_BYTES),
        ("k\n1", b"1" * SECRET_BYTES),
        ("k1\n", b"1" * SECRET_BYTES),
        ("k" * 33, b"1" * SECRET_BYTES),
        ("k1", b""),
        ("k1", b"1" * 31),
        ("k1", b"1" * 33),
    ],
)
def test_an_unfit_key_is_refused(key_id: str, secret: bytes) -> None:
    with pytest.raises(UsageError):
        SigningKey(key_id, secret)


def test_a_ring_needs_one_key_that_signs_and_no_id_twice() -> None:
    with pytest.raises(UsageError, match="no key that may sign"):
        KeyRing((SigningKey("k1", KEY.secret, accepted_until=AT),))
    with pytest.raises(UsageError, match="two keys of one id"):
        KeyRing((KEY, SigningKey("k1", b"2" * SECRET_BYTES)))


def test_a_secret_is_not_printed() -> None:
    assert "1111" not in repr(RING)


def test_the_documented_bytes_of_a_link_with_an_end() -> None:
    expected = hmac.new(b"1" * 32, b"tallystick-click-2\nk1\nimp-7\n42\n1772366400", hashlib.sha256).digest()
    assert base64.urlsafe_b64decode(RING.sign("imp-7", 42, 1_772_366_400).signature + "=") == expected


def test_a_link_is_accepted_until_its_end_and_its_end_cannot_be_moved() -> None:
    end = int(AT.timestamp())
    link = RING.sign("imp-7", 42, end)
    assert RING.fault_of(link, AT - timedelta(microseconds=1)) is None
    assert RING.fault_of(link, AT) == "expired_link"
    for moved in (end + 1, None):
        assert RING.fault_of(SignedLink("imp-7", 42, "k1", link.signature, moved), AT) == "bad_signature"
    without = RING.sign("imp-7", 42)
    assert RING.fault_of(SignedLink("imp-7", 42, "k1", without.signature, end + 9), AT) == "bad_signature"
