"""The promises of worlds: one function per promise, whose docstring gives the reason."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from toplist.checks.playing import (
    ITEMS,
    POSITIONS,
    STEPS,
    compare_plain_and_compiled,
    make_player,
    play_trace,
    text_of,
    trace_after_saving,
)
from toplist.checks.promise import check_field_names, fail_if, promise
from toplist.clicks import Cascade
from toplist.core.beliefs import array_bytes
from toplist.core.problem import Problem
from toplist.core.slate import Floats, Ints
from toplist.engine.player import RunSetup
from toplist.engine.starts import NeverSeenFirst
from toplist.policies.by_name import make
from toplist.worlds import Changing

KEY = 5

# Fixtures -------------------------------------------------------------------------------------------------------------


def world_around(shift: Any) -> Changing:
    """A world that changes in this way."""
    return Changing(np.linspace(0.8, 0.05, ITEMS), POSITIONS, shift)


class Scene(NamedTuple):
    """A world, its state at a step, and whether it said that something changed there."""

    world: Any
    problem: Problem
    moment: Any
    step: int
    changed: bool

    def eligible(self) -> list[int]:
        """The items that can be shown."""
        candidates = np.arange(self.problem.items)
        return candidates[: self.world.eligible(self.moment, candidates)].tolist()  # type: ignore[no-any-return]

    def attraction(self, items: Ints) -> Floats:
        """The attraction of a list."""
        attraction = np.full(len(items), np.nan)
        self.world.attract(self.moment, items, attraction)
        return attraction

    def best(self) -> Ints:
        """The best list for cascade users."""
        items = np.full(self.problem.positions, -1, dtype=np.int64)
        self.world.best_list(self.moment, Cascade().prepare(self.problem), items)
        return items

    def reward(self) -> float:
        """The reward of the best list for cascade users."""
        best = self.best()
        return float(Cascade().prepare(self.problem).reward(self.moment, best, self.attraction(best)))


def _scenes(world: Any) -> Iterator[Scene]:
    """The world at each step; all scenes share one state."""
    checked = world.checked()
    moment = checked.begin()
    for step in range(STEPS):
        yield Scene(checked, checked.problem(STEPS), moment, step, bool(checked.advance(moment, step, KEY)))


def _is_passing(world: Any) -> bool:
    """Whether its items come and go."""
    return hasattr(world, "passing") and bool(world.checked().passing())


def _setting(world: Any) -> RunSetup:
    return RunSetup.of(make("cascade-ucb1"), world, Cascade(), NeverSeenFirst(), STEPS)


def prepare_part(world: Any) -> None:
    """Let the world refuse its parameters, if they are invalid."""
    world.checked()


# The promises ---------------------------------------------------------------------------------------------------------


@promise
def fields_have_free_names(world: Any) -> None:
    """Compiled code finds a part's method before a field of the same name, so no field may be named like a method."""
    checked = world.checked()
    check_field_names(checked, checked.begin())


@promise
def sizes_fit_each_other(world: Any) -> None:
    """A list has at most as many positions as there are items; features have a row per item."""
    checked = world.checked()
    moment, problem = checked.begin(), checked.problem(STEPS)
    items, positions = problem.items, problem.positions
    fail_if(not 1 <= positions <= items, f"it has {items} items and {positions} positions")
    fail_if(problem.steps != STEPS, f"problem({STEPS}) has {problem.steps} steps")
    shape = np.shape(checked.features(moment))
    fits = shape == (items, problem.features) or (problem.features == 0 and 0 in shape)
    fail_if(not fits, f"its features have the shape {shape}, but must have {(items, problem.features)}")
    order = checked.order(moment).tolist()
    fail_if(order != [] and sorted(order) != list(range(positions)), f"its order {order} is no order of its positions")


@promise
def attraction_is_a_probability(world: Any) -> None:
    """At every step each item of a list attracts with a probability; an empty one, where items go, with 0."""
    passing = _is_passing(world)
    for scene in _scenes(world):
        items = np.random.default_rng(scene.step).permutation(scene.problem.items)[: scene.problem.positions]
        attraction = scene.attraction(items)
        fail_if(
            not bool(((attraction >= 0) & (attraction <= 1)).all()),
            f"at step {scene.step + 1} the attraction of the list {text_of(items)} is {attraction.tolist()}",
        )
        again = scene.attraction(items)
        fail_if(attraction.tolist() != again.tolist(), "the attraction of the same list differs between two calls")
        items[-1] = -1
        fail_if(passing and scene.attraction(items)[-1] != 0.0, "an empty position, item -1, must have attraction 0")


@promise
def eligible_items_are_ascending(world: Any) -> None:
    """At every step there is an item to show; items come and go only in a world whose `passing` says so."""
    passing = _is_passing(world)
    for scene in _scenes(world):
        eligible = scene.eligible()
        ascending = eligible == sorted(set(eligible)) and set(eligible) <= set(range(scene.problem.items))
        fail_if(not eligible or not ascending, f"at step {scene.step + 1} the eligible items are {eligible}")
        fail_if(
            not passing and len(eligible) < scene.problem.items,
            f"at step {scene.step + 1} only {eligible} can be shown, but the world has no passing() that returns True",
        )


@promise
def same_key_gives_same_world(world: Any) -> None:
    """All randomness comes from the key: every policy of a run meets the same world."""
    for here, there in zip(_scenes(world), _scenes(world), strict=True):
        same = array_bytes(here.moment) == array_bytes(there.moment) and here.changed == there.changed
        fail_if(not same, f"two runs with the same key differ at step {here.step + 1}")


@promise
def changes_are_told(world: Any) -> None:
    """The best list is computed where `advance` returns True: at the first step, and where its reward may change."""
    reward, eligible = 0.0, [0]
    for scene in _scenes(world):
        fail_if(scene.step == 0 and not scene.changed, "advance returned False at the first step")
        if scene.changed:
            reward, eligible = scene.reward(), scene.eligible()
        now, there = scene.reward(), scene.eligible()
        fail_if(
            now != reward or there != eligible,
            f"advance returned False at step {scene.step + 1}, but the reward of the best list went from {reward:.6g} "
            f"to {now:.6g}, or the eligible items from {eligible} to {there}",
        )


@promise
def best_lists_hold_eligible_items(world: Any) -> None:
    """The best list has different items that can be shown, and -1 only at the end, where too few items are there."""
    for scene in _scenes(world):
        best, eligible = scene.best().tolist(), scene.eligible()
        size = min(scene.problem.positions, len(eligible))
        shown, rest = best[:size], best[size:]
        right = len(set(shown)) == size and set(shown) <= set(eligible) and set(rest) <= {-1}
        fail_if(not right, f"at step {scene.step + 1} the best list is {best}, of the eligible items {eligible}")


@promise
def saved_world_continues(world: Any) -> None:
    """The arrays of `begin` are the whole state: a run resumed from them continues as if it had never stopped."""
    whole, rest = play_trace(make_player(_setting(world))), trace_after_saving(_setting(world))
    same = whole.lists[STEPS // 2 :] == rest.lists and whole.clicks[STEPS // 2 :] == rest.clicks
    fail_if(not same, "a run that was saved and resumed went on differently")
    same = whole.player.run.curves.tobytes() == rest.player.run.curves.tobytes()
    fail_if(not same, "a run that was saved and resumed ended with another regret")


@promise
def plain_and_compiled_agree(world: Any) -> None:
    """Compiled code does what the plain source does, to the last bit."""
    setup = _setting(world)
    compare_plain_and_compiled(play_trace(make_player(setup)), play_trace(make_player(setup, compiled=True)))
