"""Checks policies of one's own before the service starts, in a process of its own and in bounded time.

Each must keep the promises of `toplist check`, with the defaults of its parameters. What was kept once is noted beside
the machine code, under a fingerprint of the policy, so that the next start takes no time.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from time import monotonic
from typing import Any

from toplist.checks.contract import Subject, check_subject
from toplist.checks.promise import CheckFailed
from toplist.core.compiling import cache_folder, fingerprint
from toplist.core.problem import InvalidInput
from toplist.policies.by_name import make
from toplist.policies.own import OwnPolicy, OwnSources, load_own_policies
from toplist.service.policy_settings import PolicySettings
from toplist.service.process_apart import command_apart, end_with_parent

NICENESS = 5
NOTE = ".checked"  # ending of the notes
LONGEST = 2000  # characters of a reason in a message
INVALID = 3  # exit code


def load_checked_policies(settings: PolicySettings, log: Callable[..., None]) -> None:
    """Check all policies of one's own in another process, and add them to the catalogue of this one.

    Raises
    ------
    InvalidInput
        If one cannot be imported, breaks a promise, or the check takes too long.
    """
    sources = settings.sources
    if sources.is_empty:
        return
    begun = monotonic()
    _check_apart(sources, settings.check_seconds)
    loaded = load_own_policies(sources)
    log(
        "policies checked", policies={own.name: own.source for own in loaded}, seconds=round(monotonic() - begun, 1),
    )  # fmt: skip


def _check_apart(sources: OwnSources, seconds: float) -> None:
    command = command_apart("toplist.service.check_policies", NICENESS, str(os.getpid()), json.dumps(sources))
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired as late:
        reason = (
            f"took more than {seconds:g} seconds; make it faster, raise policies.check_seconds, or leave the policy out"
        )
        raise InvalidInput(f"The check of {_last(late.stdout)} {reason}.") from None
    if done.returncode == 0:
        return
    if done.returncode == INVALID:
        raise InvalidInput(done.stderr.decode(errors="replace").strip())
    said = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
    why = "".join(f" ({line})" for line in said)
    raise InvalidInput(
        f"The check of {_last(done.stdout)} ended with exit code {done.returncode}{why}; repair the policy, or "
        f"leave it out."
    )


def _last(output: Any) -> str:
    """What the process did last, according to its output."""
    lines = (output or b"").decode(errors="replace").splitlines()
    return lines[-1] if lines else "policies of your own, while they were imported,"


def check_own_policy(own: OwnPolicy) -> None:
    """Check that a policy keeps its promises, unless the same code was checked before."""
    try:
        policy = make(own.name)
    except InvalidInput as problem:
        raise InvalidInput(
            f"The policy {own.name!r} of {own.source} cannot be made without parameters, with which it is checked: "
            f"{problem}"
        ) from problem
    except Exception as problem:
        raise InvalidInput(
            f"The policy {own.name!r} of {own.source} cannot be made: {type(problem).__name__}: {problem}."
        ) from problem
    folder = cache_folder.cache_folder()
    note = None if folder is None else folder / f"{fingerprint(policy)}{NOTE}"
    if note is not None and note.exists():
        return
    try:
        subject = Subject.of(policy)
        subject.prepare()
        check_subject(subject)
    except CheckFailed as failure:
        broken = "; ".join(str(failure).splitlines())
        if len(broken) > LONGEST:
            broken = f"{broken[:LONGEST]}..."
        raise InvalidInput(
            f"The policy {own.name!r} of {own.source} breaks promises of policies, so it is not served: {broken}. "
            f"`toplist check` says more."
        ) from failure
    if note is not None:
        with suppress(OSError):
            note.touch()


def main() -> int:
    """Check the policies of the sources in the second argument; the output names the one being checked."""
    end_with_parent(int(sys.argv[1]))
    modules, installed = json.loads(sys.argv[2])
    try:
        for own in load_own_policies(OwnSources(tuple(modules), installed)):
            print(f"the policy {own.name!r} of {own.source}", flush=True)
            check_own_policy(own)
    except InvalidInput as problem:
        print(problem, file=sys.stderr)
        return INVALID
    return 0
