"""`toplist log`: describes a click log."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentTypeError, Namespace
from typing import Any

from toplist.cli.common_flags import STDOUT
from toplist.cli.exit_codes import Exit, print_message
from toplist.cli.parser import Parser, add_command
from toplist.support.progress import Progress

EXAMPLES = """examples:
  toplist log show log.parquet --plot clicks.png
  toplist log show parts/ --columns query=q,items=shown,clicked=clicks
  toplist log show yandex.tsv.gz --strict
  toplist log show events.parquet --ranking front-page --json -

A log is a file or a folder of files: Parquet, CSV, TSV or JSON lines, also
compressed; one row per list, or one row per item shown; the logs that Yandex
published; or the event log that toplist store export wrote.
"""


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = add_command(commands, "log", run, "describe a click log", EXAMPLES)
    parser.add_argument(
        "action", choices=["show"],
        help="show: print lists, queries, items, click-through by position with intervals, days, what looks wrong, and "
        "which lines were skipped and why",
    )  # fmt: skip
    add_reading(parser)
    group = parser.add_argument_group("output (paths are checked before the log is read)")
    group.add_argument(
        "--plot", metavar="FILE", help="draw click-through by position with intervals to a .png, .svg or .pdf file"
    )
    group.add_argument("--json", metavar="FILE", help="write everything as JSON; - prints it instead of the text")
    group.add_argument("--quiet", action="store_true", help="print errors only, no description and no progress")


def add_reading(parser: Parser) -> None:
    """Add the log and the flags of reading it."""
    parser.add_argument("log", metavar="LOG", help="file, or folder of files")
    parser.add_argument(
        "--layout", metavar="NAME",
        help="lists, rows, yandex-relevance, yandex-personalized, open-bandit, open-bandit-slate or service (default: "
        "recognised by the content)",
    )  # fmt: skip
    parser.add_argument(
        "--columns", type=named_columns, default={}, metavar="ROLE=NAME,...",
        help="names of columns by role, as query=q,items=shown; roles are query, items, clicked, list, position, item, "
        "click, time, visitor, propensity, marginal, target_propensity, target_marginal, seen, left and weight",
    )  # fmt: skip
    parser.add_argument("--ranking", metavar="NAME", help="ranking to read from the event log of a service")
    parser.add_argument("--strict", action="store_true", help="stop at the first line that cannot be used")


def reading_options(arguments: Namespace) -> dict[str, Any]:
    """The options of `read_log` and `scan_log` that the flags name."""
    return {name: getattr(arguments, name) for name in ("layout", "columns", "ranking", "strict")}


def named_columns(text: str) -> dict[str, str]:
    """Columns by role.

    >>> named_columns("query=q,items=shown")
    {'query': 'q', 'items': 'shown'}
    """
    pairs = [each.partition("=") for each in text.split(",")]
    if not all(role and name for role, _, name in pairs):
        raise ArgumentTypeError(f"{text!r} is not a list of roles with names, as query=q,items=shown")
    return {role: name for role, _, name in pairs}


def run(arguments: Namespace) -> int:
    """Read the log and describe it."""
    from toplist.core.problem import InvalidInput
    from toplist.logs import describe, scan_log
    from toplist.logs.arrow import arrow
    from toplist.support.files import check_writable, write_text
    from toplist.support.interrupts import delayed_interrupt
    from toplist.support.plots import check_plot
    from toplist.support.progress_bar import ShareBar

    if arguments.plot is not None:
        check_plot(arguments.plot)
    if arguments.json not in (None, STDOUT):
        check_writable(arguments.json, "The json file")
    if arguments.json is not None and arguments.json == arguments.plot:
        raise InvalidInput(f"--json and --plot both name {arguments.plot!r}, but each needs its own file; change one.")
    arrow.lib.enable_signal_handlers(False)  # those of Arrow end the process
    with delayed_interrupt() as check, ShareBar(sys.stderr, not arguments.quiet) as bar:

        def report(progress: Progress) -> None:
            check()
            bar(progress)

        scan = scan_log(arguments.log, **reading_options(arguments), progress=report)
        found = describe(scan)
    text = json.dumps(found.to_dict(), indent=2) + "\n" if arguments.json is not None else ""
    if arguments.json == STDOUT:
        sys.stdout.write(text)
    elif not arguments.quiet:
        print(found)
    sys.stdout.flush()
    written = []
    if arguments.json not in (None, STDOUT):
        write_text(arguments.json, "The json file", text)
        written.append(arguments.json)
    if arguments.plot is not None:
        found.plot(arguments.plot)
        written.append(arguments.plot)
    if written and not arguments.quiet:
        print_message(f"wrote {' and '.join(written)}")
    return Exit.FINE
