"""The Origin header of reports from browsers: which pages may send them, and read the replies."""

from __future__ import annotations

from collections.abc import Mapping

from toplist.service.browser_settings import BrowserSettings, allowed_origins
from toplist.service.http.problems import HttpProblem
from toplist.service.wire import Fault


class Origins:
    """Origins whose pages may report: those of the settings, and the service's own.

    Programs can name any origin; only a token proves something.

    >>> Origins(BrowserSettings(origins=["https://shop.example"])).admit({b"origin": b"https://shop.example"})["vary"]
    'Origin'
    """

    def __init__(self, settings: BrowserSettings) -> None:
        self._allowed = allowed_origins(settings)
        self._has_tokens = bool(settings.secrets)

    def admit(self, headers: Mapping[bytes, bytes]) -> dict[str, str]:
        """The headers by which the page may read the reply; raises the problem of another page."""
        origin = headers.get(b"origin", b"").decode("latin-1")
        if not origin:
            detail = "A report with a token needs the header Origin, which browsers send; without one, use an API key."
            raise HttpProblem("invalid", detail, [Fault(header="Origin", detail=detail)])
        if origin not in self._allowed and not _is_own(origin, headers.get(b"host", b"")):
            detail = f"Pages of {origin[:200]!r} may not report; add it to browser.origins in the settings."
            raise HttpProblem("forbidden", detail, [Fault(header="Origin", detail=detail)])
        return {
            "access-control-allow-origin": origin,
            "cross-origin-resource-policy": "cross-origin",
            "vary": "Origin",
        }

    def check_tokens(self) -> None:
        """Refuse a report where no token can be valid: nobody waits for its body."""
        if not self._has_tokens:
            raise HttpProblem("forbidden", "No token is valid here: the settings have no browser.secrets.")


def _is_own(origin: str, host: bytes) -> bool:
    """Whether a page comes from the host that its request is addressed to; a proxy may have ended TLS."""
    scheme, separator, authority = origin.partition("://")
    return bool(separator) and scheme in ("http", "https") and authority.lower() == host.decode("latin-1").lower()
