"""The command line, `toplist`: each module of this folder with an `add_parser` is a command."""

from __future__ import annotations

import importlib
import pkgutil
import sys
import traceback
import warnings
from argparse import Namespace
from collections.abc import Sequence

from toplist import __version__
from toplist.cli.exit_codes import Exit, print_message, replace_closed_streams, report_error
from toplist.cli.parser import TRACEBACK, Parser, add_traceback

__all__ = ["Exit", "main", "parser"]


def parser() -> Parser:
    """The parser of the whole command line.

    >>> parser().parse_args(["policies", "best"]).name
    'best'
    """
    top = Parser(
        prog="toplist",
        description="Learns which K of L items to show, and in which order, from clicks.",
        epilog=Exit.table(),
    )
    top.add_argument("--version", action="version", version=f"toplist {__version__}", help="print the version and exit")
    add_traceback(top)
    commands = top.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    for info in pkgutil.iter_modules(__path__):
        if not info.name.startswith("_"):
            module = importlib.import_module(f"{__name__}.{info.name}")
            if hasattr(module, "add_parser"):
                module.add_parser(commands)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return the exit code.

    >>> main(["--version"])
    toplist 0.1.0
    0
    """
    words = list(sys.argv[1:] if argv is None else argv)
    replace_closed_streams()
    arguments = Namespace()
    try:
        arguments = parser().read(words)
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *_: print_message(f"warning: {message}")
            code = arguments.run(arguments)
        sys.stdout.flush()
    except SystemExit as ended:  # argparse, after help or an error
        return ended.code if isinstance(ended.code, int) else Exit.INPUT
    except BaseException as error:
        if TRACEBACK in words:
            traceback.print_exc()
        return report_error(error, arguments)
    return int(code)
