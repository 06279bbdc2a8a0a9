"""The page at `/`: one self-contained file, with a Content-Security-Policy that enforces it."""

from __future__ import annotations

import base64
import hashlib
import re
from importlib.resources import files


def load_page() -> tuple[bytes, dict[str, str]]:
    """The page, and headers that allow only its own script and style and requests to this server."""
    text = files("toplist.service.http").joinpath("page.html").read_text(encoding="utf-8")
    policy = [
        "default-src 'none'",
        f"script-src {_hashes(text, 'script')}",
        f"style-src {_hashes(text, 'style')}",
        "connect-src 'self'",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    ]
    return text.encode(), {
        "content-security-policy": "; ".join(policy),
        "referrer-policy": "no-referrer",
        "x-frame-options": "DENY",  # frame-ancestors, for old browsers
        "cross-origin-opener-policy": "same-origin",
        "permissions-policy": "camera=(), geolocation=(), microphone=()",
    }


def _hashes(text: str, tag: str) -> str:
    """The contents of a tag as hash sources of a Content-Security-Policy."""
    found = re.findall(rf"<{tag}>(.*?)</{tag}>", text, flags=re.DOTALL)
    digests = (base64.b64encode(hashlib.sha256(each.encode()).digest()).decode() for each in found)
    return " ".join(f"'sha256-{digest}'" for digest in digests)
