"""The simulation loop: one plain Python function, and its compiled twin from the same source."""

from __future__ import annotations

from typing import Any, NamedTuple

import toplist.core.protocols  # noqa: F401  registers the methods of parts with the compiler
from toplist.core.compiling import compiled, helper
from toplist.core.randomness import CHANGES, CHOICES, VISITORS, branch, toss
from toplist.core.slate import Floats, Ints, Page, Request, Slate


class Run(NamedTuple):
    """State of one run, apart from the policy's belief and cache."""

    moment: Any  # the world's state
    slate: Slate
    page: Page
    request: Request  # the request of every list of this run; its key is derived from the run's
    attraction: Floats  # of the list shown, per position
    best_items: Ints  # the best list at the moment
    totals: Floats  # regret and clicks so far, and the best list's reward
    checkpoints: Ints  # steps at which the totals are recorded
    curves: Floats  # (checkpoints, 2 or more): regret and clicks; further columns are not written here


@helper
def changes_key(key: int) -> int:
    """Key of the changes in a run's world, from the key of its requests: the same for every policy."""
    return branch(key, CHANGES)


def play(
    policy: Any, belief: Any, cache: Any, world: Any, users: Any, start: Any, run: Run, first: int, last: int
) -> None:
    """Play the steps from `first` to `last` - 1, counted from 0."""
    asked, slate, page = run.request, run.slate, run.page
    choices, visitors = branch(asked.key, CHOICES), branch(asked.key, VISITORS)
    changes = changes_key(asked.key)
    recorded = 0
    while recorded < len(run.checkpoints) and run.checkpoints[recorded] <= first:
        recorded += 1
    checkpoint = run.checkpoints[recorded] if recorded < len(run.checkpoints) else 0
    regret, clicks, ideal = run.totals[0], run.totals[1], run.totals[2]
    for step in range(first, last):
        if world.advance(run.moment, step, changes):
            world.best_list(run.moment, users, run.best_items)
            world.attract(run.moment, run.best_items, run.attraction)
            ideal = users.reward(run.moment, run.best_items, run.attraction)
        candidates = asked.candidates
        count = world.eligible(run.moment, candidates)
        if count < len(candidates):  # a slice costs more than this question
            candidates = candidates[:count]
        start.pin(step, asked.pins)
        key = branch(choices, step)
        request = Request(
            candidates, asked.positions, asked.pins, asked.order, asked.features, world.revision(run.moment),
            asked.labels, key, asked.present, asked.exceptions,
        )  # fmt: skip
        policy.rank(belief, cache, request, slate)
        world.attract(run.moment, slate.items, run.attraction)
        for position in range(slate.size[0], len(slate.items)):
            run.attraction[position] = 0.0  # left over from an earlier, longer list
        clicks += users.click(run.moment, slate.items, run.attraction, asked.labels, branch(visitors, step), page)
        policy.learn(belief, slate, page)
        regret += ideal - users.reward(run.moment, slate.items, run.attraction)
        if step + 1 == checkpoint:
            run.curves[recorded, 0], run.curves[recorded, 1] = regret, clicks
            recorded += 1
            checkpoint = run.checkpoints[recorded] if recorded < len(run.checkpoints) else 0
    run.totals[0], run.totals[1], run.totals[2] = regret, clicks, ideal


def sample_every_item(policy: Any, belief: Any, world: Any, positions: int, run: Run) -> None:
    """Give the policy, before step 1, one sample of every present item at each of the first `positions` positions."""
    key = branch(branch(run.request.key, VISITORS), -1)
    world.advance(run.moment, 0, changes_key(run.request.key))
    candidates = run.request.candidates
    count = world.eligible(run.moment, candidates)
    for position in range(positions):
        for item in candidates[:count]:
            for other in range(len(run.best_items)):
                run.best_items[other] = item  # a list whose first position is this item, with nothing above it
            world.attract(run.moment, run.best_items, run.attraction)
            drawn = toss(branch(key, position), run.request.labels[item], run.attraction[0])
            policy.sample(belief, item, position, 1.0, 1.0 if drawn else 0.0, run.slate)


def play_one_run(arguments: tuple[Any, ...], played: Any, at: int, sampled_positions: int, until: int) -> None:
    """Continue one run of a batch, given its own arguments, until `until` steps are played in all."""
    policy, belief, cache, world, users, start, run = arguments
    first = played[at]
    if first < until:  # runs that were begun earlier may be ahead of the others
        if first == 0 and sampled_positions > 0:
            sample_every_item(policy, belief, world, sampled_positions, run)
        play(policy, belief, cache, world, users, start, run, first, until)
        played[at] = until


play_compiled = compiled(play)
sample_every_item_compiled = compiled(sample_every_item)
