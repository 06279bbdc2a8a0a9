"""Looks for breaks in a log by change detectors over time slices: whether attraction changed, and when."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from toplist.core.slate import Floats, Ints
from toplist.logs import ClickLog, FittedModel
from toplist.logs.id_table import Codes
from toplist.parts.detectors import GLR, bernoulli_kl

SLICES = 20
LEVEL = 0.01  # probability of finding breaks in a log without any
LEAST_EXAMINED = 30.0  # expected examinations of an item that is watched
MOST_BREAKS = 8
SHRINK = 10.0  # examinations at its mean rate that an item gets in every epoch, against noise
CLEAR = 2.5  # gain of the log-likelihood by which an item clearly changed at a break; by chance once in 40 items


ENOUGH = 100.0  # examinations in the epochs before and after a break that show whether an item moved there


class Moved(NamedTuple):
    """How the attraction of one (query, item) pair moved during a log.

    Parameters
    ----------
    shifts : ndarray of float
        Shift of the logit of its attraction in each epoch between breaks, against the whole log.
    error : float
        Standard error of the latest shift.
    examined : float
        Expected examinations since it last changed.
    """

    shifts: Floats
    error: float
    examined: float


class Drift(NamedTuple):
    """How the attraction of items moved during a log.

    Parameters
    ----------
    breaks : tuple of float
        Where the log breaks, as shares of its lists, ascending.
    moved : dict of int to Moved
        By number of the (query, item) pair of the fit; pairs that did not clearly change are missing.
    watched : int
        Number of pairs that were watched.
    steps : ndarray of float, shape (steps, 2)
        What pairs did at the breaks that were examined enough to tell: the logit of the attraction on one side, and how
        far it was to the other, in both directions. Ordered by the logit.
    """

    breaks: tuple[float, ...]
    moved: dict[int, Moved]
    watched: int
    steps: Floats = np.zeros((0, 2))


NO_DRIFT = Drift((), {}, 0)


class Streams(NamedTuple):
    """Expected examinations and clicks of (query, item) pairs in slices of a log."""

    pairs: Ints
    examined: Floats  # per pair and slice
    clicked: Floats


def find_drift(fitted: FittedModel, log: ClickLog, queries: Codes) -> Drift:
    """Look for breaks in the clicks of some queries, and if there are any, for all items that moved.

    Each item is a stream of expected examinations and clicks, slice by slice; the examinations follow from the fit and
    the clicks above, so that a logging policy that changes is no break. A detector watches each stream. If one raises
    an alarm, the log is divided where the likelihood of the streams with alarms gains most, and so are its parts.

    Parameters
    ----------
    fitted : FittedModel
        A model fitted to the whole log.
    log : ClickLog
        The log.
    queries : ndarray of int
        Codes of the queries in which to look for breaks.

    Returns
    -------
    Drift
        The breaks; none for a log without times.
    """
    if log.time is None or not np.isfinite(log.time).any() or not fitted.own.value.shape[1]:
        return NO_DRIFT
    rows = np.flatnonzero(np.isfinite(log.time) & (log.lengths <= fitted.positions))
    rows = rows[np.argsort(log.time[rows], kind="stable")]
    if len(rows) < 2 * SLICES or log.time[rows[0]] == log.time[rows[-1]]:
        return NO_DRIFT
    number = np.arange(len(rows)) * SLICES // len(rows)
    looked_at = np.isin(log.query[rows], queries)
    streams = watched_streams(fitted, log, rows[looked_at], number[looked_at])
    breaks, _ = find_breaks(streams.examined, streams.clicked, LEVEL)
    if not breaks:
        return Drift((), {}, len(streams.pairs))
    if not looked_at.all():
        streams = watched_streams(fitted, log, rows, number)
    moved, steps = item_moves(streams, breaks)
    return Drift(tuple(each / SLICES for each in breaks), moved, len(streams.pairs), steps)


def watched_streams(fitted: FittedModel, log: ClickLog, rows: Ints, slices: Ints) -> Streams:
    """The streams of the pairs that are examined often enough, in some lists with the number of their slice."""
    some = log.take(rows)
    pair = fitted.pair_numbers(some)
    known = pair < len(fitted.own.value)
    slice_of = np.repeat(slices, some.lengths)[known]
    weight = np.repeat(some.weights, some.lengths)[known]
    pair, given, click = pair[known], fitted.predict(some).given[known], some.click[known]
    pairs, number = np.unique(pair, return_inverse=True)
    attraction = np.maximum(fitted.own.value[pairs, 0], 1e-9)
    cell = number * SLICES + slice_of
    size = len(pairs) * SLICES
    examined = np.bincount(cell, weights=weight * given, minlength=size).reshape(-1, SLICES) / attraction[:, None]
    clicked = np.bincount(cell, weights=weight * click, minlength=size).reshape(-1, SLICES)
    clicked = np.minimum(clicked, examined)
    watched = examined.sum(axis=1) >= LEAST_EXAMINED
    return Streams(pairs[watched], examined[watched], clicked[watched])


def item_moves(streams: Streams, breaks: Sequence[int]) -> tuple[dict[int, Moved], Floats]:
    """How each pair moved at the breaks of a log, and the steps of all of them."""
    moved: dict[int, Moved] = {}
    steps: dict[bool, list[tuple[float, float]]] = {True: [], False: []}  # by whether an item was examined enough
    ends = [0, *breaks, SLICES]
    for pair, examined, clicked in zip(streams.pairs.tolist(), streams.examined, streams.clicked, strict=True):
        edges = clear_edges(examined, clicked, breaks)
        mean = clicked.sum() / examined.sum()
        size, rate = np.zeros(SLICES), np.zeros(SLICES)
        for begin, end in pairwise(edges):
            size[begin:end] = examined[begin:end].sum() + SHRINK
            rate[begin:end] = (clicked[begin:end].sum() + SHRINK * mean) / size[begin]
        level = logit(rate)
        for first, at, last in zip(ends, breaks, ends[2:], strict=False):
            far = level[at] - level[at - 1]
            is_seen = bool(min(examined[first:at].sum(), examined[at:last].sum()) >= ENOUGH)
            steps[is_seen] += [(level[at - 1], far), (level[at], -far)]
        if len(edges) > 2:
            spread = max(size[-1] * rate[-1] * (1.0 - rate[-1]), 1e-9)
            shifts = level[[0, *breaks]] - logit(np.array([mean]))
            moved[pair] = Moved(shifts, float(spread**-0.5), float(size[-1] - SHRINK))
    return moved, np.array(sorted(steps[True] or steps[False])).reshape(-1, 2)


def clear_edges(examined: Floats, clicked: Floats, breaks: Sequence[int]) -> list[int]:
    """The first slice of each epoch of one stream, and the number of slices: breaks where it clearly changed."""
    edges = [0, *breaks, len(examined)]
    while len(edges) > 2:
        gains = [split_gain(examined, clicked, *edges[place - 1 : place + 2]) for place in range(1, len(edges) - 1)]
        least = int(np.argmin(gains))
        if gains[least] >= CLEAR:
            break
        del edges[least + 1]
    return edges


def find_breaks(examined: Floats, clicked: Floats, level: float) -> tuple[list[int], list[int]]:
    """The slices before which streams break, and the streams with alarms.

    Parameters
    ----------
    examined, clicked : ndarray of float, shape (streams, slices)
        Examinations and clicks.
    level : float
        Probability of an alarm if nothing changes.

    Returns
    -------
    tuple of list of int
        The slices, ascending, and the streams.
    """
    breaks: list[int] = []
    everyone: set[int] = set()
    waiting = [(0, examined.shape[1])] if len(examined) else []
    while waiting and len(breaks) < MOST_BREAKS:
        begin, end = waiting.pop(0)
        alarmed = [
            each
            for each in range(len(examined))
            if alarms(examined[each], clicked[each], begin, end, level / len(examined))
        ]
        if not alarmed:
            continue
        everyone |= set(alarmed)
        gains = [
            sum(split_gain(examined[each], clicked[each], begin, at, end) for each in alarmed)
            for at in range(begin + 1, end)
        ]
        at = begin + 1 + int(np.argmax(gains))
        breaks.append(at)
        waiting += [part for part in ((begin, at), (at, end)) if part[1] - part[0] > 1]
    return sorted(breaks), sorted(everyone)


def alarms(examined: Floats, clicked: Floats, begin: int, end: int, level: float) -> bool:
    """Whether a detector raises an alarm in some slices of a stream."""
    detector = GLR(level)
    row = np.zeros(detector.room())
    for each in range(begin, end):
        if examined[each] > 0.0 and detector.watch(row, float(examined[each]), float(clicked[each] / examined[each])):
            return True
    return False


def split_gain(examined: Floats, clicked: Floats, begin: int, at: int, end: int) -> float:
    """How much the log-likelihood of a stream gains if its rate may change at a slice."""
    total, clicks = examined[begin:end].sum(), clicked[begin:end].sum()
    if not 0.0 < clicks < total:
        return 0.0
    gain = 0.0
    for first, last in ((begin, at), (at, end)):
        size = examined[first:last].sum()
        if size > 0.0:
            gain += size * bernoulli_kl(min(clicked[first:last].sum() / size, 1.0), clicks / total)
    return float(gain)


def logit(chance: Floats) -> Floats:
    """Logarithm of the odds, finite."""
    inside = np.clip(chance, 1e-6, 1.0 - 1e-6)
    found: Floats = np.log(inside) - np.log1p(-inside)
    return found
