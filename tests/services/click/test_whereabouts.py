"""Addresses behind proxies and their countries: only what a trusted peer says is believed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mmdb_writer import MMDBWriter
from netaddr import IPSet

from domain.errors import SettingError
from domain.settings import Settings
from services.click.whereabouts import Whereabouts

PROXY = "10.0.0.1"


@pytest.fixture(scope="module")
def countries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A country file as those that are sold: some networks, some of them registered only."""
    writer = MMDBWriter(ip_version=6, ipv4_compatible=True, database_type="Test-Country")
    writer.insert_network(IPSet(["198.51.100.0/24"]), {"country": {"iso_code": "IN"}})
    writer.insert_network(IPSet(["203.0.113.0/24"]), {"registered_country": {"iso_code": "NP"}})
    writer.insert_network(IPSet(["2001:db8::/32"]), {"country": {"iso_code": "AU"}})
    writer.insert_network(IPSet(["192.0.2.0/24"]), {"continent": {"code": "EU"}})
    path = tmp_path_factory.mktemp("geoip") / "countries.mmdb"
    writer.to_db_file(str(path))
    return path


def _whereabouts(**values: Any) -> Whereabouts:
    return Whereabouts(Settings(home=Path("unused"), **values))


def test_without_settings_it_is_the_peer_and_nowhere() -> None:
    headers = [(b"x-forwarded-for", b"198.51.100.7"), (b"cf-ipcountry", b"DE")]
    assert _whereabouts().locate(headers, PROXY) == (PROXY, "ZZ")


@pytest.mark.parametrize(
    ("address", "country"),
    [
        ("198.51.100.7", "IN"),
        ("203.0.113.9", "NP"),
        ("2001:db8::1", "AU"),
        ("192.0.2.1", "ZZ"),
        ("9.9.9.9", "ZZ"),
        ("", "ZZ"),
    ],
)
def test_the_country_of_an_address(countries: Path, address: str, country: str) -> None:
    assert _whereabouts(geoip_file=str(countries)).locate([], address) == (address, country)


@pytest.mark.parametrize(
    ("forwarded", "address"),
    [
        ([b"198.51.100.7"], "198.51.100.7"),
        ([b"1.2.3.4, 198.51.100.7"], "198.51.100.7"),
        ([b"198.51.100.7, 10.9.9.9"], "198.51.100.7"),
        ([b"198.51.100.7", b"10.9.9.9"], "198.51.100.7"),
        ([b"10.9.9.8, 10.9.9.9"], "10.9.9.8"),
        ([b"198.51.100.7, nonsense"], PROXY),
        ([b"nonsense, 198.51.100.7"], "198.51.100.7"),
        ([b"\xff"], PROXY),
        ([b""], PROXY),
        ([], PROXY),
        ([b" 2001:DB8::1 "], "2001:db8::1"),
    ],
)
def test_behind_a_trusted_proxy_it_is_the_last_address_that_is_not_ours(forwarded: list[bytes], address: str) -> None:
    """What a visitor writes into the header himself stands before what the proxies add."""
    headers = [(b"x-forwarded-for", value) for value in forwarded]
    assert _whereabouts(trusted_proxies="10.0.0.0/8").locate(headers, PROXY)[0] == address


def test_a_proxy_that_is_seen_through_an_ipv6_socket_is_the_same_proxy() -> None:
    headers = [(b"x-forwarded-for", b"198.51.100.7")]
    assert _whereabouts(trusted_proxies="10.0.0.0/8").locate(headers, "::ffff:10.0.0.1")[0] == "198.51.100.7"


def test_a_stranger_cannot_name_his_address_or_country() -> None:
    whereabouts = _whereabouts(trusted_proxies="10.0.0.0/8", country_header="CF-IPCountry")
    headers = [(b"x-forwarded-for", b"198.51.100.7"), (b"cf-ipcountry", b"DE")]
    assert whereabouts.locate(headers, "203.0.113.9") == ("203.0.113.9", "ZZ")
    assert whereabouts.locate(headers, PROXY) == ("198.51.100.7", "DE")


@pytest.mark.parametrize("value", [b"", b"D", b"DEU", b"D3", b"\xff\xff", b"T1", b"de\x00"])
def test_a_country_that_is_none_is_nowhere(value: bytes) -> None:
    whereabouts = _whereabouts(trusted_proxies="10.0.0.0/8", country_header="x-country")
    assert whereabouts.locate([(b"x-country", value)], PROXY) == (PROXY, "ZZ")


def test_the_file_comes_before_the_header(countries: Path) -> None:
    whereabouts = _whereabouts(trusted_proxies="10.0.0.0/8", country_header="x-country", geoip_file=str(countries))
    headers = [(b"x-country", b"DE"), (b"x-forwarded-for", b"198.51.100.7")]
    assert whereabouts.locate(headers, PROXY) == ("198.51.100.7", "IN")
    assert whereabouts.locate([(b"x-country", b"DE"), (b"x-forwarded-for", b"9.9.9.9")], PROXY) == ("9.9.9.9", "DE")


@given(
    st.lists(st.tuples(st.sampled_from([b"x-forwarded-for", b"x-country"]), st.binary(max_size=60))),
    st.text(max_size=50),
)
def test_no_header_and_no_peer_makes_it_fail(headers: list[tuple[bytes, bytes]], peer: str) -> None:
    address, country = _whereabouts(trusted_proxies="0.0.0.0/0,::/0", country_header="x-country").locate(headers, peer)
    assert len(country) == 2
    assert isinstance(address, str)


@pytest.mark.parametrize(
    "values", [{"trusted_proxies": "10.0.0.1/8"}, {"trusted_proxies": "x"}, {"geoip_file": "/nowhere"}]
)
def test_wrong_settings_are_named(values: dict[str, str]) -> None:
    with pytest.raises(SettingError, match=next(iter(values))):
        _whereabouts(**values)


def test_a_file_that_is_no_database_is_named(tmp_path: Path) -> None:
    path = tmp_path / "x.mmdb"
    path.write_bytes(b"no database")
    with pytest.raises(SettingError, match="geoip_file"):
        _whereabouts(geoip_file=str(path))
