"""Flags that several commands share: for the simulated problem, the size of the simulation, and the outputs."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toplist.cli.exit_codes import print_message
from toplist.cli.parser import Parser, whole_number

if TYPE_CHECKING:
    from toplist.engine.comparison import Comparison
    from toplist.engine.result import Result
    from toplist.engine.simulated_problem import SimulatedProblem
    from toplist.engine.tuning import Tuning

STDOUT = "-"
WORLD = "b-lb"
USERS = "cascade"  # as in engine.simulated_problem, which is heavy to import
START = "one-sample"
PARAMETERS = "write parameters in brackets after a name, as in --world{} 'b-lb(items=32)' or 'cascade-ucb1(scale=2)'"


def add_problem(parser: Parser) -> Any:
    """Add the flags of the simulated problem and its size; return their group, so that a command can add more."""
    parser.flag_advice = PARAMETERS.format("")
    group = parser.add_argument_group("simulation (`toplist worlds` lists all names)")
    group.add_argument(
        "--world", default=WORLD, metavar="WORLD",
        help="world, which defines the attraction of items, as 'b-lb(items=32, positions=8)' or "
        "'fixed(attraction=[0.9, 0.5, 0.1], positions=2)', or your own, as mine.py:NAME (default: %(default)s, 16 "
        "items on 4 positions as in katariya2016)",
    )  # fmt: skip
    group.add_argument(
        "--users", metavar="USERS",
        help=f"click model of the users, as cascade or 'dcm(termination=0.5)', or your own, as mine.py:NAME "
        f"(default: that of the world, else {USERS})",
    )  # fmt: skip
    add_playing(
        group, steps=10_000, runs=20, metavar="FILE",
        kept="keep finished runs in this .npz file; after an interruption the same command continues from it",
    )  # fmt: skip
    return group


def add_playing(group: Any, steps: int, runs: int, metavar: str, kept: str) -> None:
    """Add the flags of the size of a simulation; `kept` is the help text of --resume."""
    group.add_argument(
        "--start", default=START, metavar="START",
        help="one-sample, forced or never-seen-first: how unseen items get their first impressions "
        "(default: %(default)s)",
    )  # fmt: skip
    group.add_argument(
        "--steps",
        type=whole_number,
        default=steps,
        metavar="N",
        help="lists per run (default: %(default)s)",
    )
    group.add_argument(
        "--runs",
        type=whole_number,
        default=runs,
        metavar="N",
        help="independent runs per policy (default: %(default)s)",
    )
    group.add_argument(
        "--seed", type=whole_number, default=0, metavar="N",
        help="seed of the random numbers; equal seeds give equal results (default: %(default)s)",
    )  # fmt: skip
    group.add_argument(
        "--threads", "--jobs", type=whole_number, metavar="N", help="number of threads (default: one per core)"
    )
    group.add_argument(
        "--engine", choices=("cpu", "gpu"), default="cpu",
        help="play on the cores of this machine, or on its NVIDIA GPUs (default: %(default)s)",
    )  # fmt: skip
    group.add_argument("--resume", metavar=metavar, help=kept)


def add_outputs(parser: Parser, plotted: str, rows: str) -> None:
    """Add the flags of the outputs; `plotted` and `rows` describe the plot and the rows of the CSV file."""
    group = parser.add_argument_group("output (paths are checked before the first step)")
    group.add_argument("--plot", metavar="FILE", help=f"draw {plotted} to a .png, .svg or .pdf file")
    group.add_argument("--json", metavar="FILE", help="write all results as JSON; - prints them instead of the table")
    group.add_argument(
        "--csv", metavar="FILE", help=f"write CSV with one row per {rows}; - prints it instead of the table"
    )
    group.add_argument("--quiet", action="store_true", help="print errors only, no table and no progress")


def simulated_problem(arguments: Namespace) -> SimulatedProblem:
    """World, users and start that the flags name."""
    from toplist.cli.part_arguments import find_part
    from toplist.engine.simulated_problem import SimulatedProblem

    return SimulatedProblem.of(arguments.world, arguments.users, arguments.start, find_part)


def add_settings(result: Result, problem: SimulatedProblem) -> Result:
    """The result with the names of world, users and start in its settings, and a title for plots."""
    return replace(result, settings=result.settings | problem.names | {"title": problem_title(problem)})


def problem_title(problem: SimulatedProblem) -> str:
    """World, users and start in one line."""
    from toplist.engine.simulated_problem import abridge

    names = problem.names
    return abridge(f"{names['world']}, {names['users']} users, {names['start']} start")


def check_outputs(arguments: Namespace) -> None:
    """Refuse, before the first step, paths that cannot be written or are given twice."""
    from toplist.core.problem import InvalidInput
    from toplist.engine.result import check_plot
    from toplist.support.files import check_writable

    taken: dict[Any, str] = {}
    for flag in ("json", "csv", "plot", "resume"):
        path = getattr(arguments, flag)
        if path is None:
            continue
        if flag == "plot":
            check_plot(path)
        elif flag != "resume" and path != STDOUT:
            check_writable(path, f"The {flag} file")
        where = STDOUT if path == STDOUT else Path(path).resolve()
        if where in taken:
            raise InvalidInput(
                f"--{taken[where]} and --{flag} both name {path!r}, but each needs its own file; change one."
            )
        taken[where] = flag


def write_outputs(arguments: Namespace, found: Result | Tuning | Comparison, title: str) -> None:
    """Print the table, and write all files; if one fails, the others are still written."""
    printed = {"json": found.json_text, "csv": found.csv_text}
    texts = [make() for flag, make in printed.items() if getattr(arguments, flag) == STDOUT]
    if texts:
        sys.stdout.write(texts[0])
    elif not arguments.quiet:
        print(f"{title}\n{found}")
    sys.stdout.flush()
    writers: dict[str, Callable[[Any], Any]] = {"csv": found.to_csv, "json": found.to_json, "plot": found.plot}
    failures, written = [], []
    for flag, write in writers.items():
        path = getattr(arguments, flag)
        if path not in (None, STDOUT):
            try:
                write(path)
                written.append(str(path))
            except (OSError, ValueError) as error:
                failures.append(error)
    if written and not arguments.quiet:
        print_message(f"wrote {' and '.join(written)}")
    if failures:
        raise failures[0]
