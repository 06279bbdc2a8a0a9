"""`toplist demo`: the service at work, with an example ranking and simulated visitors."""

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

Twelve articles, four places, and visitors drawn from a click model, who come
over HTTP. The terminal and the page at the address it prints show how the
click-through rises towards what the best list would have. What was learned is
kept in the folder; a later start goes on from there.
"""


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = add_command(commands, "demo", run, "watch the service learn from simulated visitors", EXAMPLES)
    parser.add_argument(
        "--folder", default="out/demo", metavar="FOLDER", help="where everything is kept (default: %(default)s)"
    )
    parser.add_argument(
        "--port", default="8600", metavar="PORT", help="of the service; 0: any that is free (default: %(default)s)"
    )
    parser.add_argument(
        "--rate", type=float, default=40.0, metavar="N", help="visitors per second, at most (default: %(default)s)"
    )
    parser.add_argument("--seconds", type=float, metavar="N", help="how long; without it, until Ctrl-C")


def run(arguments: Namespace) -> int:
    """Serve, and send visitors."""
    from toplist.core.problem import refuse
    from toplist.support.files import import_optional

    check_installed()
    import_optional("httpx", "client")
    for flag in ("rate", "seconds"):
        given = getattr(arguments, flag)
        if given is not None and not 0.0 < given < float("inf"):
            raise refuse(f"--{flag}", given, "a number above 0", "or leave it out")
    from toplist.service import demo

    demo.run(Path(arguments.folder), arguments.port, arguments.rate, arguments.seconds)
    return Exit.FINE
