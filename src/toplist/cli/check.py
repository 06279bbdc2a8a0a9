"""`toplist check`: puts a policy of your own through the contract that ours hold."""

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
    """One promise, and whether it was kept."""

    promise: str
    kept: bool
    asked_for: str  # why the promise is asked for
    broken_by: str  # how it was broken; "" where it was kept


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = add_command(
        commands, "check", run, "put a policy of your own through the contract that ours hold", EXAMPLES
    )
    parser.add_argument(
        "policy", metavar="MODULE:NAME",
        help="a policy, or a class or function that makes one, in a module found from the current folder or in a file, "
        "as mine.py:Mine; a name of the catalogue will do too",
    )  # fmt: skip
    parser.add_argument("--only", action="append", metavar="PROMISE", help="check this promise; may be repeated")
    parser.add_argument("--verbose", action="store_true", help="say also of kept promises why they are asked for")
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")


def run(arguments: Namespace) -> int:
    """Check every promise; tell of kept ones as it goes, and of broken ones at the end, where they are seen."""
    from toplist.cli.policy_arguments import make_policy
    from toplist.support.catalogue import written

    checked = make_policy(arguments.policy)
    promises = chosen_promises(arguments.only)
    verdicts = []
    if not arguments.json:
        print(f"{arguments.policy}: {written(checked)}", flush=True)
    for verdict in check_promises(checked, promises):
        verdicts.append(verdict)
        if verdict.kept and not arguments.json:
            print(result_text(verdict, text_width(), arguments.verbose), flush=True)
    kept = sum(verdict.kept for verdict in verdicts)
    if arguments.json:
        whole = {"policy": arguments.policy, "parts": written(checked), "kept": kept == len(verdicts)}
        print(json.dumps(whole | {"promises": [verdict._asdict() for verdict in verdicts]}, indent=1))
    else:
        for verdict in verdicts:
            if not verdict.kept:
                print(result_text(verdict, text_width()))
        print(f"{kept} of {len(verdicts)} promises kept")
    return Exit.FINE if kept == len(verdicts) else Exit.BROKEN


def chosen_promises(only: list[str] | None) -> dict[str, Any]:
    """The promises of these names, or all."""
    from toplist.checks import contract
    from toplist.core.problem import InvalidInput, nearest

    promises = contract()
    for name in only or ():
        if name not in promises:
            advice = nearest(name, promises, "choose one of these")
            raise InvalidInput(f"There is no promise {name!r}, but there are {', '.join(promises)}; {advice}.")
    return {name: promises[name] for name in only or promises}


def check_promises(policy: Any, promises: dict[str, Any]) -> Iterator[PromiseResult]:
    """Check one promise after the other."""
    from toplist.checks import CheckFailed, check_policy

    for name, promise in promises.items():
        reason = (inspect.getdoc(promise) or "").partition("\n")[0]
        try:
            check_policy(policy, only=[name])
        except CheckFailed as failure:
            yield PromiseResult(name, False, reason, str(failure).removeprefix(f"{name}: "))
        else:
            yield PromiseResult(name, True, reason, "")


def result_text(verdict: PromiseResult, width: int, with_reason: bool = True) -> str:
    """A verdict for a reader."""
    lines = [f"{'kept  ' if verdict.kept else 'BROKEN'}  {verdict.promise}"]
    texts = [verdict.asked_for] if with_reason else []
    if not verdict.kept:
        texts.append(f"It was broken: {verdict.broken_by.rstrip('.')}.")
    for text in texts:
        lines += textwrap.wrap(text, width, initial_indent=" " * 8, subsequent_indent=" " * 8)
    return "\n".join(lines)
