"""Plays and tests of both figures of li2019: queries whose items jump every other epoch."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from toplist import bounds
from toplist.clicks import Cascade
from toplist.core.randomness import branch
from toplist.core.slate import Floats, Ints
from toplist.datasets.click_models import ClickModels
from toplist.engine.result import Result
from toplist.engine.starts import NeverSeenFirst
from toplist.engine.statistics import ratio
from toplist.experiments.claims import Answer, bound_text
from toplist.experiments.experiment import Play, Size
from toplist.experiments.logged_queries import LoggedQueries
from toplist.experiments.verdicts import (
    CONVERGED,
    MUCH_WORSE,
    MeanWithError,
    converges,
    final_regret,
    half_epochs,
    is_much_worse,
    mean_with_error,
)
from toplist.parts.memory.horizon import discount_for, window_for
from toplist.worlds import jumping

DISCOUNTED, WINDOWED = "CascadeDUCB", "CascadeSWUCB"
HALVED = "CascadeDUCB, half the radius"  # equal to the radius of CascadeSWUCB
RESETTING = "CascadeKL-UCB, resetting"  # ours, not the paper's
POLICIES = {
    DISCOUNTED: "cascade-ducb",
    HALVED: "cascade-ducb(eps=0.125)",
    WINDOWED: "cascade-swucb",
    "CascadeKL-UCB": "cascade-kl-ucb",
    "RankedExp3": "ranked-exp3",
    "BatchRank": "batch-rank",
    RESETTING: "cascade-kl-ucb-resetting",
}
LEFT_BEHIND = ("CascadeKL-UCB", "RankedExp3", "BatchRank")  # these do not follow the changes, by the paper
STEPS, EPOCH, RUNS, POSITIONS = 100_000, 10_000, 10, 3
POINTS = 20  # of a curve, per epoch
FACTOR = "half the printed radius, which is that of CascadeSWUCB"
EPSILON = 0.6  # for the theorems, which do not hold for the 1/2 that is played


def checkpoints(steps: int) -> Ints:
    """The ends of all halves of epochs, and points between them."""
    within = np.linspace(0, EPOCH, POINTS + 1)[1:].round().astype(np.int64)
    every = (np.arange(0, steps, EPOCH)[:, None] + within).ravel()
    return np.unique([*every[every < steps], steps])


def plays(size: Size, content: ClickModels | LoggedQueries, most: int, policies: dict[str, str]) -> list[Play]:
    """A play for each of the first `most` queries, with its own visitors and jumps."""
    attractions = list(content.attraction().items())[:most]
    kept = checkpoints(size.steps).tolist()
    return [
        Play(
            query, policies, jumping(attraction, POSITIONS, up=EPOCH, down=EPOCH), Cascade(), size.steps, size.runs,
            int(branch(size.seed, number)) % 2**63, start=NeverSeenFirst(), checkpoints=kept,
        )
        for number, (query, attraction) in enumerate(attractions)
    ]  # fmt: skip


def follows(result: Result, name: str, among: int = 1) -> Answer:
    """Whether a policy converges after each break, on one of `among` queries tested alike."""
    added = half_epochs(result.regret[name], result.checkpoints, EPOCH)
    late = added.mean(axis=0)[1:].tolist()
    slowest = max((ratio(second, first) for first, second in late), default=float("nan"))
    number = f"second half over first at most {slowest:.2f}, under {CONVERGED} required"
    return Answer(converges(added, among), number)


def stays_behind(result: Result, name: str) -> Answer:
    """Whether a policy does not converge, by its regret relative to CascadeSWUCB."""
    regret, follower = final_regret(result, name), final_regret(result, WINDOWED)
    times = ratio(float(regret.mean()), float(follower.mean()))
    return Answer(
        is_much_worse(regret, follower), f"{times:.2f} times the regret of {WINDOWED}, {MUCH_WORSE} or more required"
    )


def epoch_regret(result: Result, name: str, number: int) -> MeanWithError:
    """The regret in an epoch, counted from 1, over all runs."""
    return mean_with_error(half_epochs(result.regret[name], result.checkpoints, EPOCH)[:, number - 1].sum(axis=1))


def bound_texts(attractions: Iterable[Floats], steps: int) -> dict[str, str]:
    """The bounds of Theorems 1 and 2 on the two policies that forget, averaged over queries, as text."""
    changes, first, second = (steps - 1) // EPOCH, [], []
    discount, window = discount_for(steps, 1.0), int(window_for(steps, 1.0))
    for attraction in attractions:
        raised = attraction.copy()
        raised[np.argsort(attraction)[:POSITIONS]] = 0.9  # the smallest gaps do not depend on which items jump
        gaps = bounds.li2019_gaps([attraction.tolist(), raised.tolist()], POSITIONS)
        first.append(bounds.li2019_theorem1(gaps, changes, steps, discount, EPSILON))
        second.append(bounds.li2019_theorem2(gaps, changes, steps, window, EPSILON))
    return {
        DISCOUNTED: bound_text(f"Theorem 1 with epsilon {EPSILON}", float(np.mean(first)), steps),
        WINDOWED: bound_text(f"Theorem 2 with epsilon {EPSILON}", float(np.mean(second)), steps),
    }
