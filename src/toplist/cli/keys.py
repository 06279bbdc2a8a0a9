"""`toplist keys`: creates API keys for the service."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from toplist.cli.exit_codes import Exit
from toplist.cli.parser import add_command

EXAMPLES = """examples:
  toplist keys new --scope serve --name shop-window
  toplist keys new --scope list+report --rankings front-page,offers --expires 2027-01-31T12:00:00Z

The key is printed once and stored nowhere. The settings hold only its hash, so
reading them does not give access. To replace a key, make another of the same name,
add it beside the old one, send SIGHUP to the service, and remove the old one later.
"""


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = add_command(commands, "keys", run, "create an API key for the service", EXAMPLES)
    parser.add_argument("action", choices=["new"], help="new: create a key")
    parser.add_argument(
        "--scope", required=True,
        help="what the key may do: list (request lists), report (report clicks), read, serve (these three) or admin "
        "(everything); several are joined by +",
    )  # fmt: skip
    parser.add_argument("--name", default="key-1", help="name of the key in the log (default: key-1)")
    parser.add_argument("--rankings", metavar="NAMES", help="rankings that it is for, by commas (default: all)")
    parser.add_argument("--expires", metavar="TIME", help="when it expires, as 2027-01-31T12:00:00Z (default: never)")


def run(arguments: Namespace) -> int:
    """Print a new key, and the lines for the settings."""
    from toplist.support.files import import_optional

    import_optional("msgspec", "serve")
    from toplist.service.api_keys import check_api_key, settings_lines, settings_text
    from toplist.service.http.auth import hash_api_key, new_api_key
    from toplist.service.read_settings import FILE
    from toplist.service.settings import PREFIX

    api_key = new_api_key()
    values: dict[str, Any] = {"name": arguments.name, "scope": arguments.scope, "sha256": hash_api_key(api_key)}
    if arguments.rankings is not None:
        values["rankings"] = [name.strip() for name in arguments.rankings.split(",")]
    if arguments.expires is not None:
        values["expires"] = arguments.expires
    key = check_api_key(values, "The new key", "change --{field}")
    print(f"The key, which is shown only once:\n\n{api_key}\n")
    print(f"Set it in the environment:\n\n{PREFIX}KEYS={settings_text(key)}\n\nor add to {FILE}:\n")
    print(settings_lines(key), end="")
    return Exit.FINE
