"""The same policy in a simulation and in a ranker: equal clicks give equal beliefs, to the last byte."""

from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from ranker_cases import ONE_OF_A_KIND, features_for

import toplist
from toplist import Ranker
from toplist.clicks import DCM
from toplist.core.beliefs import array_bytes
from toplist.core.randomness import branch
from toplist.engine.player import Player, RunSetup
from toplist.engine.starts import NeverSeenFirst
from toplist.ranker import learner
from toplist.ranker.labels import label
from toplist.ranker.learner import branch_compiled, learn_compiled, rank_compiled
from toplist.worlds import Fixed

STEPS, POSITIONS = 400, 3
NAMES = [f"item {n}" for n in range(9)]
COMPILED = {"cascade-ts", "cascade-lin-ucb", "gl-cdcm-sgd", "ranked-exp3(exploration=0.3)"}  # others in plain Python


def simulated(policy: Any, seed: int) -> Player:
    """The first run of a simulation with this seed, with the ranker's labels.

    Not compiled; the contract checks that every policy gives the same in both ways, to the last bit.
    """
    rows = list(features_for(policy, NAMES).get("features", {}).values())
    world = Fixed(np.linspace(0.7, 0.05, len(NAMES)), POSITIONS, rows)
    setting = RunSetup.of(toplist.make(policy), world, DCM([0.6, 0.9, 0.3]), NeverSeenFirst(), STEPS)
    labels = np.array([label(name) for name in NAMES])
    return Player(setting, branch(seed, 0), np.array([STEPS]), labels, compiled=False)


@pytest.mark.parametrize("policy", ONE_OF_A_KIND)
def test_a_ranker_and_the_engine_fed_the_same_clicks_hold_equal_beliefs(policy: str) -> None:
    """Even the lists are the same: the ranker makes its own, and gets the engine's clicks."""
    player = simulated(policy, seed=7)
    compiled = policy in COMPILED
    ranker = Ranker(NAMES, POSITIONS, policy, seed=7, steps=STEPS, compiled=compiled, **features_for(policy, NAMES))
    for step in range(STEPS):
        player.play(step + 1)
        shown = ranker.rank()
        assert list(shown) == [NAMES[item] for item in player.run.slate.items]
        clicks = 1 + np.flatnonzero(player.run.page.clicks)
        ranker.learn(shown, clicks=clicks, left=int(player.run.page.left[0]))
        if step % 50 == 0:
            assert array_bytes(ranker.belief) == array_bytes(player.belief)
    assert array_bytes(ranker.belief) == array_bytes(player.belief)
    assert any(array.any() for array in player.belief)


def test_rankers_of_several_kinds_are_compiled() -> None:
    assert set(ONE_OF_A_KIND) >= COMPILED


def test_other_clicks_make_another_belief() -> None:
    """A control of the comparison above."""
    player = simulated("dcm-kl-ucb", seed=7)
    player.play(STEPS)
    ranker = Ranker(NAMES, POSITIONS, "dcm-kl-ucb", seed=7)
    for _ in range(STEPS):
        ranker.learn(ranker.rank(), clicks=[1])
    assert array_bytes(ranker.belief) != array_bytes(player.belief)


@pytest.mark.parametrize("policy", ["cascade-kl-ucb", "dcm-kl-ucb", "last-click", "cascade-ucb1"])
def test_lists_that_the_engine_made_can_be_adopted(policy: str) -> None:
    """A ranker with another seed learns the engine's lists like its own."""
    player = simulated(policy, seed=8)
    ranker = Ranker(NAMES, POSITIONS, policy, seed=1)
    for step in range(STEPS):
        player.play(step + 1)
        shown = ranker.adopt([NAMES[item] for item in player.run.slate.items])
        ranker.learn(shown, clicks=1 + np.flatnonzero(player.run.page.clicks))
    assert array_bytes(ranker.belief) == array_bytes(player.belief)


def test_plain_and_compiled_rankers_agree() -> None:
    plain = Ranker(NAMES, POSITIONS, "dcm-kl-ucb", compiled=False, new_per_list=1)
    fast = Ranker(NAMES, POSITIONS, "dcm-kl-ucb", new_per_list=1)
    for step in range(200):
        if step == 100:
            for ranker in (plain, fast):
                ranker.add(["x", "y", "z"])
                ranker.remove("item 3")
        here, there = plain.rank(among=plain.items[: 5 + step % 4]), fast.rank(among=fast.items[: 5 + step % 4])
        assert here.items == there.items
        plain.learn(here, clicks=[1 + step % 3])
        fast.learn(there, clicks=[1 + step % 3])
    assert array_bytes(plain.belief) == array_bytes(fast.belief)


@pytest.mark.parametrize("policy", ["cascade-kl-ucb", "ranked-ucb1"])
def test_compiled_code_always_gets_the_types_it_was_bound_to(
    policy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It does not check them again, so every way to ask for a list must give the same types."""
    types: dict[Any, set[Any]] = {rank_compiled: set(), learn_compiled: set(), branch_compiled: set()}

    def bind(function: Any, *_: Any) -> Any:
        """In place of `direct`: record the types of every call."""

        def call(*arguments: Any) -> Any:
            types[function].add(tuple(numba.typeof(argument) for argument in arguments))  # type: ignore[no-untyped-call]
            return function(*arguments)

        return call

    monkeypatch.setattr(learner, "direct", bind)
    ranker = Ranker(NAMES, POSITIONS, policy, new_per_list=1)
    for _ in range(2):
        for asked in ({}, {"among": NAMES[:4]}, {"exclude": NAMES[:2]}, {"pins": {2: NAMES[5]}}, {"positions": 1}):
            shown = ranker.rank(**asked)
            ranker.learn(ranker.shown(shown.as_dict()), clicks=[1], left=1, seen={1: 0.5})
        ranker.save(tmp_path / "ranker.npz")
        ranker = Ranker.load(tmp_path / "ranker.npz")
        ranker.add([f"new {ranker.learned} {n}" for n in range(30)])
        ranker.remove(ranker.items[-1])
        ranker.learn(ranker.rank(), clicks=())
        if ranker.capabilities.learns_from_any_list:
            ranker.learn(ranker.adopt(NAMES[:2]), clicks=[2])
    assert (len(types[rank_compiled]), len(types[learn_compiled])) == (1, 1)
