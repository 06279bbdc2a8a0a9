"""Every part fits its protocol: the annotations check it statically, and the tests at run time."""

import inspect
from typing import Any

import pytest

from toplist import clicks, policies, worlds
from toplist.core import protocols
from toplist.engine import starts
from toplist.parts import arrange, detectors, feedback, forced_turns, index, memory

USERS: list[protocols.Users] = [
    clicks.Cascade(),
    clicks.DCM(),
    clicks.DBN(),
    clicks.PBM(),
    clicks.ChangingDCM(),
    clicks.CCM(),
    clicks.UBM(),
    clicks.Mixture("cascade", "pbm"),
]
WORLDS: list[protocols.World] = [
    worlds.Fixed([0.5], 1),
    worlds.TopicCoverage([[0.5]], [1.0], 1),
    worlds.Contextual(),
    worlds.jumping([0.5, 0.1], 1),
]
SHIFTS: list[protocols.Shift] = [worlds.Epochs([[0.5]]), worlds.Jumps(), worlds.Walk(), worlds.Stays()]
READINGS: list[protocols.Reading] = [
    feedback.ThroughFirstClick(),
    feedback.OnlyLastClick(),
    feedback.ThroughLastClick(),
    feedback.UntilSatisfied(),
    feedback.EveryPlace(),
]
MEMORIES: list[protocols.Memory] = [
    memory.Everything(),
    memory.Discounted(),
    memory.Window(),
    memory.Resetting(),
    memory.ExponentialWeights(),
    memory.Exposure(),
    memory.Ridge(),
    memory.DiscountedRidge(),
    memory.WindowedRidge(),
    memory.Logistic(),
    memory.LogisticSGD(),
    memory.PerPosition(),
    memory.PositionRidge(),
]
TALLYING: list[protocols.Tallying] = [
    memory.Everything(),
    memory.Discounted(),
    memory.Window(),
    memory.Resetting(),
    memory.Exposure(),
    memory.Ridge(),
    memory.DiscountedRidge(),
    memory.WindowedRidge(),
    memory.Logistic(),
    memory.LogisticSGD(),
    memory.PositionRidge(),
]
DEVIATING: list[protocols.Deviating] = [
    memory.Ridge(),
    memory.DiscountedRidge(),
    memory.WindowedRidge(),
    memory.Logistic(),
    memory.LogisticSGD(),
    memory.PositionRidge(),
]
FORGETTING: list[protocols.Forgetting] = [
    memory.Discounted(),
    memory.Window(),
    memory.Resetting(),
    memory.DiscountedRidge(),
    memory.WindowedRidge(),
]
DETECTING: list[protocols.Detecting] = [memory.Resetting()]
DETECTORS: list[protocols.Detector] = [detectors.GLR(), detectors.CUSUM()]
INDICES: list[protocols.Index] = [
    index.UCB1(),
    index.KLUCB(),
    index.BetaPosterior(),
    index.Greedy(),
    index.Chance(),
    index.ExploringDraw(),
    index.Ellipsoid(),
    index.LogisticBound(),
    index.Posterior(),
    index.ExposureBound(),
    index.ExposurePosterior(),
    index.VarianceBound(),
    index.SharedGaussian(),
    index.GrowingPosterior(),
    index.KLUCBPlusPlus(),
    index.MOSS(),
    index.Parsimonious(),
    index.DeterminantBound(),
]
GAUGES: list[protocols.HotGauge] = [index.Ellipsoid(), index.LogisticBound(), index.Posterior()]
ARRANGEMENTS: list[protocols.Arrangement] = [arrange.TopK(), arrange.Diverse(), forced_turns.ForcedTurns()]
STARTS: list[protocols.Start] = [starts.OneSample(), starts.Forced(), starts.NeverSeenFirst()]
POLICIES: list[protocols.PolicyLike] = [
    policies.Policy(READINGS[0], MEMORIES[0], INDICES[0]),
    policies.Ranked(READINGS[0], MEMORIES[0], INDICES[0]),
    policies.ShowList(),
    policies.TopRank(),
    policies.BatchRank(),
    policies.BubbleRank(),
    policies.GRAB(),
    policies.PBMHB(),
    policies.PMED(),
]
RENUMBERING: list[protocols.Renumbering] = [policies.BubbleRank()]
HOT: dict[Any, Any] = {
    protocols.HotUsers: USERS,
    protocols.HotWorld: WORLDS,
    protocols.HotShift: SHIFTS,
    protocols.HotReading: READINGS,
    protocols.HotMemory: MEMORIES,
    protocols.HotDetector: DETECTORS,
    protocols.HotIndex: INDICES,
    protocols.HotGauge: GAUGES,
    protocols.HotArrangement: ARRANGEMENTS,
    protocols.HotStart: STARTS,
    protocols.HotPolicy: POLICIES,
}


@pytest.mark.parametrize("protocol", HOT, ids=lambda protocol: protocol.__name__)
def test_hot_methods_have_the_names_of_their_arguments(protocol: Any) -> None:
    """Compiled code passes arguments by position, so another order would go unnoticed."""
    for part in HOT[protocol]:
        for name, method in vars(protocol).items():
            if inspect.isfunction(method) and not name.startswith("_"):
                wanted = list(inspect.signature(method).parameters)
                assert list(inspect.signature(getattr(type(part), name)).parameters) == wanted, (part, name)


def test_every_part_that_ships_is_here() -> None:
    shipped: list[tuple[Any, Any]] = [(detectors, DETECTORS), (feedback, READINGS), (index, INDICES)]
    for module, parts in shipped:
        assert {type(part).__name__ for part in parts} == set(module.__all__)
    people = {name for name in clicks.__all__ if hasattr(getattr(clicks, name), "click")}  # the other one mixes them
    assert {type(part).__name__ for part in USERS} == people
    memories = {name for name in memory.__all__ if hasattr(getattr(memory, name), "keeps")}  # the others are beliefs
    assert {type(part).__name__ for part in MEMORIES} == memories
