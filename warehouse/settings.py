"""The one file that reads the environment and the settings file.

``TALLYSTICK_HOME`` names the folder of state (default ``.tallystick`` in the current folder). Every other setting
comes from ``TALLYSTICK_<NAME>`` or, below it, from ``tallystick.toml`` in that folder.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from domain.errors import SettingError
from domain.settings import Settings, settings_from

PREFIX = "TALLYSTICK_"
HOME = PREFIX + "HOME"
DEFAULT_HOME = ".tallystick"
SETTINGS_FILE = "tallystick.toml"


def load_settings(environment: Mapping[str, str] | None = None) -> Settings:
    """The settings of this process; ``SettingError`` names what is wrong. Creates nothing."""
    env = os.environ if environment is None else environment
    home = Path(env.get(HOME, DEFAULT_HOME)).resolve()
    values: dict[str, Any] = _from_file(home / SETTINGS_FILE)
    values |= {k[len(PREFIX) :].lower(): v for k, v in env.items() if k.startswith(PREFIX) and k != HOME}
    return settings_from(values, home)


def _from_file(path: Path) -> dict[str, Any]:
    if not path.exists():
        return {}
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingError(f"{path} cannot be read: {error}", "a TOML file of settings", "correct it") from error
