"""Plays every contender on every problem of the suite, and measures what a list costs."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from toplist.core.beliefs import all_arrays
from toplist.core.problem import checked_seed, whole
from toplist.core.slate import Floats, Ints
from toplist.engine.compare import curves_in_turn
from toplist.engine.player import Player, RunSetup
from toplist.engine.resume_file import ResumeFile, describe
from toplist.engine.scheduler import RunScheduler
from toplist.engine.shared_users import users_of_shared_types
from toplist.engine.simulate import checked_checkpoints, checked_threads, scheduler_of
from toplist.leaderboard.contenders import Contender
from toplist.leaderboard.suite import SuiteProblem
from toplist.support.catalogue import part_text
from toplist.support.files import slug, write_text
from toplist.support.progress import Progress

WARM, TIMED = 200, 1000  # lists that are shown before the clock starts, and while it runs
COSTS = "costs.json"


class Cost(NamedTuple):
    """What a policy costs on a problem.

    Parameters
    ----------
    microseconds : float
        CPU time of a list: made, shown to a visitor and learned.
    size : int or None
        Bytes of its state; None if the state has something else than arrays, such as a list or a dict.
    """

    microseconds: float
    size: int | None


class PlayedCell(NamedTuple):
    """What came out of one contender on one problem.

    Parameters
    ----------
    regret : ndarray of float, shape (runs, horizons)
        Cumulative regret.
    cost : Cost
        What a list costs.
    """

    regret: Floats
    cost: Cost


class Match(NamedTuple):
    """One contender on one problem, prepared."""

    problem: SuiteProblem
    contender: Contender
    setup: RunSetup


def play_suite(
    problems: Sequence[SuiteProblem],
    contenders: Sequence[Contender],
    steps: int,
    runs: int,
    seed: int,
    horizons: Sequence[int],
    threads: int | None = None,
    engine: str = "cpu",
    folder: Path | None = None,
    progress: Callable[[Progress], None] | None = None,
    pool: Executor | None = None,
) -> tuple[Ints, dict[str, dict[str, PlayedCell]]]:
    """Play everything; the steps at which regret was noted, and per problem and label what came out.

    In run r of a problem, all policies meet the same visitors. With a folder, what was played is kept there, a file per
    problem and policy: an interrupted call goes on, and a further policy is all that is played for it. With a pool, its
    workers play the runs, those of one policy on one problem at a time; costs are measured here.
    """
    steps = whole("The number of steps", steps, 1, "give the number of lists that each run shows")
    runs = whole("The number of runs", runs, 2, "intervals need several runs")
    schedule = scheduler_of(engine, None, threads)
    seed, checkpoints = checked_seed(seed), checked_checkpoints(horizons, steps)
    matches, equal = once(matches_of(problems, contenders, steps, runs))
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    setups = [match.setup for match in matches]
    schedulers: list[RunScheduler] = []
    files: list[ResumeFile] = []
    if engine == "gpu":
        users = users_of_shared_types(setups)
        setups = [setup._replace(users=one) for setup, one in zip(setups, users, strict=True)]
    for match, setup in zip(matches, setups, strict=True):
        label = match.contender.label
        path = None if folder is None else folder / f"{match.problem.name}-{slug(label)}.npz"
        file = ResumeFile(path, partial(describe, {label: match.setup}, checkpoints, seed))
        files.append(file)
        schedulers.append(schedule({label: setup}, checkpoints, runs, seed, file))
    costs = KeptCosts(folder)
    found: dict[str, dict[str, PlayedCell]] = {}
    waiting = [setup for setup, each in zip(setups, schedulers, strict=True) if setup.compiled and each.earlier == 0]
    played = curves_in_turn(schedulers, checked_threads(threads), progress, pool)
    with CompilingAhead(waiting if engine == "cpu" and pool is None else [], seed):
        for match, file, curves in zip(matches, files, played, strict=True):
            label = match.contender.label
            found.setdefault(match.problem.name, {})[label] = PlayedCell(
                curves[label][:, :, 0], costs.of(match, seed, file.digest)
            )
    for match, first in equal:
        cells = found[match.problem.name]
        cells[match.contender.label] = cells[first.contender.label]
    return checkpoints, found


def once(matches: list[Match]) -> tuple[list[Match], list[tuple[Match, Match]]]:
    """The matches to be played, and those that equal an earlier one: the same policy of the catalogue on a problem.

    That is a policy with tuned parameters on a problem of a kind for which the published ones are the best.
    """
    played: list[Match] = []
    equal: list[tuple[Match, Match]] = []
    known: dict[tuple[str, str], Match] = {}
    for match in matches:
        key = match.problem.name, part_text(match.contender.policy(match.problem))
        if match.contender.own or key not in known:
            played.append(match)
            if not match.contender.own:
                known[key] = match
        else:
            equal.append((match, known[key]))
    return played, equal


class CompilingAhead:
    """Compiles matches on a thread of its own while earlier ones are played, which need no interpreter meanwhile.

    The compiler works on one match at a time, so that without this the other cores would wait for it.
    """

    def __init__(self, setups: Sequence[RunSetup], seed: int):
        self._setups, self._seed = setups, seed
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._compile, daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join()

    def _compile(self) -> None:
        for setup in self._setups:
            if self._stopped.is_set():
                return
            with suppress(Exception):  # the match itself raises it again
                Player(setup, self._seed, np.array([setup.problem.steps or 1]), compiled=True).play(1)


def matches_of(problems: Sequence[SuiteProblem], contenders: Sequence[Contender], steps: int, runs: int) -> list[Match]:
    """All pairs of a problem and a contender that can play it; short ones are played in plain Python."""
    matches = []
    for problem in problems:
        made = problem.made()
        for contender in contenders:
            if contender.plays(problem):
                setup = RunSetup.of(contender.policy(problem), made.world, made.users, made.start, steps)
                setup = setup._replace(
                    compiled=setup.is_worth_compiling(steps * runs),
                    samples_compiled=setup.are_samples_worth_compiling(runs),
                )
                matches.append(Match(problem, contender, setup))
    return matches


class KeptCosts:
    """Costs, measured once; with a folder they are kept there, with what was played: another one is measured again."""

    def __init__(self, folder: Path | None):
        self._path = None if folder is None else folder / COSTS
        self._known: dict[str, list[Any]] = {}
        if self._path is not None and self._path.is_file():
            with suppress(ValueError):  # a damaged file: they are measured again
                self._known = json.loads(self._path.read_text())

    def of(self, match: Match, seed: int, played: str) -> Cost:
        """The cost of a match on the CPU; `played` says what it is."""
        name = f"{match.problem.name}: {match.contender.label}"
        if self._known.get(name, ())[:1] != [played]:
            self._known[name] = [played, *measured(match.setup, seed)]
            if self._path is not None:
                write_text(self._path, "The costs", json.dumps(self._known, indent=1))
        return Cost(*self._known[name][1:])


def measured(setup: RunSetup, seed: int) -> Cost:
    """CPU time of a list after the first ones, and the size of belief and cache."""
    steps = setup.problem.steps or WARM + TIMED
    player = Player(setup, seed, np.array([steps]), compiled=setup.compiled)
    warm = min(WARM, steps // 2)
    until = min(steps, warm + TIMED)
    player.play(warm)
    begun = time.thread_time()
    player.play(until)
    spent = time.thread_time() - begun
    return Cost(round(1e6 * spent / (until - warm), 3), state_size((player.belief, player.cache)))


def state_size(state: Any) -> int | None:
    """Bytes of the arrays of a state; None if it has something else that may hold what was learned.

    >>> state_size((np.zeros(3), (np.zeros(2),))), state_size(([1.0, 2.0],))
    (40, None)
    """
    arrays = all_arrays(state)
    return None if arrays is None else sum(int(array.nbytes) for array in arrays)
