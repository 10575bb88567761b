"""Classes of device by user agent: one table of texts as browsers and programs send them."""

from __future__ import annotations

import pytest

from services.click.devices import device_of

WEBKIT = "AppleWebKit/537.36 (KHTML, like Gecko)"


@pytest.mark.parametrize(
    ("user_agent", "device"),
    [
        pytest.param(
            f"Mozilla/5.0 (Linux; Android 14; Pixel 8) {WEBKIT} Chrome/126.0.0.0 Mobile Safari/537.36", "mobile"
        ),
        pytest.param(
            "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) Version/17.5 Mobile/15E148 Safari", "mobile"
        ),
        pytest.param("Mozilla/5.0 (Android 14; Mobile; rv:127.0) Gecko/127.0 Firefox/127.0", "mobile"),
        pytest.param("Opera/9.80 (J2ME/MIDP; Opera Mini/9.80; U; en) Presto/2.5.25 Version/10.54", "mobile"),
        pytest.param("Mozilla/5.0 (iPod touch; CPU iPhone OS 12_0 like Mac OS X)", "mobile"),
        pytest.param(f"Mozilla/5.0 (Linux; Android 13; SM-X700) {WEBKIT} Chrome/126.0.0.0 Safari/537.36", "tablet"),
        pytest.param("Mozilla/5.0 (Android 14; Tablet; rv:127.0) Gecko/127.0 Firefox/127.0", "tablet"),
        pytest.param("Mozilla/5.0 (iPad; CPU OS 12_5 like Mac OS X) Version/12.1 Mobile/15E148 Safari/604.1", "tablet"),
        pytest.param(f"Mozilla/5.0 (Linux; Android 11; KFTRWI) {WEBKIT} Silk/108.4.6 Safari/537.36", "tablet"),
        pytest.param(f"Mozilla/5.0 (Windows NT 10.0; Win64; x64) {WEBKIT} Chrome/126.0.0.0 Safari/537.36", "desktop"),
        pytest.param("Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) Version/17.5 Safari/605.1.15", "desktop"),
        pytest.param("Mozilla/5.0 (X11; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0", "desktop"),
        pytest.param(f"Mozilla/5.0 (X11; CrOS x86_64 14541.0.0) {WEBKIT} Chrome/126.0.0.0 Safari/537.36", "desktop"),
        pytest.param(f"Mozilla/5.0 (SMART-TV; Linux; Tizen 6.0) {WEBKIT} TV Safari/537.36", "other"),
        pytest.param(f"Mozilla/5.0 (Linux; Android 9; BRAVIA 4K UR2) {WEBKIT} Chrome/88.0 Safari/537.36", "other"),
        pytest.param("Mozilla/5.0 (PlayStation; PlayStation 5/6.50) AppleWebKit/605.1.15", "other"),
        pytest.param("curl/8.5.0", "other"),
        pytest.param("Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)", "other"),
        pytest.param("", "other"),
        pytest.param("MOZILLA/5.0 (IPHONE; CPU IPHONE OS 17_5)", "mobile"),
    ],
)
def test_class(user_agent: str, device: str) -> None:
    assert device_of(user_agent) == device
