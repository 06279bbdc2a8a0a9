"""`toplist check`: checks whether your own policy, part, click model or world keeps its promises."""

from __future__ import annotations

import inspect
import json
import textwrap
from argparse import Namespace
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from toplist.cli.catalogue_text import text_width
from toplist.cli.exit_codes import Exit
from toplist.cli.parser import add_command

if TYPE_CHECKING:
    from toplist.checks.contract import Subject

EXAMPLES = """examples:
  toplist check mine.py:Mine
  toplist check "package.module:make_mine(scale=2)" --only same_seed_gives_same_run
  toplist check mine.py:MyIndex
  toplist check "mine.py:MyUsers(share=0.3)" --world mine.py:MyWorld

Policies, click models and worlds have promises to keep. A reading, memory,
index, arrangement or detector is checked inside of a policy whose other parts
are those of toplist; a way to change a world inside of a changing world.
"""


class PromiseResult(NamedTuple):
    """Whether a part keeps one promise."""

    promise: str
    kept: bool
    asked_for: str  # the meaning of the promise
    broken_by: str  # how it was broken; "" if it was kept


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = add_command(
        commands, "check", run, "check that your own policy, part, click model or world keeps its promises", EXAMPLES
    )
    parser.add_argument(
        "part", metavar="MODULE:NAME",
        help="a policy, a part of one, a click model or a world, or a class or function that makes one, in a module or "
        "a file, as mine.py:Mine; modules are searched in the current folder first; a name of the catalogue works as "
        "well",
    )  # fmt: skip
    parser.add_argument(
        "--world", metavar="WORLD",
        help="world in which a click model is checked that reads the state of its world, as mine.py:World (default: "
        "one with fixed attraction)",
    )  # fmt: skip
    parser.add_argument("--only", action="append", metavar="PROMISE", help="check only this promise; may be repeated")
    parser.add_argument("--verbose", action="store_true", help="explain kept promises as well")
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")


def run(arguments: Namespace) -> int:
    """Check every promise; print kept ones at once, and broken ones at the end, where they are easy to see."""
    from toplist.engine.simulated_problem import abridge
    from toplist.support.catalogue import part_text

    subject = find_subject(arguments)
    promises = chosen_promises(subject.kind, arguments.only)
    checked = abridge(" ".join(part_text(subject.arguments[0]).split()))
    results = []
    if not arguments.json:
        remark = f" ({subject.remark})" if subject.remark else ""
        print(f"{arguments.part}: {checked}{remark}", flush=True)
    for result in check_promises(subject, promises):
        results.append(result)
        if result.kept and not arguments.json:
            print(result_text(result, text_width(), arguments.verbose), flush=True)
    kept = sum(result.kept for result in results)
    if arguments.json:
        whole = {"part": arguments.part, "kind": subject.kind, "checked": checked, "kept": kept == len(results)}
        print(json.dumps(whole | {"promises": [result._asdict() for result in results]}, indent=1))
    else:
        for result in results:
            if not result.kept:
                print(result_text(result, text_width()))
        print(f"{kept} of {len(results)} promises kept")
    return Exit.FINE if kept == len(results) else Exit.BROKEN


def find_subject(arguments: Namespace) -> Subject:
    """What the arguments ask to check."""
    from toplist.checks.contract import Subject
    from toplist.cli.part_arguments import find_in_any, find_part
    from toplist.core.problem import InvalidInput
    from toplist.engine.simulated_problem import NamedWorld
    from toplist.support.catalogue import POLICIES, STARTS, USERS, WORLDS

    entry, parameters = find_in_any((POLICIES, WORLDS, USERS, STARTS), arguments.part)
    world = None if arguments.world is None else NamedWorld.of(arguments.world, find_part).world
    subject = Subject.of(entry.make(**parameters), world)
    if world is not None and subject.kind != "users":
        raise InvalidInput("--world is for click models, but that is none; leave it out.")
    try:
        subject.prepare()
    except InvalidInput:
        raise
    except Exception:  # an error of one's own code is reported with the promise that it breaks
        pass
    return subject


def chosen_promises(kind: str, only: list[str] | None) -> dict[str, Any]:
    """The named promises, or all."""
    from toplist.checks import contract
    from toplist.core.problem import InvalidInput, nearest

    promises = contract(kind)
    for name in only or ():
        if name not in promises:
            advice = nearest(name, promises, "choose one of these")
            raise InvalidInput(f"There is no promise {name!r}, but there are {', '.join(promises)}; {advice}.")
    return {name: promises[name] for name in only or promises}


def check_promises(subject: Subject, promises: dict[str, Any]) -> Iterator[PromiseResult]:
    """Check one promise after another."""
    from toplist.checks.contract import check_subject
    from toplist.checks.promise import CheckFailed

    for name, promise in promises.items():
        reason = (inspect.getdoc(promise) or "").partition("\n")[0]
        try:
            check_subject(subject, only=[name])
        except CheckFailed as failure:
            yield PromiseResult(name, False, reason, str(failure).removeprefix(f"{name}: "))
        else:
            yield PromiseResult(name, True, reason, "")


def result_text(result: PromiseResult, width: int, with_reason: bool = True) -> str:
    """The result of a promise as text."""
    lines = [f"{'kept  ' if result.kept else 'BROKEN'}  {result.promise}"]
    texts = [result.asked_for] if with_reason else []
    if not result.kept:
        texts.append(f"It was broken: {result.broken_by.rstrip('.')}.")
    for text in texts:
        lines += textwrap.wrap(text, width, initial_indent=" " * 8, subsequent_indent=" " * 8)
    return "\n".join(lines)
