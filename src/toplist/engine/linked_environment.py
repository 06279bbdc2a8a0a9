"""World and users in machine code of their own, so that a policy is compiled once for all of them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import types

from toplist.core.compiling import Kept, caller, compiled, value_at
from toplist.core.slate import Floats, Ints
from toplist.engine.play import Environment, Run

PRESENT, REVISION = 0, 1

call_begin_step = caller(types.float64, types.int64, types.int64, types.float64)
call_visit = caller(types.int64, types.int64)
call_attraction_alone = caller(types.float64, types.int64)


class Answers(NamedTuple):
    """What the machine code of world and users has found, apart from what it returns."""

    counts: Ints  # items present, and revision of the features
    rewards: Floats  # one element: reward of the list that was shown


class LinkedEnvironment(NamedTuple):
    """World and users of a run, known by addresses only."""

    state: int  # of the environment, its run and its answers
    begin_step_code: int
    visit_code: int
    attraction_alone_code: int
    answers: Answers

    def begin_step(self, run: Run, step: int, key: int, ideal: float) -> float:
        """Move the world to a step."""
        return float(call_begin_step(self.begin_step_code, self.state, (step, key, ideal)))

    def count_present(self, run: Run) -> int:
        """The items that can be shown, which `begin_step` has found."""
        return int(self.answers.counts[PRESENT])

    def features_revision(self, run: Run) -> int:
        """Version of the features, which `begin_step` has found."""
        return int(self.answers.counts[REVISION])

    def visit(self, run: Run, visitor: int) -> int:
        """Clicks of a visitor."""
        return int(call_visit(self.visit_code, self.state, (visitor,)))

    def expected_reward(self, run: Run) -> float:
        """Reward of the list that was shown, which `visit` has found."""
        return float(self.answers.rewards[0])

    def attraction_alone(self, run: Run, item: int) -> float:
        """Attraction of an item in a list whose first position it has."""
        return float(call_attraction_alone(self.attraction_alone_code, self.state, (item,)))


@compiled
def begin_step(state: Any, step: int, key: int, ideal: float) -> float:
    """Move the world to a step, and note which items can be shown."""
    environment, run, answers = value_at(state)
    ideal = environment.begin_step(run, step, key, ideal)
    answers.counts[PRESENT] = environment.count_present(run)
    answers.counts[REVISION] = environment.features_revision(run)
    return ideal


@compiled
def visit(state: Any, visitor: int) -> int:
    """Clicks of a visitor; the reward of the list is noted."""
    environment, run, answers = value_at(state)
    clicks = environment.visit(run, visitor)
    answers.rewards[0] = environment.expected_reward(run)
    return int(clicks)


@compiled
def attraction_alone(state: Any, item: int) -> float:
    """Attraction of an item in a list whose first position it has."""
    environment, run, _ = value_at(state)
    return float(environment.attraction_alone(run, item))


class EnvironmentLink:
    """The machine code of a run's world and users.

    Parameters
    ----------
    environment : Environment
        World and users.
    run : Run
        State of the run; its arrays are filled in place.
    samples : bool
        Whether the policy gets samples before the first step; otherwise their machine code is not needed.
    """

    def __init__(self, environment: Environment, run: Run, samples: bool) -> None:
        answers = Answers(np.zeros(2, dtype=np.int64), np.zeros(1))
        functions = LINKED | SAMPLED if samples else LINKED
        self._kept = Kept((environment, run, answers), functions)  # for as long as its address is in use
        codes = dict(zip(functions, self._kept.code, strict=True))
        self.environment = LinkedEnvironment(
            self._kept.address, codes[begin_step], codes[visit], codes.get(attraction_alone, 0), answers
        )


LINKED = {begin_step: (types.int64, types.int64, types.float64), visit: (types.int64,)}
SAMPLED = {attraction_alone: (types.int64,)}
