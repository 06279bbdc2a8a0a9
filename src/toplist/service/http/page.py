"""The page at `/`: one file without anything from elsewhere, which a browser is told to hold it to."""

from __future__ import annotations

import base64
import hashlib
import re
from importlib.resources import files


def page() -> tuple[bytes, dict[str, str]]:
    """The page, and the headers that let it run its own script and style, ask this server, and nothing else."""
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
    return text.encode(), {"content-security-policy": "; ".join(policy), "referrer-policy": "no-referrer"}


def _hashes(text: str, tag: str) -> str:
    """How a Content-Security-Policy names what stands between tags."""
    found = re.findall(rf"<{tag}>(.*?)</{tag}>", text, flags=re.DOTALL)
    digests = (base64.b64encode(hashlib.sha256(each.encode()).digest()).decode() for each in found)
    return " ".join(f"'sha256-{digest}'" for digest in digests)
