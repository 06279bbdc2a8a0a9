"""A comparison of policies on several kinds of users: every policy also on users whom it was not built for."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
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
from toplist.engine.scheduler import Progress, RunScheduler
from toplist.engine.shared_user_type import with_shared_type
from toplist.engine.simulate import ONE_SAMPLE, check_progress, checked_threads, policies_by_label
from toplist.policies.by_name import make
from toplist.support.catalogue import part_text
from toplist.support.files import Unwritable, slug

__all__ = ["Comparison", "compare"]

YARDSTICK = "random"


class WorldAndUsers(NamedTuple):
    """A world with its users: a column, or one of several that a column is made of."""

    column: str
    number: int  # in its column, from 0
    world: Any
    users: Any


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
) -> Comparison:
    """Play every policy on every kind of users, and tell what each one lost there.

    `policies` are given as to `simulate`; "random" is played besides, as the yardstick. `columns` maps labels to pairs
    of a world and its users, or to sequences of such pairs, whose runs together are the runs of the column. In run r
    of a pair, all policies meet the same visitors, those of `simulate` with the same seed; in a sequence, each pair
    after the first has a seed of its own.

    `resume` names a folder, which keeps a file per pair: an interrupted comparison called again with it goes on where
    it stopped, and a finished one shows at once.

    >>> from toplist import clicks, compare, worlds
    >>> world = worlds.Fixed([0.5, 0.4, 0.3, 0.2, 0.1], positions=2)
    >>> columns = {"cascade": (world, clicks.Cascade()), "pbm": (world, clicks.PBM([0.9, 0.3]))}
    >>> found = compare("cascade-ucb1", columns, steps=1000, runs=4)
    >>> found.policies, found.relative("cascade-ucb1", "cascade").high < 1
    (('cascade-ucb1', 'random'), True)
    """
    steps = whole("The number of steps", steps, 1, "give how many lists each run shows")
    runs = whole("The number of runs", runs, 1, "give how often each policy starts anew")
    seed, threads = checked_seed(seed), checked_threads(threads)
    check_progress(progress)
    named, yardstick = _with_yardstick(policies_by_label(policies))
    pairs = _pairs(columns)
    kept, folder = np.array([steps]), None if resume is None else _folder(resume)

    settings = [
        {label: RunSetup.of(policy, pair.world, pair.users, start, steps) for label, policy in named.items()}
        for pair in pairs
    ]
    crews = []
    for pair, own, users in zip(pairs, settings, _alike_by_world([own[yardstick] for own in settings]), strict=True):
        own_seed = seed if pair.number == 0 else int(branch(seed, pair.number)) % 2**63
        path = None if folder is None else folder / file_name(pair.column, pair.number)
        store = ResumeFile(path, describe(own, kept, own_seed))  # by the users as they are: what is played is the same
        played = {label: setting._replace(users=users) for label, setting in own.items()}
        crews.append(RunScheduler(played, kept, runs, own_seed, store))

    regret: dict[str, dict[str, Any]] = {}
    for pair, curves in zip(pairs, _played(crews, threads, progress), strict=True):
        cells = regret.setdefault(pair.column, {})
        for label in named:
            ends = curves[label][:, -1, 0]
            cells[label] = np.concatenate([cells[label], ends]) if label in cells else ends
    columns_played: dict[str, dict[str, int]] = {}
    for pair, own in zip(pairs, settings, strict=True):
        size = own[yardstick].problem
        columns_played[pair.column] = {"pairs": pair.number + 1, "items": size.items, "positions": size.positions}
    about = {"steps": steps, "runs": runs, "seed": seed, "start": type(start).__name__}
    return Comparison(regret, yardstick, about | {"columns": columns_played, "version": toplist.__version__})


def _alike_by_world(settings: Sequence[RunSetup]) -> list[Any]:
    """The users of each, of one class where the world is, since users may need what only their own world has."""
    users: list[Any] = [None] * len(settings)
    for world in {type(setting.world) for setting in settings}:
        among = [place for place, setting in enumerate(settings) if type(setting.world) is world]
        own = [settings[place] for place in among]
        for place, one in zip(among, with_shared_type([setting.users for setting in own]), strict=True):
            users[place] = one
    return users


def _with_yardstick(named: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """The policies, with random lists among them, and the label of these."""
    by_chance = make(YARDSTICK)
    for label, policy in named.items():
        if part_text(policy) == part_text(by_chance):
            return named, label
    if YARDSTICK in named:
        raise InvalidInput(
            f"A policy is labelled {YARDSTICK!r}, but that is the label of random lists, which are the yardstick; "
            f"label yours otherwise."
        )
    return named | {YARDSTICK: by_chance}, YARDSTICK


def _pairs(columns: Any) -> list[WorldAndUsers]:
    """All pairs, column by column."""
    if not isinstance(columns, Mapping) or not columns:
        accepted = "a dict from labels to pairs of a world and its users"
        raise refuse("columns", columns, accepted, 'write {"cascade": (world, Cascade())}')
    pairs: list[WorldAndUsers] = []
    for label, given in columns.items():
        if not isinstance(label, str):
            raise refuse("A column's label", label, "text", "give each column a name of your own")
        several = [given] if _is_pair(given) else given
        if not isinstance(several, list | tuple) or not several or not all(map(_is_pair, several)):
            accepted = "a pair of a world and its users, or a list of such pairs"
            raise refuse(f"The column {label!r}", given, accepted, "write (world, users)")
        pairs += [WorldAndUsers(label, number, *pair) for number, pair in enumerate(several)]
    return pairs


def _is_pair(given: Any) -> bool:
    """Whether it is a world and its users; a world is a tuple as well, and so may be a sequence of two pairs."""
    fits = isinstance(given, list | tuple) and len(given) == 2
    return fits and hasattr(given[0], "problem") and hasattr(given[1], "click")


def _folder(resume: Any) -> Path:
    """The folder to keep what is played in, which is made if it is not there."""
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
    """The file of a pair in the folder to resume from: readable, and no other column's.

    >>> file_name("cascade", 0), file_name("dcm(termination=0.5)", 12)
    ('cascade-000.npz', 'dcm-termination-0.5-9d58659d-012.npz')
    """
    return f"{slug(column)}-{number:03}.npz"


def _played(
    crews: Sequence[RunScheduler], threads: int, progress: Callable[[Progress], None] | None
) -> Iterator[dict[str, Floats]]:
    """The curves of one crew after the other; progress is that of all together."""
    begun = time.monotonic()
    total, earlier = sum(crew.total for crew in crews), sum(crew.earlier for crew in crews)
    before = earlier  # steps that are done but for those of the crew at work
    for crew in crews:
        before -= crew.earlier

        def report(now: Progress, before: int = before) -> None:
            if progress is not None:
                progress(Progress(before + now.done, total, time.monotonic() - begun, earlier))

        yield crew.play(threads, report)
        before += crew.total
