"""Patterns of suppressions as people type them."""

from __future__ import annotations

import pytest

from crawler.patterns import normal_pattern
from domain.errors import TallystickError
from domain.suppressions import SuppressionKind


@pytest.mark.parametrize(
    ("kind", "typed", "pattern"),
    [
        ("url", "HTTPS://a.example:443/%7ex#part", None),
        ("url", "https://A.example:443/%7ex#part", "https://a.example/~x"),
        ("prefix", "https://a.example/x?y=", "https://a.example/x?y="),
        ("host", "WWW.Example.org", "www.example.org"),
        ("registrable_domain", "Bücher.example", "xn--bcher-kva.example"),
        ("host", "example.org/x", None),
        ("host", "", None),
        ("prefix", "https://a.example", None),
        ("registrable_domain", "www.example.org", None),
    ],
)
def test_a_pattern_is_compared_in_its_one_form(kind: SuppressionKind, typed: str, pattern: str | None) -> None:
    if pattern is not None:
        assert normal_pattern(kind, typed) == pattern
        return
    with pytest.raises(TallystickError, match="expected"):
        normal_pattern(kind, typed)
