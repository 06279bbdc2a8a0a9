"""The two processes beside the service, honest callers and the attacker: `python -m soak.process NAME PLAN`."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import resource
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import uvloop

from .attacker import Attack, Attacker
from .attacks import ATTACKS
from .honest import HonestTraffic
from .plan import Plan

NICE = 10  # the attacker gets what the service and the honest callers leave of the processor
GROUP = Path("/proc/self/autogroup")  # Linux may schedule sessions instead of processes, each with a niceness


def cycle(attacks: list[Attack]) -> Iterator[Attack | None]:
    """Attacks, again and again; None for the pause after all of them."""
    while True:
        yield from attacks
        yield None


async def attack_all(plan: Plan) -> None:
    """Make all attacks until the end of the plan, at least once, and print a line with the outcome of each."""
    attacker = Attacker(plan)
    await asyncio.sleep(max(0.0, plan.attacks_begin - time.monotonic()))
    attacks = [one for one in ATTACKS if not plan.attacks or one.name in plan.attacks]
    for number, attack in enumerate(cycle(attacks)):
        left = plan.end - time.monotonic()
        if left < plan.slice and number >= len(attacks):
            break
        if attack is None:
            await asyncio.sleep(min(left, plan.pause))
        else:
            print(json.dumps((await attacker.run(attack, plan.slice))._asdict()), flush=True)


async def visit_all(plan: Plan) -> None:
    """Make the honest traffic until the end of the plan."""
    await HonestTraffic(plan).run()


def step_back() -> None:
    """Let the service and the honest callers go first on the processor."""
    with suppress(OSError):
        if os.sched_getscheduler(0) in (os.SCHED_RR, os.SCHED_FIFO):  # niceness means nothing there
            os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(os.sched_get_priority_min(os.SCHED_RR)))
        os.nice(NICE)
        GROUP.write_text(str(NICE))


def main(name: str, file: str) -> None:
    """Run one of the two."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 8192), most))
    plan = Plan.read(file)
    if name == "attacker":
        step_back()
        asyncio.run(attack_all(plan))
    else:
        gc.collect()
        gc.freeze()
        gc.disable()  # a pause of this process would pass for one of the service, and it makes few cycles
        uvloop.run(visit_all(plan))


if __name__ == "__main__":
    main(*sys.argv[1:])
