"""A home with ads on the shared broker."""

from __future__ import annotations

from dataclasses import replace

import pytest

from domain.settings import Settings
from tests.support.click_parts import home_with_ads
from tests.support.ports import free_port


@pytest.fixture
def click_settings(log_settings: Settings) -> Settings:
    """Settings of a click service with ads, topics of its own and a free port."""
    home_with_ads(log_settings.home)
    return replace(log_settings, click_port=free_port())
