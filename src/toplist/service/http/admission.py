"""Who may call: API keys and their rate limits, and host names and rate limits of callers without a key."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from time import time
from typing import Any

from toplist.service.api_keys import time_text
from toplist.service.http.addresses import TrustedProxies, address_group
from toplist.service.http.auth import ApiKeys, Hosts, KnownKey
from toplist.service.http.origins import Origins
from toplist.service.http.problems import HttpProblem
from toplist.service.http.rate_limit import TokenBuckets
from toplist.service.http.routing import CompiledRoute
from toplist.service.settings import Settings

LogEvent = Callable[..., None]


class Admission:
    """Admits requests by the settings; when these are read again, a new one takes its place.

    Parameters
    ----------
    settings : Settings
        Keys, hosts, proxies, origins and rate limits.
    log_event : callable
        Writes an event to the log.
    before : Admission or None, default None
        The one that it replaces, whose callers keep the tokens of unchanged rates.
    any_host : bool, default False
        Whether public routes are answered whatever host a request names.
    clock : callable, default time.time
        The time in seconds, by which keys expire.
    """

    def __init__(
        self,
        settings: Settings,
        log_event: LogEvent,
        before: Admission | None = None,
        *,
        any_host: bool = False,
        clock: Callable[[], float] = time,
    ) -> None:
        self.keys, self._hosts = ApiKeys(settings.keys, clock), Hosts(settings.hosts)
        self._proxies = TrustedProxies(settings.proxies)
        limits = settings.limits
        self._buckets = TokenBuckets(limits.rate, limits.burst)
        self._strangers = self._buckets
        if settings.keys:
            self._strangers = TokenBuckets(limits.stranger_rate, limits.stranger_burst, closes=True)
        browser = settings.browser
        self._browsers = TokenBuckets(browser.rate, browser.burst)
        self.origins = Origins(browser)
        if before is not None:
            self._buckets.take_over(before._buckets)
            self._strangers.take_over(before._strangers)
            self._browsers.take_over(before._browsers)
        self._any_host = any_host
        self._log_event = log_event
        self._expired: set[str] = set()  # hashes of expired keys that were logged

    def address_of(self, scope: Mapping[str, Any]) -> str:
        """The address of the caller; behind proxies of the settings, as they say."""
        client = scope.get("client")
        address: str = client[0] if client else ""
        if self._proxies:
            forwarded = [value for name, value in scope["headers"] if name == b"x-forwarded-for"]
            address = self._proxies.caller(address, forwarded)
        return address

    def admit(
        self, route: CompiledRoute | None, headers: Mapping[bytes, bytes], scope: Mapping[str, Any], address: str
    ) -> KnownKey | None:
        """The key of a request from an address; raises a problem if it is not admitted.

        The key is None if there are no keys, or if the route needs none; the route is None if the path is unknown.
        """
        if not self.keys:
            if self._any_host and route is not None and route.scope is None:
                return None
            self._hosts.admit(headers, scope.get("http_version", "1.1"))
        elif route is not None and route.scope is not None:
            try:
                known = self.keys.admit(headers.get(b"authorization"), route.scope)
            except HttpProblem:
                self._strangers.admit(address_group(address))  # slows down guessing keys
                raise
            self._buckets.admit(f"key {known.name}")
            return known
        if route is not None and route.for_browsers:
            self._browsers.admit(address_group(address))
        elif route is None or route.limited:
            self._strangers.admit(address_group(address))
        return None

    def refused_caller(self, authorization: bytes | None, status: int) -> str | None:
        """The name of the known key in a request that was not admitted; of an expired key, the first use is logged."""
        known = self.keys.find(authorization)
        if known is None:
            return None
        if status == 401 and known.setting.sha256 not in self._expired:
            assert known.setting.expires is not None
            self._expired.add(known.setting.sha256)
            self._log_event("key expired", key=known.name, expired=time_text(known.setting.expires))
        return known.name
