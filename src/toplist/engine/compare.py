"""`compare`: every policy on several kinds of users, including those that violate its assumptions."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import toplist
from toplist.core.problem import InvalidInput, checked_seed, refuse, whole
from toplist.core.randomness import branch
from toplist.core.slate import Floats
from toplist.engine.comparison import Comparison
from toplist.engine.player import RunSetup
from toplist.engine.resume_file import ResumeFile, describe
from toplist.engine.scheduler import RunScheduler
from toplist.engine.shared_users import users_of_shared_types
from toplist.engine.simulate import ONE_SAMPLE, check_progress, checked_threads, policies_by_label, scheduler_of
from toplist.engine.simulated_problem import SimulatedProblem
from toplist.policies.by_name import make
from toplist.support.catalogue import part_text
from toplist.support.files import Unwritable, slug
from toplist.support.progress import Progress

__all__ = ["Comparison", "compare"]

BASELINE = "random"


class WorldAndUsers(NamedTuple):
    """A world with its users: a whole column of a comparison, or one of several pairs in it."""

    column: str
    number: int  # in its column, from 0
    world: Any
    users: Any
    start: Any = ONE_SAMPLE

    def made(self, start: Any) -> WorldAndUsers:
        """The pair with its world, users and start made, where they were given by name."""
        simulated = SimulatedProblem.of(self.world, self.users, start)
        return self._replace(world=simulated.world, users=simulated.users, start=simulated.start)


def compare(
    policies: Any,
    columns: Mapping[str, Any],
    steps: int,
    runs: int = 20,
    seed: int = 0,
    *,
    start: Any = ONE_SAMPLE,
    threads: int | None = None,
    progress: Callable[[Progress], None] | None = None,
    resume: str | PathLike[str] | None = None,
    engine: str = "cpu",
) -> Comparison:
    """Play every policy on every kind of users and return its regret there.

    Random lists are always played too, as the `baseline`. In run r of a world and its users, all policies
    meet the same visitors, those of `simulate` with the same seed.

    Parameters
    ----------
    policies : str, policy, sequence of these, or mapping of str to these
        As for `simulate`.
    columns : mapping of str to (world, users) or to a sequence of such pairs
        What to play the policies on, by label; worlds and users may be names, as for `simulate`. A column of several
        pairs has the runs of all of them; each pair after the first has a seed of its own.
    steps : int
        Number of lists that each run shows.
    runs : int, default 20
        Number of independent runs of each policy on each pair.
    seed : int, default 0
        Seed of all random numbers.
    start : start or str, default OneSample()
        How a policy first sees the items, as for `simulate`.
    threads : int or None, default None
        Number of threads; None uses all cores. It is not for `engine="gpu"`.
    progress : callable or None, default None
        Called with a `Progress` of the whole comparison about ten times a second.
    resume : path or None, default None
        A folder that stores a file per pair, and is made if it does not exist. An interrupted comparison that is
        called again with the same folder continues where it stopped, and a finished one returns at once.
    engine : {"cpu", "gpu"}, default "cpu"
        Where to play, as for `simulate`.

    Returns
    -------
    Comparison
        Final regret of every policy, column and run.

    Raises
    ------
    InvalidInput
        If an argument cannot be used, a part does not fit the others, or `resume` holds another comparison.

    Examples
    --------
    >>> from toplist import clicks, compare, worlds
    >>> world = worlds.Fixed([0.5, 0.4, 0.3, 0.2, 0.1], positions=2)
    >>> columns = {"cascade": (world, clicks.Cascade()), "pbm": (world, clicks.PBM([0.9, 0.3]))}
    >>> found = compare("cascade-ucb1", columns, steps=1000, runs=4)
    >>> found.policies, found.relative("cascade-ucb1", "cascade").high < 1
    (('cascade-ucb1', 'random'), True)
    """
    steps = whole("The number of steps", steps, 1, "give the number of lists that each run shows")
    runs = whole("The number of runs", runs, 1, "give the number of runs of each policy")
    schedule = scheduler_of(engine, None, threads)
    seed, threads = checked_seed(seed), checked_threads(threads)
    check_progress(progress)
    named, baseline = _with_baseline(policies_by_label(policies))
    pairs = [pair.made(start) for pair in _checked_pairs(columns)]
    checkpoints, folder = np.array([steps]), None if resume is None else _checked_folder(resume)

    setups = [
        {label: RunSetup.of(policy, pair.world, pair.users, pair.start, steps) for label, policy in named.items()}
        for pair in pairs
    ]
    users = [own[baseline].users for own in setups]
    if engine == "gpu":
        users = users_of_shared_types([own[baseline] for own in setups])
    schedulers = []
    for pair, own, people in zip(pairs, setups, users, strict=True):
        own_seed = seed if pair.number == 0 else int(branch(seed, pair.number)) % 2**63
        path = None if folder is None else folder / file_name(pair.column, pair.number)
        # The file describes the original users, not the union: it does not depend on the other columns.
        file = ResumeFile(path, partial(describe, own, checkpoints, own_seed))
        played = {label: setup._replace(users=people) for label, setup in own.items()}
        schedulers.append(schedule(played, checkpoints, runs, own_seed, file))

    regret: dict[str, dict[str, Any]] = {}
    for pair, curves in zip(pairs, curves_in_turn(schedulers, threads, progress), strict=True):
        cells = regret.setdefault(pair.column, {})
        for label in named:
            ends = curves[label][:, -1, 0]
            cells[label] = np.concatenate([cells[label], ends]) if label in cells else ends
    columns_played: dict[str, dict[str, int]] = {}
    for pair, own in zip(pairs, setups, strict=True):
        size = own[baseline].problem
        columns_played[pair.column] = {"pairs": pair.number + 1, "items": size.items, "positions": size.positions}
    about = {"steps": steps, "runs": runs, "seed": seed, "start": type(pairs[0].start).__name__}
    return Comparison(regret, baseline, about | {"columns": columns_played, "version": toplist.__version__})


def _with_baseline(named: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """The policies with random lists among them, and the label of the latter."""
    random_lists = make(BASELINE)
    for label, policy in named.items():
        if part_text(policy) == part_text(random_lists):
            return named, label
    if BASELINE in named:
        raise InvalidInput(
            f"A policy is labelled {BASELINE!r}, but that is the label of random lists, the baseline; "
            f"choose another label."
        )
    return named | {BASELINE: random_lists}, BASELINE


def _checked_pairs(columns: Any) -> list[WorldAndUsers]:
    """All pairs, column by column."""
    if not isinstance(columns, Mapping) or not columns:
        accepted = "a dict from labels to pairs of a world and its users"
        raise refuse("columns", columns, accepted, 'write {"cascade": (world, "cascade")}')
    pairs: list[WorldAndUsers] = []
    for label, given in columns.items():
        if not isinstance(label, str):
            raise refuse("A column's label", label, "text", "label each column with a name of your own")
        several = [given] if _is_pair(given) else given
        if not isinstance(several, list | tuple) or not several or not all(map(_is_pair, several)):
            accepted = "a pair of a world and its users, or a list of such pairs"
            raise refuse(f"The column {label!r}", given, accepted, "write (world, users)")
        pairs += [WorldAndUsers(label, number, *pair) for number, pair in enumerate(several)]
    return pairs


def _is_pair(given: Any) -> bool:
    """Whether it is one (world, users) pair; worlds are tuples too, and a sequence of two pairs also has length 2."""
    if not isinstance(given, list | tuple) or len(given) != 2 or hasattr(given, "problem"):
        return False
    is_world = isinstance(given[0], str) or hasattr(given[0], "problem")
    return is_world and (given[1] is None or isinstance(given[1], str) or hasattr(given[1], "click"))


def _checked_folder(resume: Any) -> Path:
    """The folder of resume files, created if it does not exist."""
    what, accepted = "The folder to resume from", "a folder that can be written to"
    if not isinstance(resume, str | PathLike) or not os.fspath(resume):
        raise refuse(what, resume, "a path, as text or pathlib.Path", "give a folder")
    folder = Path(resume)
    try:
        folder.mkdir(exist_ok=True)
    except FileExistsError:
        raise refuse(what, str(resume), "a folder, not a file", "name another one") from None
    except OSError as problem:
        raise Unwritable(str(refuse(what, str(resume), accepted, f"choose another one ({problem})"))) from problem
    return folder


def file_name(column: str, number: int) -> str:
    """Name of a pair's resume file: readable, and unique to its column.

    >>> file_name("cascade", 0), file_name("dcm(termination=0.5)", 12)
    ('cascade-000.npz', 'dcm-termination-0.5-9d58659d-012.npz')
    """
    return f"{slug(column)}-{number:03}.npz"


def curves_in_turn(
    schedulers: Sequence[RunScheduler],
    threads: int,
    progress: Callable[[Progress], None] | None,
    pool: Executor | None = None,
) -> Iterator[dict[str, Floats]]:
    """Play one scheduler after the other and yield its curves; progress covers all of them."""
    begun = time.monotonic()
    total, earlier = sum(each.total for each in schedulers), sum(each.earlier for each in schedulers)
    before = earlier  # steps done, without those of the current scheduler
    for scheduler in schedulers:
        before -= scheduler.earlier

        def report(now: Progress, before: int = before) -> None:
            if progress is not None:
                progress(Progress(before + now.done, total, time.monotonic() - begun, earlier))

        yield scheduler.play(threads, report, pool)
        before += scheduler.total
