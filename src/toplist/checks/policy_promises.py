"""The promises of policies: one function per promise, whose docstring gives the reason."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from toplist.checks.playing import (
    ITEMS,
    POSITIONS,
    STEPS,
    Trace,
    compare_plain_and_compiled,
    make_player,
    play_trace,
    shared_trace,
    trace_after_saving,
)
from toplist.checks.promise import check_field_names, fail_if, promise
from toplist.clicks import DCM
from toplist.core.beliefs import BLOCK, MANY, TOUCHED, ItemRows, array_bytes, copy_arrays, grow_belief
from toplist.core.randomness import branch
from toplist.core.slate import Ints, Page, Request, Slate, empty_page
from toplist.engine.player import Player, RunSetup
from toplist.engine.simulate import simulate
from toplist.engine.starts import NeverSeenFirst, OneSample
from toplist.worlds import Fixed

# Fixtures -------------------------------------------------------------------------------------------------------------


def _world(policy: Any, attraction: Any = None, positions: int = POSITIONS) -> Fixed:
    """Items of different attraction; a policy that needs features gets a one-hot row per item."""
    attraction = np.linspace(0.8, 0.05, ITEMS) if attraction is None else np.array(attraction)
    return Fixed(attraction, positions, np.eye(len(attraction)) if policy.capabilities().needs_features else ())


def _setting(policy: Any, world: Any = None, start: Any = None, steps: int = STEPS) -> RunSetup:
    users = DCM([0.6, 0.9, 0.3])
    return RunSetup.of(policy, world or _world(policy), users, start or OneSample(), steps)


def _player(policy: Any, key: int = 1, compiled: bool = False, **changes: Any) -> Player:
    labels = changes.pop("labels", None)
    return make_player(_setting(policy, **changes), key, labels, compiled)


def _plain_trace(policy: Any) -> Trace:
    """A run of the policy in plain Python, for promises that only read it."""
    return shared_trace(policy, lambda: play_trace(_player(policy)))


def prepare_part(policy: Any) -> None:
    """Let the policy refuse its parameters, if they are invalid."""
    _setting(policy)


def _bytes(belief: Any) -> int:
    return sum(array.nbytes for array in belief)


def _request(player: Player, number: int, candidates: Ints | None = None, pins: Ints | None = None) -> Request:
    asked = player.run.request
    return asked._replace(
        key=branch(99, number),
        candidates=asked.candidates if candidates is None else candidates,
        pins=asked.pins if pins is None else pins,
    )


def _list(player: Player, number: int, **limits: Any) -> Slate:
    slate: Slate = player.policy.slate(player.setup.problem)
    player.policy.rank(player.belief, player.cache, _request(player, number, **limits), slate)
    return slate


def _page(clicked: Iterable[int]) -> Page:
    page = empty_page(POSITIONS)
    for place in clicked:
        page.clicks[place] = 1
    return page


def _valid(slate: Slate, eligible: Iterable[int] = range(ITEMS), size: int = POSITIONS) -> bool:
    shown = slate.items[: slate.size[0]].tolist()
    return len(shown) == size == len(set(shown)) and set(shown) <= set(eligible)


# The promises ---------------------------------------------------------------------------------------------------------


@promise
def fields_have_free_names(policy: Any) -> None:
    """Compiled code finds a part's method before a field of the same name, so no field may be named like a method."""
    player = _player(policy)
    check_field_names(policy, player.belief, player.cache)


@promise
def prepared_parts_hold_no_text(policy: Any) -> None:
    """Text in a part makes every call of compiled code from Python ten times slower: `prepare` must resolve it."""
    waiting = [(type(policy).__name__, _player(policy).policy)]
    while waiting:
        named, part = waiting.pop()
        fail_if(isinstance(part, str), f"{named} is {part!r} after prepare; make it a number or an array there")
        if hasattr(part, "_fields"):
            waiting.extend((f"{type(part).__name__}.{name}", value) for name, value in part._asdict().items())


@promise
def lists_hold_distinct_items(policy: Any) -> None:
    """A list has K positions, each with a different item."""
    for shown in _plain_trace(policy).lists:
        fail_if(
            len(set(shown)) != POSITIONS or len(shown) != POSITIONS or not set(shown) <= set(range(ITEMS)),
            f"the list {shown} does not hold {POSITIONS} different items of {ITEMS}",
        )


@promise
def same_seed_gives_same_run(policy: Any) -> None:
    """All randomness comes from the request's key: no global state, nothing left from an earlier run."""
    first, second = _plain_trace(policy), play_trace(_player(policy))
    fail_if(first.lists != second.lists, "two runs with the same seed showed different lists")
    fail_if(
        array_bytes(first.player.belief) != array_bytes(second.player.belief),
        "two equal runs ended in different beliefs",
    )


@promise
def plain_and_compiled_agree(policy: Any) -> None:
    """Compiled code does what the plain source does, to the last bit."""
    compare_plain_and_compiled(_plain_trace(policy), play_trace(_player(policy, compiled=True)))


@promise
def saved_belief_continues(policy: Any) -> None:
    """The belief is the whole state: a policy resumed from it continues as if it had never stopped."""
    whole, rest = _plain_trace(policy), trace_after_saving(_setting(policy))
    fail_if(whole.lists[STEPS // 2 :] != rest.lists, "a policy resumed from its saved belief showed other lists")
    fail_if(
        array_bytes(whole.player.belief) != array_bytes(rest.player.belief),
        "a policy resumed from its saved belief ended in another belief",
    )


@promise
def relabelling_changes_only_labels(policy: Any) -> None:
    """The number of an item must not matter: ties are broken by the item's label, not by where it is stored.

    A policy that is given a ranking of the items returns with `renumbered` the same policy for other numbers.
    """
    order = np.random.default_rng(5).permutation(ITEMS)
    world = _world(policy)
    known = np.asarray(world.known)[order] if len(world.known) else ()
    moved = world._replace(attraction=np.asarray(world.attraction)[order], known=known)
    here = _plain_trace(policy)
    renumbered = policy.renumbered(order) if hasattr(policy, "renumbered") else policy
    there = play_trace(_player(renumbered, world=moved, labels=order))
    for step, (one, other) in enumerate(zip(here.lists, there.lists, strict=True), 1):
        renamed = order[other].tolist()
        fail_if(one != renamed, f"at step {step} {one} was shown, but {renamed} once the items were relabelled")


@promise
def empty_and_full_pages_are_learned(policy: Any) -> None:
    """A page without a click and a page clicked everywhere are ordinary observations."""
    player = _player(policy, start=NeverSeenFirst())
    for number in range(40):
        slate = _list(player, number)
        fail_if(not _valid(slate), f"after pages without clicks and full of clicks it showed {slate.items.tolist()}")
        player.policy.learn(player.belief, slate, _page(range(POSITIONS) if number % 2 else ()))
        for name, array in player.belief._asdict().items():
            fail_if(bool(np.isnan(array).any()), f"its belief {name!r} became NaN")


@promise
def late_slates_are_learned_from_themselves(policy: Any) -> None:
    """The slate holds everything that `learn` needs: three lists are learned in reverse order as if each were new."""
    player = _player(policy)
    player.play(20)
    before, prompt = copy_arrays(player.belief), copy_arrays(player.belief)
    pages = [(0, 2), (), (1,)]
    slates = [_list(player, number) for number in range(3)]
    for slate, clicked in zip(reversed(slates), pages, strict=True):
        player.policy.learn(player.belief, slate, _page(clicked))
    for number, clicked in zip((2, 1, 0), pages, strict=True):
        again = player.policy.slate(player.setup.problem)
        player.policy.rank(before, player.cache, _request(player, number), again)
        player.policy.learn(prompt, again, _page(clicked))
    fail_if(
        array_bytes(player.belief) != array_bytes(prompt), "learning from a late list depends on more than the list"
    )
    fail_if(not _valid(_list(player, 3)), "after learning three lists in reverse order it showed no valid list")


@promise
def rank_leaves_the_belief(policy: Any) -> None:
    """Ranking only reads; only `learn` writes the belief."""
    player = _player(policy)
    player.play(30)
    before = array_bytes(player.belief)
    for number in range(5):
        _list(player, number)
    fail_if(before != array_bytes(player.belief), "making lists changed the belief")


@promise
def belief_does_not_grow(policy: Any) -> None:
    """The belief does not grow with the lists learned; with the horizon less than in proportion, as a window does."""
    if policy.capabilities().grows:
        return
    before, after = _bytes(_player(policy).belief), _bytes(_plain_trace(policy).player.belief)
    fail_if(before != after, f"its belief took {before} bytes before the first list and {after} after {STEPS}")
    longer = _bytes(_player(policy, steps=1000 * STEPS).belief)
    fail_if(
        longer > 200 * before, f"its belief takes {before} bytes for {STEPS} steps and {longer} for 1000 times as many"
    )


@promise
def more_items_change_nothing_for_the_others(policy: Any) -> None:
    """A belief enlarged for new items says the same of the existing ones, and can forget single items."""
    if not policy.capabilities().adds_items:
        return
    small = _player(policy)
    small.play(60)
    problem = small.setup.problem
    more = problem._replace(items=2 * ITEMS)
    layout = ItemRows.of(small.policy, problem)
    belief = grow_belief(copy_arrays(small.belief), small.policy.begin(more))
    cache, labels = small.policy.scratch(more), np.arange(2 * ITEMS)
    features = np.zeros((2 * ITEMS, problem.features))
    features[:ITEMS] = small.run.request.features
    for number in range(20):
        slate, other = _list(small, number), small.policy.slate(more)
        request = _request(small, number)._replace(labels=labels, features=features)
        small.policy.rank(belief, cache, request, other)
        here, there = slate.items.tolist(), other.items.tolist()
        fail_if(here != there, f"it showed {here}, but {there} after its belief was enlarged for more items")
        small.policy.learn(small.belief, slate, _page((number % POSITIONS,)))
        small.policy.learn(belief, other, _page((number % POSITIONS,)))
    for array, longer, rows in zip(small.belief, belief, layout.rows, strict=True):
        same = array.tobytes() == longer[: len(array)].tobytes()
        fail_if(not same, "it learned something else after its belief was enlarged for more items")
        fail_if(
            len(longer) - len(array) != rows * ITEMS, "its belief does not have the same number of rows for each item"
        )
    untouched = small.policy.begin(more)
    for item in range(ITEMS):
        layout.forget(belief, item)
    for array, before, rows in zip(belief, untouched, layout.rows, strict=True):
        forgotten = rows == 0 or array.tobytes() == before.tobytes()
        fail_if(not forgotten, "a forgotten item is not as it was at the beginning")


@promise
def changed_counts_are_told(policy: Any) -> None:
    """With very many items, only items in blocks that the belief marks as touched are scored again."""
    can = policy.capabilities()
    if not can.adds_items or not can.learns_from_any_list or can.needs_features:
        return
    player = _player(policy)
    problem = player.setup.problem._replace(items=MANY)
    belief = player.policy.begin(problem)
    if not hasattr(belief, TOUCHED):
        return
    for number in range(60):
        slate, before = player.policy.slate(problem), copy_arrays(belief)
        slate.size[0] = POSITIONS
        slate.items[:] = (np.arange(POSITIONS) + number * POSITIONS) * BLOCK % MANY
        player.policy.learn(belief, slate, _page((number % POSITIONS,)))
        changed = np.flatnonzero((belief.examined != before.examined) | (belief.clicked != before.clicked))
        silent = changed[belief.touched[changed // BLOCK] == before.touched[changed // BLOCK]]
        fail_if(
            len(silent) > 0,
            f"a list changed the counts of {len(silent)} items without a change of `touched`; call "
            f"toplist.parts.memory.counts.touch where counts change",
        )


@promise
def only_eligible_items_are_shown(policy: Any) -> None:
    """A policy that takes subsets and pins respects them, and makes a shorter list where fewer items are eligible."""
    player = _player(policy)
    player.play(50)
    for number in range(20):
        if policy.capabilities().takes_subsets:
            eligible = np.array([1, 4, 5, 8]) if number % 2 else np.array([2, 7])
            slate = _list(player, number, candidates=eligible)
            size = min(POSITIONS, len(eligible))
            shown = slate.items[: slate.size[0]].tolist()
            fail_if(
                not _valid(slate, eligible.tolist(), size), f"of the eligible {eligible.tolist()} it showed {shown}"
            )
        if policy.capabilities().takes_pins:
            slate = _list(player, number, pins=np.array([-1, number % ITEMS, -1]))
            shown = slate.items.tolist()
            pinned = _valid(slate) and shown[1] == number % ITEMS
            fail_if(not pinned, f"with item {number % ITEMS} pinned to position 2 it showed {shown}")
        if policy.capabilities().takes_subsets and policy.capabilities().takes_pins:
            slate = _list(player, number, candidates=np.array([2, 7]), pins=np.array([-1, 2, 7]))
            shown = slate.items[: slate.size[0]].tolist()
            fail_if(shown != [7, 2], f"of the eligible [2, 7], 2 pinned to position 2 and 7 to 3, it showed {shown}")


@promise
def beats_random_on_an_easy_problem(policy: Any) -> None:
    """Two of eight items attract almost all users: over 8 runs of 6000 steps, regret must be below half of Random's.

    A policy that is given a ranking gets ten times as many steps: it is made to leave a bad ranking slowly.
    """
    if not policy.capabilities().learns:
        return
    attraction = np.array([0.05] * 3 + [0.9, 0.85] + [0.05] * 3)
    world = _world(policy, attraction, 2)
    able = policy.capabilities()
    if able.needs_features and not able.covers_topics:
        world = world._replace(known=np.column_stack([attraction > 0.5, attraction < 0.5]))
    steps = 60_000 if hasattr(policy, "renumbered") else 6000
    result = simulate({"it": policy, "random": "random"}, world, DCM(0.7), steps, runs=8, seed=2)
    difference = result.difference("it", "random")
    fail_if(
        not (difference.high < 0 and difference.ratio < 0.5),
        f"its regret is {difference.ratio:.2f} of Random's (the difference is {difference.mean:.0f}, 95% between "
        f"{difference.low:.0f} and {difference.high:.0f}); it must be below 0.5",
    )
