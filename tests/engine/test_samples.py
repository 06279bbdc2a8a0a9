"""The samples before step 1: plain Python and machine code give the same, and few are not worth compiling."""

import numpy as np
import pytest

import toplist
from toplist import make
from toplist.clicks import DCM
from toplist.core.beliefs import array_bytes
from toplist.engine.player import FEW, Player, RunSetup
from toplist.engine.starts import NeverSeenFirst, OneSample
from toplist.worlds import Fixed

WORLD = Fixed(np.linspace(0.8, 0.05, 9), 3)


@pytest.mark.parametrize(("name", "positions"), [("dcm-ts", 1), ("ranked-kl-ucb", 3), ("ranked-exp3", 0)])
def test_plain_python_and_machine_code_give_the_same_samples(name: str, positions: int) -> None:
    setup = RunSetup.of(make(name), WORLD, DCM(0.6), OneSample(), 10)
    assert setup.sampled_positions() == positions
    players = [
        Player(setup._replace(samples_compiled=compiled), 1, np.array([10]), compiled=True)
        for compiled in (False, True)
    ]
    before = array_bytes(players[0].belief)
    for player in players:
        player.play(1)
    assert array_bytes(players[0].belief) == array_bytes(players[1].belief) != before


def test_few_samples_are_not_worth_compiling() -> None:
    setup = RunSetup.of(make("dcm-ts"), WORLD, DCM(0.6), OneSample(), 10)
    assert not setup.are_samples_worth_compiling(runs=FEW // 9)
    assert setup.are_samples_worth_compiling(runs=FEW // 9 + 1)
    ranked = RunSetup.of(make("ranked-kl-ucb"), WORLD, DCM(0.6), OneSample(), 10)
    assert ranked.are_samples_worth_compiling(runs=FEW // 27 + 1)
    without = RunSetup.of(make("dcm-ts"), WORLD, DCM(0.6), NeverSeenFirst(), 10)
    assert not without.are_samples_worth_compiling(runs=10 * FEW)


def test_samples_of_ones_own_policy_are_always_compiled() -> None:
    class Own(toplist.Policy):
        __slots__ = ()

    setup = RunSetup.of(Own(*make("dcm-ts")), WORLD, DCM(0.6), OneSample(), 10)
    assert setup.are_samples_worth_compiling(runs=1)
