"""Click links as text: read strictly, whatever proxies did to order and encoding; never an error but a fault."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.events import FIELDS, MAX_INT64
from domain.links import MAX_QUERY_BYTES, LinkFault, link_query, parse_link
from domain.signing import SECRET_BYTES, SIGNATURE_CHARACTERS, KeyRing, SignedLink, SigningKey

AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
RING = KeyRing((SigningKey("k1", b"1" * SECRET_BYTES),))
SIG = "A" * SIGNATURE_CHARACTERS
GOOD = {"imp": "imp-7", "ad": "42", "kid": "k1", "sig": SIG}
FOREIGN = ["utm_source=x", "fbclid=%zz%", "url=http%3A%2F%2Felsewhere", "imp2=a", "=", "", "IMP=b", "%00=%00", "a=1=2"]

impressions = st.from_regex(r"[A-Za-z0-9_-]{1,64}", fullmatch=True)


def _query(**changes: str | None) -> bytes:
    values = {**GOOD, **changes}
    return "&".join(f"{name}={value}" for name, value in values.items() if value is not None).encode()


@st.composite
def mangled(draw: st.DrawFn, query: str) -> bytes:
    """The query as a proxy may pass it on: other order, any character escaped, foreign parameters in between."""
    parts = draw(st.permutations([*query.split("&"), *draw(st.lists(st.sampled_from(FOREIGN), max_size=3))]))

    def escaped(text: str) -> str:
        flags = draw(st.lists(st.sampled_from(["", "lower", "upper"]), min_size=len(text), max_size=len(text)))
        return "".join(
            c if not how or c == "=" else (f"%{ord(c):02x}" if how == "lower" else f"%{ord(c):02X}")
            for c, how in zip(text, flags, strict=True)
        )

    ours = set(query.split("&"))
    return "&".join(escaped(part) if part in ours else part for part in parts).encode()


@given(impressions, st.integers(1, MAX_INT64), st.data())
def test_a_signature_survives_reordering_and_reencoding(impression_id: str, ad_id: int, data: Any) -> None:
    """R3: swapped parameters and percent-encoded values are the same link."""
    link = RING.sign(impression_id, ad_id)
    read = parse_link(data.draw(mangled(link_query(link))))
    assert read == link
    assert isinstance(read, SignedLink)
    assert RING.fault_of(read, AT) is None


@given(st.binary(max_size=300))
def test_no_bytes_make_it_raise(query: bytes) -> None:
    assert isinstance(parse_link(query), LinkFault | SignedLink)


@given(
    st.lists(st.sampled_from([b"imp", b"ad", b"kid", b"sig", b"=", b"&", b"%", b"2", b"%3", b"\x00", b"\xff", b"A"]))
)
def test_no_bytes_near_a_link_make_it_raise(pieces: list[bytes]) -> None:
    assert isinstance(parse_link(b"".join(pieces)), LinkFault | SignedLink)


@given(impressions, st.integers(1, MAX_INT64), st.data())
def test_a_changed_value_is_never_accepted(impression_id: str, ad_id: int, data: Any) -> None:
    """R4: whatever is put in place of one value, the link is refused or is the one that was signed."""
    link = RING.sign(impression_id, ad_id)
    values = dict(part.split("=") for part in link_query(link).split("&"))
    name = data.draw(st.sampled_from(sorted(values)))
    values[name] = data.draw(st.text(st.characters(codec="ascii", exclude_characters="&"), max_size=70))
    read = parse_link("&".join(f"{key}={value}" for key, value in values.items()).encode())
    if isinstance(read, SignedLink):
        assert read == link or RING.fault_of(read, AT) is not None


@pytest.mark.parametrize(
    ("query", "reason", "parameter"),
    [
        (b"", "missing_parameter", "imp"),
        (_query(imp=None), "missing_parameter", "imp"),
        (_query(imp=""), "missing_parameter", "imp"),
        (_query(ad=None), "missing_parameter", "ad"),
        (_query(kid=None), "missing_parameter", "kid"),
        (_query(sig=None), "missing_parameter", "sig"),
        (b"imp&ad=1&kid=k&sig=" + SIG.encode(), "missing_parameter", "imp"),
        (_query().replace(b"&", b";"), "oversized_parameter", "imp"),
        (_query().replace(b"&", b"&amp;"), "missing_parameter", "ad"),
        (_query() + b"&imp=imp-7", "repeated_parameter", "imp"),
        (_query() + b"&%69mp=imp-8", "repeated_parameter", "imp"),
        (_query() + b"&ad=", "repeated_parameter", "ad"),
        (_query(imp="a" * 65), "oversized_parameter", "imp"),
        (_query(ad="1" * 20), "oversized_parameter", "ad"),
        (_query(kid="k" * 33), "oversized_parameter", "kid"),
        (_query(sig=SIG + "A"), "oversized_parameter", "sig"),
        (_query(imp="a%00b"), "malformed_parameter", "imp"),
        (_query(imp="a%0d%0aSet-Cookie:x"), "malformed_parameter", "imp"),
        (_query(imp="a%0a"), "malformed_parameter", "imp"),
        (_query(imp="%ff%fe"), "malformed_parameter", "imp"),
        (_query(imp="a%"), "malformed_parameter", "imp"),
        (_query(imp="a%4"), "malformed_parameter", "imp"),
        (_query(imp="%2569mp"), "malformed_parameter", "imp"),
        (_query(imp="a+b"), "malformed_parameter", "imp"),
        (_query(imp="%C3%BC"), "malformed_parameter", "imp"),
        (_query(ad="0"), "malformed_parameter", "ad"),
        (_query(ad="042"), "malformed_parameter", "ad"),
        (_query(ad="-1"), "malformed_parameter", "ad"),
        (_query(ad="4.0"), "malformed_parameter", "ad"),
        (_query(ad="1e3"), "malformed_parameter", "ad"),
        (_query(ad="%D9%A4"), "malformed_parameter", "ad"),
        (_query(ad=str(MAX_INT64 + 1)), "malformed_parameter", "ad"),
        (_query(kid="k.1"), "malformed_parameter", "kid"),
        (_query(sig=SIG[:-1]), "malformed_parameter", "sig"),
        (_query(sig=SIG[:-1] + "="), "malformed_parameter", "sig"),
        (_query(sig=SIG[:-1] + "+"), "malformed_parameter", "sig"),
        (_query() + b"&x=" + b"y" * MAX_QUERY_BYTES, "query_too_long", None),
    ],
)
def test_faults(query: bytes, reason: str, parameter: str | None) -> None:
    fault = parse_link(query)
    assert isinstance(fault, LinkFault)
    assert (fault.reason, fault.parameter) == (reason, parameter)
    assert fault.expected


def test_the_largest_link_is_read() -> None:
    link = parse_link(_query(imp="a" * 64, ad=str(MAX_INT64), kid="k" * 32))
    assert link == SignedLink("a" * 64, MAX_INT64, "k" * 32, SIG)


def test_foreign_parameters_change_nothing() -> None:
    """R4: a `url=` is not looked at. Other platforms append parameters, some of them badly encoded."""
    query = _query() + b"&" + "&".join(FOREIGN).encode()
    assert parse_link(query) == SignedLink("imp-7", 42, "k1", SIG)


@given(st.from_regex(r"[\x00-\x7f]{1,70}", fullmatch=True))
def test_an_impression_of_a_link_is_one_of_an_event(impression_id: str) -> None:
    """What the service accepts is never malformed in the log, and what may stand in the log can be linked to."""
    pattern = next(field.pattern for field in FIELDS if field.name == "impression_id")
    fits = re.fullmatch(pattern or "", impression_id) is not None
    query = link_query(SignedLink(impression_id, 42, "k1", SIG)).encode()
    assert isinstance(parse_link(query), SignedLink) == fits


def test_a_link_with_an_end_is_written_and_read() -> None:
    link = SignedLink("imp-7", 42, "k1", SIG, 1_772_366_400)
    assert parse_link(link_query(link).encode()) == link


@pytest.mark.parametrize(
    ("end", "reason"),
    [
        ("", "missing_parameter"),
        ("0", "malformed_parameter"),
        ("-1", "malformed_parameter"),
        ("soon", "malformed_parameter"),
        ("9" * 12, "oversized_parameter"),
        ("1&exp=2", "repeated_parameter"),
    ],
)
def test_an_end_that_is_no_time_is_refused(end: str, reason: str) -> None:
    """An end is never ignored: a link that was to end must not hold for ever."""
    fault = parse_link(_query() + f"&exp={end}".encode())
    assert isinstance(fault, LinkFault)
    assert (fault.reason, fault.parameter) == (reason, "exp")
