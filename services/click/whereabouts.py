"""Where a request comes from: the visitor's address behind trusted proxies, and the country of that address.

Belongs here: which headers are believed, and from whom. A header is read only if the peer that sent it is in a network
that the operator named; what is not known for sure is the peer, and ``ZZ``.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import maxminddb

from domain.errors import SettingError
from domain.events import UNKNOWN_COUNTRY
from domain.settings import Settings

Headers = Iterable[tuple[bytes, bytes]]
FORWARDED_FOR = b"x-forwarded-for"
_COUNTRY = re.compile(r"[A-Z]{2}\Z")
_KNOWN_NETWORKS = 65_536


class Whereabouts:
    """Answers for one installation's settings. Used from one thread.

    ``SettingError`` for networks that are none, or a country file that is no MaxMind database.
    """

    def __init__(self, settings: Settings) -> None:
        self._trusted = _networks(settings.trusted_proxies)
        self._country_header = settings.country_header.lower().encode()
        self._countries = _country_file(settings.geoip_file)
        self._country_of_address = lru_cache(maxsize=_KNOWN_NETWORKS)(self._looked_up)

    def locate(self, headers: Headers, peer: str) -> tuple[str, str]:
        """Address and country (ISO 3166-1 alpha-2 or ZZ) of the visitor. Whatever the headers hold, it cannot fail."""
        if not self._is_trusted(peer):
            return peer, self._country_of_address(peer)
        forwarded, named = list[str](), UNKNOWN_COUNTRY
        for name, value in headers:
            if name == FORWARDED_FOR:
                forwarded += value.decode("latin-1").split(",")
            elif self._country_header and name == self._country_header:
                named = _country(value.decode("latin-1"))
        address = self._behind(forwarded, peer)
        known = self._country_of_address(address)
        return address, named if known == UNKNOWN_COUNTRY else known

    def _behind(self, forwarded: list[str], peer: str) -> str:
        """The last address that no trusted proxy has: what stands before it is only what the visitor claims."""
        for text in reversed(forwarded):
            try:
                address = str(ipaddress.ip_address(text.strip()))
            except ValueError:
                break
            peer = address
            if not self._is_trusted(address):
                break
        return peer

    def _is_trusted(self, address: str) -> bool:
        if not self._trusted:
            return False
        try:
            found = ipaddress.ip_address(address)
        except ValueError:
            return False
        mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
        return any((mapped or found) in network for network in self._trusted)

    def _looked_up(self, address: str) -> str:
        if self._countries is None:
            return UNKNOWN_COUNTRY
        try:
            found: Any = self._countries.get(address)
        except (ValueError, maxminddb.InvalidDatabaseError):
            return UNKNOWN_COUNTRY
        country = found.get("country") or found.get("registered_country") if isinstance(found, dict) else None
        return _country(str(country.get("iso_code", ""))) if isinstance(country, dict) else UNKNOWN_COUNTRY


def _networks(text: str) -> list[ipaddress.IPv4Network | ipaddress.IPv6Network]:
    try:
        return [ipaddress.ip_network(part.strip()) for part in text.split(",") if part.strip()]
    except ValueError as error:
        raise SettingError(
            f"setting trusted_proxies: {error}", "networks such as 10.0.0.0/8, with commas", "correct it"
        ) from None


def _country_file(path: str) -> maxminddb.Reader | None:
    if not path:
        return None
    try:
        return maxminddb.open_database(path)
    except (OSError, maxminddb.InvalidDatabaseError) as error:
        raise SettingError(
            f"setting geoip_file: {path}: {error}", "a country database in MaxMind's format", "correct it"
        ) from error


def _country(text: str) -> str:
    upper = text.strip().upper()
    return upper if _COUNTRY.match(upper) else UNKNOWN_COUNTRY
