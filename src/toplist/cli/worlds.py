"""`toplist worlds`: lists the accepted values of --world, --users and --start, or describes one."""

from __future__ import annotations

import inspect
import json
import textwrap
from argparse import Namespace
from typing import Any

from toplist.cli.catalogue_text import described, entry_facts, signature, text_width
from toplist.cli.exit_codes import Exit
from toplist.cli.parser import add_command


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = add_command(
        commands, "worlds", run, "list all worlds, click models and starts for simulations, or describe one"
    )
    parser.add_argument(
        "name", nargs="?", metavar="NAME",
        help="world, click model or start to describe in full, as fixed, also your own, as mine.py:NAME",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")


def run(arguments: Namespace) -> int:
    """Print the three catalogues, or one entry of them."""
    from toplist.cli.part_arguments import find_in_any
    from toplist.support.catalogue import REQUIRED, STARTS, USERS, WORLDS

    if arguments.name is not None:
        entry, given = find_in_any((WORLDS, USERS, STARTS), arguments.name)
        entry.check_known(given)
        facts = entry_facts(entry) | {
            "parameters": entry.parameters | given,
            "documentation": inspect.getdoc(entry.build) or "",
        }
        if arguments.json:
            facts["parameters"] = {name: value for name, value in facts["parameters"].items() if value is not REQUIRED}
            print(json.dumps(facts, indent=1, default=repr))
        else:
            print("\n\n".join(described(facts)))
        return Exit.FINE
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
