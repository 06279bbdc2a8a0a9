"""Users wrapped in one shared type per class of worlds: the same lists, clicks and rewards, and fewer kernels."""

from __future__ import annotations

import numpy as np
from without_device import signature_of

from toplist.engine.gpu.batch import BatchLayout
from toplist.engine.player import Player, RunSetup
from toplist.engine.shared_users import users_of_shared_types
from toplist.leaderboard import read_suite
from toplist.policies import make

STEPS = 40


def setups_of_the_suite(policy: str) -> list[RunSetup]:
    made = [problem.made() for problem in read_suite().problems]
    return [RunSetup.of(make(policy), one.world, one.users, one.start, STEPS) for one in made]


def with_shared_users(setups: list[RunSetup]) -> list[RunSetup]:
    users = users_of_shared_types(setups)
    return [setup._replace(users=one) for setup, one in zip(setups, users, strict=True)]


def played(setup: RunSetup) -> list[float]:
    """Regret and clicks after every step."""
    player = Player(setup, 3, np.arange(1, STEPS + 1), compiled=False)
    player.play(STEPS)
    found: list[float] = player.run.curves.ravel().tolist()
    return found


def kernels(setups: list[RunSetup]) -> int:
    """How many kernels are compiled for them."""
    layouts = [BatchLayout(Player(setup.on_gpu(), 0, np.array([STEPS]), compiled=False)) for setup in setups]
    return len({(layout.key, str(signature_of(layout))) for layout in layouts})


def test_every_problem_of_the_suite_is_unchanged_and_shares_its_kernel() -> None:
    setups = setups_of_the_suite("dcm-ts")
    shared = with_shared_users(setups)
    assert len({type(setup.world) for setup in setups}) > 3
    assert kernels(shared) < kernels(setups) < len(setups)
    for setup, one in zip(setups, shared, strict=True):
        assert played(one) == played(setup)


def test_users_of_one_type_stay_as_they_are() -> None:
    setup = setups_of_the_suite("random")[0]
    assert users_of_shared_types([setup, setup])[0] is setup.users
