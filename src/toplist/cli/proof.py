"""`toplist proof`: plays the loop from a log to a deployed policy on known visitors, and compares with the truth."""

from __future__ import annotations

import shlex
import sys
from argparse import Namespace
from typing import TYPE_CHECKING, Any

from toplist.cli.exit_codes import Exit, print_message
from toplist.cli.parser import add_command, whole_number
from toplist.support.progress_bar import FitProgressBar

if TYPE_CHECKING:
    from toplist.advice import AdviceProgress

EXAMPLES = """examples:
  toplist proof
  toplist proof --users pbm --html proof.html
  toplist proof --users dbn --items 30 --positions 10 --lists 1e5 --seed 3

Simulated visitors see lists of an old ranking. Their log gives an advice, the
advised policy is deployed with propensities, and its own log an estimate of what
it earns. The visitors are known, and so is the truth: the page shows both.
"""


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = add_command(
        commands, "proof", run, "play the loop from a log to a deployed policy on known visitors", EXAMPLES
    )
    parser.add_argument(
        "--users", default="dcm", metavar="NAME",
        help="click model of the visitors: cascade, dcm, sdbn, dbn, ccm, pbm or ubm (default: %(default)s)",
    )  # fmt: skip
    for flag, default, text in (
        ("--queries", 4, "queries"), ("--items", 12, "items of a query"), ("--positions", 4, "positions of the page"),
        ("--lists", 20_000, "lists in the log of the old ranking, and horizon of the advice"),
        ("--live", 4_000, "lists that the deployed policy shows"), ("--draws", 20, "draws of the advice"),
        ("--runs", 20, "runs of each policy on the known visitors"), ("--seed", 0, "seed of everything"),
    ):  # fmt: skip
        parser.add_argument(
            flag, type=whole_number, default=default, metavar="N", help=f"{text} (default: %(default)s)"
        )
    parser.add_argument(
        "--share", type=float, default=0.2, metavar="SHARE",
        help="share of lists at which the deployed policy explores (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument("--threads", type=whole_number, metavar="N", help="number of threads (default: one per core)")
    group = parser.add_argument_group("output (paths are checked before the work starts)")
    group.add_argument("--html", metavar="FILE", help="write everything to one HTML page with pictures")
    group.add_argument("--json", metavar="FILE", help="write all figures as JSON")
    group.add_argument("--quiet", action="store_true", help="print errors only, no text and no progress")


def run(arguments: Namespace) -> int:
    """Prove, and print and write the result."""
    from toplist.support.files import check_writable, import_optional

    if arguments.json is not None:
        check_writable(arguments.json, "The json file")
    if arguments.html is not None:
        check_writable(arguments.html, "The page", (".html", ".htm"))
        import_optional("jinja2", "report")
        import_optional("matplotlib.figure", "plots")
    from toplist.advice.proof import prove

    with FitProgressBar(sys.stderr, shown=not arguments.quiet) as bar:

        def show(now: AdviceProgress) -> None:
            bar.draw(now.stage, now.done, now.total, now.iteration, now.per_list)

        found = prove(
            arguments.users, queries=arguments.queries, items=arguments.items, positions=arguments.positions,
            lists=arguments.lists, live=arguments.live, share=arguments.share, draws=arguments.draws,
            runs=arguments.runs, seed=arguments.seed, threads=arguments.threads, progress=show,
        )  # fmt: skip
    if not arguments.quiet:
        print(found)
    sys.stdout.flush()
    written = []
    if arguments.json is not None:
        found.to_json(arguments.json)
        written.append(arguments.json)
    if arguments.html is not None:
        found.to_html(arguments.html, command_text(arguments))
        written.append(arguments.html)
    if written and not arguments.quiet:
        print_message(f"wrote {' and '.join(written)}")
    return Exit.FINE


def command_text(arguments: Namespace) -> str:
    """The command, without flags that have their defaults."""
    words = ["toplist", "proof"]
    for flag, value, default in (
        ("--users", arguments.users, "dcm"), ("--queries", arguments.queries, 4), ("--items", arguments.items, 12),
        ("--positions", arguments.positions, 4), ("--lists", arguments.lists, 20_000),
        ("--live", arguments.live, 4_000),
        ("--draws", arguments.draws, 20), ("--runs", arguments.runs, 20), ("--seed", arguments.seed, 0),
        ("--share", arguments.share, 0.2), ("--html", arguments.html, None),
    ):  # fmt: skip
        words += [flag, str(value)] if value != default else []
    return shlex.join(words)
