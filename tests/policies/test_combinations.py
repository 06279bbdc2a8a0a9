"""Every memory of counts under every reading and index: parts are made to be combined."""

from typing import Any

import numpy as np
import pytest

from toplist.clicks import DCM
from toplist.engine.player import Player, RunSetup
from toplist.engine.starts import OneSample
from toplist.parts.detectors import CUSUM, GLR
from toplist.parts.feedback import EveryPlace, OnlyLastClick, ThroughFirstClick, ThroughLastClick, UntilSatisfied
from toplist.parts.index import KLUCB, UCB1, BetaPosterior, Greedy
from toplist.parts.memory import Discounted, Everything, Resetting, Window
from toplist.policies import Policy, Ranked
from toplist.worlds import Fixed

MEMORIES = [Everything(), Discounted(0.998), Window(400), Resetting(GLR()), Resetting(CUSUM(), "item")]
INDICES = [UCB1(0.1), KLUCB(0.0), BetaPosterior(), Greedy(0.1)]
READINGS = [ThroughFirstClick(), ThroughLastClick(), OnlyLastClick(), UntilSatisfied(), EveryPlace()]


def clicks(policy: Any, steps: int = 600) -> float:
    """Per step, in the last third of a run on users who click several items, uncompiled."""
    world = Fixed([0.8, 0.7, 0.1, 0.1, 0.05], 2)
    setting = RunSetup.of(policy, world, DCM(0.5), OneSample(), steps)
    player = Player(setting, 3, np.array([steps]), None, compiled=False)
    player.play(2 * steps // 3)
    before = player.run.totals[1]
    player.play(steps)
    return float(player.run.totals[1] - before) / (steps - 2 * steps // 3)


@pytest.mark.parametrize("scoring", INDICES, ids=lambda part: type(part).__name__)
@pytest.mark.parametrize("memory", MEMORIES, ids=lambda part: str(part).replace(" ", ""))
@pytest.mark.parametrize("reading", READINGS, ids=lambda part: type(part).__name__)
def test_any_line_of_parts_learns(reading: Any, memory: Any, scoring: Any) -> None:
    """The best list gets 1.22 clicks a step, a random one about half of that; learning must bring at least 1."""
    assert clicks(Policy(reading, memory, scoring)) > 1.0


@pytest.mark.parametrize("memory", MEMORIES, ids=lambda part: str(part).replace(" ", ""))
def test_any_memory_serves_ranked_bandits(memory: Any) -> None:
    assert clicks(Ranked(EveryPlace(), memory, KLUCB(0.0))) > 0.95
