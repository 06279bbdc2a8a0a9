"""Addresses of callers: their groups, for which limits hold, and the caller behind a trusted proxy."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Sequence
from functools import lru_cache

_REMEMBERED = 4096  # addresses
_LONGEST = 64  # characters of an address with its port

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def read_address(text: str) -> Address | None:
    """The address in a text, without port and brackets; None if there is none.

    >>> read_address("[2001:db8::1]:80"), read_address("192.0.2.7:1234"), read_address("key shop")
    (IPv6Address('2001:db8::1'), IPv4Address('192.0.2.7'), None)
    """
    text = text.strip()
    if len(text) > _LONGEST:
        return None
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        found = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    return mapped or found


@lru_cache(_REMEMBERED)
def address_group(text: str) -> str:
    """The addresses that share one limit with this one: of IPv6 its /64, which one caller has for itself.

    >>> address_group("192.0.2.7"), address_group("2001:db8::1:2:3:4"), address_group("::ffff:192.0.2.7")
    ('192.0.2.7', '2001:db8::/64', '192.0.2.7')
    """
    found = read_address(text)
    if isinstance(found, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((found, 64), strict=False))
    return text if found is None else str(found)


class TrustedProxies:
    """Finds the caller behind proxies, by the X-Forwarded-For header that they extend.

    Only addresses that a trusted proxy has written are believed: the header is read from its end, up to the first
    address that is no trusted proxy. What stands before it was sent by that caller, who may have made it up.

    >>> TrustedProxies(["10.0.0.0/8"]).caller("10.0.0.1", [b"198.51.100.9, 192.0.2.7, 10.0.0.2"])
    '192.0.2.7'
    """

    def __init__(self, proxies: Sequence[str]) -> None:
        self._trusts_any = "*" in proxies
        self._networks = [ipaddress.ip_network(each) for each in proxies if each != "*"]
        self.trusts = lru_cache(_REMEMBERED)(self._trusts)
        self._caller = lru_cache(_REMEMBERED)(self._find_caller)

    def __bool__(self) -> bool:
        return self._trusts_any or bool(self._networks)

    def _trusts(self, text: str) -> bool:
        found = read_address(text)
        return self._trusts_any or (found is not None and any(found in network for network in self._networks))

    def caller(self, peer: str, forwarded: Iterable[bytes]) -> str:
        """The address of the caller, given that of the connection and all X-Forwarded-For headers in order."""
        if not self.trusts(peer):
            return peer
        header = b",".join(forwarded)
        # A long header is not remembered, so that strangers cannot fill the memory.
        return self._caller(peer, header) if len(header) <= _LONGEST * 2 else self._find_caller(peer, header)

    def _find_caller(self, peer: str, header: bytes) -> str:
        if not header:
            return peer
        nearest = peer
        for part in reversed(header.decode("latin-1").split(",")):
            if (found := read_address(part)) is None:
                return nearest  # not an address: whoever is nearer has sent it
            nearest = str(found)
            if self._trusts_any or not self.trusts(nearest):
                return nearest  # if any proxy is trusted, there is one: the caller of the connection
        return nearest
