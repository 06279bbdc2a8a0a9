"""Lets a policy learn from the lists of a click log that another system made."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from toplist.core.defaults import DEFAULT_POLICY
from toplist.core.item_id import ItemId
from toplist.core.problem import InvalidInput, checked_seed, several, true_or_false, whole
from toplist.core.protocols import Capabilities
from toplist.core.slate import Ints
from toplist.logs import ClickLog, scan_log
from toplist.logs.id_table import Id
from toplist.policies.by_name import make
from toplist.ranker import Ranker
from toplist.support.catalogue import part_text
from toplist.support.files import AnyPath
from toplist.support.interrupts import delayed_interrupt
from toplist.support.part_json import as_plain
from toplist.support.progress import Progress
from toplist.training.list_columns import ListColumns
from toplist.training.query_lists import QueryLists, lists_by_query
from toplist.training.trained_rankers import RankerFolder, TrainedRankers

MACHINE_CODE = 3000  # lists; fewer are learned in plain Python sooner than code is compiled
NO_OPTIONS: Mapping[str, Any] = {}
UNUSED = ("visitor", "propensity", "marginal", "target_propensity", "target_marginal")  # columns of a log


def train(
    log: Any,
    policy: Any = DEFAULT_POLICY,
    *,
    positions: int | None = None,
    query: Id | None = None,
    together: bool = False,
    items: Sequence[ItemId] | None = None,
    features: Mapping[Any, Any] | None = None,
    min_lists: int = 1,
    steps: int | None = None,
    prior_mean: float = 0.5,
    prior_strength: float = 0.0,
    seed: int = 0,
    compiled: bool | None = None,
    reading: Mapping[str, Any] = NO_OPTIONS,
    folder: AnyPath | None = None,
    progress: Callable[[Progress], object] | None = None,
) -> TrainedRankers:
    """Let a policy learn from logged lists that another system made: one ranker per query, lists in order of time.

    Parameters
    ----------
    log : ClickLog, str, path-like or table
        The log, or what `toplist.logs.read_log` reads: a file, a folder of files or a frame. A log that does not fit
        into memory is kept in temporary files meanwhile.
    policy : str or Policy, default "dcm-ts"
        The policy. Those that learn only from lists of their own are refused.
    positions : int, optional
        Length of the rankers' lists; longer lists of the log are cut there. By default that of the log's longest list.
    query : str or int, optional
        The only query to train for; by default each has a ranker.
    together : bool, default False
        Whether one ranker learns the lists of all queries.
    items : sequence of str or int, optional
        The rankers' items; lists with others are left out. By default the items shown for the query, in the order of
        their first appearance.
    features : mapping of str or int to array_like, optional
        Features by item, for policies that learn from features.
    min_lists : int, default 1
        Queries with fewer lists get no ranker.
    steps, prior_mean, prior_strength, seed
        As for `Ranker`.
    compiled : bool, optional
        Whether to compile the policy; by default if the log is long enough.
    reading : mapping of str to object, optional
        Options of `toplist.logs.read_log` for a log that is not read yet.
    folder : str or path-like, optional
        Keep each ranker here as soon as it is trained, as a file for `Ranker.load`. An interrupted call that is made
        again goes on.
    progress : callable, optional
        Receives a `Progress`, in lists.

    Returns
    -------
    TrainedRankers
        The rankers by query; that of all queries together is under None.

    Raises
    ------
    InvalidInput
        If an argument cannot be used, or the policy cannot learn from the log.

    See Also
    --------
    toplist.Ranker.learn_log : Lets one ranker learn lists given as arrays.

    Examples
    --------
    >>> log = ClickLog.from_lists(["q"] * 3, [["a", "b"], ["b", "c"], ["a", "b"]], clicked=[[2], [1], [1, 2]])
    >>> ranker = train(log, "cascade-ucb1")["q"]
    >>> ranker.estimates()["b"]["mean"]
    1.0
    """
    made = make(policy)
    title = policy if isinstance(policy, str) else part_text(made)
    check_policy(made, title, features)
    is_one = true_or_false("together", together, "True trains one ranker on the lists of all queries")
    if query is not None and is_one:
        raise InvalidInput("query and together are both given, but one query is one ranker; leave one out.")
    least = whole("The least number of lists", min_lists, 1, "give at least 1")
    names = None if items is None else several("items", items, "names")
    longest = None if positions is None else whole("positions", positions, 1, "give the length of the lists")
    ranker_options = {
        "seed": checked_seed(seed), "steps": steps, "prior_mean": prior_mean, "prior_strength": prior_strength,
    }  # fmt: skip
    scan = None if isinstance(log, ClickLog) else scan_log(log, **_bare_reading(reading))
    with ListColumns([log] if scan is None else scan, query) as kept:
        length = kept.digest.positions if longest is None else longest
        settings = {
            "log": kept.digest.fingerprint(), "policy": as_plain(made), "positions": length, "query": query,
            "together": is_one, "items": names, "min_lists": least,
            "features": None if features is None else {str(item): list(row) for item, row in features.items()},
            **ranker_options,
        }  # fmt: skip
        found = Training(
            lists_by_query(kept.log, length, is_one), least,
            NewRanker(policy, length, names, features, ranker_options, compiled),
            None if folder is None else RankerFolder(folder, settings), progress,
        ).run()  # fmt: skip
        cut = int((kept.log.lengths > length).sum())
        report = "" if scan is None else str(scan.report)
    return TrainedRankers(found.rankers, found.lists, cut, found.skipped, found.rare, report)


def check_policy(policy: Any, title: str, features: Mapping[Any, Any] | None) -> None:
    """Refuse a policy that cannot learn from the lists of a log, with the reason.

    Parameters
    ----------
    policy : policy
        The policy.
    title : str
        Its name.
    features : mapping or None
        The features of items, if they are given.

    Raises
    ------
    InvalidInput
        If it learns from lists of its own only, does not learn, or needs features.
    """
    can: Capabilities = policy.capabilities()
    if can.needs_simulator or not can.learns:
        raise InvalidInput(f"The policy {title} does not learn from clicks, so that a log teaches it nothing.")
    if not can.learns_from_any_list:
        raise InvalidInput(
            f"The policy {title} learns from its own lists only: what a click says depends on the choices that it made "
            f"itself, which a log of another system does not have; train one over counts, as dcm-ts or cascade-kl-ucb."
        )
    if can.needs_features and features is None:
        raise InvalidInput(f"The policy {title} learns from features, which a log does not have; give those of items.")
    if features is not None and not can.needs_features:
        raise InvalidInput(f"The policy {title} does not use features; leave them out.")


def _bare_reading(reading: Mapping[str, Any]) -> dict[str, Any]:
    """Options of reading that leave out the columns that nothing is learned from."""
    return dict(reading) | {"columns": dict.fromkeys(UNUSED) | dict(reading.get("columns", {}))}


class NewRanker(NamedTuple):
    """How to make the ranker of a query.

    Parameters
    ----------
    policy : str or policy
        Its policy.
    positions : int
        Length of its lists.
    items : sequence of str or int, optional
        Its items; by default those of its lists.
    features : mapping, optional
        Features by item.
    options : mapping
        Other arguments of `Ranker`.
    compiled : bool, optional
        Whether to compile; by default if there are many lists.
    """

    policy: Any
    positions: int
    items: Sequence[ItemId] | None
    features: Mapping[Any, Any] | None
    options: Mapping[str, Any]
    compiled: bool | None

    def is_compiled(self, lists: int) -> bool:
        """Whether rankers that learn so many lists together are compiled."""
        return lists >= MACHINE_CODE if self.compiled is None else self.compiled

    def make(self, lists: QueryLists, query: Id | None, compiled: bool) -> Ranker:
        """A ranker before its first list."""
        table = lists.log.items
        names: list[ItemId] = [table[code] for code in lists.items()] if self.items is None else list(self.items)
        rows = None if self.features is None else {name: self.features[name] for name in names if name in self.features}
        return Ranker(
            names, self.positions, self.policy, features=rows, name="all" if query is None else str(query) or None,
            compiled=compiled, **self.options,
        )  # fmt: skip


class TrainingOutcome(NamedTuple):
    """What was trained.

    Parameters
    ----------
    rankers : dict
        Rankers, or their files, by query.
    lists : int
        Lists learned.
    skipped : int
        Lists left out, since they have items that were not given.
    rare : int
        Queries left out, since they have too few lists.
    """

    rankers: dict[Id | None, Ranker | Path]
    lists: int
    skipped: int
    rare: int


class Training:
    """Trains one ranker after the other, so that one is in memory at a time if they are kept in a folder.

    Parameters
    ----------
    queries : sequence of QueryLists
        The lists of each ranker.
    least : int
        Queries with fewer lists are left out.
    new : NewRanker
        How to make a ranker.
    folder : RankerFolder, optional
        Where rankers are kept.
    progress : callable, optional
        Receives a `Progress`.
    """

    def __init__(
        self, queries: Sequence[QueryLists], least: int, new: NewRanker, folder: RankerFolder | None,
        progress: Callable[[Progress], object] | None,
    ) -> None:  # fmt: skip
        self._queries = [each for each in queries if len(each.rows) >= least]
        self._rare = len(queries) - len(self._queries)
        self._new, self._folder, self._progress = new, folder, progress
        self._total = sum(len(each.rows) for each in self._queries)
        self._done, self._earlier, self._began = 0, 0, time.monotonic()

    def run(self) -> TrainingOutcome:
        """Train all rankers."""
        compiled = self._new.is_compiled(self._total)
        rankers: dict[Id | None, Ranker | Path] = {}
        lists, skipped = 0, 0
        for each in self._queries:
            query = None if each.code < 0 else each.log.queries[each.code]
            kept = None if self._folder is None else self._folder.files.get(query)
            if self._folder is not None and kept is not None and (self._folder.path / kept.file).exists():
                rankers[query] = self._folder.path / kept.file
                lists, skipped = lists + kept.lists, skipped + kept.skipped
                self._done, self._earlier = self._done + len(each.rows), self._earlier + len(each.rows)
                continue
            ranker, left_out = self._learn(each, query, compiled)
            rankers[query] = ranker
            lists, skipped = lists + ranker.learned, skipped + left_out
            if self._folder is not None:
                self._folder.keep(query, ranker, left_out)
                rankers[query] = self._folder.path / self._folder.files[query].file
        self._tell()
        return TrainingOutcome(rankers, lists, skipped, self._rare)

    def _learn(self, lists: QueryLists, query: Id | None, compiled: bool) -> tuple[Ranker, int]:
        """A ranker that has learned all lists of a query, and how many were left out."""
        kept = None if self._folder is None else self._folder.load_unfinished(query, compiled)
        ranker, done, skipped = kept or (self._new.make(lists, query, compiled), 0, 0)
        self._done, self._earlier = self._done + done, self._earlier + done
        numbers = ItemNumbers(ranker, lists.log)
        try:
            with delayed_interrupt() as check:  # not between what is learned and what is counted
                for part in lists.parts(done):
                    check()
                    known = numbers.known(part)
                    numbers.learn(part if known.all() else part.take(known))
                    done, skipped = done + len(part), skipped + int((~known).sum())
                    self._done += len(part)
                    self._tell()
        except KeyboardInterrupt:
            if self._folder is not None and done:
                self._folder.keep_unfinished(query, ranker, done, skipped)
            raise
        return ranker, skipped

    def _tell(self) -> None:
        if self._progress is not None:
            self._progress(Progress(self._done, self._total, time.monotonic() - self._began, self._earlier))


class ItemNumbers:
    """The items of a log as numbers of a ranker's items.

    Parameters
    ----------
    ranker : Ranker
        The ranker.
    log : ClickLog
        The log.
    """

    def __init__(self, ranker: Ranker, log: ClickLog) -> None:
        self._ranker = ranker
        own = [(log.items.code(name), name) for name in ranker.items if name in log.items]
        own.sort(key=lambda pair: pair[0])
        self._codes: Ints = np.array([code for code, _ in own], dtype=np.int64)
        self._names = [name for _, name in own]

    def known(self, part: ClickLog) -> Any:
        """Which lists of a part have items of the ranker only."""
        strange = ~np.isin(part.item, self._codes)
        return np.bincount(np.repeat(np.arange(len(part)), part.lengths), strange, minlength=len(part)) == 0

    def learn(self, part: ClickLog) -> None:
        """Let the ranker learn lists of its items."""
        self._ranker.learn_log(
            self._names, part.start, np.searchsorted(self._codes, part.item), part.click, part.left, part.seen
        )
