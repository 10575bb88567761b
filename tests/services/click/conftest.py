"""A home with ads on the shared broker."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from domain.settings import Settings
from tests.support.click_parts import home_with_ads
from tests.support.ports import free_broker_port, free_port


@pytest.fixture
def click_settings(log_settings: Settings) -> Settings:
    """Settings of a click service with ads, topics of its own and a free port.

    The log has all the time it wants, so that a busy machine sends no click into the spool that a test looks for in the
    log.
    """
    home_with_ads(log_settings.home)
    return replace(log_settings, click_port=free_port(), log_budget_ms=5_000)


@pytest.fixture
def own_broker_settings(tmp_path: Path) -> Settings:
    """The same for a broker that the test starts and stops itself."""
    settings = home_with_ads(tmp_path / "home", broker_port=free_broker_port(), click_port=free_port())
    return replace(settings, clicks_partitions=4, log_budget_ms=5_000)
