"""Where a visitor is sent: the ad's target with its macros filled in, as a header can hold it.

Belongs here: ``{impression_id}`` and ``{ad_id}`` in a target, and escaping. Both are letters, digits, ``-`` and ``_``,
so filling one in ends neither a component of the address nor a header. No other text of a request gets in.
"""

from __future__ import annotations

from urllib.parse import quote

_ASCII = "".join(map(chr, range(0x21, 0x7F)))
IMPRESSION, AD = "{impression_id}", "{ad_id}"


def location_of(target_url: str, impression_id: str, ad_id: int) -> bytes:
    """The header value. ``domain/ads.py`` has checked the target, ``domain/links.py`` the impression."""
    if "{" in target_url:
        target_url = target_url.replace(IMPRESSION, impression_id).replace(AD, str(ad_id))
    return target_url.encode() if target_url.isascii() else quote(target_url, safe=_ASCII, errors="replace").encode()
