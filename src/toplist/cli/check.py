"""`toplist check`: checks whether your own policy keeps the promises that every policy must keep."""

from __future__ import annotations

import inspect
import json
import textwrap
from argparse import Namespace
from collections.abc import Iterator
from typing import Any, NamedTuple

from toplist.cli.catalogue_text import text_width
from toplist.cli.exit_codes import Exit
from toplist.cli.parser import add_command

EXAMPLES = """examples:
  toplist check mine.py:Mine
  toplist check "package.module:make_mine(scale=2)" --only same_seed_gives_same_run
"""


class PromiseResult(NamedTuple):
    """Whether a policy keeps one promise."""

    promise: str
    kept: bool
    asked_for: str  # the meaning of the promise
    broken_by: str  # how it was broken; "" if it was kept


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = add_command(
        commands, "check", run, "check that your own policy keeps the promises required of all policies", EXAMPLES
    )
    parser.add_argument(
        "policy", metavar="MODULE:NAME",
        help="a policy, or a class or function that makes one, in a module or a file, as mine.py:Mine; modules are "
        "searched in the current folder first; a name of the catalogue works as well",
    )  # fmt: skip
    parser.add_argument("--only", action="append", metavar="PROMISE", help="check only this promise; may be repeated")
    parser.add_argument("--verbose", action="store_true", help="explain kept promises as well")
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")


def run(arguments: Namespace) -> int:
    """Check every promise; print kept ones at once, and broken ones at the end, where they are easy to see."""
    from toplist.cli.policy_arguments import make_policy
    from toplist.support.catalogue import part_text

    checked = make_policy(arguments.policy)
    promises = chosen_promises(arguments.only)
    results = []
    if not arguments.json:
        print(f"{arguments.policy}: {part_text(checked)}", flush=True)
    for result in check_promises(checked, promises):
        results.append(result)
        if result.kept and not arguments.json:
            print(result_text(result, text_width(), arguments.verbose), flush=True)
    kept = sum(result.kept for result in results)
    if arguments.json:
        whole = {"policy": arguments.policy, "parts": part_text(checked), "kept": kept == len(results)}
        print(json.dumps(whole | {"promises": [result._asdict() for result in results]}, indent=1))
    else:
        for result in results:
            if not result.kept:
                print(result_text(result, text_width()))
        print(f"{kept} of {len(results)} promises kept")
    return Exit.FINE if kept == len(results) else Exit.BROKEN


def chosen_promises(only: list[str] | None) -> dict[str, Any]:
    """The named promises, or all."""
    from toplist.checks import contract
    from toplist.core.problem import InvalidInput, nearest

    promises = contract()
    for name in only or ():
        if name not in promises:
            advice = nearest(name, promises, "choose one of these")
            raise InvalidInput(f"There is no promise {name!r}, but there are {', '.join(promises)}; {advice}.")
    return {name: promises[name] for name in only or promises}


def check_promises(policy: Any, promises: dict[str, Any]) -> Iterator[PromiseResult]:
    """Check one promise after another."""
    from toplist.checks import CheckFailed, check_policy

    for name, promise in promises.items():
        reason = (inspect.getdoc(promise) or "").partition("\n")[0]
        try:
            check_policy(policy, only=[name])
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
