"""`toplist simulate`: plays several policies on the same simulated visitors."""

from __future__ import annotations

import sys
from argparse import Namespace
from typing import Any

from toplist.cli.common_flags import (
    add_outputs,
    add_problem,
    add_settings,
    check_outputs,
    problem_title,
    simulated_problem,
    write_outputs,
)
from toplist.cli.exit_codes import Exit
from toplist.cli.parser import add_command, checkpoint_steps
from toplist.support.progress_bar import ProgressBar

POLICIES = ("dcm-ts", "dcm-kl-ucb", "last-click", "cascade-ucb1", "ranked-kl-ucb")
EXAMPLES = """examples:
  toplist simulate
  toplist simulate cascade-kl-ucb "cascade-ucb1(scale=0.5)" --world "b-top-k(items=32, positions=8)" --steps 1e5
  toplist simulate ours=mine.py:Mine dcm-kl-ucb --plot regret.png --json - --resume kept.npz
  toplist simulate dcm-kl-ucb --world "mine.py:World(items=30)" --users mine.py:Users
"""


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = add_command(
        commands, "simulate", run, "play several policies on the same simulated visitors, and compare them", EXAMPLES
    )
    parser.add_argument(
        "policies", nargs="*", default=list(POLICIES), metavar="POLICY",
        help="policy of the catalogue, with or without parameters, as 'cascade-ucb1(scale=1.5)', or your own, as "
        f"mine.py:NAME; LABEL=POLICY gives it a label of your own (default: {' '.join(POLICIES)})",
    )  # fmt: skip
    add_problem(parser).add_argument(
        "--checkpoints", type=checkpoint_steps, default=100, metavar="N",
        help="number of points per curve, or their steps, as 10,100,1000 (default: %(default)s)",
    )  # fmt: skip
    add_outputs(parser, "the regret over steps", "policy, run and checkpoint")


def run(arguments: Namespace) -> int:
    """Simulate, and print and write the results."""
    from toplist.cli.part_arguments import make_policies
    from toplist.engine.simulate import simulate

    problem = simulated_problem(arguments)
    played = make_policies(arguments.policies)
    check_outputs(arguments)
    with ProgressBar(sys.stderr, shown=not arguments.quiet) as bar:
        result = simulate(
            played, problem.world, problem.users, arguments.steps, arguments.runs, arguments.seed,
            start=problem.start, checkpoints=arguments.checkpoints, threads=arguments.threads, progress=bar,
            resume=arguments.resume, engine=arguments.engine,
        )  # fmt: skip
    write_outputs(arguments, add_settings(result, problem), problem_title(problem))
    return Exit.FINE
