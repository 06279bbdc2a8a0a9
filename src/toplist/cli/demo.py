"""`toplist demo`: runs the service with an example ranking and simulated visitors."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Any

from toplist.cli.exit_codes import Exit
from toplist.cli.parser import add_command
from toplist.cli.serve import check_installed

EXAMPLES = """examples:
  toplist demo
  toplist demo --rate 200 --port 0 --folder /tmp/demo

Forty articles, four positions, and visitors simulated by a click model, over
HTTP. One of the two printed pages is an example of a news site: what you click
there is learned, too. The other one, and the terminal, show how the click-through
rate approaches that of the best list. The learned state is kept in the folder,
and the next start continues from it.
"""


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = add_command(commands, "demo", run, "run the service with simulated visitors, and watch it learn", EXAMPLES)
    parser.add_argument(
        "--folder", default="out/demo", metavar="FOLDER", help="folder of the store (default: %(default)s)"
    )
    parser.add_argument(
        "--port",
        type=int,
        default=8600,
        metavar="PORT",
        help="port of the service, or the next free one; 0 takes any (default: %(default)s)",
    )
    parser.add_argument(
        "--rate", type=float, default=20.0, metavar="N", help="visitors per second at most (default: %(default)s)"
    )
    parser.add_argument("--seconds", type=float, metavar="N", help="seconds to run (default: until Ctrl-C)")


def run(arguments: Namespace) -> int:
    """Start the service and the simulated visitors."""
    from toplist.core.problem import refuse
    from toplist.support.files import import_optional

    check_installed()
    import_optional("httpx", "client")
    for flag in ("rate", "seconds"):
        given = getattr(arguments, flag)
        if given is not None and not 0.0 < given < float("inf"):
            raise refuse(f"--{flag}", given, "a number above 0", "or leave it out")
    if not 0 <= arguments.port <= 65_535:
        raise refuse("--port", arguments.port, "between 0 and 65535", "or leave it out")
    from toplist.service import demo

    demo.run(Path(arguments.folder), arguments.port, arguments.rate, arguments.seconds)
    return Exit.FINE
