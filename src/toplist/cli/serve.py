"""`toplist serve`: runs the HTTP service."""

from __future__ import annotations

import sys
from argparse import Namespace
from typing import Any

from toplist.cli.exit_codes import Exit
from toplist.cli.parser import add_command

EXAMPLES = """examples:
  toplist serve
  toplist serve --store shop.db --port 9000 --set logs.requests=failed
  TOPLIST_LIMITS_RATE=100 toplist serve --config /etc/toplist.toml
  toplist serve --policies mine.py

By default the store is toplist.db in the current folder, and the service listens
on http://127.0.0.1:8600, for this machine only. Ctrl-C or SIGTERM ends it, after
the requests in flight are answered. SIGHUP makes it read its settings again.
"""


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = add_command(commands, "serve", run, "serve ranked lists over HTTP, and learn from their clicks", EXAMPLES)
    parser.add_argument("--config", metavar="FILE", help="file of settings (default: toplist.toml, if it exists)")
    parser.add_argument("--store", metavar="FILE", help="file of the store (default: toplist.db)")
    parser.add_argument("--host", metavar="ADDRESS", help="address to listen on (default: 127.0.0.1)")
    parser.add_argument("--port", metavar="PORT", help="port to listen on; 0 takes any free one (default: 8600)")
    add_policies(parser)
    add_set(parser)


def add_policies(parser: Any) -> None:
    """Add the flag --policies, for policies of one's own."""
    parser.add_argument(
        "--policies", action="append", metavar="FILE",
        help="Python file, or name of a module, with policies of your own, marked with entry; may be repeated",
    )  # fmt: skip


def add_set(parser: Any) -> None:
    """Add the flag --set, for any setting."""
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE",
        help="any setting, as limits.rate=100; may be repeated; docs/service.md lists all",
    )  # fmt: skip


def run(arguments: Namespace) -> int:
    """Serve until a signal ends it."""
    settings = settings_of(arguments)
    from toplist.service.run import serve
    from toplist.service.store.address import shown_store

    serve(
        settings,
        on_ready=lambda address: print(f"toplist serves {shown_store(settings.store)} at {address}", flush=True),
        read_again=lambda: settings_of(arguments),
    )
    return Exit.FINE


def check_installed() -> None:
    """Refuse to start on Windows, or if a package of the service is missing."""
    from toplist.core.problem import InvalidInput
    from toplist.support.files import import_optional

    if sys.platform == "win32":
        raise InvalidInput(
            "The service needs Linux or macOS, since its event loop, uvloop, does not run on Windows; "
            "use WSL or a container."
        )
    for module in ("apsw", "msgspec", "prometheus_client", "uvicorn", "httptools", "uvloop"):
        import_optional(module, "serve")


def settings_of(arguments: Namespace) -> Any:
    """The settings of the service; flags override all other sources."""
    from toplist.core.problem import refuse

    check_installed()
    from toplist.service.read_settings import read_settings

    flags: dict[str, str | list[str]] = {}
    for text in arguments.set:
        name, equals, value = text.partition("=")
        if not equals:
            raise refuse("--set", text, "NAME=VALUE", "write it like limits.rate=100")
        flags[name.strip()] = value.strip()
    named = {name: getattr(arguments, name, None) for name in ("store", "host", "port")}
    flags |= {name: value for name, value in named.items() if value is not None}
    if getattr(arguments, "policies", None):
        flags["policies.files"] = arguments.policies
    return read_settings(arguments.config, flags=flags)
