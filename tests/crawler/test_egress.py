"""The egress guard: text of URLs, answers of names, the address of a socket; and what opens it, aloud."""

from __future__ import annotations

import logging
import socket
from ipaddress import ip_address, ip_network

import pytest

from crawler.egress import EgressGuard, EgressPolicy, EgressRefusedError, policy_from
from crawler.urls import UrlRefusedError, normalise
from domain.errors import SettingError
from tests.support.conformance import rows

WEB = EgressPolicy(frozenset({80, 443}))


def _reason(url: str, policy: EgressPolicy = WEB) -> str | None:
    try:
        EgressGuard(policy).check_url(url)
    except EgressRefusedError as refusal:
        return refusal.reason
    return None


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://a.example/", None),
        ("https://a.example:80/", None),
        ("http://0000xa/", None),
        ("http://8.8.8.8/", None),
        ("gopher://a.example/", "scheme"),
        ("http://a.example:22/", "port"),
        ("http://localhost/", "local_name"),
        ("http://LOCALHOST./", "local_name"),
        ("http://x.localhost/", "local_name"),
        ("http://metadata.google.internal/", "local_name"),
        ("http://10.0.0.1/", "not_public"),
        ("http://2130706433/", "not_public"),
        ("http://127.0.0.1\\@a.example/", "not_public"),
        ("http://a.example@127.0.0.1/", "not_public"),
        ("http://①②⑦.⓪.⓪.①/", "not_public"),
        ("http://[::ffff:127.0.0.1]/", "not_public"),
        ("http://169.254.169.254/", "metadata"),
        ("http://[64:ff9b::1.1.1.1]/", "translated"),
        ("http://a\x00.example/", "unparsable"),
    ],
)
def test_the_text_of_a_url(url: str, reason: str | None) -> None:
    """C10, C12."""
    assert _reason(url) == reason


@pytest.mark.parametrize(
    ("answers", "reason"),
    [
        (["93.184.215.14", "2606:2800:21f::1"], None),
        (["10.0.0.1"], "not_public"),
        (["93.184.215.14", "10.0.0.1"], "mixed_answers"),
        (["93.184.215.14", "::ffff:10.0.0.1"], "mixed_answers"),
        (["169.254.169.254"], "metadata"),
    ],
)
def test_every_answer_of_a_name_is_judged(answers: list[str], reason: str | None) -> None:
    """C13."""
    guard, addresses = EgressGuard(WEB), tuple(map(ip_address, answers))
    if reason is None:
        guard.check_answers("a.example", addresses)
        return
    with pytest.raises(EgressRefusedError) as refusal:
        guard.check_answers("a.example", addresses)
    assert refusal.value.reason == reason


def test_the_last_look_is_at_the_address_of_the_socket() -> None:
    """Whatever way an address came, none is dialled unseen."""
    guard = EgressGuard(WEB)
    with pytest.raises(EgressRefusedError):
        guard.open_socket((socket.AF_INET, socket.SOCK_STREAM, 0, "", ("127.0.0.1", 80)))
    guard.open_socket((socket.AF_INET, socket.SOCK_STREAM, 0, "", ("8.8.8.8", 80))).close()


def test_a_test_network_is_let_through_and_said_aloud(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        guard = EgressGuard(EgressPolicy(frozenset({80}), (ip_network("127.0.0.0/8"),)))
    assert "EGRESS GUARD OPEN for test networks 127.0.0.0/8" in caplog.text
    guard.check_url("http://127.0.0.1/")
    with pytest.raises(EgressRefusedError):
        guard.check_url("http://10.0.0.1/")


def test_a_closed_guard_says_nothing_until_it_refuses(caplog: pytest.LogCaptureFixture) -> None:
    guard = EgressGuard(WEB)
    assert caplog.text == ""
    with pytest.raises(EgressRefusedError):
        guard.check_answers("a.example", (ip_address("8.8.8.8"), ip_address("10.0.0.1")))
    assert "refused a.example: 8.8.8.8 public, 10.0.0.1 not_public: mixed_answers" in caplog.text


def test_policy_from_settings() -> None:
    assert policy_from("80, 8080", "127.0.0.0/8, ::1/128") == EgressPolicy(
        frozenset({80, 8080}), (ip_network("127.0.0.0/8"), ip_network("::1/128"))
    )
    assert policy_from("80", "") == EgressPolicy(frozenset({80}))


@pytest.mark.parametrize(("ports", "networks"), [("", ""), ("http", ""), ("80", "127.0.0.1/8"), ("80", "loopback")])
def test_a_wrong_policy_is_refused(ports: str, networks: str) -> None:
    with pytest.raises(SettingError):
        policy_from(ports, networks)


def test_the_cases_of_others() -> None:
    """Each kind by the part that judges it; where the text is enough, no name is asked."""
    judged = [row for row in rows("ssrf_half") if row["kind"] != "ip"]
    assert judged
    assert [row["id"] for row in judged if _is_blocked(row) != row["must_block"]] == []


def _is_blocked(row: dict) -> bool:  # type: ignore[type-arg] - as the file has it
    guard = EgressGuard(EgressPolicy(frozenset({80, 443, *range(1, 65_536)})))
    try:
        guard.check_url(row["url_or_ip"])
        for answers in row.get("dns_answers", ()):
            guard.check_answers(row["url_or_ip"], tuple(map(ip_address, answers)))
        for hop in row.get("redirect_chain", ()):
            guard.check_url(normalise(hop["location"], row["url_or_ip"]).url)
    except (EgressRefusedError, UrlRefusedError):
        return True
    return False
