"""`toplist serve`: ranks a live page from its own clicks."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from toplist.cli.exit_codes import Exit
from toplist.cli.parser import add_command

EXAMPLES = """examples:
  toplist serve
  toplist serve --store shop.db --port 9000 --set logs.requests=failed
  TOPLIST_LIMITS_RATE=100 toplist serve --config /etc/toplist.toml

Without any setting it keeps everything in toplist.db of the current folder, and
listens on http://127.0.0.1:8600, for this machine alone. Ctrl-C, or SIGTERM,
ends it: requests in flight get their replies first.
"""


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = add_command(commands, "serve", run, "serve lists over HTTP, and learn from the clicks on them", EXAMPLES)
    parser.add_argument(
        "--config", metavar="FILE", help="the file of settings (default: toplist.toml, where there is one)"
    )
    parser.add_argument("--store", metavar="FILE", help="the file of the store (default: toplist.db)")
    parser.add_argument("--host", metavar="ADDRESS", help="the address to listen on (default: 127.0.0.1)")
    parser.add_argument("--port", metavar="PORT", help="the port to listen on; 0: any that is free (default: 8600)")
    add_set(parser)


def add_set(parser: Any) -> None:
    """Any setting, as a flag."""
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE",
        help="any setting, as limits.rate=100; may be repeated (see the page about the service)",
    )  # fmt: skip


def run(arguments: Namespace) -> int:
    """Serve until a signal ends it."""
    settings = settings_of(arguments)
    from toplist.service.run import serve

    serve(settings, on_ready=lambda address: print(f"toplist serves {settings.store} at {address}", flush=True))
    return Exit.FINE


def check_installed() -> None:
    """Refuse to begin without what the service needs."""
    from toplist.support.files import import_optional

    for module in ("apsw", "msgspec", "prometheus_client", "uvicorn", "httptools", "uvloop"):
        import_optional(module, "serve")


def settings_of(arguments: Namespace) -> Any:
    """The settings, with the flags that were given over all others."""
    from toplist.core.problem import refuse

    check_installed()
    from toplist.service.config import read_settings

    flags: dict[str, str] = {}
    for text in arguments.set:
        name, equals, value = text.partition("=")
        if not equals:
            raise refuse("--set", text, "NAME=VALUE", "write it like limits.rate=100")
        flags[name.strip()] = value.strip()
    named = {name: getattr(arguments, name, None) for name in ("store", "host", "port")}
    flags |= {name: value for name, value in named.items() if value is not None}
    return read_settings(arguments.config, flags=flags)
