"""`toplist worlds`: lists the accepted values of --world, --users and --start."""

from __future__ import annotations

import json
import textwrap
from argparse import Namespace
from typing import Any

from toplist.cli.catalogue_text import entry_facts, signature, text_width
from toplist.cli.exit_codes import Exit
from toplist.cli.parser import add_command


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = add_command(commands, "worlds", run, "list all worlds, click models and starts for simulations")
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")


def run(arguments: Namespace) -> int:
    """Print the three catalogues."""
    from toplist.support.catalogue import STARTS, USERS, WORLDS

    found = {"world": WORLDS.entries(), "users": USERS.entries(), "start": STARTS.entries()}
    if arguments.json:
        print(
            json.dumps({what: [entry_facts(one) for one in named.values()] for what, named in found.items()}, indent=1)
        )
    else:
        for what, named in found.items():
            print(f"--{what}")
            for entry in named.values():
                print(f"  {signature(entry)}")
                print(textwrap.fill(entry.summary, text_width(), initial_indent=" " * 6, subsequent_indent=" " * 6))
    return Exit.FINE
