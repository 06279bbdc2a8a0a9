"""Splits a log into lists to fit and lists to hold out, at random or by time.

The random split hashes the content of a list with its ids, not its row: adding, removing or sorting other lists moves
no list to the other side. Equal lists are told apart by their order in the log.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from toplist.core.compiling import compiled
from toplist.core.problem import InvalidInput, refuse
from toplist.core.randomness import branch, uniform
from toplist.core.slate import Bools, Ints
from toplist.logs.click_log import ClickLog
from toplist.logs.id_table import Codes, Id
from toplist.logs.patterns import speed

SPLITS = ("random", "time")


def held_out_lists(log: ClickLog, split: str, holdout: float, seed: int) -> Bools:
    """Which lists of a log to hold out.

    Parameters
    ----------
    log : ClickLog
        The log.
    split : str
        "random", or "time" for the latest lists.
    holdout : float
        Share of the lists to hold out.
    seed : int
        Seed of the random split.

    Returns
    -------
    ndarray of bool
        True for a list to hold out.

    Raises
    ------
    InvalidInput
        If the log has no times to split by, or one side would be empty.
    """
    if split not in SPLITS:
        raise refuse("The split", split, f"one of {', '.join(SPLITS)}", "choose one")
    held = _latest(log, holdout) if split == "time" else _random(log, holdout, seed)
    for side, rows in (("to hold out", held), ("to fit", ~held)):
        if not log.lengths[rows].any():
            raise InvalidInput(
                f"A {split} holdout of {holdout:g} leaves none of {len(log):,} lists {side}; use a larger log or "
                "another holdout."
            )
    return held


def list_hashes(log: ClickLog) -> Ints:
    """A hash of the content of each list: query, items, clicks, and time and visitor if the log has them."""
    query = _id_hashes(log.queries)[log.query]
    items = _id_hashes(log.items)
    hashes = np.zeros(len(log), dtype=np.int64)
    speed(hash_lists, len(log.item))(query, log.start, log.item, log.click, items, hashes)
    for extra in (
        None if log.time is None else np.ascontiguousarray(log.time, dtype=np.float64).view(np.int64),
        None if log.visitor is None or log.visitors is None else _id_hashes(log.visitors)[log.visitor],
    ):
        if extra is not None:
            speed(mix, len(log))(hashes, extra)
    return hashes


def fingerprint(log: ClickLog) -> str:
    """A text that is the same for the same lists, in whatever order, and differs for others."""
    hashes = list_hashes(log)
    weighed = hashes.copy()
    speed(mix, len(log))(weighed, np.ascontiguousarray(log.weights, dtype=np.float64).view(np.int64))
    with np.errstate(over="ignore"):
        return f"{len(log)}-{int(weighed.sum(dtype=np.int64)) & (2**64 - 1):016x}"


def _latest(log: ClickLog, holdout: float) -> Bools:
    """The lists from the time on that leaves at most the wanted share; those of one time stay together."""
    if log.time is None or not np.isfinite(log.time).any():
        raise InvalidInput("The log has no times, but a split by time needs them; split it at random.")
    time = np.where(np.isfinite(log.time), log.time, -np.inf)
    moments, moment = np.unique(time, return_inverse=True)
    if len(moments) < 2:
        raise InvalidInput("All lists of the log have the same time, so that none are later; split it at random.")
    later = np.cumsum(np.bincount(moment, weights=log.weights)[::-1])[::-1]  # weight from each moment on
    first = int(np.searchsorted(-later, -holdout * log.weights.sum()))
    held: Bools = moment >= min(max(first, 1), len(moments) - 1)
    return held


def _random(log: ClickLog, holdout: float, seed: int) -> Bools:
    """Lists drawn by their content and, among equal ones, by their order."""
    hashes = list_hashes(log)
    order = np.argsort(hashes, kind="stable")
    ordered = hashes[order]
    first = np.searchsorted(ordered, ordered, side="left")  # of the equal ones
    occurrence = np.empty(len(log), dtype=np.int64)
    occurrence[order] = np.arange(len(log)) - first
    held = np.zeros(len(log), dtype=np.bool_)
    speed(draw_lists, len(log))(seed, hashes, occurrence, holdout, held)
    return held


def _id_hashes(ids: Iterable[Id]) -> Ints:
    """A hash per id, the same on every machine; texts and numbers differ."""
    found = [
        int.from_bytes(hashlib.blake2b(repr(each).encode(), digest_size=8).digest(), "little", signed=True)
        for each in ids
    ]
    return np.array(found, dtype=np.int64)


@compiled
def hash_lists(query: Ints, start: Ints, item: Codes, click: NDArray[np.uint8], items: Ints, hashes: Ints) -> None:
    """Fill the hash of each list."""
    for row in range(len(hashes)):
        key = query[row]
        for at in range(start[row], start[row + 1]):
            key = branch(branch(key, items[item[at]]), click[at])
        hashes[row] = key


@compiled
def mix(hashes: Ints, extra: Ints) -> None:
    """Add a number to each hash."""
    for row in range(len(hashes)):
        hashes[row] = branch(hashes[row], extra[row])


@compiled
def draw_lists(seed: int, hashes: Ints, occurrence: Ints, share: float, drawn: Bools) -> None:
    """Draw each list with the same probability."""
    for row in range(len(hashes)):
        drawn[row] = uniform(branch(seed, hashes[row]), occurrence[row]) < share
