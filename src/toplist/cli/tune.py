"""`toplist tune`: finds the setting of a policy's parameters with the least regret."""

from __future__ import annotations

import re
import sys
from argparse import Namespace
from dataclasses import replace
from typing import TYPE_CHECKING, Any

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
from toplist.cli.parser import add_command, whole_number
from toplist.support.progress_bar import ProgressBar

if TYPE_CHECKING:
    from toplist.engine.tune import Span

EXAMPLES = """examples:
  toplist tune cascade-ucb1 --grid scale=0.1,0.5,1,1.5 --grid order=first,last
  toplist tune dcm-kl-ucb --random loglog=log:0.01..10 --tries 30 --plot tuning.png

All settings meet the same visitors. The best of many looks better than it is,
so the best setting and the given policy are played again on new visitors, those
of the next seed.
"""


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = add_command(commands, "tune", run, "find good values for the parameters of a policy", EXAMPLES)
    parser.add_argument(
        "policy", metavar="POLICY",
        help="policy of the catalogue, with or without parameters, or your own, as mine.py:NAME",
    )  # fmt: skip
    parser.add_argument(
        "--grid", action="append", default=[], metavar="NAME=VALUES",
        help="values of a parameter, as scale=0.5,1,1.5; may be repeated, then all combinations are tried",
    )  # fmt: skip
    parser.add_argument(
        "--random", action="append", default=[], metavar="NAME=LOW..HIGH",
        help="draw a parameter uniformly from a range, as scale=0.1..3, or log-uniformly, as scale=log:0.01..10; may "
        "be repeated, and combined with --grid, whose values are then drawn as well",
    )  # fmt: skip
    parser.add_argument(
        "--tries",
        type=whole_number,
        default=20,
        metavar="N",
        help="number of settings to draw with --random (default: %(default)s)",
    )
    add_problem(parser)
    add_outputs(parser, "the regret over each parameter", "setting")


def run(arguments: Namespace) -> int:
    """Tune, and print and write the results."""
    from toplist.cli.part_arguments import find_policy, tunable_policy
    from toplist.core.problem import InvalidInput
    from toplist.engine.tune import tune

    problem = simulated_problem(arguments)
    parameters: dict[str, Any] = {}
    for flag, read in (("grid", grid_values), ("random", random_span)):
        for text in getattr(arguments, flag):
            name, _, values = (part.strip() for part in text.partition("="))
            if name in parameters:
                raise InvalidInput(f"The parameter {name!r} is given twice; put all its values into one --{flag}.")
            parameters[name] = read(text, values)
    entry, _ = find_policy(arguments.policy)
    if not parameters:
        known = ", ".join(entry.parameters) or "no parameters"
        raise InvalidInput(f"There is nothing to tune; {entry.name} has {known}: write --grid NAME=VALUE,VALUE.")
    check_outputs(arguments)
    with ProgressBar(sys.stderr, shown=not arguments.quiet) as bar:
        found = tune(
            tunable_policy(arguments.policy), parameters, problem.world, problem.users, arguments.steps, arguments.runs,
            arguments.seed, tries=arguments.tries, start=problem.start, threads=arguments.threads, progress=bar,
            resume=arguments.resume, engine=arguments.engine,
        )  # fmt: skip
    found = replace(
        found,
        sweep=add_settings(found.sweep, problem),
        again=found.again and add_settings(found.again, problem),
    )
    write_outputs(arguments, found, problem_title(problem))
    return Exit.FINE


def grid_values(text: str, values: str) -> list[Any]:
    """The values of `name=value,value`."""
    from toplist.core.problem import refuse
    from toplist.support.catalogue import parse_values

    try:
        if found := parse_values(values):
            return found
    except ValueError:
        pass
    raise refuse("--grid", text, "a name and its values", "write it like scale=0.5,1,1.5")


def random_span(text: str, values: str) -> Span:
    """The range of `name=low..high` or `name=log:low..high`."""
    from toplist.core.problem import refuse
    from toplist.engine.tune import Span

    ends = re.fullmatch(r"(log:)?(.+?)\.\.(.+)", values)
    try:
        if ends is not None:
            return Span(float(ends[2]), float(ends[3]), ends[1] is not None)
    except ValueError:
        pass
    raise refuse("--random", text, "a name and a range", "write it like scale=0.1..3 or scale=log:0.01..10")
