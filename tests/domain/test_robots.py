"""robots.txt by RFC 9309: which group, which rule, which line; and Google's cases where they lie beside us."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.robots import (
    MAX_ROBOTS_BYTES,
    RobotsVerdict,
    comparable_pattern,
    directives,
    parse_robots,
    product_token,
    robots_path,
)
from tests.support.conformance import robots_body, rows

NOT_MET = {
    "robots_google-0158": "half a byte order mark is taken for one; the RFC names no such repair",
    "robots_google-0159": "the same with a third of one",
}
DIRECTIVES = {"user-agent", "allow", "disallow", "sitemap"}


def _allows(text: str, path: str, token: str = "foo") -> bool:
    return parse_robots(text.encode()).verdict(token, path).is_allowed


@pytest.mark.parametrize(
    ("text", "path", "is_allowed"),
    [
        ("", "/", True),
        ("User-agent: foo\nDisallow: /", "/a", False),
        ("User-agent: foo\nDisallow:", "/a", True),
        ("User-agent: foo\nDisallow: /\nAllow: /a", "/a/b", True),
        ("User-agent: foo\nDisallow: /a\nAllow: /a", "/a", True),
        ("User-agent: foo\nAllow: /a\nDisallow: /a*", "/ab", False),
        ("User-agent: foo\nDisallow: /*.php$", "/x/a.php", False),
        ("User-agent: foo\nDisallow: /*.php$", "/a.php?x", True),
        ("User-agent: foo\nDisallow: /a*b*c", "/a-c-b", True),
        ("User-agent: foo\nDisallow: /a*b*c", "/a-b-c", False),
        ("User-agent: foo\nDisallow: /ab*b$", "/ab", True),
        ("User-agent: foo\nDisallow: /x$y", "/x$y", False),
        ("User-agent: foo\nDisallow: /x%24", "/x$", False),
        ("User-agent: foo\nDisallow: /%2A", "/*", False),
        ("User-agent: foo\nDisallow: /%2A", "/a", True),
        ("User-agent: foo\nDisallow: /ツ", "/%E3%83%84", False),
        ("User-agent: *\nDisallow: /", "/", False),
        ("User-agent: *\nDisallow: /\n\nUser-agent: foo\nDisallow: /b", "/a", True),
        ("Disallow: /\nUser-agent: foo", "/", True),
    ],
)
def test_rules(text: str, path: str, is_allowed: bool) -> None:
    assert _allows(text, path) is is_allowed


@pytest.mark.parametrize("line", ["Crawl-delay: 1", "Sitemap: /x", "Unknown: 1", "no colon", "# comment", ""])
@pytest.mark.parametrize("token", ["x", "anybody"])
def test_only_a_rule_ends_a_run_of_agents(line: str, token: str) -> None:
    """C5: closed for ``*`` and for x."""
    assert not _allows(f"User-agent: *\n{line}\nUser-agent: x\nDisallow: /", "/", token)


@pytest.mark.parametrize(
    ("text", "token", "is_allowed"),
    [
        ("\ufeffUser-agent: foo\nDisallow: /", "foo", False),
        ("User-agent: foo/1.2\nDisallow: /", "foo", False),
        ("User-agent: foo bar\nDisallow: /", "FOO", False),
        ("User-agent: hedwig\nDisallow: /", "hedwig-new", True),
        ("User-agent: hedwig-new\nDisallow: /", "hedwig", True),
    ],
)
def test_a_token_is_a_whole_word(text: str, token: str, is_allowed: bool) -> None:
    """C6."""
    assert _allows(text, "/", token) is is_allowed


def test_queries_are_matched_and_groups_are_merged() -> None:
    """C7."""
    text = "User-agent: foo\nDisallow: /a?b\n\nUser-agent: bar\nDisallow: /\n\nUser-agent: foo\nDisallow: /c"
    assert [_allows(text, path) for path in ("/a?b=1", "/a", "/c", "/d")] == [False, True, False, True]


def test_a_verdict_names_version_and_line() -> None:
    robots = parse_robots(b"User-agent: foo\r\nDisallow: /a\r\n\r\nAllow: /a/b\r\n")
    assert robots.verdict("foo", "/a/b") == RobotsVerdict(True, "rule", robots.version, 4)
    assert robots.verdict("foo", "/a") == RobotsVerdict(False, "rule", robots.version, 2)
    assert robots.verdict("foo", "/") == RobotsVerdict(True, "no_rule", robots.version, None)
    assert robots.version != parse_robots(b"User-agent: foo\nDisallow: /a\n").version


@pytest.mark.parametrize(
    ("value", "expected_seconds"),
    [("5", 5), ("0.2", 1), ("2.5", 3), ("600", 600), ("-1", None), ("nan", None), ("1e9", None), ("9" * 40, None)],
)
def test_crawl_delay_is_rounded_up(value: str, expected_seconds: int | None) -> None:
    robots = parse_robots(f"User-agent: foo\nCrawl-delay: {value}\nDisallow: /a".encode())
    assert robots.crawl_delay_seconds("foo") == expected_seconds
    assert robots.crawl_delay_seconds("bar") is None


def test_a_line_that_is_cut_by_the_limit_is_no_rule() -> None:
    """Cut, ``Allow: /private`` would be ``Allow: /``."""
    start = b"User-agent: foo\nDisallow: /\n"
    filling = b"#" * (MAX_ROBOTS_BYTES - len(start) - len(b"\nAllow: /"))
    robots = parse_robots(start + filling + b"\nAllow: /private")
    assert not robots.verdict("foo", "/other").is_allowed


@given(st.binary(max_size=400), st.text(max_size=40))
def test_any_bytes_are_some_file(body: bytes, path: str) -> None:
    verdict = parse_robots(b"User-agent: foo\n" + body).verdict("foo", "/" + path)
    assert verdict.reason in {"rule", "no_rule"}


def test_a_pattern_full_of_stars_takes_no_longer_than_others() -> None:
    """A regular expression would try some 10^20 ways, and never end."""
    robots = parse_robots(b"User-agent: foo\nDisallow: /" + b"*a" * 200 + b"$")
    assert robots.verdict("foo", "/" + "a" * 5_000 + "b").is_allowed


def test_the_cases_of_others() -> None:
    """Every row whose answer the RFC gives; where Google differs, the RFC's answer."""
    wrong = {row["id"] for row in rows("robots_google") if not _is_met(row)}
    assert wrong == NOT_MET.keys()


def _is_met(row: dict) -> bool:  # type: ignore[type-arg] - as the file has it
    body = robots_body(row)
    match row["kind"]:
        case "allow":
            verdict = parse_robots(body).verdict(row["user_agent"], robots_path(row["url"]))
            return bool(verdict.is_allowed == row["rfc_expected"])
        case "path":
            return bool(robots_path(row["input"]) == row["expected"])
        case "escape_pattern":
            return bool(comparable_pattern(row["input"]) == row["expected"])
        case "valid_ua":
            is_token = bool(row["token"]) and product_token(row["token"]) == row["token"].lower()
            return bool(is_token == row["valid"])
    lines = list(directives(body))
    known = [line for line in lines if line.key in DIRECTIVES]
    got = {
        "valid_directives": len(known),
        "unknown_directives": len(lines) - len(known),
        "last_line_seen": max((line.line_number for line in known), default=0),
        "sitemap": next(iter(parse_robots(body).sitemaps), None),
    }
    return all(got[name] == value for name, value in row["expect"].items())
