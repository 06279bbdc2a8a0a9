"""Serve honest traffic beside an attacker, and print what was found: `python -m tests.service.soak --help`."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

from .attacks import ATTACKS
from .plan import Plan
from .report import broken_promises, lines
from .soak import soak

LONGEST_SLICE = 10.0  # seconds of an attack; longer than the timers of the service
PAUSES = 4  # slices without an attack after all of them


def plan_of(seconds: float, lists_per_second: float = 300.0, attacks: Sequence[str] = ()) -> Plan:
    """A plan with all attacks, or those that are named, at least once."""
    warm_up, quiet = min(20.0, seconds / 20), seconds / 8
    attacked = seconds - warm_up - quiet
    one = min(LONGEST_SLICE, attacked * 0.85 / len(attacks or ATTACKS))
    return Plan(
        warm_up=warm_up, quiet=quiet, attacked=attacked, slice=one, pause=PAUSES * one,
        lists_per_second=lists_per_second, attacks=tuple(attacks),
    )  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """A soak; 1 where a promise is broken."""
    names = [attack.name for attack in ATTACKS]
    parser = argparse.ArgumentParser(prog="python -m tests.service.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0, help="duration of the traffic (default: 30)")
    parser.add_argument("--rate", type=float, default=300.0, help="honest lists per second (default: 300)")
    parser.add_argument(
        "--folder", type=Path, help="where the store lies, as /dev/shm (default: the folder of temporary files)"
    )
    parser.add_argument("attacks", nargs="*", metavar="ATTACK", help="all where none is named: " + ", ".join(names))
    options = parser.parse_args(arguments)
    if unknown := set(options.attacks) - set(names):
        parser.error(f"there is no attack {', '.join(sorted(unknown))}; there are {', '.join(names)}")
    with tempfile.TemporaryDirectory(prefix="toplist-soak-", dir=options.folder, ignore_cleanup_errors=True) as folder:
        outcome = soak(Path(folder), plan_of(options.minutes * 60.0, options.rate, options.attacks))
        for line in lines(outcome):
            print(line)
        broken = broken_promises(outcome)
    for promise in broken:
        print(f"BROKEN: {promise}")
    print("no promise is broken" if not broken else f"{len(broken)} promises are broken")
    return 1 if broken else 0


if __name__ == "__main__":
    raise SystemExit(main())
