"""Which addresses of the internet a crawler may open a connection to.

Belongs here: the lists, and IPv4 inside IPv6. Does not belong here: names and connections (``crawler/egress.py``).
``is_global`` of the standard library lets through most of what is listed here, so the lists are our own.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Literal

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network
AddressFault = Literal["not_public", "metadata", "translated"]

_METADATA_4 = ("168.63.129.16/32", "169.254.0.0/16")
"""Where clouds answer with credentials; the first is public by its number."""
_NOT_PUBLIC_4 = (
    "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24",
    "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16", "192.175.48.0/24", "198.18.0.0/15",
    "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
)  # fmt: skip
_NOT_PUBLIC_6 = (
    "::/128", "::1/128", "100::/64", "100:0:0:1::/64", "2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48",
    "3fff::/20", "5f00::/16", "fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8",
)  # fmt: skip
_TRANSLATED_6 = ("::ffff:0:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48")
"""NAT64 and its like: a gateway would open a connection to an address that we do not see."""

METADATA = tuple(map(IPv4Network, _METADATA_4))
NOT_PUBLIC_4 = tuple(map(IPv4Network, _NOT_PUBLIC_4))
NOT_PUBLIC_6 = tuple(map(IPv6Network, _NOT_PUBLIC_6))
TRANSLATED = tuple(map(IPv6Network, _TRANSLATED_6))
_LOW_96 = IPv6Network("::/96")
_LOW_BITS = 0xFFFF_FFFF
_SHORTEST_EMBEDDED = 0x1_0000
"""Below it, ``::/96`` holds ``::``, ``::1`` and what nobody means as an IPv4 address."""


def address_fault(address: Address) -> AddressFault | None:
    """Why no connection may be opened to this address; None if it is public."""
    if isinstance(address, IPv4Address):
        return _fault_4(address)
    embedded = embedded_address(address)
    if embedded is not None:
        return _fault_4(embedded)
    if any(address in network for network in TRANSLATED):
        return "translated"
    is_numbered = address in _LOW_96 or address.scope_id is not None
    return "not_public" if is_numbered or any(address in network for network in NOT_PUBLIC_6) else None


def embedded_address(address: IPv6Address) -> IPv4Address | None:
    """The IPv4 address inside a mapped (``::ffff:0:0/96``) or compatible (``::/96``) one; None if there is none."""
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address in _LOW_96 and int(address) >= _SHORTEST_EMBEDDED:
        return IPv4Address(int(address) & _LOW_BITS)
    return None


def _fault_4(address: IPv4Address) -> AddressFault | None:
    if any(address in network for network in METADATA):
        return "metadata"
    return "not_public" if any(address in network for network in NOT_PUBLIC_4) else None
