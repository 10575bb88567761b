"""The page in a real Chromium: each view says what the API says, asks nobody else, and can be used by anybody."""

from __future__ import annotations

import io
import json
import os
import shutil
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from services.metrics.page import HEADERS
from services.tokens import Caller
from tests.services.metrics.page_server import Page
from tests.support.page_world import FINAL_UNTIL

TEN, FINANCE, AUDITOR, OPERATOR = Caller("advertiser", 10), Caller("finance"), Caller("auditor"), Caller("operator")
SHOTS = "TALLYSTICK_SCREENSHOTS"
MAX_SHOT_BYTES = 150_000
WAIT_SECONDS = 60
WIDE, PHONE = (1200, 900), (360, 780)
AA_RATIO = 4.5
FILES = ("/", "/page/main.js", "/page/page.css", "/page/mark.svg")


@pytest.mark.parametrize("path", FILES)
def test_the_files_come_with_headers_that_keep_the_page_to_itself(page: Page, path: str) -> None:
    response = page.http.get(path)
    assert response.status_code == 200
    assert {name: response.headers[name] for name in HEADERS} == HEADERS
    assert "unsafe" not in HEADERS["Content-Security-Policy"]
    assert page.http.get(path, headers={"If-None-Match": response.headers["etag"]}).status_code == 304


def test_no_file_names_another_origin(page: Page) -> None:
    """Works without any request to the outside: but for the names of XML there is no address in it."""
    for path in FILES:
        text = page.http.get(path).text.replace("http://www.w3.org/2000/svg", "")
        assert "http:" not in text
        assert "https:" not in text


class Browser:
    """A Chromium that shows one view at a time and remembers what it asked for."""

    def __init__(self, driver: webdriver.Chrome, page: Page) -> None:
        self.driver, self.page = driver, page
        self._asked_before: set[str] = set()

    def open(self, caller: Caller, view: str = "", size: tuple[int, int] = WIDE, scheme: str = "light") -> None:
        """Signs in afresh and waits until nothing loads any more."""
        width, height = size
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        self.driver.execute_cdp_cmd("Emulation.setTimezoneOverride", {"timezoneId": "Asia/Kolkata"})
        self.driver.get(self.page.url)
        self.driver.execute_script("sessionStorage.clear()")
        self.driver.refresh()
        self.wait_for("#token").send_keys(self.page.token(caller))
        self.driver.find_element(By.CSS_SELECTOR, "form button").click()
        self.wait_for("nav a")
        if view:
            self.driver.execute_script("location.hash = arguments[0]", f"#/{view}")
        self.settle()

    def settle(self) -> None:
        """Until the page has drawn and nothing loads."""
        is_done = "return !document.querySelector('.loading, [aria-busy]') && !!document.querySelector('main h1')"
        self.driver.execute_async_script("setTimeout(arguments[0], 50)")
        WebDriverWait(self.driver, WAIT_SECONDS).until(lambda driver: driver.execute_script(is_done))

    def wait_for(self, selector: str) -> Any:
        return WebDriverWait(self.driver, WAIT_SECONDS).until(
            lambda driver: driver.find_element(By.CSS_SELECTOR, selector)
        )

    def script(self, code: str, *arguments: Any) -> Any:
        return self.driver.execute_script(code, *arguments)

    @property
    def text(self) -> str:
        return str(self.driver.find_element(By.TAG_NAME, "main").text)

    def check_quiet(self) -> None:
        """No complaint in the console, and no request to anybody but this server."""
        assert [entry for entry in self.driver.get_log("browser") if entry["level"] != "INFO"] == []
        messages = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        asked = [one["params"]["request"]["url"] for one in messages if one["method"] == "Network.requestWillBeSent"]
        assert asked
        at_home = (self.page.url, f"blob:{self.page.url}", "data:")  # the last are icons of the browser's own inputs
        assert [url for url in asked if not url.startswith(at_home)] == []
        assert [url for url in asked if "eyJ" in url] == [], "a token stands in an address"

    def check_width(self) -> None:
        """Nothing of the page lies beside the screen."""
        wider = (
            "return [...document.querySelectorAll('body *')]"
            ".filter((one) => !one.parentElement.closest('.scroll, svg'))"
            ".filter((one) => one.getBoundingClientRect().right > innerWidth)"
            ".map((one) => one.outerHTML.slice(0, 200))"
        )
        assert self.script(wider) == []
        assert self.script("return document.documentElement.scrollWidth <= innerWidth")

    def keep(self, name: str, height: int = 1150) -> None:
        """A screenshot, where somebody wants it."""
        folder = os.environ.get(SHOTS)
        if folder:
            width = self.script("scrollTo(0, 0); return innerWidth")
            metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
            self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
            Path(folder).mkdir(parents=True, exist_ok=True)
            path = Path(folder) / f"{name}.png"
            path.write_bytes(_small(self.driver.get_screenshot_as_png()))
            assert path.stat().st_size < MAX_SHOT_BYTES


def _small(png: bytes) -> bytes:
    """The picture in 128 colours, which is what a page of flat colours needs."""
    from PIL import Image

    smaller = io.BytesIO()
    Image.open(io.BytesIO(png)).convert("RGB").quantize(128).save(smaller, "png", optimize=True)
    return smaller.getvalue()


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    chromium, chromedriver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or chromedriver is None:
        pytest.skip("no chromium or no chromedriver on PATH; make setup says how to install them")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    profile = tmp_path_factory.mktemp("chromium")
    for argument in (
        "--headless=new",
        "--hide-scrollbars",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        f"--user-data-dir={profile}",
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    started = webdriver.Chrome(options, webdriver.ChromeService(chromedriver))
    yield started
    started.quit()


@pytest.fixture
def browser(driver: webdriver.Chrome, page: Page) -> Browser:
    driver.get("about:blank")
    for kind in ("browser", "performance"):
        driver.get_log(kind)  # what was there before is no concern of this test
    return Browser(driver, page)


def _clicks(rows: list[dict[str, Any]], is_final: bool) -> str:
    return f"{sum(row['clicks'] for row in rows if row['final'] is is_final):,}"


@pytest.mark.browser
def test_an_advertiser_sees_what_is_final_and_what_is_live(browser: Browser) -> None:
    browser.open(TEN)
    asked = {"from_": "2026-11-01T14:00Z", "to": "2026-11-02T14:00Z", "group_by": ""}
    rows = browser.page.document(TEN, "/v1/ads/metrics", **asked)["rows"]
    figures = browser.driver.find_element(By.CSS_SELECTOR, ".figures").text
    assert f"Final clicks\n{_clicks(rows, True)}" in figures
    assert f"Live clicks\n{_clicks(rows, False)}" in figures
    assert "2026-11-02 10:00 UTC" in figures
    assert "02 Nov 2026, 15:30\n2026-11-02 10:00 UTC" in figures, "the reader's zone, and UTC beside it"
    assert "times of Asia/" in browser.driver.find_element(By.ID, "who").text
    assert [a.text for a in browser.driver.find_elements(By.CSS_SELECTOR, "nav a")] == ["Clicks", "Statements"]
    browser.check_quiet()
    browser.keep("advertiser")


@pytest.mark.browser
def test_the_line_stands_at_final_until_between_final_and_live(browser: Browser) -> None:
    """Final and live are told apart by colour, by pattern and by a label, on either side of the line."""
    browser.open(TEN)
    line = browser.wait_for("[data-final-until]")
    assert datetime.fromisoformat(line.get_attribute("data-final-until")) == FINAL_UNTIL
    assert "final until" in line.text
    at = float(line.find_element(By.TAG_NAME, "line").get_attribute("x1"))
    boxes = (
        "return [...document.querySelectorAll('[data-part]')]"
        ".map((part) => part.getBBox()).map((box) => [box.x, box.x + box.width])"
    )
    final, live = browser.script(boxes)
    assert final[1] <= at + 0.1
    assert live[0] >= at - 0.1
    share = (at - final[0]) / (976 - final[0])
    assert share == pytest.approx(20 / 24, abs=0.05), "20 of the 24 hours are final"
    assert "url" in browser.driver.find_element(By.CSS_SELECTOR, "[data-part=live]").get_attribute("fill")


@pytest.mark.browser
def test_finance_sees_the_books(browser: Browser) -> None:
    browser.open(FINANCE, "books")
    for said in (
        "2026-11",
        "over, not closed",
        "34 of 720",
        "744 of 744",
        "C-7",
        "came after the close",
        "chain is whole",
    ):
        assert (said in browser.text) == (said != "over, not closed"), said
    browser.driver.find_element(By.XPATH, "//button[text()='What keeps 2026-11 open']").click()
    browser.settle()
    assert "it is not over before 2026-12-01T00:00:00Z" in browser.text
    assert "Dispute D-1 of advertiser 10 is open" in browser.text
    browser.check_quiet()
    browser.keep("finance", 1500)


@pytest.mark.browser
def test_an_auditor_sees_an_hour_add_up_and_a_dispute(browser: Browser) -> None:
    browser.open(AUDITOR, "audit?hour=2026-11-01T20:00:00Z&case=D-1")
    seal = browser.page.document(AUDITOR, "/v1/hours/2026-11-01T20:00:00Z")["seals"][0]
    said = browser.driver.find_element(By.ID, "equation").text
    assert said.startswith(f"{seal['raw_clicks']} raw = {seal['billable_clicks']} billable")
    assert said.endswith("adds up")
    browser.driver.find_element(By.TAG_NAME, "summary").click()
    browser.settle()
    clicks = browser.page.document(AUDITOR, "/v1/disputes/D-1/clicks", limit="1")["rows"][0]
    assert clicks["impression_id"] in browser.text
    browser.check_quiet()
    browser.driver.find_element(By.TAG_NAME, "summary").click()
    browser.keep("auditor", 1700)


@pytest.mark.browser
def test_an_operator_sees_what_the_next_seal_waits_for(browser: Browser) -> None:
    browser.open(OPERATOR, "operation")
    assert "waits for:\nthe log, which does not answer" in browser.text
    assert "does not run" in browser.text
    assert "2026-11-02 13:39 UTC" in browser.text, "the last batches"
    browser.check_quiet()
    browser.keep("operator")


@pytest.mark.browser
@pytest.mark.parametrize(
    ("caller", "view"),
    [(TEN, "clicks"), (TEN, "statements"), (FINANCE, "books"), (AUDITOR, "audit"), (OPERATOR, "operation")],
)
def test_a_phone_shows_all_of_it_without_scrolling_sideways(browser: Browser, caller: Caller, view: str) -> None:
    browser.open(caller, view, PHONE, "dark")
    browser.check_width()
    if view == "clicks":
        browser.keep("phone", 1250)


@pytest.mark.browser
def test_the_keyboard_is_enough(browser: Browser) -> None:
    """Skip link, navigation, filters and the chart are reached by the tabulator, and focus is seen."""
    browser.open(TEN)
    browser.driver.refresh()
    browser.settle()
    seen, outlines = [], []
    for _ in range(60):  # a time alone has seven stops
        browser.driver.switch_to.active_element.send_keys(Keys.TAB)
        name, outline = browser.script(
            "const e = document.activeElement; "
            "return [e.textContent.slice(0, 25) || e.id || e.tagName, getComputedStyle(e).outlineStyle]"
        )
        seen.append(name)
        outlines.append(outline)
        if browser.script("return document.activeElement.tagName") == "svg":
            break
    assert seen[:2] == ["Skip to the figures", "Clicks"]
    assert {"field-from", "field-to", "Show"} <= set(seen)
    assert [name for name, outline in zip(seen, outlines, strict=True) if outline not in ("solid", "auto")] == []
    browser.driver.switch_to.active_element.send_keys(Keys.HOME)
    assert "(2026-11-01 14:00 UTC)" in browser.driver.find_element(By.TAG_NAME, "output").text


@pytest.mark.browser
def test_a_token_that_is_not_ours_is_refused_with_what_to_do(browser: Browser) -> None:
    browser.driver.get(browser.page.url)
    browser.driver.execute_script("sessionStorage.clear()")
    browser.driver.refresh()
    browser.wait_for("#token").send_keys("nonsense")
    browser.driver.find_element(By.CSS_SELECTOR, "form button").click()
    assert "tallystick token" in browser.wait_for("[role=alert]").text
    assert browser.script("return sessionStorage.length") == 0


@pytest.mark.browser
def test_a_view_of_another_role_is_not_shown(browser: Browser) -> None:
    """Law 13: the address asks for the books, the page shows what the role has."""
    browser.open(TEN, "books")
    assert browser.driver.find_element(By.TAG_NAME, "h1").text == "Clicks"
    browser.check_quiet()


@pytest.mark.browser
def test_an_empty_range_says_what_to_do(browser: Browser) -> None:
    browser.open(TEN)
    browser.driver.find_element(By.ID, "field-campaign").send_keys("999")
    browser.driver.find_element(By.CSS_SELECTOR, "button.first").click()
    browser.settle()
    assert "No clicks in this range. Widen it, or take filters away." in browser.text


PAIRS = [
    *(("--text", ground) for ground in ("--ground", "--surface")),
    *(("--muted", ground) for ground in ("--ground", "--surface")),
    *(("--link", ground) for ground in ("--ground", "--surface")),
    *((f"--{kind}", f"--{kind}-ground") for kind in ("good", "bad", "live", "final")),
    ("--on-button", "--button"),
]


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_have_contrast(browser: Browser, scheme: str) -> None:
    """WCAG AA for text, in both schemes."""
    browser.open(TEN, scheme=scheme)
    colours = browser.script(
        "const s = getComputedStyle(document.documentElement);"
        "return Object.fromEntries(arguments[0].map((n) => [n, s.getPropertyValue(n).trim()]))",
        sorted({name for pair in PAIRS for name in pair}),
    )
    assert len(set(colours.values())) > 8
    weak = {pair: _contrast(*(colours[name] for name in pair)) for pair in PAIRS}
    assert {pair: ratio for pair, ratio in weak.items() if ratio < AA_RATIO} == {}


def _contrast(one: str, other: str) -> float:
    lighter, darker = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: str) -> float:
    channels = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.browser
def test_long_ids_are_not_rounded(browser: Browser) -> None:
    """JavaScript would make 9007199254740993 of 16 digits another number."""
    browser.open(TEN)
    code = """
    const done = arguments[0];
    const kept = window.fetch;
    const sent = '{"ad_id":9007199254740993,"text":"a 9007199254740993, \\\\" 1234567890123456"}';
    window.fetch = async () => new Response(sent);
    import("/page/api.js").then((api) => api.get("/v1/me")).then((found) => { window.fetch = kept; done(found); });
    """
    found = browser.driver.execute_async_script(code)
    assert found == {"ad_id": "9007199254740993", "text": 'a 9007199254740993, " 1234567890123456'}
