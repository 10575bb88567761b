"""What an opt-out covers, and how its pattern is written."""

from __future__ import annotations

import pytest

from domain.errors import UsageError
from domain.frontier import UrlIdentity
from domain.suppressions import Suppression, SuppressionKind, check_pattern, origin_of_pattern

PAGE = UrlIdentity("https://www.a.example/x/y", "https://www.a.example", "www.a.example", "a.example")


@pytest.mark.parametrize(
    ("kind", "pattern", "is_covered"),
    [
        ("url", "https://www.a.example/x/y", True),
        ("url", "https://www.a.example/x", False),
        ("prefix", "https://www.a.example/x", True),
        ("prefix", "http://www.a.example/x", False),
        ("host", "www.a.example", True),
        ("host", "a.example", False),
        ("registrable_domain", "a.example", True),
        ("registrable_domain", "example", False),
    ],
)
def test_each_kind_covers_its_own(kind: SuppressionKind, pattern: str, is_covered: bool) -> None:
    assert Suppression(1, kind, pattern).covers(PAGE) is is_covered


@pytest.mark.parametrize(
    ("kind", "pattern"),
    [
        ("prefix", "https://a.example"),  # also begins https://a.example.org/
        ("url", "a.example/x"),
        ("prefix", "ftp://a.example/"),
        ("host", "https://a.example"),
        ("host", "A.example"),
        ("host", ""),
        ("registrable_domain", "a.example/"),
        ("path", "/x"),
    ],
)
def test_other_patterns_are_refused(kind: str, pattern: str) -> None:
    with pytest.raises(UsageError, match="expected"):
        check_pattern(kind, pattern)


def test_a_prefix_lies_in_one_origin() -> None:
    check_pattern("prefix", "https://a.example:8443/x?y=")
    assert origin_of_pattern("https://a.example:8443/x?y=") == "https://a.example:8443"
    with pytest.raises(UsageError, match="check it first"):
        origin_of_pattern("a.example")
