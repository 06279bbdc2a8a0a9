"""Authorization: API keys, of which only hashes are stored, and host names for callers without a key."""

from __future__ import annotations

import hashlib
import hmac
import math
import secrets
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from toplist.service.api_keys import ApiKeySetting, Scope, time_text
from toplist.service.http.problems import HttpProblem
from toplist.service.wire import Fault

PREFIX = "toplist_"  # lets secret scanners find leaked keys
_BEARER = b"bearer "


def new_api_key() -> str:
    """A new API key: 32 random bytes."""
    return PREFIX + secrets.token_urlsafe(32)


def hash_api_key(api_key: str) -> str:
    """The stored form of an API key. A random key needs no salt and no slow hash.

    >>> hash_api_key("toplist_key")[:12]
    '25f7db21e6d4'
    """
    return hashlib.sha256(api_key.encode()).hexdigest()


class KnownKey(NamedTuple):
    """An accepted API key."""

    name: str
    scopes: frozenset[Scope]
    rankings: frozenset[str] | None  # None: all
    expires: float  # seconds since the epoch
    setting: ApiKeySetting

    @classmethod
    def of(cls, setting: ApiKeySetting) -> KnownKey:
        """The key of a setting."""
        rankings = None if setting.rankings is None else frozenset(setting.rankings)
        expires = math.inf if setting.expires is None else setting.expires.timestamp()
        return cls(setting.name, setting.scopes, rankings, expires, setting)

    def check_scope(self, scope: Scope) -> None:
        """Raise a problem if the key does not allow this."""
        if scope not in self.scopes:
            detail = f"The key {self.name!r} has the scope {self.setting.scope}, but this needs {scope}."
            header = f'Bearer error="insufficient_scope", scope="{scope}"'
            raise HttpProblem("forbidden", detail, headers={"www-authenticate": header})

    def check_ranking(self, ranking: str | None) -> None:
        """Raise a problem if the key is not for this ranking; None: for what concerns all of them."""
        if self.rankings is None or ranking in self.rankings:
            return
        own = ", ".join(sorted(self.rankings))
        needed = "this needs a key for all rankings" if ranking is None else "this concerns another"
        raise HttpProblem("forbidden", f"The key {self.name!r} is for the rankings {own} alone, but {needed}.")


class ApiKeys:
    """The accepted API keys. If there are none, no key is needed and the service listens on loopback only."""

    def __init__(self, accepted: Sequence[ApiKeySetting] = (), clock: Callable[[], float] = time.time) -> None:
        self._accepted = [(bytes.fromhex(each.sha256), KnownKey.of(each)) for each in accepted]
        self._clock = clock

    def __bool__(self) -> bool:
        return bool(self._accepted)

    def find(self, authorization: bytes | None) -> KnownKey | None:
        """The key in the header, expired or not, or None. Compares all in constant time, against timing attacks."""
        if authorization is None or authorization[:7].lower() != _BEARER:
            return None
        given = hashlib.sha256(authorization[7:].strip()).digest()
        found = None
        for digest, known in self._accepted:
            if hmac.compare_digest(digest, given):
                found = known
        return found

    def admit(self, authorization: bytes | None, scope: Scope) -> KnownKey:
        """The key in the header; raises a problem if it is missing, unknown, expired or lacks the scope."""
        known = self.find(authorization)
        if known is None:
            detail = "An API key is needed; send Authorization: Bearer KEY."
            if authorization is not None:
                detail = "The Authorization header has no known API key; send Authorization: Bearer KEY."
            raise _unauthorized("unauthorized", detail)
        if known.expires < math.inf and known.expires <= self._clock():  # who knows the key may know this
            assert known.setting.expires is not None
            detail = f"The key {known.name!r} expired at {time_text(known.setting.expires)}; send a new one."
            raise _unauthorized("key-expired", detail)
        known.check_scope(scope)
        return known


def _unauthorized(name: str, detail: str) -> HttpProblem:
    fault = Fault(header="Authorization", detail=detail)
    return HttpProblem(name, detail, [fault], {"www-authenticate": 'Bearer realm="toplist"'})


LOOPBACK = ("localhost", "127.0.0.1", "[::1]", "::1")

# Besides X-Forwarded-*. Those of CDNs, load balancers and older proxies tell whom they stand for.
_PROXY_HEADERS = frozenset((
    b"via", b"forwarded", b"x-real-ip", b"x-client-ip", b"x-cluster-client-ip", b"x-original-forwarded-for",
    b"x-envoy-external-address", b"cf-connecting-ip", b"true-client-ip", b"cdn-loop",
))  # fmt: skip


class Hosts:
    """Host names that requests without an API key may be addressed to, and which must not come through a proxy.

    Without keys, loopback is the only protection. A foreign web page could get around it with a name of its own that
    resolves to 127.0.0.1 (DNS rebinding): its requests have that name in the Host header, and are refused. A proxy on
    this machine would make the service public: requests that show one are refused, too.
    """

    def __init__(self, more: Iterable[str] = ()) -> None:
        self._names = {name.lower() for name in (*LOOPBACK, *more)}
        self._seen: set[bytes] = set()  # cache of accepted headers; most requests have the same

    def admit(self, headers: Mapping[bytes, bytes], http_version: str) -> None:
        """Raise a problem if a request is addressed to another host, or comes through a proxy."""
        for name in headers:
            if name in _PROXY_HEADERS or name.startswith(b"x-forwarded-"):
                header = name.decode("latin-1")
                raise _proxied(f"has the header {header}", [Fault(header=header, detail="Only proxies send it.")])
        if http_version != "1.1":
            raise _proxied(f"is HTTP/{http_version}", [])
        host = headers.get(b"host")
        if host is None or host in self._seen:  # browsers always send one: HTTP/1.1 requires it
            return
        text = host.decode("latin-1").lower()
        name_only = text if text.endswith("]") or ":" not in text else text.rpartition(":")[0]
        if name_only not in self._names:
            detail = (
                f"The request is addressed to {text!r}, which is not this service; call it as localhost, add the name "
                "to hosts in the settings, or configure keys."
            )
            raise HttpProblem("misdirected", detail, [Fault(header="Host", detail=detail)])
        if len(self._seen) < 100:
            self._seen.add(host)


def _proxied(sign: str, faults: list[Fault]) -> HttpProblem:
    """The problem of a request that a proxy seems to have sent, of which an old HTTP version is a sign."""
    detail = f"The request {sign}, as those of a proxy, which needs keys: without them, everybody could use it."
    return HttpProblem("misdirected", f"{detail} Configure keys, or call the service directly.", faults)
