"""Where the lists of a comparison are: in memory, in files read part by part, or in files read by a Ray cluster.

The same lists are fitted and held out in all three.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial, reduce
from typing import Any, NamedTuple, Protocol

import numpy as np

from toplist.core.problem import InvalidInput
from toplist.core.slate import Bools
from toplist.logs.click_log import ClickLog
from toplist.logs.columns import PROBABILITIES
from toplist.logs.comparison.holdout import held_out_lists
from toplist.logs.comparison.moments import PartScores, score_part
from toplist.logs.comparison.split_result import IN_SAMPLE, ScoredModel, SplitResult, StreamedSplit
from toplist.logs.fitted import FittedModel
from toplist.logs.fitting.fit_data import FitData, prepare_log, prepare_parts
from toplist.logs.fitting.ray_data import RayData, prepare_on_ray
from toplist.logs.list_hashes import ListHasher, LogDigest
from toplist.logs.random_rows import random_rows
from toplist.logs.read import find_sources, read_log, scan_log
from toplist.logs.score_model import score_model
from toplist.support.files import AnyPath

UNUSED = ("time", "visitor", *PROBABILITIES, "left")  # columns that a streamed comparison does not read


Fits = Mapping[str, tuple[FittedModel, float]]  # models with the seconds of their fits


class LogFacts(NamedTuple):
    """What is known of a log: a fingerprint of its lists, a line of counts, and what was read and skipped."""

    fingerprint: str
    line: str
    report: str


class LogParts(Protocol):
    """The lists of a comparison."""

    def splits(self) -> Sequence[str]:
        """The splits to fit, the main one first."""
        ...

    def training(self, split: str) -> AbstractContextManager[FitData]:
        """The lists to fit."""
        ...

    def score(self, split: str, lists: float, fitted: Fits) -> SplitResult:
        """Score fitted models, given with their seconds, on the lists held out."""
        ...

    def facts(self) -> LogFacts:
        """What is known of the log, inside the context of `training`."""
        ...


class MemoryParts:
    """A log in memory.

    Parameters
    ----------
    log : ClickLog
        The log.
    split : str
        "random" or "time".
    holdout : float
        Share of lists to hold out.
    seed : int
        Seed of the random split.
    drift : bool
        Whether to add a split by time to a random one.
    """

    def __init__(self, log: ClickLog, split: str, holdout: float, seed: int, drift: bool) -> None:
        self._log = log
        planned = [split, "time"] if split == "random" and drift and has_times(log) else [split]
        self._held: dict[str, Bools] = {IN_SAMPLE: np.ones(len(log), dtype=np.bool_)}
        if holdout > 0:
            self._held = {each: held_out_lists(log, each, holdout, seed) for each in planned}

    def splits(self) -> Sequence[str]:
        """The splits to fit."""
        return list(self._held)

    @contextmanager
    def training(self, split: str) -> Iterator[FitData]:
        """The lists that are not held out."""
        with prepare_log(self._log if split == IN_SAMPLE else self._log.take(~self._held[split])) as data:
            yield data

    def score(self, split: str, lists: float, fitted: Fits) -> SplitResult:
        """Score the models on the lists held out."""
        held = self._held[split]
        test = self._log.take(held)
        scored = {name: ScoredModel(model, score_model(model, test), spent) for name, (model, spent) in fitted.items()}
        return SplitResult(split, lists, np.flatnonzero(held), test.weights, test.visitor, scored)

    def facts(self) -> LogFacts:
        """What is known of the log."""
        report = "" if self._log.report is None else str(self._log.report)
        return LogFacts(ListHasher().digest(self._log).fingerprint(), str(self._log), report)


class StreamedParts:
    """Files that are read part by part, once to fit and once to score; the lists to fit are spilled to disk.

    Parameters
    ----------
    path : str or path-like
        A file or a folder.
    reading : mapping
        Arguments of `scan_log`.
    holdout : float
        Share of lists to hold out.
    seed : int
        Seed of the random split.
    """

    def __init__(self, path: AnyPath, reading: Mapping[str, Any], holdout: float, seed: int) -> None:
        self._scan = scan_log(path, **without_unused(reading))
        self._holdout, self._seed = holdout, seed
        self._facts = LogFacts("", "", "")

    def splits(self) -> Sequence[str]:
        """One split."""
        return [one_split(self._holdout)]

    @contextmanager
    def training(self, split: str) -> Iterator[FitData]:
        """The lists that are not held out, on disk."""
        hasher, digest = ListHasher(), LogDigest()

        def watched() -> Iterator[ClickLog]:
            nonlocal digest
            for part, held in self._parts():
                digest = digest.plus(hasher.digest(part))
                yield part.take(~held) if self._holdout > 0 else part

        with prepare_parts(watched()) as data:
            line = digest.line(len(data.queries), len(data.items))
            self._facts = LogFacts(digest.fingerprint(), line, str(self._scan.report))
            yield data

    def _parts(self) -> Iterator[tuple[ClickLog, Bools]]:
        """The parts, and which of their lists are held out."""
        row = 0
        for part in self._scan:
            yield part, random_rows(len(part), row, self._holdout, self._seed)
            row += len(part)

    def score(self, split: str, lists: float, fitted: Fits) -> SplitResult:
        """Score the models on the lists held out."""
        models = {name: model for name, (model, _) in fitted.items()}
        chosen = (part.take(held) if self._holdout > 0 else part for part, held in self._parts())
        return streamed_split(split, lists, fitted, [score_part(models, part) for part in chosen])

    def facts(self) -> LogFacts:
        """What is known of the log."""
        return self._facts


class RayParts:
    """Files that the workers of a Ray cluster read, once to fit and once to score.

    Parameters
    ----------
    path : str or path-like
        A folder of files that all workers can read, each small enough for a worker's memory.
    reading : mapping
        Arguments of `read_log`.
    holdout : float
        Share of lists to hold out.
    seed : int
        Seed of the random split.
    address : str, optional
        Address of a running cluster; by default a local one is started.
    """

    def __init__(
        self, path: AnyPath, reading: Mapping[str, Any], holdout: float, seed: int, address: str | None = None
    ) -> None:
        self._paths = [source.name for source in find_sources(path)]
        options = {name: value for name, value in reading.items() if name != "progress"}  # a bar stays here
        self._read = partial(read_log, **without_unused(options))
        self._holdout, self._seed, self._address = holdout, seed, address
        self._facts = LogFacts("", "", "")
        self._data: RayData | None = None

    def splits(self) -> Sequence[str]:
        """One split."""
        return [one_split(self._holdout)]

    @contextmanager
    def training(self, split: str) -> Iterator[FitData]:
        """The lists that are not held out, in actors."""
        with prepare_on_ray(
            self._paths, self._read, address=self._address, holdout=self._holdout, seed=self._seed
        ) as data:
            digest = reduce(LogDigest.plus, [part.digest for part in data.files])
            line = digest.line(len(data.queries), len(data.items))
            report = "\n".join(part.report for part in data.files)
            self._facts, self._data = LogFacts(digest.fingerprint(), line, report), data
            yield data

    def score(self, split: str, lists: float, fitted: Fits) -> SplitResult:
        """Score the models on the lists held out."""
        if self._data is None:
            raise InvalidInput("Score the models while their lists are prepared.")
        models = {name: model for name, (model, _) in fitted.items()}
        row, tasks = 0, []
        for path, part in zip(self._paths, self._data.files, strict=True):
            tasks.append((path, row))
            row += part.digest.lists
        scores = self._data.call_for_each(
            partial(score_file, self._read, holdout=self._holdout, seed=self._seed), tasks, models
        )
        return streamed_split(split, lists, fitted, scores)

    def facts(self) -> LogFacts:
        """What is known of the log."""
        return self._facts


def score_file(
    read: Callable[[str], ClickLog],
    path: str,
    first_row: int,
    models: Mapping[str, FittedModel],
    *,
    holdout: float,
    seed: int,
) -> PartScores:
    """Score models on the lists of a file that are held out; runs on a worker."""
    log = read(path)
    return score_part(models, log.take(random_rows(len(log), first_row, holdout, seed)) if holdout > 0 else log)


def streamed_split(split: str, lists: float, fitted: Fits, scores: Sequence[PartScores]) -> SplitResult:
    """The result of scores that were summed part by part."""
    total = reduce(PartScores.plus, scores)
    if not total.whole.lists:
        raise InvalidInput("The holdout leaves no lists to score; use a larger log or another holdout.")
    scored = {name: ScoredModel(model, total.scores[name], spent) for name, (model, spent) in fitted.items()}
    nothing = np.zeros(0)
    return StreamedSplit(
        split, lists, nothing.astype(np.int64), nothing, None, scored, whole=total.whole, first_click=total.first_click
    )


def without_unused(reading: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of a reader that leave out the columns that no model needs."""
    return dict(reading) | {"columns": dict.fromkeys(UNUSED) | dict(reading.get("columns", {}))}


def one_split(holdout: float) -> str:
    """The split of a log that is read part by part."""
    return "random" if holdout > 0 else IN_SAMPLE


def has_times(log: ClickLog) -> bool:
    """Whether lists have different times."""
    return log.time is not None and len(np.unique(log.time[np.isfinite(log.time)])) > 1
