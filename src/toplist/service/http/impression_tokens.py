"""Impression tokens: what a browser needs to report on one list, signed so that it can do nothing else."""

from __future__ import annotations

import base64
import hmac
import math
import re
import time
from collections.abc import Callable, Sequence

from toplist.service.browser_settings import TokenSecret
from toplist.service.http import problems
from toplist.service.http.problems import HttpProblem

_PURPOSE = b"toplist impression token 1\n"  # so that a signature made with the same secret elsewhere is no token
_SHAPE = re.compile(r"1\.([A-Za-z0-9_-]{1,20})\.(\d{1,12})\.([0-9a-f]{32})\.([A-Za-z0-9_-]{43})").fullmatch


class ImpressionTokens:
    """Signs and verifies tokens; servers with the same secrets accept each other's.

    A token is `1.ID.EXPIRES.IMPRESSION.SIGNATURE`: the id of the secret, seconds since the epoch, the impression
    without dashes, and HMAC-SHA-256 over all of these in Base64. The first secret signs, and all verify. To replace
    one, add the new secret behind it on every server, then move it to the front, and remove the old one when the
    longest click window has passed.

    Parameters
    ----------
    secrets : sequence of TokenSecret
        The secrets; without any, there are no tokens.
    clock : callable
        Seconds since the epoch, by which tokens are signed and expire.

    Examples
    --------
    >>> tokens = ImpressionTokens([TokenSecret("a", b"secret")], clock=lambda: 1_762_990_000.0)
    >>> token = tokens.sign("019a7a5e-9c00-7d3a-9b42-5f0e6c1d2a33", 1800.0)
    >>> token[:18], tokens.impression(token)
    ('1.a.1762991800.019', '019a7a5e-9c00-7d3a-9b42-5f0e6c1d2a33')
    """

    def __init__(self, secrets: Sequence[TokenSecret], clock: Callable[[], float] = time.time) -> None:
        self._secrets = {each.id: each for each in secrets}
        self._first = secrets[0] if secrets else None
        self._clock = clock

    def check_asked(self) -> None:
        """Refuse a request for a token if there is no secret to sign it."""
        if self._first is None:
            raise problems.invalid_field(
                "/token", "No token can be signed: the settings have no browser.secrets; add one, or leave it out."
            )

    def sign(self, impression: str, seconds: float) -> str:
        """The token of an impression, for so many seconds from now; the click window decides what counts."""
        assert self._first is not None
        expires = math.ceil(self._clock() + seconds)
        return self._signed(self._first, f"{expires}.{impression.replace('-', '')}")

    def impression(self, token: str) -> str:
        """The impression that a token is for; raises the problem of one that is not valid."""
        found = _SHAPE(token)
        known = None if found is None else self._secrets.get(found[1])
        if found is None or known is None:
            raise _refused("This is not a token, or its secret was removed from the settings; ask for a new list.")
        expires, id = found[2], found[3]
        if not hmac.compare_digest(self._signed(known, f"{expires}.{id}").encode(), token.encode()):
            raise _refused("The signature of the token is wrong; send the token as it came with the list.")
        if int(expires) <= self._clock():
            raise HttpProblem("token-expired", "The token expired with the click window of its list.")
        return "-".join((id[:8], id[8:12], id[12:16], id[16:20], id[20:]))

    def _signed(self, secret: TokenSecret, claims: str) -> str:
        text = f"1.{secret.id}.{claims}"
        signature = hmac.digest(secret.secret, _PURPOSE + text.encode(), "sha256")
        return f"{text}.{base64.urlsafe_b64encode(signature).rstrip(b'=').decode()}"


def _refused(detail: str) -> HttpProblem:
    return HttpProblem("forbidden", detail)
