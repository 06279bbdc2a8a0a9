"""`toplist train`: lets a policy learn from the lists of a click log that another system made."""

from __future__ import annotations

import sys
from argparse import Namespace
from typing import Any

from toplist.cli.exit_codes import Exit
from toplist.cli.log import add_reading, reading_options
from toplist.cli.parser import add_command, whole_number
from toplist.core.defaults import DEFAULT_POLICY

NAMED = 5  # files that are named

EXAMPLES = """examples:
  toplist train log.parquet --policy dcm-ts --out rankers      one ranker per query
  toplist train log.parquet --query shoes --positions 5 --out rankers
  toplist train log.parquet --together --out rankers           one for all queries
  toplist train log.parquet --policy cascade-lin-ts --features items.csv --out rankers

Each ranker is a file that Ranker.load continues from, and that a service takes
over in one request. Ctrl-C keeps the work so far: the same command goes on.
"""


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = add_command(
        commands, "train", run, "let a policy learn from logged lists that another system made", EXAMPLES
    )
    add_reading(parser)
    parser.add_argument(
        "--policy", default=DEFAULT_POLICY, metavar="POLICY",
        help="policy, with or without parameters, as 'cascade-ucb1(scale=2)', or one of your own, as mine.py:Mine; one "
        "that learns only from lists of its own is refused (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--positions", type=whole_number, metavar="K",
        help="length of the rankers' lists; longer lists of the log are cut there (default: that of the longest list)",
    )  # fmt: skip
    parser.add_argument("--query", metavar="NAME", help="train one ranker, for this query (default: one per query)")
    parser.add_argument("--together", action="store_true", help="train one ranker on the lists of all queries")
    parser.add_argument(
        "--features", metavar="FILE",
        help="features of items, for policies that learn from them: CSV with a header, whose first column is the item, "
        "or a JSON object from items to rows of numbers",
    )  # fmt: skip
    parser.add_argument(
        "--min-lists", type=whole_number, default=1, metavar="N",
        help="queries with fewer lists get no ranker (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--steps", type=whole_number, metavar="N", help="expected number of lists, for policies that need it"
    )
    parser.add_argument(
        "--prior-mean", type=float, default=0.5, metavar="RATE",
        help="click-through rate that is assumed of an item, with --prior-strength (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--prior-strength", type=float, default=0.0, metavar="N",
        help="number of times that an item counts as examined already (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--seed", type=whole_number, default=0, metavar="N", help="seed of the rankers' lists (default: %(default)s)"
    )
    group = parser.add_argument_group("output")
    group.add_argument(
        "--out", dest="results", required=True, metavar="FOLDER",
        help="folder of the rankers, one file each, and rankers.jsonl, which names them by query",
    )  # fmt: skip
    group.add_argument("--quiet", action="store_true", help="print errors only, no table and no progress")


def run(arguments: Namespace) -> int:
    """Train, and say what was learned."""
    import os

    from toplist.cli.part_arguments import find_policy, is_own
    from toplist.core.problem import refuse
    from toplist.logs.arrow import arrow
    from toplist.support.progress_bar import ShareBar
    from toplist.training import train
    from toplist.training.feature_file import read_features

    if not os.path.exists(arguments.log):
        raise refuse("The log", arguments.log, "a file or a folder that exists", "see that the path is right")
    entry, parameters = find_policy(arguments.policy)
    policy = entry.make(**parameters) if is_own(arguments.policy) else arguments.policy
    features = None if arguments.features is None else read_features(arguments.features)
    arrow.lib.enable_signal_handlers(False)  # those of Arrow end the process
    with ShareBar(sys.stderr, not arguments.quiet) as bar:
        found = train(
            arguments.log, policy, positions=arguments.positions, query=arguments.query, together=arguments.together,
            features=features, min_lists=arguments.min_lists, steps=arguments.steps, prior_mean=arguments.prior_mean,
            prior_strength=arguments.prior_strength, seed=arguments.seed,
            reading=reading_options(arguments) | {"progress": bar}, folder=arguments.results, progress=bar,
        )  # fmt: skip
    if not arguments.quiet:
        names = [path.name for path in found.files.values()]
        more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
        print(f"{found}\nkept in {arguments.results}: {', '.join(names[:NAMED])}{more}")
    return Exit.FINE
