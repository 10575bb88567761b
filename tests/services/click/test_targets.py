"""Where visitors are sent: macros filled in, nothing that breaks a header, nowhere but the ad's own target."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.ads import Ad, AdError
from services.click.targets import location_of

impressions = st.from_regex(r"[A-Za-z0-9_-]{1,64}", fullmatch=True)


@pytest.mark.parametrize(
    ("target", "location"),
    [
        ("https://shop.example/a?utm_source=x", b"https://shop.example/a?utm_source=x"),
        ("https://shop.example/?c={impression_id}&a={ad_id}", b"https://shop.example/?c=imp-7&a=17"),
        ("https://shop.example/{ad_id}/{ad_id}#{other}", b"https://shop.example/17/17#{other}"),
        ("http://b\u00fccher.example/{ad_id}?q=\u00fc", b"http://b%C3%BCcher.example/17?q=%C3%BC"),
        ("https://shop.example/" + "x" * 2_000, b"https://shop.example/" + b"x" * 2_000),
    ],
)
def test_targets(target: str, location: bytes) -> None:
    assert location_of(target, "imp-7", 17) == location


@given(st.text(max_size=40), impressions, st.integers(1, 2**63 - 1))
def test_no_target_that_an_ad_may_have_breaks_the_header(text: str, impression_id: str, ad_id: int) -> None:
    """R4: no line break, no control character, and always the ad's own site."""
    try:
        target = Ad(1, 1, 1, f"https://shop.example/{text}").target_url
    except AdError:
        return
    location = location_of(target, impression_id, ad_id)
    assert all(0x20 < byte < 0x7F for byte in location)
    assert location.startswith(b"https://shop.example/")
