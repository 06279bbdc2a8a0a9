"""Authorization: API keys, of which only hashes are stored, and host names for callers without a key."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Iterable, Mapping, Sequence

from toplist.service.config import ApiKeySetting, Scope
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


def settings_lines(api_key: str, name: str, scope: Scope) -> str:
    """The lines of an API key for the settings file."""
    return f'[[keys]]\nname = "{name}"\nscope = "{scope}"\nsha256 = "{hash_api_key(api_key)}"\n'


class ApiKeys:
    """The accepted API keys. If there are none, no key is needed and the service listens on loopback only."""

    def __init__(self, accepted: Sequence[ApiKeySetting] = ()) -> None:
        self._accepted = [(bytes.fromhex(each.sha256), each) for each in accepted]

    def __bool__(self) -> bool:
        return bool(self._accepted)

    def caller(self, authorization: bytes | None) -> ApiKeySetting | None:
        """The owner of the key in the header, or None. Compares all keys in constant time, against timing attacks."""
        if authorization is None or authorization[:7].lower() != _BEARER:
            return None
        given = hashlib.sha256(authorization[7:].strip()).digest()
        found = None
        for digest, caller in self._accepted:
            if hmac.compare_digest(digest, given):
                found = caller
        return found

    def admit(self, authorization: bytes | None, scope: Scope) -> ApiKeySetting:
        """The owner of the key in the header; raises a problem if the key is missing, unknown or lacks the scope."""
        caller = self.caller(authorization)
        if caller is None:
            detail = "An API key is needed; send Authorization: Bearer KEY."
            if authorization is not None:
                detail = "The Authorization header has no known API key; send Authorization: Bearer KEY."
            fault = Fault(header="Authorization", detail=detail)
            raise HttpProblem("unauthorized", detail, [fault], {"www-authenticate": 'Bearer realm="toplist"'})
        if scope == "admin" and caller.scope != "admin":
            detail = f"The key {caller.name!r} has the scope serve, but this needs admin."
            raise HttpProblem(
                "forbidden",
                detail,
                headers={"www-authenticate": 'Bearer error="insufficient_scope", scope="admin"'},
            )
        return caller


LOOPBACK = ("localhost", "127.0.0.1", "[::1]", "::1")


_PROXY_HEADERS = frozenset((b"via", b"forwarded", b"x-real-ip"))


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
