"""The class of device that a User-Agent header claims: mobile, desktop, tablet or other.

Belongs here: the tokens that browser vendors document for this purpose, and nothing finer. Plain searches, because a
stranger chooses the text and the class is a key of the count: each text gets the same class on every server, in
microseconds, whatever it holds. ``docs/click-service.md`` compares this with the libraries there are.
"""

from __future__ import annotations

from typing import Literal

Device = Literal["mobile", "desktop", "tablet", "other"]

_RULES: tuple[tuple[Device, tuple[str, ...]], ...] = (
    ("other", (" tv", "-tv", "tv/", "tv;", "tv)", "tv ", "bravia", "; aft", "roku", "crkey")),
    ("other", ("playstation", "xbox", "watch")),
    ("tablet", ("ipad", "tablet", "playbook", "kindle", "silk/")),
    ("mobile", ("mobi", "phone", "ipod", "opera mini", "midp")),
    # Android's own rule: a phone says Mobile, a tablet does not.
    ("tablet", ("android",)),
    ("desktop", ("windows", "macintosh", "mac os x", "x11", "cros ", "linux x86_64")),
)
"""Judged from above: the first rule that has a token in the text, in lower case, decides."""


def device_of(user_agent: str) -> Device:
    """The class that the text claims; ``other`` for televisions, consoles, programs and what says nothing."""
    text = user_agent.lower()
    for device, tokens in _RULES:
        if any(token in text for token in tokens):
            return device
    return "other"
