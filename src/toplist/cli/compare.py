"""`toplist compare`: plays policies on several click models, also on those they do not assume."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from dataclasses import replace
from typing import Any

from toplist.cli.common_flags import (
    PARAMETERS,
    add_outputs,
    add_playing,
    check_outputs,
    write_outputs,
)
from toplist.cli.exit_codes import Exit
from toplist.cli.parser import add_command, whole_number
from toplist.support.progress_bar import ProgressBar

STANDARD = "standard"  # the world without --worlds
POSITIONS = 3
EXAMPLES = """examples:
  toplist compare --plot compare.png --resume kept
  toplist compare dcm-kl-ucb cascade-kl-ucb --users cascade "dcm(termination=0.3)" "pbm(examination=[0.9,0.5,0.2,0.1])"
  toplist compare ours=mine.py:Mine dcm-kl-ucb --worlds "b-top-k(items=32, positions=8)" --users mine.py:Users
  toplist compare --worlds click-models.json --positions 5 --queries 10 --runs 2

Run r of a column has the same visitors for every policy. Random lists are
always played, as the baseline.
"""


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "compare",
        run,
        "play policies on several click models, also on those they do not assume",
        EXAMPLES,
    )
    parser.add_argument(
        "policies", nargs="*", metavar="POLICY",
        help="policy of the catalogue, with or without parameters, or your own, as mine.py:NAME; LABEL=POLICY gives it "
        "a label of your own (default: all for stationary users; policies over features only if the worlds have "
        "features)",
    )  # fmt: skip
    parser.flag_advice = PARAMETERS.format("s")
    group = parser.add_argument_group("simulation (`toplist worlds` lists all names)")
    group.add_argument(
        "--worlds", nargs="+", action="extend", default=[], metavar="WORLD",
        help="worlds, as for `toplist simulate`, also as LABEL=WORLD, or a JSON file of learned click models, or its "
        "folder; each model becomes a column (default: a world of 16 items on 4 positions that separates policies "
        "well)",
    )  # fmt: skip
    group.add_argument(
        "--users", nargs="+", action="extend", default=[], metavar="USERS",
        help="click models, as for `toplist simulate`, also as LABEL=USERS; every world is played with each (default: "
        "those of the world, else cascade, DCM, DBN, PBM, UBM, CCM and a mixture)",
    )  # fmt: skip
    group.add_argument(
        "--queries",
        type=whole_number,
        metavar="N",
        help="with learned click models, number of queries to take, from the first on (default: all)",
    )
    group.add_argument(
        "--positions", type=whole_number, metavar="K",
        help=f"with learned click models, positions per list (default: {POSITIONS})",
    )  # fmt: skip
    add_playing(
        group, steps=100_000, runs=10, metavar="FOLDER",
        kept="keep finished runs in this folder; after an interruption the same command continues from it, and shows "
        "finished results at once",
    )  # fmt: skip
    add_outputs(parser, "a heat map", "column and policy")


def run(arguments: Namespace) -> int:
    """Compare, and print and write the results."""
    from toplist.cli.part_arguments import find_part, make_policies
    from toplist.engine.compare import compare
    from toplist.engine.simulated_problem import abridge, named_part
    from toplist.experiments.comparison_matrix import stationary_policies
    from toplist.support.catalogue import STARTS

    columns, called = columns_of(arguments)
    start, called["start"] = named_part(STARTS, arguments.start, find_part)
    if arguments.policies:
        played = make_policies(arguments.policies)
    else:
        worlds = [world for pairs in columns.values() for world, _ in pairs]
        played = stationary_policies(features=all(world.problem(None).features > 0 for world in worlds))
    check_outputs(arguments)
    with ProgressBar(sys.stderr, shown=not arguments.quiet) as bar:
        found = compare(
            played, columns, arguments.steps, arguments.runs, arguments.seed,
            start=start, threads=arguments.threads, progress=bar, resume=arguments.resume,
            engine=arguments.engine,
        )  # fmt: skip
    found = replace(found, settings=found.settings | called)
    write_outputs(arguments, found, abridge(f"{', '.join(called['worlds'])}, {called['start']} start"))
    return Exit.FINE


def columns_of(arguments: Namespace) -> tuple[dict[str, list[Any]], dict[str, Any]]:
    """The pairs of world and users of each column, and the texts that name worlds and users."""
    from toplist.cli.part_arguments import find_part, split_label
    from toplist.core.problem import InvalidInput
    from toplist.engine.simulated_problem import NamedWorld, named_part, users_name
    from toplist.experiments.comparison_matrix import standard_users, standard_world
    from toplist.support.catalogue import USERS

    asked: dict[str, Any] = {}
    for label, text in map(split_label, arguments.users):
        if label in asked:
            raise InvalidInput(
                f"The users {label!r} are named twice; leave one out, or label them, as {label}-2={text}."
            )
        asked[label] = named_part(USERS, text, find_part)[0]
    files = [text for text in arguments.worlds if is_file(text)]
    if not files and (arguments.queries, arguments.positions) != (None, None):
        raise InvalidInput("--queries and --positions are for learned click models; name their file with --worlds.")
    if files and asked and len(files) == len(arguments.worlds):
        raise InvalidInput("Learned click models bring users of their own; leave --users out.")
    columns: dict[str, list[Any]] = {}
    called = []
    for given in arguments.worlds or [STANDARD]:
        label, text = (given.strip(), given) if given in files else split_label(given)
        if given in files:
            own, name = learned_columns(text, arguments.queries, arguments.positions or POSITIONS), text
        else:
            named = NamedWorld(standard_world(), None, STANDARD) if text == STANDARD else NamedWorld.of(text, find_part)
            size, name = named.world.checked().problem(None), named.text
            users = asked or ({} if named.users is None else {users_name(named.users): named.users})
            own = {
                who: [(named.world, one)] for who, one in (users or standard_users(size.items, size.positions)).items()
            }
        called.append(name)
        several = len(arguments.worlds) > 1
        columns |= {f"{who} on {label}" if several else who: pairs for who, pairs in own.items()}
    return columns, {"worlds": called, "users": list(asked)}


def is_file(text: str) -> bool:
    """Whether a text names a file or folder of learned click models, not a world of the catalogue."""
    from toplist.support.catalogue import WORLDS

    if text.partition("(")[0].strip() in WORLDS.entries() or text.endswith(".py"):
        return False
    return text.endswith(".json") or os.path.exists(text)


def learned_columns(path: str, queries: int | None, positions: int) -> dict[str, list[Any]]:
    """A column per model of a file, over its first `queries` queries."""
    from toplist.core.problem import refuse
    from toplist.datasets import click_models

    found = click_models.read(path)
    if queries is not None and not 1 <= queries <= len(found.queries):
        accepted = f"between 1 and {len(found.queries)}, the number of queries in {found.path}"
        raise refuse("--queries", queries, accepted, "or leave it out for all")
    return {model: list(found.people(model, positions).values())[:queries] for model in found.models}
