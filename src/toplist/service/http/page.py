"""The pages of the service: they load files for browsers by their hashes, under a strict Content-Security-Policy."""

from __future__ import annotations

import re
from importlib.resources import files

from toplist.service.http.assets import Assets

_POLICY = (
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    "img-src data:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
)


def load_page(assets: Assets, name: str) -> tuple[bytes, dict[str, str]]:
    """A page, and headers that allow only scripts and styles of this server and requests to it."""
    text = files("toplist.service.http").joinpath("assets", name).read_text(encoding="utf-8")
    text = re.sub(r'"assets/([\w.]+)"', lambda found: f'"assets/{assets.hashed[found[1]]}"', text)
    return text.encode(), {
        "content-security-policy": "; ".join(_POLICY),
        "referrer-policy": "no-referrer",
        "x-frame-options": "DENY",  # frame-ancestors, for old browsers
        "cross-origin-opener-policy": "same-origin",
        "permissions-policy": "camera=(), geolocation=(), microphone=()",
    }
