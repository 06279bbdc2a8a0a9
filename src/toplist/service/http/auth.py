"""API keys: who calls, and whether they may; only hashes of keys are kept."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Iterable, Sequence

from toplist.service.config import KeySetting, Scope
from toplist.service.http.problems import Fault, Problem

PREFIX = "toplist_"  # so that a key in the wrong place is found by those who look for secrets
_BEARER = b"bearer "


def new_key() -> str:
    """A key that nobody can guess: 32 random bytes."""
    return PREFIX + secrets.token_urlsafe(32)


def hashed(key: str) -> str:
    """How a key is kept. It is as random as its hash, so that salt and slowness would add nothing.

    >>> hashed("toplist_key")[:12]
    '25f7db21e6d4'
    """
    return hashlib.sha256(key.encode()).hexdigest()


def setting(key: str, name: str, scope: Scope) -> str:
    """The lines for the file of settings."""
    return f'[[keys]]\nname = "{name}"\nscope = "{scope}"\nsha256 = "{hashed(key)}"\n'


class Keys:
    """Those who may call. Where nobody is named, everybody may: then the service listens on loopback only."""

    def __init__(self, known: Sequence[KeySetting] = ()) -> None:
        self._known = [(bytes.fromhex(key.sha256), key) for key in known]

    def __bool__(self) -> bool:
        return bool(self._known)

    def caller(self, authorization: bytes | None) -> KeySetting | None:
        """Whose key it is. Every key is compared, in constant time, so that time tells nothing."""
        if authorization is None or authorization[:7].lower() != _BEARER:
            return None
        given = hashlib.sha256(authorization[7:].strip()).digest()
        found = None
        for digest, key in self._known:
            if hmac.compare_digest(digest, given):
                found = key
        return found

    def admit(self, authorization: bytes | None, scope: Scope) -> KeySetting:
        """Whose key it is, or the problem why it does not do."""
        caller = self.caller(authorization)
        if caller is None:
            detail = "An API key is needed: Authorization: Bearer ..."
            if authorization is not None:
                detail = "The Authorization header has no API key that is known here."
            fault = Fault(header="Authorization", detail=detail)
            raise Problem("unauthorized", detail, [fault], {"www-authenticate": 'Bearer realm="toplist"'})
        if scope == "admin" and caller.scope != "admin":
            detail = f"The key {caller.name!r} has the scope serve, but this needs admin."
            raise Problem(
                "forbidden",
                detail,
                headers={"www-authenticate": 'Bearer error="insufficient_scope", scope="admin"'},
            )
        return caller


LOOPBACK = ("localhost", "127.0.0.1", "[::1]", "::1")


class Hosts:
    """The names under which one may call without a key.

    Without keys, loopback is the only fence, and a page from elsewhere could climb it by a name of its own that it lets
    point to 127.0.0.1 (DNS rebinding). Its requests give it away: they are addressed to that name.
    """

    def __init__(self, more: Iterable[str] = ()) -> None:
        self._names = {name.lower() for name in (*LOOPBACK, *more)}
        self._seen: set[bytes] = set()  # headers that were found good, as most are the same

    def admit(self, header: bytes | None) -> None:
        """The problem of a request that is addressed to somebody else."""
        if header is None or header in self._seen:  # HTTP/1.1 requires one; who leaves it out is no browser
            return
        text = header.decode("latin-1").lower()
        name = text if text.endswith("]") or ":" not in text else text.rpartition(":")[0]
        if name not in self._names:
            detail = (
                f"The request is addressed to {text!r}, which is not this service; call it as localhost, name it under "
                "hosts in the settings, or configure keys."
            )
            raise Problem("misdirected", detail, [Fault(header="Host", detail=detail)])
        if len(self._seen) < 100:
            self._seen.add(header)
