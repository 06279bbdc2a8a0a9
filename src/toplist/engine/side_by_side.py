"""Plays all runs of several policies side by side, so that their curves grow together; the numbers are `simulate`'s."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from toplist.core.randomness import branch
from toplist.core.slate import Floats
from toplist.engine.player import Player
from toplist.engine.scheduler import prepared_player
from toplist.engine.simulate import checked_checkpoints, prepared_setups
from toplist.engine.simulated_problem import SimulatedProblem
from toplist.engine.starts import OneSample


class SideBySidePoint(NamedTuple):
    """The curves of all policies at one checkpoint."""

    step: int
    curves: dict[str, Floats]  # per policy (runs, 2): cumulative regret and clicks


def play_side_by_side(
    policies: Any,
    world: Any,
    users: Any,
    steps: int,
    runs: int,
    seed: int,
    *,
    checkpoints: int = 100,
    on_policy: Callable[[str], None] = lambda _: None,
) -> Iterator[SideBySidePoint]:
    """Play on one thread, all runs up to a checkpoint before any goes on.

    Parameters
    ----------
    policies, world, users, steps, runs, seed, checkpoints
        As for `simulate`, which gives the same numbers.
    on_policy : callable
        Called with the label of a policy before its first list, for which it may have to be compiled.

    Yields
    ------
    SideBySidePoint
        One per checkpoint.
    """
    recorded = checked_checkpoints(checkpoints, steps)
    simulated = SimulatedProblem.of(world, users, OneSample())
    setups = prepared_setups(policies, simulated, steps, runs, None)
    players: dict[str, list[Player]] = {}
    for at, step in enumerate(recorded.tolist()):
        for label, setup in setups.items():
            if label not in players:
                on_policy(label)
                players[label] = [
                    prepared_player(setup, branch(seed, run), recorded, None, None) for run in range(runs)
                ]
            for player in players[label]:
                player.play(step)
        curves = {label: np.array([each.run.curves[at] for each in those]) for label, those in players.items()}
        yield SideBySidePoint(step, curves)
