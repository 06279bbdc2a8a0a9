"""A click log: a table of impressions, one row per list shown, kept as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from toplist.core.problem import InvalidInput, refuse
from toplist.core.slate import Floats, Ints
from toplist.logs.id_table import Codes, Id, IdTable
from toplist.logs.report import ReadReport
from toplist.support.tables import count_text

PER_POSITION = ("item", "click", "propensity", "marginal", "target_propensity", "target_marginal", "seen")


@dataclass(frozen=True, eq=False)
class ClickLog:
    """A table of impressions; make one with `ClickLog.from_lists` or `toplist.logs.read_log`.

    Lists may have different lengths: the positions of list i are `start[i]` to `start[i + 1]` of the columns per
    position. Columns may be memory-mapped.

    Parameters
    ----------
    queries, items : IdTable
        The ids behind the codes of `query` and `item`.
    query : ndarray of int32, per list
        The query, or segment, as a code.
    start : ndarray of int64, one more than lists
        Where the positions of each list begin.
    item : ndarray of int32, per position
        The item shown, as a code.
    click : ndarray of uint8, per position
        1 if the item was clicked, else 0.
    time : ndarray of float64, per list, optional
        Seconds since 1970, or since the beginning of the log; NaN if unknown.
    visitor : ndarray of int32, per list, optional
        The visitor, as a code of `visitors`; -1 if unknown.
    visitors : IdTable, optional
        The ids behind the codes of `visitor`.
    propensity : ndarray of float64, per position, optional
        Probability with which the item was shown there, given the items above; NaN if unknown.
    marginal : ndarray of float64, per position, optional
        Probability with which the item was shown there, whatever stood above; NaN if unknown.
    target_propensity, target_marginal : ndarray of float64, per position, optional
        The same two probabilities under another policy, which `toplist.evaluate` can judge; 0 for what it never shows.
    seen : ndarray of float64, per position, optional
        Probability that the position was in view; NaN if unknown.
    left : ndarray of int32, per list, optional
        Last examined position, counted from 1; 0 if unknown.
    weight : ndarray of float64, per list, optional
        How many equal lists the row stands for; by default 1.
    report : ReadReport, optional
        What was read and skipped, of a log that was read.

    Examples
    --------
    >>> log = ClickLog.from_lists(["shoes", "shoes"], [["a", "b", "c"], ["b", "a"]], clicked=[[2], []])
    >>> len(log), log.positions, log.clicks_by_position()
    (2, 3, array([0., 1., 0.]))
    >>> print(log)
    2 lists of up to 3 positions, 1 query, 3 items, 1 click, 1 list without clicks
    """

    queries: IdTable
    items: IdTable
    query: Codes
    start: Ints
    item: Codes
    click: NDArray[np.uint8]
    time: Floats | None = None
    visitor: Codes | None = None
    visitors: IdTable | None = None
    propensity: Floats | None = None
    marginal: Floats | None = None
    target_propensity: Floats | None = None
    target_marginal: Floats | None = None
    seen: Floats | None = None
    left: Codes | None = None
    weight: Floats | None = None
    report: ReadReport | None = None

    @classmethod
    def from_lists(
        cls,
        queries: Sequence[Id],
        items: Sequence[Sequence[Id]],
        clicked: Sequence[Sequence[int]],
        *,
        time: Sequence[float] | None = None,
        visitors: Sequence[Id] | None = None,
        weights: Sequence[float] | None = None,
        propensities: Sequence[Sequence[float]] | None = None,
        marginals: Sequence[Sequence[float]] | None = None,
    ) -> Self:
        """Make a log of a few lists given as Python sequences; `read_log` reads files and frames.

        Parameters
        ----------
        queries : sequence of str or int
            The query of each list.
        items : sequence of sequence of str or int
            The items of each list, from the top.
        clicked : sequence of sequence of int
            The clicked positions of each list, counted from 1, in any order.
        time : sequence of float, optional
            Time of each list in seconds.
        visitors : sequence of str or int, optional
            Visitor of each list.
        weights : sequence of float, optional
            How many equal lists each stands for.
        propensities, marginals : sequence of sequence of float, optional
            Per list and position the probability of the item there: given the items above, and whatever stood above.

        Returns
        -------
        ClickLog
            The log.

        Raises
        ------
        InvalidInput
            If the arguments have different lengths, a clicked position is not on its list, a weight is not above 0, or
            a probability is not in (0, 1].
        """
        given = {
            "items": items, "clicked": clicked, "time": time, "visitors": visitors, "weights": weights,
            "propensities": propensities, "marginals": marginals,
        }  # fmt: skip
        for name, several in given.items():
            if several is not None and len(several) != len(queries):
                accepted = f"{len(queries)}, the number of queries"
                raise refuse(f"The length of {name}", len(several), accepted, "give one element per list")
        sizes = np.array([len(each) for each in items], dtype=np.int64)
        start = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(sizes)])
        click = np.zeros(int(start[-1]), dtype=np.uint8)
        for number, places in enumerate(clicked):
            for place in places:
                if not 1 <= place <= sizes[number]:
                    accepted = f"1 to {sizes[number]}, the positions of that list"
                    raise refuse(f"A clicked position of list {number + 1}", place, accepted, "correct it")
                click[start[number] + place - 1] = 1
        query_table, item_table, visitor_table = IdTable(), IdTable(), None if visitors is None else IdTable()
        return cls(
            queries=query_table, items=item_table, query=query_table.encode(queries), start=start,
            item=item_table.encode([each for one in items for each in one]), click=click,
            time=None if time is None else np.asarray(time, dtype=np.float64),
            visitor=None if visitors is None or visitor_table is None else visitor_table.encode(visitors),
            visitors=visitor_table,
            weight=None if weights is None else _weights(weights),
            propensity=None if propensities is None else _probabilities("propensities", propensities, sizes),
            marginal=None if marginals is None else _probabilities("marginals", marginals, sizes),
        )  # fmt: skip

    def __len__(self) -> int:
        """Number of lists, each row counted once whatever its weight."""
        return len(self.query)

    @property
    def lengths(self) -> Ints:
        """Number of positions of each list."""
        return np.diff(self.start)

    @property
    def positions(self) -> int:
        """Length of the longest list; 0 for an empty log."""
        return int(self.lengths.max()) if len(self) else 0

    @property
    def weights(self) -> Floats:
        """Weight of each list."""
        return np.ones(len(self)) if self.weight is None else self.weight

    def clicks_by_position(self) -> Floats:
        """Number of clicks at each position, weighted."""
        return self._by_position(self.click)

    def shown_by_position(self) -> Floats:
        """Number of lists that have each position, weighted."""
        return self._by_position(np.ones(len(self.click)))

    def _by_position(self, values: NDArray[Any]) -> Floats:
        places, weights = self.places(), np.repeat(self.weights, self.lengths)
        return np.bincount(places, weights=weights * values, minlength=self.positions).astype(np.float64)

    def places(self) -> Ints:
        """Per position of each list its place on the list, counted from 0."""
        return np.arange(len(self.item)) - np.repeat(self.start[:-1], self.lengths)

    def clicks_per_list(self) -> Ints:
        """Number of clicks on each list."""
        counts: Ints = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(self.click, dtype=np.int64)])
        return counts[self.start[1:]] - counts[self.start[:-1]]

    def take(self, rows: NDArray[Any]) -> Self:
        """Some of the lists, with the same ids.

        Parameters
        ----------
        rows : ndarray of int or bool
            The lists, by number or by a mask.

        Returns
        -------
        ClickLog
            A log of these lists.
        """
        chosen = np.flatnonzero(rows) if rows.dtype == np.bool_ else np.asarray(rows)
        sizes = self.lengths[chosen]
        start = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(sizes)])
        at = np.arange(int(start[-1])) + np.repeat(self.start[chosen] - start[:-1], sizes)
        columns: dict[str, Any] = {
            name: column[at if name in PER_POSITION else chosen]
            for name, column in self._columns().items()
            if name != "start"
        }
        return replace(self, start=start, **columns)

    @classmethod
    def concatenate(cls, logs: Sequence[Self]) -> Self:
        """One log of several with the same id tables, such as the parts of a scan.

        Parameters
        ----------
        logs : sequence of ClickLog
            The parts, at least one.

        Returns
        -------
        ClickLog
            The log of all their lists, with the optional columns that all parts have.

        Raises
        ------
        InvalidInput
            If there are no parts, or their ids are in different tables.
        """
        if not logs or any(log.queries is not logs[0].queries or log.items is not logs[0].items for log in logs):
            raise InvalidInput("Only the parts of one scan can be concatenated; read the files in one scan.")
        columns = [log._columns() for log in logs]
        shared = [name for name in columns[0] if all(name in each for each in columns)]
        joined: dict[str, Any] = {
            name: np.concatenate([each[name] for each in columns]) for name in shared if name != "start"
        }
        sizes = np.concatenate([log.lengths for log in logs])
        start = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(sizes)])
        return cls(queries=logs[0].queries, items=logs[0].items, visitors=logs[0].visitors, start=start, **joined)

    def _columns(self) -> dict[str, NDArray[Any]]:
        """The columns that the log has, by name."""
        found = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: column for name, column in found.items() if isinstance(column, np.ndarray)}

    def __str__(self) -> str:
        """A line of counts."""
        clicks = self.clicks_per_list()
        shown = len(np.unique(self.query))
        return (
            f"{count_text(len(self), 'list')} of up to {count_text(self.positions, 'position')}, "
            f"{shown:,} {'query' if shown == 1 else 'queries'}, {count_text(len(np.unique(self.item)), 'item')}, "
            f"{count_text(int(clicks.sum()), 'click')}, {count_text(int((clicks == 0).sum()), 'list')} without clicks"
        )


def _weights(values: Sequence[float]) -> Floats:
    """Weights of lists, checked."""
    found = np.asarray(values, dtype=np.float64)
    wrong = found[~((found > 0) & np.isfinite(found))]
    if len(wrong):
        raise refuse(
            "A value of weights", float(wrong[0]), "a number above 0", "leave the list out if it does not count"
        )
    return found


def _probabilities(name: str, values: Sequence[Sequence[float]], sizes: Ints) -> Floats:
    """Probabilities of all positions, checked."""
    for number, (each, size) in enumerate(zip(values, sizes, strict=True)):
        if len(each) != size:
            accepted = f"{size}, the positions of that list"
            raise refuse(f"The number of {name} of list {number + 1}", len(each), accepted, "give one per position")
    found = np.array([float(value) for each in values for value in each])
    wrong = found[~((found > 0) & (found <= 1))]
    if len(wrong):
        raise refuse(f"A value of {name}", float(wrong[0]), "above 0 and at most 1", "give probabilities")
    return found
