"""Plays policies on the fitted visitors of queries: every draw of the fit, on threads, with progress and Ctrl-C."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any, NamedTuple

import numpy as np

from toplist.advice.futures import Futures
from toplist.advice.kept_plays import KeptPlays
from toplist.advice.priors import scale_of, scaled_mean
from toplist.advice.query_worlds import FRACTIONS, POINTS, QueryPlan, QueryWorld, query_world
from toplist.core.compiling import fingerprint
from toplist.core.prior import Prior
from toplist.core.randomness import branch
from toplist.core.slate import Floats
from toplist.engine.play import play, sample_every_item
from toplist.engine.player import Player, RunSetup
from toplist.engine.resume_file import classes_of
from toplist.engine.starts import NeverSeenFirst
from toplist.logs import FittedModel
from toplist.ranker.priors import adds_up, capped_priors, sums_of_priors
from toplist.support.files import AnyPath

NEVER_SEEN_FIRST = NeverSeenFirst()
LATE = 0.7  # the share of a run from which its regret is extrapolated


class Played(NamedTuple):
    """Clicks up to each fraction of the horizon, per list of the horizon.

    Parameters
    ----------
    clicks : ndarray of float, shape (policies, draws, queries, fractions)
        Of the policies.
    logged, best : ndarray of float, shape (draws, queries, fractions)
        Of the ranking in the log, and of the best list.
    """

    clicks: Floats
    logged: Floats
    best: Floats


def play_policies(
    policies: Mapping[str, Any],
    draws: Sequence[FittedModel],
    plans: Sequence[QueryPlan],
    seed: int,
    threads: int,
    compiled: bool | None,
    progress: Callable[[int, int], object],
    futures: Futures | None = None,
    folder: AnyPath | None = None,
) -> Played:
    """Play each policy once in every draw of every query; all policies of a draw meet the same visitors.

    Parameters
    ----------
    policies : mapping of str to policy
        The policies.
    draws : sequence of FittedModel
        The visitors.
    plans : sequence of QueryPlan
        The queries.
    seed : int
        Seed of all random numbers.
    threads : int
        Number of threads.
    compiled : bool or None
        Whether to compile; None compiles if there is enough to play.
    progress : callable
        Receives the number of queries played and of all, over all draws.
    futures : Futures, optional
        How visitors change in each draw; by default they stay as they are.
    folder : str or path-like, optional
        Keep what was played in this folder: after an interruption, an equal call does not play it again.

    Returns
    -------
    Played
        The clicks.
    """
    found = Played(
        np.zeros((len(policies), len(draws), len(plans), POINTS)),
        np.zeros((len(draws), len(plans), POINTS)),
        np.zeros((len(draws), len(plans), POINTS)),
    )
    stopped = threading.Event()
    kept, done = None, np.zeros((len(draws), len(plans)), dtype=np.bool_)
    if folder is not None:
        visitors = [(str(draw.model), draw.own.value, draw.shared.value) for draw in draws]
        kept = KeptPlays(folder, (list(policies), visitors, list(plans), seed, futures, code_of(policies)))
        done = kept.fill(found)
    lists = len(draws) * sum(min(plan.horizon, 1e6) for plan in plans)

    def play_query(draw: int, place: int) -> None:
        plan = plans[place] if futures is None else futures.plan(plans[place], draw)
        case = query_world(draws[draw], plan)
        found.logged[draw, place] = case.logged / plan.horizon
        found.best[draw, place] = case.best / plan.horizon
        key = branch(branch(seed, draw), plan.query)
        for number, policy in enumerate(policies.values()):
            if stopped.is_set():
                return
            found.clicks[number, draw, place] = played_clicks(policy, case, key, lists, compiled) / plan.horizon
        done[draw, place] = True

    tasks = [(int(draw), int(place)) for draw, place in np.argwhere(~done)]
    with ThreadPoolExecutor(threads) as pool:
        pending: set[Future[None]] = set()
        try:
            pending = {pool.submit(play_query, *task) for task in tasks}
            while pending:
                ended, pending = wait(pending, timeout=0.2, return_when=FIRST_COMPLETED)
                for future in ended:
                    future.result()
                progress(done.size - len(pending), done.size)
        finally:
            stopped.set()  # after an interruption, threads stop at the end of their run
            for future in pending:
                future.cancel()
            wait(pending)
            if kept is not None and tasks:
                kept.save(found, done)
    return found


def code_of(policies: Mapping[str, Any]) -> str:
    """Hash the code that plays policies: with other code, they may earn something else."""
    classes = (cls for policy in policies.values() for cls in classes_of(policy))
    return fingerprint(play, sample_every_item, played_clicks, query_world, Futures, *classes)


def played_clicks(policy: Any, case: QueryWorld, key: int, lists: float, compiled: bool | None) -> Floats:
    """Expected clicks of a policy up to each fraction of the horizon, in one run.

    Parameters
    ----------
    policy : policy
        The policy.
    case : QueryWorld
        The query and its visitors.
    key : int
        Random key of the run.
    lists : float
        Number of lists that the policy plays in all runs, by which to decide whether to compile it.
    compiled : bool or None
        Whether to compile.

    Returns
    -------
    ndarray of float
        Cumulative clicks.
    """
    setup = RunSetup.of(policy, case.world, case.users, NEVER_SEEN_FIRST, case.steps)
    worth = setup.is_worth_compiling(round(lists)) if compiled is None else compiled
    player = Player(setup, key, case.checkpoints, compiled=worth)
    start_warm(player, case.plan)
    player.play(case.steps)
    regret = player.run.curves[:, 0].copy()
    at = FRACTIONS * case.plan.horizon
    found: Floats = np.interp(at, np.append(0, case.checkpoints), np.append(0.0, case.best_played - regret))
    beyond = at > case.steps
    if beyond.any():
        late = min(int(np.searchsorted(case.checkpoints, LATE * case.steps)), len(regret) - 2)
        slope = (regret[-1] - regret[late]) / (case.checkpoints[-1] - case.checkpoints[late])
        found[beyond] = case.best[beyond] - regret[-1] - slope * (at[beyond] - case.steps)
    return found


def start_warm(player: Player, plan: QueryPlan) -> None:
    """Let a policy believe the priors of the items, as a ranker with priors does."""
    can = player.policy.capabilities()
    places = {"item": 1, "item and place": plan.places, "nothing": 0}[can.samples]
    scale = scale_of(player.policy, plan.scales)
    given = [
        Prior(scaled_mean(float(mean), scale), float(strength))
        for mean, strength in zip(plan.mean, plan.strength, strict=True)
    ]
    counted = capped_priors(given, np.zeros(0), np.zeros(0), plan.places)
    if can.needs_features and adds_up(player.policy):
        means, strengths = np.array(counted).T
        player.policy.add_sums(player.belief, *sums_of_priors(plan.features, means, strengths))
    for item, prior in enumerate(counted):
        if prior.strength > 0.0:
            for place in range(places):
                player.policy.sample(player.belief, item, place, prior.strength, prior.mean, player.run.slate)
