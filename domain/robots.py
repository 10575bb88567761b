"""What a robots.txt allows, by RFC 9309: groups, rules, the verdict with its line.

Belongs here: reading the bytes and judging a path. Does not belong here: fetching the file, how long it is kept, and
what its absence means (``crawler/robots.py``).
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from domain.percent import ascii_form

MAX_ROBOTS_BYTES = 500 * 1024
"""RFC 9309, section 2.5: what a crawler has to read at least. The rest is not read, as others do it."""

ANY_AGENT = "*"
VERSION_CHARACTERS = 16
_BOM = b"\xef\xbb\xbf"
_LINE_END = re.compile(rb"\r\n|\r|\n")
_TOKEN = re.compile(r"[A-Za-z_-]+")
_ANY = re.compile(r"\*(?![^\s])")
_BEFORE_PATH = re.compile(r"(?:[^/?;]*:)?(?://)?[^/?;]*")
_DELAY = re.compile(r"[0-9]{1,6}(?:\.[0-9]{1,6})?")

RobotsReason = Literal["rule", "no_rule", "no_file", "unreadable", "never_read"]


class Directive(NamedTuple):
    """One line ``key: value``; keys in small letters, whatever they are. Lines count from 1."""

    line_number: int
    key: str
    value: str


@dataclass(frozen=True)
class Rule:
    """One allow or disallow line, its pattern in the form in which paths are compared."""

    is_allow: bool
    pattern: str
    line_number: int

    def matches(self, path: str) -> bool:
        """Whether the pattern, with ``*`` and a closing ``$``, fits the start of the path. Linear in both."""
        is_anchored = self.pattern.endswith("$")
        head, *rest = self.pattern.removesuffix("$").split("*")
        if not path.startswith(head):
            return False
        at = len(head)
        for part in rest[:-1]:
            found = path.find(part, at)
            if found < 0:
                return False
            at = found + len(part)
        if not rest:
            return not is_anchored or at == len(path)
        if is_anchored:
            return path.endswith(rest[-1]) and len(path) - len(rest[-1]) >= at
        return path.find(rest[-1], at) >= 0


@dataclass(frozen=True)
class Group:
    """The rules for some agents. ``tokens`` are product tokens in small letters, or ``*``."""

    tokens: frozenset[str]
    rules: tuple[Rule, ...]
    crawl_delay_seconds: int | None


@dataclass(frozen=True)
class RobotsVerdict:
    """Whether a URL may be fetched, and by what: the version of the file, the line of the rule."""

    is_allowed: bool
    reason: RobotsReason
    version: str
    line_number: int | None = None


@dataclass(frozen=True)
class RobotsFile:
    """A robots.txt as read; ``version`` names its bytes."""

    version: str
    groups: tuple[Group, ...]
    sitemaps: tuple[str, ...]

    def verdict(self, token: str, path: str) -> RobotsVerdict:
        """By the longest rule that matches ``path`` (path and query of a URL); of equal ones, allow wins."""
        compared = comparable_path(path)
        matching = [rule for group in self.groups_for(token) for rule in group.rules if rule.matches(compared)]
        if not matching:
            return RobotsVerdict(True, "no_rule", self.version)
        rule = max(matching, key=lambda rule: (len(rule.pattern), rule.is_allow, -rule.line_number))
        return RobotsVerdict(rule.is_allow, "rule", self.version, rule.line_number)

    def crawl_delay_seconds(self, token: str) -> int | None:
        """The largest delay that is asked of us, rounded up; it is no part of the RFC, and one input to the rate."""
        asked = [group.crawl_delay_seconds for group in self.groups_for(token)]
        return max((delay for delay in asked if delay is not None), default=None)

    def groups_for(self, token: str) -> list[Group]:
        """All groups of this product token, as a whole word in any letter case; without one, all of ``*``."""
        own = product_token(token)
        return [group for group in self.groups if own and own in group.tokens] or [
            group for group in self.groups if ANY_AGENT in group.tokens
        ]


def product_token(agent: str) -> str:
    """The start of an agent's name that is a product token, in small letters: ``Foo/1.2`` is ``foo``."""
    token = _TOKEN.match(agent)
    return token[0].lower() if token else ""


def robots_path(url: str) -> str:
    """Path and query of a URL, with its leading slash: what rules are compared with."""
    rest = _BEFORE_PATH.sub("", url.partition("#")[0], count=1)
    return rest if rest.startswith("/") else "/" + rest


def comparable_path(path: str) -> str:
    """A path as patterns are compared with it: what is special in a pattern is escaped here."""
    return ascii_form(path).replace("*", "%2A").replace("$", "%24")


def comparable_pattern(value: str) -> str:
    """A rule's value in the same form; ``*`` and a closing ``$`` keep their meaning."""
    pattern = ascii_form(value)
    body, end = (pattern[:-1], "$") if pattern.endswith("$") else (pattern, "")
    return body.replace("$", "%24") + end


def directives(body: bytes) -> Iterator[Directive]:
    """The lines of a robots.txt that have a key and a value, comments off, whatever the key."""
    for line_number, raw in enumerate(_LINE_END.split(_whole_lines(body).removeprefix(_BOM)), start=1):
        line = raw.partition(b"#")[0].decode("utf-8", "surrogateescape")
        key, colon, value = line.partition(":")
        if colon and key.strip():
            yield Directive(line_number, key.strip().lower(), value.strip(" \t"))


def _whole_lines(body: bytes) -> bytes:
    """At most so much as is read; a line that is cut would be another rule, so it is dropped."""
    if len(body) <= MAX_ROBOTS_BYTES:
        return body
    kept = body[:MAX_ROBOTS_BYTES]
    return kept[: max(kept.rfind(b"\n"), kept.rfind(b"\r")) + 1]


def parse_robots(body: bytes) -> RobotsFile:
    """The file that these bytes are; any bytes are some file. Only a rule ends a run of ``user-agent`` lines."""
    reader = _Reader()
    for directive in directives(body):
        reader.take(directive)
    reader.end_group()
    version = hashlib.sha256(body).hexdigest()[:VERSION_CHARACTERS]
    return RobotsFile(version, tuple(reader.groups), tuple(reader.sitemaps))


class _Reader:
    def __init__(self) -> None:
        self.groups: list[Group] = []
        self.sitemaps: list[str] = []
        self._tokens: set[str] = set()
        self._rules: list[Rule] = []
        self._delay_seconds: int | None = None
        self._has_rule_line = False

    def take(self, directive: Directive) -> None:
        match directive.key:
            case "user-agent":
                if self._has_rule_line:
                    self.end_group()
                self._tokens.add(_agent_of(directive.value))
            case "allow" | "disallow":
                self._take_rule(directive)
            case "crawl-delay" if self._tokens and _DELAY.fullmatch(directive.value):
                self._delay_seconds = max(self._delay_seconds or 0, math.ceil(float(directive.value)))
            case "sitemap":
                self.sitemaps.append(directive.value)

    def _take_rule(self, directive: Directive) -> None:
        if not self._tokens:
            return
        self._has_rule_line = True
        if directive.value:
            pattern = comparable_pattern(directive.value)
            self._rules.append(Rule(directive.key == "allow", pattern, directive.line_number))

    def end_group(self) -> None:
        tokens = frozenset(self._tokens - {""})
        if tokens:
            self.groups.append(Group(tokens, tuple(self._rules), self._delay_seconds))
        self._tokens, self._rules, self._delay_seconds, self._has_rule_line = set(), [], None, False


def _agent_of(value: str) -> str:
    return ANY_AGENT if _ANY.match(value) else product_token(value)
