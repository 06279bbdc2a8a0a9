"""The loop: list after list, click after click. One plain function, and its compiled twin from the same source."""

from __future__ import annotations

from typing import Any, NamedTuple

import toplist.core.protocols  # noqa: F401  registers the methods of parts with the compiler
from toplist.core.compiling import compiled, helper
from toplist.core.randomness import CHANGES, CHOICES, VISITORS, branch, toss
from toplist.core.slate import Floats, Ints, Page, Request, Slate


class Run(NamedTuple):
    """One run at work: everything in it that is not the policy's own."""

    moment: Any  # the world's state
    slate: Slate
    page: Page
    request: Request  # what every list of this run is asked for; its key is the run's
    attraction: Floats  # per place, of the list shown
    best_items: Ints  # the best list of the moment
    totals: Floats  # regret and clicks so far, and the best list's reward
    checkpoints: Ints  # steps after which the totals are kept
    curves: Floats  # (checkpoints, 2 or more): regret and clicks there; what else there is stays as it is


@helper
def changes_key(key: int) -> int:
    """The key of what changes in a run's world, from that of its requests: the same for every policy."""
    return branch(key, CHANGES)


def play(
    policy: Any, belief: Any, cache: Any, world: Any, users: Any, start: Any, run: Run, first: int, last: int
) -> None:
    """Play the steps from `first` up to but without `last`; the first of all is 0."""
    asked, slate, page = run.request, run.slate, run.page
    choices, visitors = branch(asked.key, CHOICES), branch(asked.key, VISITORS)
    changes = changes_key(asked.key)
    kept = 0
    while kept < len(run.checkpoints) and run.checkpoints[kept] <= first:
        kept += 1
    checkpoint = run.checkpoints[kept] if kept < len(run.checkpoints) else 0
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
            asked.labels, key,
        )  # fmt: skip
        policy.rank(belief, cache, request, slate)
        world.attract(run.moment, slate.items, run.attraction)
        for place in range(slate.size[0], len(slate.items)):
            run.attraction[place] = 0.0  # whatever stands there from an earlier list is not shown
        clicks += users.click(run.moment, slate.items, run.attraction, asked.labels, branch(visitors, step), page)
        policy.learn(belief, slate, page)
        regret += ideal - users.reward(run.moment, slate.items, run.attraction)
        if step + 1 == checkpoint:
            run.curves[kept, 0], run.curves[kept, 1] = regret, clicks
            kept += 1
            checkpoint = run.checkpoints[kept] if kept < len(run.checkpoints) else 0
    run.totals[0], run.totals[1], run.totals[2] = regret, clicks, ideal


def sample_every_item(policy: Any, belief: Any, world: Any, places: int, run: Run) -> None:
    """Before step 1: give the policy one sample of every item that is there, at each of so many places."""
    key = branch(branch(run.request.key, VISITORS), -1)
    world.advance(run.moment, 0, changes_key(run.request.key))
    candidates = run.request.candidates
    count = world.eligible(run.moment, candidates)
    for place in range(places):
        for item in candidates[:count]:
            for other in range(len(run.best_items)):
                run.best_items[other] = item  # whose first place is this item with nothing above it
            world.attract(run.moment, run.best_items, run.attraction)
            drawn = toss(branch(key, place), run.request.labels[item], run.attraction[0])
            policy.sample(belief, item, place, 1.0, 1.0 if drawn else 0.0, run.slate)


play_compiled = compiled(play)
sample_every_item_compiled = compiled(sample_every_item)
