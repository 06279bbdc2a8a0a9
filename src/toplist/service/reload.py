"""Reads the settings of a running service again: keys, certificates and rate limits change without a restart."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Sequence
from functools import reduce

from toplist.core.problem import InvalidInput
from toplist.service.api_keys import key_changes
from toplist.service.http.addresses import TrustedProxies
from toplist.service.http.app import App
from toplist.service.http.logs import Log
from toplist.service.http.server import Server
from toplist.service.http.tls import load_tls
from toplist.service.settings import Settings, setting_fields

RELOADED = (  # others need a restart
    "keys", "hosts", "proxies", "logs.requests", "limits.rate", "limits.burst", "limits.stranger_rate",
    "limits.stranger_burst", "tls.certificate", "tls.key", "browser.secrets", "browser.origins", "browser.rate",
    "browser.burst", "browser.impression_rate", "browser.impression_burst",
)  # fmt: skip


class Reload:
    """Applies the settings of a running service anew; called on SIGHUP.

    Everything is read and checked before anything changes, and changes in one step between two requests. Requests that
    were admitted before are answered as before, and open connections keep their certificate.

    Parameters
    ----------
    settings : Settings
        The settings at the start.
    read : callable
        Reads them again; raises `InvalidInput` if they are faulty.
    log : Log
        Gets a line about every attempt, without secrets.
    apps : sequence of App
        The applications that admit requests.
    server : Server
        The server that speaks TLS, if the settings say so.
    """

    def __init__(
        self, settings: Settings, read: Callable[[], Settings], log: Log, apps: Sequence[App], server: Server
    ) -> None:
        self._started = self._settings = settings
        self._read, self._log, self._apps, self._server = read, log, apps, server

    def __call__(self) -> None:
        """Read the settings again, and apply those that can change; if one is faulty, none changes."""
        try:
            new = self._read()
            tls = self._check(new)
        except InvalidInput as error:
            self._log.event("reload refused", detail=str(error))
            return
        except Exception as error:  # the service goes on, whatever is wrong
            self._log.failure("reload refused", error)
            return
        before, self._settings = self._settings, new
        for app in self._apps:
            app.reload(new)
        self._server.tls = tls
        self._server.counts.proxies = TrustedProxies(new.proxies)
        self._log.log_requests(new.logs.requests)
        changed = [name for name in _differences(before, new) if name in RELOADED]
        need_restart = [name for name in _differences(self._started, new) if name not in RELOADED]
        keys = key_changes(before.keys, new.keys)
        self._log.event("reloaded", keys=keys, changed=changed, need_restart=need_restart)

    def _check(self, new: Settings) -> ssl.SSLContext | None:
        """The context of TLS; refuses what would open the service wider than its listener was made for."""
        if self._settings.keys and not new.keys:  # perhaps the file is being written
            raise InvalidInput("The settings have no keys any more; restart the service if it shall need none.")
        if bool(self._settings.tls.certificate) != bool(new.tls.certificate):
            raise InvalidInput("TLS cannot be turned on or off while the service runs; restart it.")
        return load_tls(new.tls, self._log)


def _differences(before: Settings, after: Settings) -> list[str]:
    """The names of settings that differ."""
    return [
        setting.name
        for setting in setting_fields()
        if reduce(getattr, setting.path, before) != reduce(getattr, setting.path, after)
    ]
