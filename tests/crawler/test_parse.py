"""What a page says: links with their base, text, what it asks of robots, and which pages are not read."""

from __future__ import annotations

import pytest

from crawler.parse import (
    MAX_ATTRIBUTE_CHARACTERS,
    MAX_ATTRIBUTES_COUNT,
    MAX_DEPTH_COUNT,
    MAX_LINKS_COUNT,
    Link,
    Page,
    PageSource,
    QuarantineError,
    header_directives,
    parse_page,
)

URL = "http://a.example/dir/page"


def _page(html: str | bytes, *robots_tags: str, media_type: str = "text/html", content_type: str | None = None) -> Page:
    body = html.encode() if isinstance(html, str) else html
    return parse_page(PageSource(URL, body, media_type, content_type, robots_tags, "tallystick"))


def test_links_as_the_page_means_them() -> None:
    page = _page(
        """<base href="/other/"><base href="/second/"><link rel="Canonical" href="./it"><link rel=stylesheet href=s>
        <link rel=alternate href=feed><a href=" one#part">1</a><a href="two" rel="NoFollow ugc">2</a>
        <area href="//b.example/"><iframe src="three"></iframe><a>none</a><a href="mailto:a@b">m</a>
        <a href="http://u:p@c.example/">c</a><a href="javascript:void(0)">j</a><a href="">self</a>"""
    )
    assert page.links == (
        Link("http://a.example/other/it", "./it", "canonical", False),
        Link("http://a.example/other/feed", "feed", "alternate", False),
        Link("http://a.example/other/one", " one#part", "a", False),
        Link("http://a.example/other/two", "two", "a", True),
        Link("http://b.example/", "//b.example/", "area", False),
        Link("http://a.example/other/", "", "a", False),
        Link("http://a.example/other/three", "three", "frame", False),
    )
    assert page.canonical == "http://a.example/other/it"
    assert (page.links_refused_count, page.links_dropped_count) == (3, 0)


@pytest.mark.parametrize("base", ["javascript:x", "data:text/html,x", "http://[", "ftp://b.example/"])
def test_a_base_that_is_none(base: str) -> None:
    assert [link.url for link in _page(f'<base href="{base}"><a href=x>').links] == ["http://a.example/dir/x"]


def test_text_and_title() -> None:
    page = _page(
        "<title> A  \n title</title><style>s{}</style><body>One<script>no()</script> two<br>three<p>four"
        "<noscript>no</noscript><template>no</template>"
    )
    assert (page.title, page.text) == ("A title", "One two three four")


def test_charset_of_the_page() -> None:
    page = _page("<meta charset=windows-1251><p>Привет".encode("cp1251"))
    assert (page.text, page.charset, page.charset_source) == ("Привет", "windows-1251", "meta")


def test_what_is_no_html_has_text_and_no_links() -> None:
    page = _page("<a href=x>kept as it is</a>", media_type="text/plain")
    assert (page.text, page.links) == ("<a href=x>kept as it is</a>", ())


@pytest.mark.parametrize(
    ("html", "tags", "is_noindex", "is_nofollow"),
    [
        ("", (), False, False),
        ("<meta name=robots content='NoIndex, nofollow'>", (), True, True),
        ("<meta name=ROBOTS content=none>", (), True, True),
        ("<meta name=tallystick content=noindex>", (), True, False),
        ("<meta name=otherbot content=noindex>", (), False, False),
        ("<meta name=robots content='noindexing'>", (), False, False),
        ("", ("noindex",), True, False),
        ("", ("otherbot: noindex, nofollow",), False, False),
        ("", ("otherbot: noindex", "Tallystick: nofollow"), False, True),
        ("<meta name=robots content=index>", ("noindex",), True, False),
    ],
)
def test_what_a_page_asks_of_robots(html: str, tags: tuple[str, ...], is_noindex: bool, is_nofollow: bool) -> None:
    page = _page(html, *tags)
    assert (page.is_noindex, page.is_nofollow) == (is_noindex, is_nofollow)


def test_directives_with_values_are_no_agents() -> None:
    tags = ("max-snippet: 5, noindex", "unavailable_after: 1 Jan 2027 00:00:00 GMT")
    found = header_directives(tags, "tallystick")
    assert found == ("max-snippet: 5", "noindex", "unavailable_after: 1 jan 2027 00:00:00 gmt")


@pytest.mark.parametrize(
    ("html", "reason"),
    [
        ("<div>" * (MAX_DEPTH_COUNT + 1), "too_deep"),
        ("<p " + " ".join(f"a{number}=1" for number in range(MAX_ATTRIBUTES_COUNT + 1)) + ">", "too_many_attributes"),
        (f"<p title='{'x' * (MAX_ATTRIBUTE_CHARACTERS + 1)}'>", "huge_attribute"),
    ],
    ids=["deep", "attributes", "attribute"],
)
def test_suspicious_pages_are_not_read(html: str, reason: str) -> None:
    with pytest.raises(QuarantineError) as refusal:
        _page(html)
    assert refusal.value.reason == reason


def test_a_page_of_too_many_nodes_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Under a smaller limit, because the real one takes its time."""
    monkeypatch.setattr("crawler.parse.MAX_NODES_COUNT", 100)
    assert _page("<b>x</b>" * 20).text
    with pytest.raises(QuarantineError, match="too_many_nodes"):
        _page("<b>x</b>" * 60)


@pytest.mark.parametrize(
    "html",
    [
        "<div>" * (MAX_DEPTH_COUNT // 2),
        f"<img src='data:image/png;base64,{'A' * 500_000}'><p>text",
        "<table><tr><td colspan=99999999 rowspan=99999999>x",
        "<!-- --><!doctype html><!-- --><p>x</p><!-- -->",
        "&#xD800;&#0;&#x110000;",
        "",
    ],
    ids=["nested", "picture", "colspan", "comments", "entities", "empty"],
)
def test_odd_pages_are_read(html: str) -> None:
    """C21: a huge colspan among them."""
    page = _page(html)
    assert page.text == page.text.encode().decode(), "no half of a surrogate pair is in it"
    assert page.links == ()


def test_links_beyond_the_limit_are_counted() -> None:
    page = _page("<a href=x>" * (MAX_LINKS_COUNT + 3))
    assert (len(page.links), page.links_dropped_count) == (MAX_LINKS_COUNT, 3)
