"""`toplist simulate`: several policies side by side on the same visitors."""

from __future__ import annotations

import sys
from argparse import Namespace
from typing import Any

from toplist.cli.common_flags import SimulatedProblem, add_outputs, add_problem, check_outputs, write_outputs
from toplist.cli.exit_codes import Exit
from toplist.cli.parser import add_command, checkpoint_steps
from toplist.support.progress_bar import Bar

POLICIES = ("dcm-kl-ucb", "first-click", "last-click", "cascade-ucb1", "ranked-kl-ucb")
EXAMPLES = """examples:
  toplist simulate
  toplist simulate cascade-kl-ucb "cascade-ucb1(scale=0.5)" --world "b-top-k(items=32, positions=8)" --steps 1e5
  toplist simulate mine.py:Mine dcm-kl-ucb --plot regret.png --json - --resume kept.npz
"""


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = add_command(
        commands, "simulate", run, "play several policies against the same simulated visitors", EXAMPLES
    )
    parser.add_argument(
        "policies", nargs="*", default=list(POLICIES), metavar="POLICY",
        help="a name of the catalogue, with or without parameters, as 'cascade-ucb1(scale=1.5)', or one of your own, "
        f"as mine.py:NAME (default: {' '.join(POLICIES)})",
    )  # fmt: skip
    add_problem(parser).add_argument(
        "--checkpoints", type=checkpoint_steps, default=100, metavar="N",
        help="points of a curve, or the steps themselves, as 10,100,1000 (default: %(default)s)",
    )  # fmt: skip
    add_outputs(parser, "the regret over the steps", "policy, run and checkpoint")


def run(arguments: Namespace) -> int:
    """Simulate, and tell what came out."""
    from toplist.cli.policy_arguments import make_policies
    from toplist.engine.simulate import simulate

    scene = SimulatedProblem.of(arguments)
    played = make_policies(arguments.policies)
    check_outputs(arguments)
    with Bar(sys.stderr, shown=not arguments.quiet) as bar:
        result = simulate(
            played, scene.world, scene.users, arguments.steps, arguments.runs, arguments.seed,
            start=scene.start, checkpoints=arguments.checkpoints, threads=arguments.threads, progress=bar,
            resume=arguments.resume,
        )  # fmt: skip
    write_outputs(arguments, scene.signed(result), scene.title())
    return Exit.FINE
