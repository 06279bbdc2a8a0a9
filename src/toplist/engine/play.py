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


class Environment(NamedTuple):
    """A world and its users; `LinkedEnvironment` is the same in machine code of its own."""

    world: Any
    users: Any

    def begin_step(self, run: Run, step: int, key: int, ideal: float) -> float:
        """Move the world to a step; where it changed, find the best list and its reward."""
        if self.world.advance(run.moment, step, key):
            self.world.best_list(run.moment, self.users, run.best_items)
            self.world.attract(run.moment, run.best_items, run.attraction)
            ideal = self.users.reward(run.moment, run.best_items, run.attraction)
        return ideal

    def count_present(self, run: Run) -> int:
        """Find the items that can be shown."""
        return int(self.world.eligible(run.moment, run.request.candidates))

    def features_revision(self, run: Run) -> int:
        """Version of the features."""
        return int(self.world.revision(run.moment))

    def visit(self, run: Run, visitor: int) -> int:
        """Clicks of a visitor."""
        items = run.slate.items
        self.world.attract(run.moment, items, run.attraction)
        for position in range(run.slate.size[0], len(items)):
            run.attraction[position] = 0.0  # left over from an earlier, longer list
        return int(self.users.click(run.moment, items, run.attraction, run.request.labels, visitor, run.page))

    def expected_reward(self, run: Run) -> float:
        """Reward of the list that was shown."""
        return float(self.users.reward(run.moment, run.slate.items, run.attraction))

    def attraction_alone(self, run: Run, item: int) -> float:
        """Attraction of an item in a list whose first position it has."""
        for position in range(len(run.best_items)):
            run.best_items[position] = item
        self.world.attract(run.moment, run.best_items, run.attraction)
        return float(run.attraction[0])


@helper
def changes_key(key: int) -> int:
    """Key of the changes in a run's world, from the key of its requests: the same for every policy."""
    return branch(key, CHANGES)


def play(policy: Any, belief: Any, cache: Any, environment: Any, start: Any, run: Run, first: int, last: int) -> None:
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
        ideal = environment.begin_step(run, step, changes, ideal)
        candidates = asked.candidates
        count = environment.count_present(run)
        if count < len(candidates):  # a slice costs more than this question
            candidates = candidates[:count]
        start.pin(step, asked.pins)
        key = branch(choices, step)
        request = Request(
            candidates, asked.positions, asked.pins, asked.order, asked.features, environment.features_revision(run),
            asked.labels, key, asked.present, asked.exceptions,
        )  # fmt: skip
        policy.rank(belief, cache, request, slate)
        clicks += environment.visit(run, branch(visitors, step))
        policy.learn(belief, slate, page)
        regret += ideal - environment.expected_reward(run)
        if step + 1 == checkpoint:
            run.curves[recorded, 0], run.curves[recorded, 1] = regret, clicks
            recorded += 1
            checkpoint = run.checkpoints[recorded] if recorded < len(run.checkpoints) else 0
    run.totals[0], run.totals[1], run.totals[2] = regret, clicks, ideal


def sample_every_item(policy: Any, belief: Any, environment: Any, positions: int, run: Run) -> None:
    """Give the policy, before step 1, one sample of every present item at each of the first `positions` positions."""
    key = branch(branch(run.request.key, VISITORS), -1)
    environment.begin_step(run, 0, changes_key(run.request.key), 0.0)
    candidates = run.request.candidates
    count = environment.count_present(run)
    for position in range(positions):
        for item in candidates[:count]:
            attraction = environment.attraction_alone(run, item)
            drawn = toss(branch(key, position), run.request.labels[item], attraction)
            policy.sample(belief, item, position, 1.0, 1.0 if drawn else 0.0, run.slate)


def play_one_run(arguments: tuple[Any, ...], played: Any, at: int, sampled_positions: int, until: int) -> None:
    """Continue one run of a batch, given its own arguments, until `until` steps are played in all."""
    policy, belief, cache, world, users, start, run = arguments
    environment = Environment(world, users)
    first = played[at]
    if first < until:  # runs that were begun earlier may be ahead of the others
        if first == 0 and sampled_positions > 0:
            sample_every_item(policy, belief, environment, sampled_positions, run)
        play(policy, belief, cache, environment, start, run, first, until)
        played[at] = until


play_compiled = compiled(play)
sample_every_item_compiled = compiled(sample_every_item)
