"""Which addresses may be dialled: the edges of each list, and IPv4 in IPv6's clothes."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.addresses import address_fault
from tests.support.conformance import rows


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("8.8.8.8", None),
        ("9.255.255.255", None),
        ("10.0.0.0", "not_public"),
        ("10.255.255.255", "not_public"),
        ("11.0.0.0", None),
        ("100.63.255.255", None),
        ("100.64.0.0", "not_public"),
        ("127.0.0.1", "not_public"),
        ("0.0.0.0", "not_public"),
        ("169.254.169.254", "metadata"),
        ("168.63.129.16", "metadata"),
        ("172.32.0.0", None),
        ("192.0.0.192", "not_public"),
        ("224.0.0.1", "not_public"),
        ("255.255.255.255", "not_public"),
        ("2001:4860:4860::8888", None),
        ("::", "not_public"),
        ("::1", "not_public"),
        ("::5", "not_public"),
        ("fc00::1", "not_public"),
        ("fe80::1", "not_public"),
        ("fe80::1%1", "not_public"),
        ("2a00::1%1", "not_public"),
        ("fd00:ec2::254", "not_public"),
        ("2002:7f00:1::", "not_public"),
        ("2001:0:1::", "not_public"),
        ("::ffff:127.0.0.1", "not_public"),
        ("::ffff:169.254.169.254", "metadata"),
        ("::ffff:8.8.8.8", None),
        ("::13.1.68.3", None),
        ("::10.0.0.1", "not_public"),
        ("64:ff9b::8.8.8.8", "translated"),
        ("64:ff9b:1::1", "translated"),
        ("::ffff:0:8.8.8.8", "translated"),
        ("64:ff9c::1", None),
    ],
)
def test_faults(text: str, fault: str | None) -> None:
    """C12: carrier-grade NAT, unique local, NAT64, mapped."""
    assert address_fault(ip_address(text)) == fault


@given(st.ip_addresses(v=4))
def test_an_address_inside_another_is_judged_as_itself(address: IPv4Address) -> None:
    assert address_fault(IPv6Address(f"::ffff:{address}")) == address_fault(address)


@given(st.ip_addresses())
def test_what_the_standard_library_calls_private_is_refused(address: IPv4Address | IPv6Address) -> None:
    """Ours is the stricter list, but for the two forms that hold a public IPv4 address."""
    if address.is_private and address not in (IPv6Address("::1"),):
        is_embedded = isinstance(address, IPv6Address) and int(address) < 1 << 48
        assert is_embedded or address_fault(address) is not None


def test_every_address_that_others_judge() -> None:
    judged = [row for row in rows("ssrf_half") if row["kind"] == "ip"]
    wrong = [
        row["id"] for row in judged if (address_fault(ip_address(row["url_or_ip"])) is not None) != row["must_block"]
    ]
    assert judged
    assert wrong == []
