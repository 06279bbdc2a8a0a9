"""Contenders: the engine with any policy, and hand-written loops, behind one signature."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

from benchmarks import fused, fused_features, fused_logistic, numpy_features, numpy_logistic, numpy_loops
from toplist import clicks, worlds
from toplist.core.problem import InvalidInput
from toplist.core.randomness import branch
from toplist.core.slate import Floats
from toplist.engine.player import Player, RunSetup
from toplist.engine.starts import OneSample
from toplist.policies import make

SEED = 1
ATTRACTION, GAP = 0.2, 0.15
MOST_BYTES = 2 * 1024**3  # of state; policies with more are refused


class Size(NamedTuple):
    """Size of a problem."""

    items: int  # L
    positions: int  # K

    def __str__(self) -> str:
        return f"L={self.items} K={self.positions}"


class Topics(NamedTuple):
    """Size of a problem with features."""

    items: int  # L
    positions: int  # K
    dimension: int = 18  # d: number of topics
    each: int = 2  # topics of an item, or 0 for all

    def __str__(self) -> str:
        return f"L={self.items} K={self.positions} d={self.dimension} {'sparse' if self.each else 'dense'}"


class Contexts(NamedTuple):
    """Size of a problem with contexts."""

    items: int  # L
    positions: int  # K
    dimension: int  # d
    fresh: bool = True  # contexts drawn at every step, or once

    def __str__(self) -> str:
        return f"L={self.items} K={self.positions} d={self.dimension} {'fresh' if self.fresh else 'fixed'}"

    def world(self) -> worlds.Contextual:
        """World of this size."""
        return worlds.Contextual(self.items, self.positions, self.dimension, fresh=self.fresh)


class Played(NamedTuple):
    """Outcome of a run."""

    regret: float
    solves: int | None = None  # exact KL-UCB solves, where the index counts them


# Given the steps and the number of a run, set everything up; the returned function plays the run and is timed.
Contender = Callable[[int, int], Callable[[], Played]]


def world_of(size: Size) -> worlds.Fixed:
    """World of a problem without features."""
    return worlds.b_top_k(size.items, size.positions, ATTRACTION, GAP)


def attraction_of(size: Size) -> Floats:
    """Attraction in that world, the best items first."""
    return np.asarray(world_of(size).attraction)


@lru_cache(maxsize=8)  # a large world takes longer to make than to play
def topics_of(size: Topics) -> worlds.TopicCoverage:
    """World of a problem with features: a few topics per item, as films have, or all to some degree."""
    generator = np.random.default_rng((SEED, *size))
    degrees = generator.random((size.items, size.dimension))
    if size.each:
        order = generator.random(degrees.shape).argsort(axis=1)
        degrees[order >= size.each] = 0.0
    preferences = generator.random(size.dimension)
    return worlds.TopicCoverage(degrees, preferences / preferences.sum(), size.positions)


def needs_features(policy: str) -> bool:
    """Whether a policy of the catalogue needs features."""
    return bool(make(policy).capabilities().needs_features)


def engine(policy: str, size: Size | Topics | Contexts, compiled: bool = True) -> Contender:
    """A policy of the catalogue in the engine. The initial samples and the first step are not timed.

    The world has topics or contexts if the size is of that class, and topics if the policy needs features.
    """
    world: Any
    users: Any = clicks.Cascade()
    if isinstance(size, Contexts):
        world, users = size.world(), clicks.ChangingDCM()
    elif isinstance(size, Topics):
        world = topics_of(size)
    else:
        world = topics_of(Topics(*size)) if needs_features(policy) else world_of(size)
    return runs_of(policy, world, users, compiled)


def runs_of(policy: str, world: Any, users: Any, compiled: bool = True) -> Contender:
    """Runs of the engine in a world. The initial samples and the first step are not timed."""

    def fresh(steps: int, run: int) -> Callable[[], Played]:
        setup = RunSetup.of(make(policy), world, users, OneSample(), steps)
        setup = setup._replace(samples_compiled=setup.are_samples_worth_compiling(runs=1))
        player = Player(setup, branch(SEED, run), np.array([steps]), compiled=compiled)
        state = bytes_of(player.belief) + bytes_of(player.cache)
        if state > MOST_BYTES:
            gigabytes = state / 1024**3
            raise InvalidInput(f"{policy} needs {gigabytes:.0f} GB with {setup.problem.items} items; use fewer.")
        player.play(1)

        def play() -> Played:
            player.play(steps)
            solves = getattr(getattr(player.cache, "scoring", None), "solves", None)
            return Played(float(player.run.totals[0]), None if solves is None else int(solves[0]))

        return play

    return fresh


def bytes_of(state: Any) -> int:
    """Size of all arrays in a nested state."""
    if isinstance(state, np.ndarray):
        return state.nbytes
    return sum(bytes_of(part) for part in state) if isinstance(state, tuple) else 0


def by_hand(loop: Callable[[fused.State, int, int], float], size: Size) -> Contender:
    """A fused loop. The initial samples are not timed."""
    attraction = attraction_of(size)

    def fresh(steps: int, run: int) -> Callable[[], Played]:
        key = branch(branch(SEED, run), 0)  # the key of this run in the engine
        state = fused.begin(attraction, size.positions, key)
        return lambda: Played(loop(state, key, steps))

    return fresh


def in_numpy(loop: Callable[[Floats, int, int, np.random.Generator], float], size: Size) -> Contender:
    """A NumPy loop, which draws from NumPy's own generator."""
    attraction = attraction_of(size)

    def fresh(steps: int, run: int) -> Callable[[], Played]:
        generator = np.random.default_rng((SEED, run))
        return lambda: Played(loop(attraction, size.positions, steps, generator))

    return fresh


def fused_kl_ucb(early: bool) -> Callable[[fused.State, int, int], float]:
    """The fused KL-UCB with a given stopping rule of Newton's method."""
    return partial(fused.kl_ucb, early=early)


def features_by_hand(size: Topics, diverse: bool, every: bool) -> Contender:
    """The fused loop over features; `every` position counts as examined, or those up to the first click."""
    world = topics_of(size).checked()
    ideal = fused_features.greedy_reward(world)
    layout = fused_features.lay_out(world)

    def fresh(steps: int, run: int) -> Callable[[], Played]:
        key = branch(branch(SEED, run), 0)  # the key of this run in the engine
        state = fused_features.begin(layout, size.positions)
        sparse = size.each > 0
        return lambda: Played(fused_features.play(layout, state, key, steps, ideal, sparse, diverse, every))

    return fresh


def features_in_numpy(loop: numpy_features.Loop, size: Topics, every: bool) -> Contender:
    """A NumPy loop over features, which draws from NumPy's own generator."""
    world = topics_of(size).checked()
    ideal = fused_features.greedy_reward(world)

    def fresh(steps: int, run: int) -> Callable[[], Played]:
        generator = np.random.default_rng((SEED, run))
        return lambda: Played(loop(world, steps, generator, ideal, every))

    return fresh


def contexts_by_hand(policy: str, size: Contexts) -> Contender:
    """The fused loop over contexts.

    Before anything is learned, the scores of all items differ by rounding alone, so the first list is the engine's.
    """
    world = size.world().checked()
    setup = RunSetup.of(make(policy), world, clicks.ChangingDCM(), OneSample(), 1)

    def fresh(steps: int, run: int) -> Callable[[], Played]:
        player = Player(setup, branch(SEED, run), np.array([1]))
        player.play(1)
        state = fused_logistic.begin(world)
        state.chosen[:] = player.run.slate.items[player.run.moment.places]
        key, fitted = branch(branch(SEED, run), 0), policy == GL_CDCM.policy
        return lambda: Played(fused_logistic.play(state, key, steps, size.fresh, fitted))

    return fresh


def contexts_in_numpy(loop: numpy_logistic.Loop, size: Contexts) -> Contender:
    """A NumPy loop over contexts, which draws from NumPy's own generator."""
    world = size.world().checked()

    def fresh(steps: int, run: int) -> Callable[[], Played]:
        generator = np.random.default_rng((SEED, run))
        return lambda: Played(loop(world, steps, generator))

    return fresh


class Algorithm(NamedTuple):
    """An algorithm in all its implementations."""

    title: str
    policy: str  # its name in the catalogue
    expert: Callable[[fused.State, int, int], float]
    sharper: Callable[[fused.State, int, int], float]  # the same with one more trick
    trick: str
    vectorised: Callable[[Floats, int, int, np.random.Generator], float]


UCB1 = Algorithm(
    "CascadeUCB1", "cascade-ucb1", fused.ucb1, fused.ucb1_one_division, "one division per item", numpy_loops.ucb1
)
KL_UCB = Algorithm(
    "CascadeKL-UCB",
    "cascade-kl-ucb",
    fused_kl_ucb(early=False),
    fused_kl_ucb(early=True),
    "no last Newton step",
    numpy_loops.kl_ucb,
)


class FeatureAlgorithm(NamedTuple):
    """An algorithm over features in all its implementations."""

    title: str
    policy: str  # its name in the catalogue
    diverse: bool  # scores an item by its gain over those above, or alone
    vectorised: numpy_features.Loop
    every: bool  # position counts as examined, or only those up to the first click

    def expert(self, size: Topics) -> Contender:
        """The fused loop for such topics."""
        return features_by_hand(size, self.diverse, self.every)

    def numpy(self, size: Topics) -> Contender:
        """The NumPy loop."""
        return features_in_numpy(self.vectorised, size, self.every)


LSB = FeatureAlgorithm("CascadeLSB", "cascade-lsb", True, numpy_features.lsb, every=False)
LSB_GREEDY = LSB._replace(title="LSBGreedy", policy="lsb-greedy", every=True)
LIN_UCB = FeatureAlgorithm("CascadeLinUCB", "cascade-lin-ucb", False, numpy_features.lin_ucb, every=False)


class ContextAlgorithm(NamedTuple):
    """An algorithm over contexts in all its implementations."""

    title: str
    policy: str  # its name in the catalogue
    vectorised: numpy_logistic.Loop

    def expert(self, size: Contexts) -> Contender:
        """The fused loop."""
        return contexts_by_hand(self.policy, size)

    def numpy(self, size: Contexts) -> Contender:
        """The NumPy loop."""
        return contexts_in_numpy(self.vectorised, size)


GL_CDCM = ContextAlgorithm("GL-CDCM", "gl-cdcm", numpy_logistic.gl_cdcm)
GL_CDCM_SGD = ContextAlgorithm("GL-CDCM (SGD)", "gl-cdcm-sgd", numpy_logistic.gl_cdcm_sgd)
