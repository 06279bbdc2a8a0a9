"""Worlds wrapped in one shared type: the same lists, clicks and rewards, and one type for the compiler."""

from __future__ import annotations

import numba
import numpy as np

from toplist.engine.player import Player, RunSetup
from toplist.engine.shared_world_type import setups_of_shared_types
from toplist.leaderboard import read_suite
from toplist.policies import make

STEPS = 40


def setups_of_the_suite(policy: str) -> list[RunSetup]:
    made = [problem.made() for problem in read_suite().problems]
    return [RunSetup.of(make(policy), one.world, one.users, one.start, STEPS) for one in made]


def played(setup: RunSetup) -> list[float]:
    """Regret and clicks after every step."""
    player = Player(setup, 3, np.arange(1, STEPS + 1), compiled=False)
    player.play(STEPS)
    found: list[float] = player.run.curves.ravel().tolist()
    return found


def test_every_problem_of_the_suite_is_unchanged_and_all_have_one_type() -> None:
    setups = setups_of_the_suite("dcm-ts")
    shared = setups_of_shared_types(setups)
    assert len({type(setup.world) for setup in setups}) > 3
    assert len({numba.typeof((one.world, one.users, one.world.begin())) for one in shared}) == 1  # type: ignore[no-untyped-call]
    for setup, one in zip(setups, shared, strict=True):
        assert played(one) == played(setup)


def test_worlds_of_one_type_stay_as_they_are() -> None:
    (setup,) = (one for one in setups_of_the_suite("random")[:1])
    assert setups_of_shared_types([setup, setup])[0].world is setup.world
