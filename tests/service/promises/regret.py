"""Promise 8: a service fed by simulated visitors loses what the simulator loses with the same policy.

Each segment of one ranking is a run: a learner of its own, met by visitors of its own, list after list. The regrets of
the runs at the end are compared with those of the simulator's runs of the same world, users, policy and number of steps
by the two-sample test of Kolmogorov and Smirnov, which notices any difference between two distributions. All seeds are
fixed, and a run's lists depend on nothing but its own past, so that the test always gives the same number.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.load import Answer, Ask, load, request
from benchmarks.server import Broken, Server, serving
from scipy import stats

import toplist
from toplist.core.randomness import branch
from toplist.core.slate import Floats, empty_page

from .callers import CLICKS, LISTS

POLICY = "dcm-kl-ucb"
WORLD, USERS = toplist.worlds.b_lb(items=16, positions=4, attraction=0.2, gap=0.15, termination=0.5)
SIMULATED_RUNS = 1000
LEAST_P = 0.01


def check(folder: Path, runs: int, steps: int, seed: int = 8) -> str:
    """So many runs of so many steps in the service, beside the simulator's; the test's verdict."""
    with serving(folder / "regret.db") as server:
        server.create("regret", len(WORLD.attraction), WORLD.positions, policy=POLICY, seed=seed, click_window=600.0)
        served = asyncio.run(_regrets(server, runs, steps, seed))
    start = toplist.starts.NeverSeenFirst()
    result = toplist.simulate(
        POLICY, WORLD, USERS, steps, SIMULATED_RUNS, seed=seed, start=start, checkpoints=[steps], threads=1
    )
    simulated = result.regret[POLICY][:, -1]
    return judged(served, simulated, steps)


def judged(served: Floats, simulated: Floats, steps: int) -> str:
    """Whether both could come from one distribution."""
    test = stats.ks_2samp(served, simulated)
    told = (
        f"{POLICY}, {steps} steps: regret {_mean(served)} in {len(served)} runs of the service, {_mean(simulated)} in "
        f"{len(simulated)} of the simulator; two-sample Kolmogorov-Smirnov test: p = {test.pvalue:.3f} "
        f"(at least {LEAST_P})"
    )
    if test.pvalue < LEAST_P:
        raise Broken(told)
    return told


def _mean(regrets: Floats) -> str:
    return f"{regrets.mean():.1f} ± {regrets.std(ddof=1) / np.sqrt(len(regrets)):.1f}"


async def _regrets(server: Server, runs: int, steps: int, seed: int) -> Floats:
    """The regret of each run in the service; a connection each."""
    visitors = [Run(f"run-{number}", steps, branch(branch(seed, 1), number)) for number in range(runs)]
    told = await load(server.port, visitors)
    if told.refused:
        raise Broken(f"{told.refused} requests were refused:\n{server.last_words()}")
    return np.array([visitor.regret for visitor in visitors])


class Run:
    """One run's visitors, one after the other; they come from the same click model as the simulator's."""

    def __init__(self, segment: str, steps: int, seed: int) -> None:
        self.regret = 0.0
        problem = WORLD.checked().problem(steps)
        self._world, self._users = WORLD.checked(), USERS.prepare(problem)
        self._moment = self._world.begin()
        self._labels, self._page = np.arange(problem.items), empty_page(problem.positions)
        self._attraction = np.zeros(problem.positions)
        best = np.arange(problem.positions)
        self._world.best_list(self._moment, self._users, best)
        self._ideal = self._reward(best)
        self._steps, self._step, self._seed = steps, 0, seed
        self._ask = request("POST", LISTS.format(ranking="regret"), json.dumps({"segment": segment}).encode(), "list")

    def __call__(self, answer: Answer | None) -> Ask | None:
        told: dict[str, Any] = {} if answer is None else json.loads(answer.body)
        if "items" in told:
            return self._report(told)
        if self._step == self._steps or "status" in told:
            return None
        return self._ask

    def _reward(self, items: Any) -> float:
        self._world.attract(self._moment, items, self._attraction)
        return float(self._users.reward(self._moment, items, self._attraction))

    def _report(self, listed: dict[str, Any]) -> Ask:
        """Look at a list, and say what was clicked."""
        items = np.array([int(item.removeprefix("item-")) for item in listed["items"]])
        self.regret += self._ideal - self._reward(items)
        self._users.click(
            self._moment, items, self._attraction, self._labels, branch(self._seed, self._step), self._page
        )
        self._step += 1
        clicks = [place + 1 for place in range(len(items)) if self._page.clicks[place]]
        body = json.dumps({"clicks": clicks, "final": True}).encode()
        return request("PUT", CLICKS.format(impression=listed["impression"]), body, "report")
