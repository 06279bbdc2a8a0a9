"""`toplist advise`: says which policy to use on the page of a click log, and what it would earn."""

from __future__ import annotations

import shlex
import sys
from argparse import Namespace
from typing import TYPE_CHECKING, Any

from toplist.cli.common_flags import STDOUT
from toplist.cli.exit_codes import Exit, print_message
from toplist.cli.log import add_reading, reading_options
from toplist.cli.parser import add_command, whole_number
from toplist.support.progress_bar import FitProgressBar

if TYPE_CHECKING:
    from toplist.advice import Advice, AdviceProgress

EXAMPLES = """examples:
  toplist advise log.parquet --positions 10
  toplist advise log.parquet --positions 10 --html advice.html --ready ready.json
  toplist advise log.parquet --positions 5 --lists 1e6 --trust 0.5 --out advice
  toplist advise log.parquet --positions 5 --policies dcm-ts,cascade-ts --features items.csv

The answer is to switch, to stay, or that the log cannot tell. With --out, the
fits that weigh the click models are kept, and what policies have earned on them:
after an interruption the same command does not repeat these.
"""


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = add_command(
        commands, "advise", run, "say which policy to use on the page of a click log, and what it would earn", EXAMPLES
    )
    add_reading(parser)
    parser.add_argument(
        "--positions", type=whole_number, required=True, metavar="K", help="number of positions of the page"
    )
    parser.add_argument(
        "--lists", type=whole_number, metavar="N",
        help="horizon: number of lists that the policy will show (default: as many as the log has)",
    )  # fmt: skip
    parser.add_argument(
        "--policies", type=policy_names, metavar="NAMES",
        help="policies to play, separated by commas outside of brackets (default: those that fit the situation)",
    )  # fmt: skip
    parser.add_argument(
        "--features", metavar="FILE",
        help="features of items, for policies that learn from them: CSV with a header, whose first column is the item, "
        "or a JSON object from items to rows of numbers",
    )  # fmt: skip
    parser.add_argument(
        "--trust", type=float, default=1.0, metavar="SHARE",
        help="how much a policy trusts the fit at its start, from 0, cold, to 1 (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--queries", type=whole_number, default=20, metavar="N",
        help="queries to play, drawn by their traffic (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--draws", type=whole_number, default=20, metavar="N",
        help="draws from the uncertainty of the fits (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--refits", action="store_true",
        help="draw by refitting to resampled lists or visitors: slow, and right for a wrong model too",
    )  # fmt: skip
    parser.add_argument(
        "--seed", type=whole_number, default=0, metavar="N", help="seed of all random numbers (default: %(default)s)"
    )
    parser.add_argument("--threads", type=whole_number, metavar="N", help="number of threads (default: one per core)")
    group = parser.add_argument_group("output (paths are checked before the log is read)")
    group.add_argument("--out", dest="results", metavar="FOLDER", help="keep fits and plays in this folder")
    group.add_argument("--ready", metavar="FILE", help="write the ready ranking: settings, items and priors, as JSON")
    group.add_argument("--html", metavar="FILE", help="write everything to one HTML page with pictures")
    group.add_argument("--json", metavar="FILE", help="write all figures as JSON; - prints them instead of the text")
    group.add_argument("--quiet", action="store_true", help="print errors only, no text and no progress")


def run(arguments: Namespace) -> int:
    """Advise, and print and write the answer."""
    check_flags(arguments)
    from toplist.advice import advise
    from toplist.logs.arrow import arrow
    from toplist.training.feature_file import read_features

    arrow.lib.enable_signal_handlers(False)  # those of Arrow end the process
    with FitProgressBar(sys.stderr, shown=not arguments.quiet) as bar:

        def show(now: AdviceProgress) -> None:
            bar.draw(now.stage, now.done, now.total, now.iteration, now.per_list)

        found = advise(
            arguments.log, arguments.positions, lists=arguments.lists, policies=arguments.policies,
            features=None if arguments.features is None else read_features(arguments.features), trust=arguments.trust,
            queries=arguments.queries, draws=arguments.draws, refits=arguments.refits, seed=arguments.seed,
            threads=arguments.threads, reading=reading_options(arguments) | {"progress": bar},
            folder=arguments.results, progress=show,
        )  # fmt: skip
    write_outputs(arguments, found)
    return Exit.FINE


def check_flags(arguments: Namespace) -> None:
    """Refuse, before the log is read, what cannot be used, written or drawn."""
    import os

    from toplist.core.problem import refuse
    from toplist.support.files import check_writable, import_optional

    for what, path in (("The log", arguments.log), ("The file of features", arguments.features)):
        if path is not None and not os.path.exists(path):
            raise refuse(what, path, "a file or a folder that exists", "see that the path is right")
    for what, path in (("The json file", arguments.json), ("The ready ranking", arguments.ready)):
        if path not in (None, STDOUT):
            check_writable(path, what)
    if arguments.html is not None:
        check_writable(arguments.html, "The page", (".html", ".htm"))
        import_optional("jinja2", "report")
        import_optional("matplotlib.figure", "plots")


def write_outputs(arguments: Namespace, found: Advice) -> None:
    """Print the answer, and write the files."""
    if arguments.json == STDOUT:
        sys.stdout.write(found.json_text())
    elif not arguments.quiet:
        print(f"{found.log}\n\n{found}")
        if arguments.ready is not None:
            print(f"Start: {found.command(arguments.ready)}")
        else:
            print("Start: add --ready ready.json to write the settings, items and priors of the best policy.")
    sys.stdout.flush()
    written = []
    if arguments.json not in (None, STDOUT):
        found.to_json(arguments.json)
        written.append(arguments.json)
    if arguments.ready is not None:
        found.ready.save(arguments.ready)
        written.append(arguments.ready)
    if arguments.html is not None:
        found.to_html(arguments.html, command_text(arguments))
        written.append(arguments.html)
    if written and not arguments.quiet:
        print_message(f"wrote {' and '.join(written)}")


def command_text(arguments: Namespace) -> str:
    """The command that gives the same advice, without flags that have their defaults."""
    words = ["toplist", "advise", arguments.log, "--positions", str(arguments.positions)]
    for flag, value, default in (
        ("--lists", arguments.lists, None),
        ("--policies", ",".join(arguments.policies or ()), ""),
        ("--features", arguments.features, None),
        ("--trust", arguments.trust, 1.0),
        ("--queries", arguments.queries, 20),
        ("--draws", arguments.draws, 20),
        ("--seed", arguments.seed, 0),
        ("--layout", arguments.layout, None),
        ("--columns", ",".join(f"{role}={name}" for role, name in arguments.columns.items()), ""),
        ("--ranking", arguments.ranking, None),
        ("--out", arguments.results, None),
        ("--ready", arguments.ready, None),
        ("--html", arguments.html, None),
    ):
        words += [flag, str(value)] if value != default else []
    flags = {"--refits": arguments.refits, "--strict": arguments.strict}
    return shlex.join(words + [flag for flag, is_given in flags.items() if is_given])


def policy_names(text: str) -> list[str]:
    """Names of policies, separated by commas that are not inside of brackets.

    >>> policy_names("dcm-ts, pbm-ts(examination=[1, 0.5])")
    ['dcm-ts', 'pbm-ts(examination=[1, 0.5])']
    """
    found, depth, name = [], 0, ""
    for letter in text:
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and depth == 0:
            found.append(name)
            name = ""
        else:
            name += letter
    return [each.strip() for each in [*found, name] if each.strip()]
