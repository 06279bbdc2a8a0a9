"""`toplist leaderboard`: ranks the whole catalogue, and policies of one's own, on a fixed suite of problems."""

from __future__ import annotations

import json
import shlex
import sys
from argparse import Namespace
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from toplist.cli.common_flags import STDOUT
from toplist.cli.exit_codes import Exit, print_message
from toplist.cli.parser import add_command, whole_number
from toplist.support.progress_bar import ProgressBar

HORIZONS = (1_000, 10_000)  # and the number of steps
EXAMPLES = """examples:
  toplist leaderboard --resume kept --page board.html --json board.json
  toplist leaderboard ours=mine.py:Mine --resume kept --page board.html
  toplist leaderboard --only cascade-kl-ucb dcm-ts --problems cascade-16 dcm-16 --steps 1e4
  toplist leaderboard --tune tuned.json --resume kept-tuning

A regret of 1 is that of random lists. Run r of a problem has the same visitors
for every policy. With --resume, finished parts are not played again: a policy
of your own joins a finished board for the time that it takes to play it.
"""


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = add_command(
        commands, "leaderboard", run, "rank all policies, and your own, on a fixed suite of problems", EXAMPLES
    )
    parser.add_argument(
        "policies", nargs="*", metavar="POLICY",
        help="policies that join the catalogue: your own, as mine.py:NAME, or of the catalogue with other parameters; "
        "LABEL=POLICY gives it a label of your own",
    )  # fmt: skip
    group = parser.add_argument_group("what is played")
    group.add_argument(
        "--only", nargs="+", default=[], metavar="NAME",
        help="play these policies of the catalogue instead of all",
    )  # fmt: skip
    group.add_argument(
        "--problems", nargs="+", default=[], metavar="NAME", help="play these problems of the suite instead of all"
    )
    group.add_argument("--suite", metavar="FILE", help="a JSON file of problems instead of the suite of toplist")
    group.add_argument(
        "--learned", metavar="FILE",
        help="click models learned from a search log, as JSON: each model of the first two queries is a problem more",
    )  # fmt: skip
    group.add_argument(
        "--tuned", metavar="FILE",
        help="tuned parameters, a file of --tune for the same suite, instead of those of toplist, which are for its "
        "own suite; `none` plays published ones only",
    )  # fmt: skip
    group.add_argument(
        "--steps", type=whole_number, default=100_000, metavar="N", help="lists per run (default: %(default)s)"
    )
    group.add_argument(
        "--runs", type=whole_number, default=20, metavar="N", help="independent runs (default: %(default)s)"
    )
    group.add_argument(
        "--seed", type=whole_number, default=0, metavar="N", help="seed of the random numbers (default: %(default)s)"
    )
    group.add_argument(
        "--threads", type=whole_number, metavar="N", help="number of threads, or of Ray workers (default: one per core)"
    )
    group.add_argument(
        "--engine", choices=("cpu", "ray", "gpu"), default="cpu",
        help="play on the cores of this machine, on a Ray cluster, or on the NVIDIA GPUs of this machine "
        "(default: %(default)s)",
    )  # fmt: skip
    group.add_argument(
        "--address", metavar="ADDRESS", help="address of the Ray cluster, as auto (default: start a local one)"
    )
    group.add_argument(
        "--resume", metavar="FOLDER", help="keep finished runs in this folder, and go on from what it has"
    )
    outputs = parser.add_argument_group("output (paths are checked before the first step)")
    outputs.add_argument("--page", metavar="FILE", help="write a page with sortable tables to an .html file")
    outputs.add_argument("--json", metavar="FILE", help="write all results as JSON; - prints them instead of the table")
    outputs.add_argument(
        "--tune", metavar="FILE",
        help="tune every policy on separate problems of the same kinds, write what was found, and rank nothing",
    )  # fmt: skip
    outputs.add_argument("--quiet", action="store_true", help="print errors only, no table and no progress")


def run(arguments: Namespace) -> int:
    """Rank, or tune."""
    from toplist.core.problem import InvalidInput
    from toplist.leaderboard import read_suite
    from toplist.support.files import check_writable

    if arguments.engine != "ray" and arguments.address is not None:
        raise InvalidInput("--address names a Ray cluster; add --engine ray.")
    if arguments.tune is not None and arguments.engine != "cpu":
        raise InvalidInput(f"--tune plays on the cores of this machine; leave out --engine {arguments.engine}.")
    for flag in ("page", "json", "tune"):
        path = getattr(arguments, flag)
        if path not in (None, STDOUT):
            check_writable(path, f"The {flag} file")
    suite = read_suite(None if arguments.suite is None else read_file(arguments.suite))
    folder = None if arguments.resume is None else Path(arguments.resume)
    if arguments.tune is not None:
        return tune_all(arguments, suite, folder)
    tuned = tuned_parameters(arguments, suite)
    if arguments.learned is not None:
        from toplist.leaderboard import learned_problems

        suite = suite.with_learned(learned_problems(arguments.learned))
    return rank_all(arguments, suite.chosen(arguments.problems), tuned, folder)


def tune_all(arguments: Namespace, suite: Any, folder: Path | None) -> int:
    """Tune, and write what was found."""
    from toplist.leaderboard import tune_suite
    from toplist.support.files import write_text

    with ProgressBar(sys.stderr, shown=not arguments.quiet) as bar:
        found = tune_suite(
            suite, arguments.only, arguments.steps, arguments.runs, arguments.seed, arguments.threads, folder, bar
        )
    write_text(arguments.tune, "The tuned parameters", json.dumps(found, indent=1) + "\n")
    return Exit.FINE


def rank_all(arguments: Namespace, suite: Any, tuned: Any, folder: Path | None) -> int:
    """Play, and print and write the board."""
    from toplist.cli.part_arguments import make_policies
    from toplist.leaderboard import Leaderboard, field_of, play_suite, settings_of, write_page

    own = make_policies(arguments.policies) if arguments.policies else {}
    contenders = field_of({} if tuned is None else tuned.policies, own, arguments.only)
    horizons = [steps for steps in HORIZONS if steps < arguments.steps]
    on_gpu = "gpu" if arguments.engine == "gpu" else "cpu"  # workers of a pool play on their cores
    with make_pool(arguments) as pool, ProgressBar(sys.stderr, shown=not arguments.quiet) as bar:
        steps, cells = play_suite(
            suite.problems, contenders, arguments.steps, arguments.runs, arguments.seed, horizons, arguments.threads,
            on_gpu, folder, bar, pool,
        )  # fmt: skip
    settings = settings_of(suite, arguments.steps, arguments.runs, arguments.seed, arguments.engine, tuned)
    board = Leaderboard(suite.problems, contenders, steps, cells, settings)
    if arguments.json == STDOUT:
        sys.stdout.write(board.json_text())
    elif not arguments.quiet:
        print(board)
    if arguments.json not in (None, STDOUT):
        board.to_json(arguments.json)
    if arguments.page is not None:
        write_page(board, arguments.page, shlex.join(["toplist", *sys.argv[1:]]))
    written = [path for path in (arguments.json, arguments.page) if path not in (None, STDOUT)]
    if written and not arguments.quiet:
        print_message(f"wrote {' and '.join(written)}")
    return Exit.FINE


def tuned_parameters(arguments: Namespace, suite: Any) -> Any:
    """The tuned parameters that are played, for the whole suite; those of toplist are for its own suite alone."""
    from toplist.leaderboard import read_tuned

    if arguments.tuned == "none" or (arguments.tuned is None and arguments.suite is not None):
        return None
    return read_tuned(None if arguments.tuned is None else read_file(arguments.tuned), suite)


def make_pool(arguments: Namespace) -> Any:
    """The workers of a Ray cluster; None for this machine."""
    if arguments.engine != "ray":
        return nullcontext()
    from toplist.engine.ray_pool import RayPool

    return RayPool(arguments.address, arguments.threads)


def read_file(path: str) -> str:
    """The text of a file, or the error that it cannot be read."""
    from toplist.core.problem import InvalidInput

    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path!r} cannot be read ({error}); name another file.") from None
