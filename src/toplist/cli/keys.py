"""`toplist keys`: creates API keys for the service."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from toplist.cli.exit_codes import Exit
from toplist.cli.parser import add_command

EXAMPLES = """examples:
  toplist keys new --scope serve --name shop-window

The key is printed once and stored nowhere. The settings hold only its hash, so
reading them does not give access.
"""


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = add_command(commands, "keys", run, "create an API key for the service", EXAMPLES)
    parser.add_argument("action", choices=["new"], help="new: create a key")
    parser.add_argument(
        "--scope", choices=["serve", "admin"], required=True,
        help="permissions of the key: serve may request lists, report clicks and read; admin may do everything",
    )  # fmt: skip
    parser.add_argument("--name", default="key-1", help="name of the key in the log (default: key-1)")


def run(arguments: Namespace) -> int:
    """Print a new key, and the lines for the settings."""
    from toplist.core.problem import refuse
    from toplist.support.files import import_optional

    msgspec = import_optional("msgspec", "serve")
    from toplist.service.config import FILE, PREFIX, ApiKeySetting
    from toplist.service.http.auth import hash_api_key, new_api_key, settings_lines

    api_key = new_api_key()
    try:
        stored = {"name": arguments.name, "scope": arguments.scope, "sha256": hash_api_key(api_key)}
        msgspec.convert(stored, ApiKeySetting)
    except msgspec.ValidationError:
        accepted = "1 to 50 letters, digits, dots, dashes and underscores"
        raise refuse("--name", arguments.name, accepted, "choose another one") from None
    print(f"The key, which is shown only once:\n\n{api_key}\n")
    print(f"Set it in the environment:\n\n{PREFIX}KEYS={':'.join(stored.values())}\n\nor add to {FILE}:\n")
    print(settings_lines(api_key, arguments.name, arguments.scope), end="")
    return Exit.FINE
