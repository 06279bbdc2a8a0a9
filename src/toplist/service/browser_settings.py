"""Settings for browsers: secrets that sign impression tokens, origins whose pages may report, and rate limits."""

from __future__ import annotations

import re
from typing import Annotated, NamedTuple
from urllib.parse import urlsplit

from msgspec import Meta, Struct

from toplist.core.problem import InvalidInput, refuse

SHORTEST_SECRET = 32  # characters
_IS_ID = re.compile(r"[A-Za-z0-9_-]{1,20}").fullmatch
_ADVICE = "make one with `openssl rand -hex 32`, and write it as ID:SECRET"


class BrowserSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Reports that browsers send themselves, with an impression token instead of an API key."""

    secrets: Annotated[
        list[str],
        Meta(description="secrets of impression tokens, each as ID:SECRET; the first one signs, and all verify"),
    ] = []
    origins: Annotated[
        list[str],
        Meta(description="origins besides the service's own whose pages may report, as https://shop.example"),
    ] = []
    rate: Annotated[
        float,
        Meta(
            ge=0.0,
            description="reports with a token per second of an address (IPv6: a /64); 0: no limit; more gets 429",
        ),
    ] = 20.0
    burst: Annotated[int, Meta(ge=1, description="such reports at once before the rate applies")] = 200
    impression_rate: Annotated[
        float,
        Meta(ge=0.0, description="reports with a token per second of an impression; 0: no limit; more gets 429"),
    ] = 1.0
    impression_burst: Annotated[
        int, Meta(ge=1, description="such reports of an impression at once before the rate applies")
    ] = 20


class TokenSecret(NamedTuple):
    """A secret that signs impression tokens, with the id by which they name it."""

    id: str
    secret: bytes


def token_secrets(settings: BrowserSettings) -> list[TokenSecret]:
    """The secrets of the settings; errors do not quote them.

    >>> token_secrets(BrowserSettings(secrets=["2026a:" + "x" * 32]))[0].id
    '2026a'
    """
    made: list[TokenSecret] = []
    for number, text in enumerate(settings.secrets, 1):
        id, _, secret = text.partition(":")
        what = f"Secret {number} of browser.secrets"
        if _IS_ID(id) is None:
            accepted = "an id of 1 to 20 letters, digits, dashes and underscores before a colon"
            raise InvalidInput(f"{what} must have {accepted}; {_ADVICE}.")
        if len(secret) < SHORTEST_SECRET:
            raise InvalidInput(
                f"{what} has {len(secret)} characters, but must have at least {SHORTEST_SECRET}; {_ADVICE}."
            )
        if id in [known.id for known in made]:
            raise InvalidInput(f"Two secrets of browser.secrets have the id {id!r}; give each its own.")
        made.append(TokenSecret(id, secret.encode()))
    return made


def origin_of(text: str) -> str | None:
    """An origin as browsers write it; None if the text is none.

    >>> origin_of("https://Shop.example:443"), origin_of("http://localhost:8601"), origin_of("shop.example")
    ('https://shop.example', 'http://localhost:8601', None)
    """
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        return None
    host = parts.hostname
    rest = parts.path or parts.query or parts.fragment or parts.username or parts.password
    if parts.scheme not in ("http", "https") or not host or rest:
        return None
    name = f"[{host}]" if ":" in host else host
    default = {"http": 80, "https": 443}[parts.scheme]
    return f"{parts.scheme}://{name}" if port in (None, default) else f"{parts.scheme}://{name}:{port}"


def allowed_origins(settings: BrowserSettings) -> frozenset[str]:
    """The origins of the settings."""
    made: set[str] = set()
    for text in settings.origins:
        origin = origin_of(text)
        if origin is None:
            accepted = "a scheme and a host, with a port if it is unusual"
            raise refuse("One of browser.origins", text, accepted, "write it like https://shop.example")
        made.add(origin)
    return frozenset(made)
