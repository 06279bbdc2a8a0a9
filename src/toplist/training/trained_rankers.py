"""The rankers of a training, by query, in memory or in a folder from which an interrupted training goes on."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from toplist.core.problem import InvalidInput, refuse
from toplist.logs.id_table import Id
from toplist.ranker import Ranker
from toplist.support.files import AnyPath, Unwritable, read_json, slug, write_text
from toplist.support.tables import count_text

FORM = {"format": "toplist.training.RankerFolder", "version": 1}
FACTS, INDEX, UNFINISHED = "train.json", "rankers.jsonl", "unfinished.npz"


class TrainedFile(NamedTuple):
    """A ranker of a folder.

    Parameters
    ----------
    query : str, int or None
        The query whose lists it learned; None for all.
    file : str
        Name of the file.
    lists : int
        Number of lists learned.
    skipped : int
        Number of lists that were left out, since they have items that were not given.
    """

    query: Id | None
    file: str
    lists: int
    skipped: int


class RankerFolder:
    """The rankers of one training on disk: a file each, one of the settings, and one with a line per ranker.

    Parameters
    ----------
    path : str or path-like
        The folder, made if missing.
    settings : mapping
        What the rankers depend on; a folder with other settings is refused.

    Raises
    ------
    InvalidInput
        If the folder cannot be made, or has rankers of other settings.
    """

    def __init__(self, path: AnyPath, settings: Mapping[str, Any]) -> None:
        self.path = Path(path)
        self._settings = json.loads(json.dumps(dict(settings)))  # as they are read again
        self.files: dict[Id | None, TrainedFile] = {}
        self.unfinished: tuple[Id | None, int, int] | None = None  # query, lists gone through, and lists left out
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise Unwritable(
                f"The folder of rankers is {str(path)!r}, but it cannot be made; choose another one ({problem})."
            ) from problem
        if (self.path / FACTS).exists():
            kept = read_json(self.path / FACTS, FORM, ("settings", "unfinished"))
            self._refuse_others(kept["settings"])
            self.files = {each.query: each for each in self._read_index()}
            self.unfinished = None if kept["unfinished"] is None else tuple(kept["unfinished"])
        else:
            (self.path / INDEX).unlink(missing_ok=True)
        self._names = {each.file for each in self.files.values()}

    def _read_index(self) -> Iterator[TrainedFile]:
        """The rankers that are there; a line that was cut off does not count."""
        lines = (self.path / INDEX).read_text(encoding="utf-8").splitlines() if (self.path / INDEX).exists() else []
        for line in lines:
            with suppress(ValueError, TypeError):
                yield TrainedFile(*json.loads(line))

    def _refuse_others(self, kept: Mapping[str, Any]) -> None:
        """Refuse settings that differ from those of the folder."""
        for name in sorted({*kept, *self._settings}):
            if kept.get(name) != self._settings.get(name):
                raise InvalidInput(
                    f"{self.path} has rankers of another training: its {name} is {kept.get(name)!r}, that of this call "
                    f"{self._settings.get(name)!r}; name another folder, or delete this one."
                )

    def keep(self, query: Id | None, ranker: Ranker, skipped: int) -> None:
        """Write a ranker that has learned all of its lists."""
        file = f"{slug('all' if query is None else str(query))}.npz"
        if file in self._names:  # the text "7" and the number 7
            file = f"{len(self.files)}-{file}"
        ranker.save(self.path / file)
        if self.unfinished is not None or not (self.path / FACTS).exists():
            self.unfinished = None
            self._write_facts()
            (self.path / UNFINISHED).unlink(missing_ok=True)
        self.files[query] = TrainedFile(query, file, ranker.learned, skipped)
        self._names.add(file)
        with open(self.path / INDEX, "a", encoding="utf-8") as index:
            index.write(json.dumps(list(self.files[query])) + "\n")

    def keep_unfinished(self, query: Id | None, ranker: Ranker, done: int, skipped: int) -> None:
        """Write a ranker in the middle of its lists."""
        ranker.save(self.path / UNFINISHED)
        self.unfinished = query, done, skipped
        self._write_facts()

    def load_unfinished(self, query: Id | None, compiled: bool) -> tuple[Ranker, int, int] | None:
        """The ranker of a query that was interrupted, with the lists gone through and left out; or None."""
        if self.unfinished is None or self.unfinished[0] != query or not (self.path / UNFINISHED).exists():
            return None
        return Ranker.load(self.path / UNFINISHED, compiled=compiled), *self.unfinished[1:]

    def _write_facts(self) -> None:
        facts = FORM | {"settings": self._settings, "unfinished": self.unfinished}
        write_text(self.path / FACTS, "The settings of the training", json.dumps(facts, indent=1) + "\n")


def load_trained(path: AnyPath) -> dict[Id, Ranker] | Ranker:
    """The rankers of a folder that `toplist train` has written.

    Parameters
    ----------
    path : str or path-like
        The folder.

    Returns
    -------
    dict or Ranker
        Rankers by query, or the one of all queries together.

    Raises
    ------
    InvalidInput
        If the folder is none of these, or its training was not finished.
    """
    folder = Path(path)
    if not (folder / FACTS).exists():
        raise refuse(
            "The folder of rankers", str(path), "one that toplist train has written", "or name a ranker's file"
        )
    kept = read_json(folder / FACTS, FORM, ("settings", "unfinished"))
    if kept["unfinished"] is not None:
        raise InvalidInput(f"The training in {path} was interrupted; finish it with the same toplist train.")
    files = RankerFolder(path, kept["settings"]).files
    if list(files) == [None]:
        return Ranker.load(folder / files[None].file)
    return {query: Ranker.load(folder / each.file) for query, each in files.items() if query is not None}


class TrainedRankers(Mapping[Any, Ranker]):
    """Rankers by the query whose lists they learned; that of all queries together is under None.

    Parameters
    ----------
    rankers : mapping of str, int or None to Ranker or path
        The rankers, or the files of those that are loaded when they are asked for.
    lists : int
        Number of lists learned.
    cut : int
        Number of these that were longer than the rankers' lists: what was below was left out.
    skipped : int
        Number of lists that were left out, since they have items that were not given.
    rare : int
        Number of queries that were left out, since they have too few lists.
    report : str
        What was read of the log, and skipped.

    Examples
    --------
    >>> from toplist import train
    >>> from toplist.logs import ClickLog
    >>> log = ClickLog.from_lists(["q"] * 3, [["a", "b"], ["b", "c"], ["a", "b"]], clicked=[[2], [1], [1, 2]])
    >>> found = train(log, "cascade-ucb1")
    >>> found["q"].learned, found.ranker.positions
    (3, 2)
    """

    def __init__(
        self,
        rankers: Mapping[Id | None, Ranker | Path],
        lists: int,
        cut: int = 0,
        skipped: int = 0,
        rare: int = 0,
        report: str = "",
    ) -> None:
        self._rankers = dict(rankers)
        self.lists, self.cut, self.skipped, self.rare, self.report = lists, cut, skipped, rare, report

    def __getitem__(self, query: Id | None) -> Ranker:
        """The ranker of a query; from its file, plain Python, since it may rank few lists."""
        found = self._rankers[query]
        return found if isinstance(found, Ranker) else Ranker.load(found, compiled=False)

    def __iter__(self) -> Iterator[Id | None]:
        return iter(self._rankers)

    def __len__(self) -> int:
        return len(self._rankers)

    @property
    def ranker(self) -> Ranker:
        """The only ranker, of a training with one query or of all together."""
        if len(self) != 1:
            raise InvalidInput(f"There are {len(self)} rankers, one per query; name one, or train them together.")
        return self[next(iter(self))]

    @property
    def files(self) -> dict[Id | None, Path]:
        """The files of the rankers that are kept in a folder."""
        return {query: each for query, each in self._rankers.items() if isinstance(each, Path)}

    def __str__(self) -> str:
        """A few lines of counts."""
        of_all = list(self) == [None]
        lines = [f"{count_text(self.lists, 'list')} learned by {count_text(len(self), 'ranker')}"]
        lines[0] += ", of all queries together" if of_all else ", one per query"
        if self.cut:
            lines.append(f"{count_text(self.cut, 'list')} cut to the length of the rankers' lists")
        if self.skipped:
            lines.append(f"{count_text(self.skipped, 'list')} left out: with items that were not given")
        if self.rare:
            rare = f"{self.rare:,} {'query' if self.rare == 1 else 'queries'}"
            lines.append(f"{rare} left out: too few lists")
        return "\n".join([*([self.report] if self.report else []), *lines])
