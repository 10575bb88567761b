"""The key file: made on first use, rotated, and refused by name of the file, never by what is in it."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest

from domain.settings import Settings
from services.click.keys import FILE_NAME, load_key_ring, read_key_ring, rotate_keys
from services.secrets import SecretError, secret_path
from tests.support.click_parts import AT

TERM = timedelta(days=90)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path)


def test_the_first_key_stays(settings: Settings) -> None:
    ring = load_key_ring(settings)
    assert len(ring.keys) == 1
    assert load_key_ring(settings) == ring
    assert read_key_ring(settings) == ring


def test_a_service_that_lost_its_keys_makes_no_others(settings: Settings) -> None:
    with pytest.raises(FileNotFoundError):
        read_key_ring(settings)


def test_rotation_keeps_live_links(settings: Settings) -> None:
    """R3: a link signed before a rotation holds until the term of its key."""
    link = load_key_ring(settings).sign("imp-7", 17)
    ring = rotate_keys(settings, AT, TERM)
    assert ring == read_key_ring(settings)
    assert ring.sign("imp-7", 17).key_id != link.key_id
    assert ring.fault_of(link, AT + TERM - timedelta(seconds=1)) is None
    assert ring.fault_of(link, AT + TERM) == "expired_key"


def test_a_rotation_before_the_first_use_works(settings: Settings) -> None:
    assert len(rotate_keys(settings, AT, TERM).keys) == 2


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text[:-20],
        lambda _: "[]",
        lambda _: "{}",
        lambda _: '{"keys": []}',
        lambda _: '{"keys": [1]}',
        lambda text: text.replace('"key_id"', '"id"'),
        lambda text: text.replace('"secret": "', '"secret": "!'),
        lambda text: text.replace("null", '"soon"'),
        lambda text: text.replace("null", "7"),
    ],
)
def test_a_damaged_file_is_refused_without_quoting_it(settings: Settings, change: object) -> None:
    load_key_ring(settings)
    path = secret_path(settings, FILE_NAME)
    secret = json.loads(path.read_text())["keys"][0]["secret"]
    path.write_text(change(path.read_text()))  # type: ignore[operator]
    with pytest.raises(SecretError) as caught:
        load_key_ring(settings)
    assert FILE_NAME in caught.value.found
    assert secret not in str(caught.value)
