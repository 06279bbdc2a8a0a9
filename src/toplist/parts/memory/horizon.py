"""Rates of forgetting of li2019: for a known horizon, and by doubling for an unknown one."""

from __future__ import annotations

import math
from typing import Any

from toplist.core.compiling import helper
from toplist.core.problem import InvalidInput, Problem, number, refuse

DOUBLING = -math.inf  # in compiled code, a rate that depends on the number of lists


@helper
def discount_for(steps: float, changes: float) -> float:
    """gamma = 1 - sqrt(changes / steps) / 4 (li2019, section 4.3)."""
    return 1.0 - 0.25 * math.sqrt(changes / steps)


@helper
def window_for(steps: float, changes: float) -> float:
    """tau = 2 sqrt(steps ln(steps) / changes), rounded down, but never without the last list (li2019, section 4.3)."""
    return max(1.0, float(math.floor(2.0 * math.sqrt(steps * math.log(steps) / changes))))


def expected_changes(part: str, given: Any, problem: Problem) -> float:
    """The expected number of changes of the users, at most one per step."""
    changes = number(f"{part}'s changes", given, 0.0, 1e12, "give the expected number of changes, as 1")
    if changes == 0.0:
        raise refuse(f"{part}'s changes", given, "above 0", "if nothing ever changes, use Everything()")
    if problem.steps is not None and changes > problem.steps:
        raise InvalidInput(f"{part} expects {changes:g} changes in {problem.steps} steps; expect at most one per step.")
    return changes


def steps_or_doubling(what: str, given: Any, problem: Problem, advice: str) -> int | None:
    """The horizon for a rate given as a word; None for doubling."""
    if given not in ("theory", "doubling"):
        raise refuse(what, given, "a number, 'theory' or 'doubling'", advice)
    return problem.steps if given == "theory" else None
