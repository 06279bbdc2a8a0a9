"""`toplist evaluate`: estimates from a click log what another ranking would have earned."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from typing import TYPE_CHECKING, Any

from toplist.cli.common_flags import STDOUT
from toplist.cli.exit_codes import Exit, print_message
from toplist.cli.fit import names
from toplist.cli.log import add_reading, reading_options
from toplist.cli.parser import add_command, whole_number
from toplist.support.progress import Progress

if TYPE_CHECKING:
    from toplist.evaluation import PolicyEvaluation, PositionBias

EXAMPLES = """examples:
  toplist evaluate log.parquet --policy ranker.npz
  toplist evaluate log.parquet --policy ranker.npz --estimator snips,doubly-robust --interval bootstrap
  toplist evaluate random.parquet --policy ranker.npz --learning
  toplist evaluate slates.csv --policy log            the columns of a target in the log itself
  toplist evaluate log.parquet --position-bias        how much less each position is examined

The policy is a ranker that Ranker.save has written, or a folder of toplist train
with one for each query, as it was then. What the log cannot answer is refused with
the reason, and the other estimates are printed.
"""


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = add_command(
        commands, "evaluate", run, "estimate from a click log what another ranking would have earned", EXAMPLES
    )
    add_reading(parser)
    parser.add_argument(
        "--policy", metavar="FILE",
        help="saved ranker to judge, or folder of toplist train; log for the columns target_propensity and "
        "target_marginal of the log",
    )  # fmt: skip
    parser.add_argument(
        "--logged-by", metavar="FILE",
        help="saved ranker that made the log as it was then: gives the probabilities that the log lacks",
    )  # fmt: skip
    parser.add_argument(
        "--estimator", type=names, default="all", metavar="NAMES",
        help="estimators, separated by commas: ips, iips, rips, snips, sniips, snrips, clipped-ips, clipped-iips, "
        "clipped-rips, pseudoinverse, doubly-robust, direct, replay, replay-prefix (default: all)",
    )  # fmt: skip
    parser.add_argument(
        "--interval", choices=("normal", "bootstrap", "bernstein"), default="normal",
        help="sort of the confidence intervals; bernstein also holds for small samples and is wide "
        "(default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--level", type=float, default=0.95, metavar="SHARE", help="confidence level (default: %(default)s)"
    )
    parser.add_argument(
        "--by", choices=("auto", "list", "visitor"), default="auto",
        help="what is independent (default: visitors if the log has them, else lists)",
    )  # fmt: skip
    parser.add_argument(
        "--clip", type=float, metavar="WEIGHT",
        help="largest weight of the clipped estimators (default: the root of the number of lists)",
    )  # fmt: skip
    parser.add_argument(
        "--model", default="dcm", metavar="NAME",
        help="click model of direct and doubly-robust, as toplist fit knows them (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--learning", action="store_true",
        help="let the policy go on learning from the lists that match, which replay alone can judge",
    )  # fmt: skip
    parser.add_argument(
        "--uniform", action="store_true", help="the lists of a log without propensities were uniformly random"
    )
    parser.add_argument(
        "--draws", type=whole_number, default=2000, metavar="N",
        help="lists to make of a policy whose probabilities have no closed form (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--resamples", type=whole_number, default=1000, metavar="N", help="of the bootstrap (default: %(default)s)"
    )
    parser.add_argument(
        "--seed", type=whole_number, default=0, metavar="N",
        help="seed of the bootstrap and of the parts of doubly-robust (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--position-bias", action="store_true",
        help="estimate how positions are examined from items that are shown at neighbouring ones",
    )  # fmt: skip
    group = parser.add_argument_group("output (paths are checked before the log is read)")
    group.add_argument("--json", metavar="FILE", help="write all figures as JSON; - prints them instead of the table")
    group.add_argument("--quiet", action="store_true", help="print errors only, no table and no progress")


def run(arguments: Namespace) -> int:
    """Read the log, estimate, and print or write the result."""
    import os

    check_flags(arguments)
    from toplist.evaluation import evaluate, position_bias
    from toplist.logs import read_log
    from toplist.logs.arrow import arrow
    from toplist.support.interrupts import delayed_interrupt
    from toplist.support.progress_bar import ShareBar
    from toplist.training.trained_rankers import load_trained

    arrow.lib.enable_signal_handlers(False)  # those of Arrow end the process
    with delayed_interrupt() as check, ShareBar(sys.stderr, not arguments.quiet) as bar:

        def report(progress: Progress) -> None:
            check()
            bar(progress)

        log = read_log(arguments.log, **reading_options(arguments), progress=report)
    found = None
    if arguments.policy is not None:
        policy = load_trained(arguments.policy) if os.path.isdir(arguments.policy) else arguments.policy
        found = evaluate(
            log, policy, arguments.estimator, interval=arguments.interval, level=arguments.level,
            logged_by=arguments.logged_by, by=arguments.by, clip=arguments.clip, model=arguments.model,
            learning=arguments.learning, uniform=arguments.uniform, draws=arguments.draws,
            resamples=arguments.resamples, seed=arguments.seed,
        )  # fmt: skip
    bias = position_bias(log, level=arguments.level, by=arguments.by) if arguments.position_bias else None
    write_outputs(arguments, str(log.report), found, bias)
    return Exit.FINE


def check_flags(arguments: Namespace) -> None:
    """Refuse, before the log is read, what cannot be used or written."""
    import os

    from toplist.core.problem import InvalidInput, refuse
    from toplist.evaluation.evaluate import chosen_estimators
    from toplist.evaluation.intervals import IntervalSettings
    from toplist.support.files import check_writable

    if not os.path.exists(arguments.log):
        raise refuse("The log", arguments.log, "a file or a folder that exists", "see that the path is right")
    if arguments.policy is None and not arguments.position_bias:
        raise InvalidInput("Nothing is asked for; give the file of a saved ranker with --policy, or --position-bias.")
    if arguments.policy not in (None, "log") and not os.path.exists(arguments.policy):
        raise refuse("The policy", arguments.policy, "the file of a saved ranker, or log", "see that the path is right")
    if arguments.logged_by is not None and not os.path.exists(arguments.logged_by):
        raise refuse("--logged-by", arguments.logged_by, "the file of a saved ranker", "see that the path is right")
    if arguments.learning and arguments.policy in (None, "log"):
        raise InvalidInput("--learning needs a ranker that learns; give its file with --policy.")
    chosen_estimators(arguments.estimator)
    IntervalSettings(arguments.interval, arguments.level, arguments.resamples).checked()
    if arguments.json not in (None, STDOUT):
        check_writable(arguments.json, "The json file")


def write_outputs(
    arguments: Namespace, reading: str, found: PolicyEvaluation | None, bias: PositionBias | None
) -> None:
    """Print the tables, or print or write the JSON."""
    from toplist.support.files import write_text

    data = {} if found is None else found.to_dict()
    if bias is not None:
        data["position_bias"] = bias.to_dict()
    text = json.dumps(data, indent=2) + "\n"
    if arguments.json == STDOUT:
        sys.stdout.write(text)
    elif not arguments.quiet:
        print("\n\n".join(str(each) for each in (reading, found, bias) if each is not None))
    sys.stdout.flush()
    if arguments.json not in (None, STDOUT):
        write_text(arguments.json, "The json file", text)
        if not arguments.quiet:
            print_message(f"wrote {arguments.json}")
