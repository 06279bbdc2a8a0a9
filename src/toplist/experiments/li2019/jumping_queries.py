"""What both figures of li2019 play and ask: queries whose items jump every other epoch, and who follows."""

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
from toplist.experiments.claims import Answer, promise
from toplist.experiments.experiment import Play, Size
from toplist.experiments.verdicts import BEHIND, CONVERGED, Measured, converges, final, halves, left_behind, measured
from toplist.parts.memory.horizon import discount_for, window_for
from toplist.worlds import jumping

DISCOUNTED, WINDOWED = "CascadeDUCB", "CascadeSWUCB"
HALVED = "CascadeDUCB, half the radius"  # which is then that of CascadeSWUCB
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
LEFT_BEHIND = ("CascadeKL-UCB", "RankedExp3", "BatchRank")  # by the changes, as the paper says
STEPS, EPOCH, RUNS, POSITIONS = 100_000, 10_000, 10, 3
POINTS = 20  # of a curve, per epoch
FACTOR = "half the printed radius, which is that of CascadeSWUCB"
EPSILON = 0.6  # of the theorems, which do not hold for the 1/2 that is played


def checkpoints(steps: int) -> Ints:
    """The ends of all halves of epochs, and points between them."""
    within = np.linspace(0, EPOCH, POINTS + 1)[1:].round().astype(np.int64)
    every = (np.arange(0, steps, EPOCH)[:, None] + within).ravel()
    return np.unique([*every[every < steps], steps])


def plays(size: Size, content: ClickModels, most: int, policies: dict[str, str]) -> list[Play]:
    """A play per query, for the first so many, each with visitors and jumps of its own."""
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
    """Whether a policy converges after each break, where so many queries are asked."""
    added = halves(result.regret[name], result.checkpoints, EPOCH)
    late = added.mean(axis=0)[1:].tolist()
    slowest = max((ratio(second, first) for first, second in late), default=float("nan"))
    number = f"second half over first at most {slowest:.2f}, under {CONVERGED} asked"
    return Answer(converges(added, among), number)


def stays_behind(result: Result, name: str) -> Answer:
    """Whether a policy does not converge, by its regret beside that of the window."""
    regret, follower = final(result, name), final(result, WINDOWED)
    times = ratio(float(regret.mean()), float(follower.mean()))
    return Answer(left_behind(regret, follower), f"{times:.2f} times the regret of {WINDOWED}, {BEHIND} or more asked")


def in_epoch(result: Result, name: str, number: int) -> Measured:
    """The regret of an epoch, counted from 1, over all runs."""
    return measured(halves(result.regret[name], result.checkpoints, EPOCH)[:, number - 1].sum(axis=1))


def promises(attractions: Iterable[Floats], steps: int) -> dict[str, str]:
    """What Theorems 1 and 2 promise of the two that forget, on average over queries."""
    changes, first, second = (steps - 1) // EPOCH, [], []
    discount, window = discount_for(steps, 1.0), int(window_for(steps, 1.0))
    for attraction in attractions:
        raised = attraction.copy()
        raised[np.argsort(attraction)[:POSITIONS]] = 0.9  # which ones jump is the same to everybody's smallest gap
        gaps = bounds.li2019_gaps([attraction.tolist(), raised.tolist()], POSITIONS)
        first.append(bounds.li2019_theorem1(gaps, changes, steps, discount, EPSILON))
        second.append(bounds.li2019_theorem2(gaps, changes, steps, window, EPSILON))
    return {
        DISCOUNTED: promise(f"Theorem 1 with epsilon {EPSILON}", float(np.mean(first)), steps),
        WINDOWED: promise(f"Theorem 2 with epsilon {EPSILON}", float(np.mean(second)), steps),
    }
