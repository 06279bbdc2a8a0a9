"""World and users in machine code of their own: the same clicks and rewards, and a policy is compiled once for all."""

from __future__ import annotations

import numpy as np
import pytest

from toplist.engine.play import play_compiled
from toplist.engine.player import Player, RunSetup
from toplist.leaderboard import read_suite
from toplist.policies import make

STEPS = 60


def played(setup: RunSetup, compiled: bool) -> list[float]:
    """Regret and clicks after every step."""
    player = Player(setup, 3, np.arange(1, STEPS + 1), compiled=compiled)
    player.play(STEPS // 2)
    player.play(STEPS)
    found: list[float] = player.run.curves.ravel().tolist()
    return found


def setups() -> dict[str, RunSetup]:
    """A problem per class of worlds and of users."""
    found: dict[tuple[type, ...], tuple[str, RunSetup]] = {}
    for problem in read_suite().problems:
        made = problem.made()
        setup = RunSetup.of(make("cascade-ucb1"), made.world, made.users, made.start, STEPS)
        found.setdefault((type(setup.world), *map(type, setup.world), type(setup.users)), (problem.name, setup))
    return dict(found.values())


@pytest.mark.parametrize("name", setups())
def test_linked_code_plays_as_the_source(name: str) -> None:
    setup = setups()[name]
    assert played(setup, True) == played(setup, False)


def test_a_policy_is_compiled_once_for_all_worlds_and_users() -> None:
    dispatcher: object = play_compiled
    every = list(setups().values())
    assert len(every) > 8
    versions = set()
    for setup in every:
        played(setup._replace(policy=make("cascade-moss").prepare(setup.problem)), True)
        versions.add(len(dispatcher.overloads))  # type: ignore[attr-defined]
    assert len(versions) == 1
