"""Settings: frozen, named with their unit, refused by name when unknown or out of bounds."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from domain.errors import SettingError
from domain.settings import Settings, settings_from

HOME = Path("/srv/tally")
BOUNDED = {field.name: field.metadata["bounds"] for field in fields(Settings) if field.metadata.get("bounds")}
TEXTS = [field.name for field in fields(Settings) if isinstance(field.default, str)]
CHOICES = {f.name: f.metadata["choices"] for f in fields(Settings) if f.metadata.get("choices")}


def test_a_setting_cannot_be_assigned() -> None:
    with pytest.raises(FrozenInstanceError):
        Settings(home=HOME).broker_port = 1  # type: ignore[misc]


def test_defaults_are_within_their_bounds() -> None:
    defaults = {field.name: field.default for field in fields(Settings)}
    assert {name for name, (low, high) in BOUNDED.items() if not low <= defaults[name] <= high} == set()


def test_every_setting_has_a_help_text_and_every_number_bounds() -> None:
    described = [field for field in fields(Settings) if field.name != "home"]
    assert [field.name for field in described if not field.metadata["help"]] == []
    assert [field.name for field in described if isinstance(field.default, int)] == list(BOUNDED)


@pytest.mark.parametrize("name", ["colour", "home", "BROKER_PORT", ""])
def test_an_unknown_name_is_refused_with_the_known_ones(name: str) -> None:
    with pytest.raises(SettingError, match=rf"unknown setting {name}; expected one of ads_file, .*trigger_seconds"):
        settings_from({name: 1}, HOME)


@pytest.mark.parametrize("name", BOUNDED)
def test_bounds_are_inclusive_and_nothing_beyond(name: str) -> None:
    low, high = BOUNDED[name]
    for allowed in (low, high, str(low), f" {high} "):
        assert getattr(settings_from({name: allowed}, HOME), name) == int(allowed)
    for refused in (low - 1, high + 1, str(low - 1)):
        with pytest.raises(SettingError, match=rf"setting {name} is .* expected a whole number from {low} to {high}"):
            settings_from({name: refused}, HOME)


@pytest.mark.parametrize("value", [1.5, True, None, "", "1.5", "5m", "0x10", [1], "one"], ids=repr)
def test_what_is_no_whole_number_is_refused(value: Any) -> None:
    with pytest.raises(SettingError, match="setting grace_seconds is"):
        settings_from({"grace_seconds": value}, HOME)


@pytest.mark.parametrize(("name", "choices"), CHOICES.items())
def test_a_choice_is_one_of_them(name: str, choices: tuple[str, ...]) -> None:
    for choice in choices:
        assert getattr(settings_from({name: choice}, HOME), name) == choice
    with pytest.raises(SettingError, match=f"setting {name} is 'x'; expected {' or '.join(choices)}"):
        settings_from({name: "x"}, HOME)


@pytest.mark.parametrize("name", TEXTS)
def test_text_must_be_text(name: str) -> None:
    if name not in CHOICES:
        assert getattr(settings_from({name: "x"}, HOME), name) == "x"
    with pytest.raises(SettingError, match=f"setting {name} is 5; expected text"):
        settings_from({name: 5}, HOME)


@pytest.mark.parametrize(
    ("values", "name", "expected"),
    [
        ({}, "bootstrap", "127.0.0.1:19092"),
        ({"broker_port": 2000}, "bootstrap", "127.0.0.1:2000"),
        ({"kafka_bootstrap": "a:1,b:2"}, "bootstrap", "a:1,b:2"),
        ({}, "is_broker_embedded", True),
        ({"kafka_bootstrap": "a:1"}, "is_broker_embedded", False),
        ({}, "ads_path", HOME / "ads.jsonl"),
        ({"ads_file": "/x/y.jsonl"}, "ads_path", Path("/x/y.jsonl")),
        ({"live_horizon_hours": 2}, "live_horizon", timedelta(hours=2)),
        ({"final_horizon_days": 8}, "final_horizon", timedelta(days=8)),
        ({"late_bound_seconds": 9}, "late_bound", timedelta(seconds=9)),
        ({"grace_seconds": 0}, "grace", timedelta(0)),
    ],
)
def test_what_follows_from_settings(values: dict[str, Any], name: str, expected: Any) -> None:
    assert getattr(settings_from(values, HOME), name) == expected
