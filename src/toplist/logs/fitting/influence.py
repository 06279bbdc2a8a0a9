"""How a function of the fitted coins moves with each list: its derivatives, and the influence of the lists.

With the notation of `sandwich`: the influence of a list with derivatives g on a function with derivatives s is
g'H^-1 s, where H is the information, a block per query bordered by the shared coins.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from toplist.core.slate import Floats
from toplist.logs.click_log import ClickLog
from toplist.logs.fitted import FittedModel, prediction_rows
from toplist.logs.fitting.loops import FitRows, predict_rows
from toplist.logs.fitting.maximise import Maximiser
from toplist.logs.fitting.partition import Partition
from toplist.logs.fitting.sandwich import fit_rows, score_rows, shared_bread, slices
from toplist.logs.models.protocol import CoinSums, workspace
from toplist.logs.patterns import compress, list_order, speed

STEP = 1e-5  # of a probability; expected clicks are polynomials of them


class ClickSlopes(NamedTuple):
    """Expected clicks of some lists, and the derivatives of their weighted sum.

    Parameters
    ----------
    clicks : ndarray of float
        Expected clicks of each list.
    own : ndarray of float, shape (pairs, kinds)
        Derivatives by the logits of the own coins.
    shared : ndarray of float, shape (1 or queries, coins)
        Derivatives by the logits of the shared coins.
    unknown : float
        Weighted share of positions whose (query, item) pair the fit has never seen.
    """

    clicks: Floats
    own: Floats
    shared: Floats
    unknown: float


def click_slopes(fitted: FittedModel, lists: ClickLog) -> ClickSlopes:
    """Expected clicks of lists, with derivatives of their sum, weighted by the weights of the lists.

    Parameters
    ----------
    fitted : FittedModel
        The model.
    lists : ClickLog
        The lists; their clicks do not matter.

    Returns
    -------
    ClickSlopes
        The clicks and the derivatives.
    """
    theta, rows = prediction_rows(fitted, lists)
    kinds, places = fitted.own.value.shape[1], len(rows.pair)
    # Each position has coins of its own, so that those of one place of all lists can be moved at once.
    own = theta[: rows.first_shared].reshape(-1, kinds)[rows.pair]
    shared = theta[rows.first_shared :]
    apart = rows._replace(pair=np.arange(places, dtype=np.int32), first_shared=places * kinds)
    model: Any = fitted.model

    def clicks(own_coins: Floats, shared_coins: Floats) -> Floats:
        marginal, given = np.zeros(places), np.zeros(places)
        coins = np.concatenate([own_coins.ravel(), shared_coins])
        loop = speed(predict_rows, places)
        loop(model, coins, apart, given, marginal, workspace(fitted.positions))
        return np.asarray(np.add.reduceat(marginal, rows.start[:-1]))

    place = np.arange(places) - np.repeat(rows.start[:-1], np.diff(rows.start))
    own_slope = np.zeros((len(fitted.own.value) + 1, kinds))
    for kind in range(kinds):
        for at in range(int(place.max(initial=-1)) + 1):
            here = place == at
            up, down = own.copy(), own.copy()
            up[here, kind], down[here, kind] = _moved(own[here, kind])
            change = clicks(up, shared) - clicks(down, shared)
            slope = change[np.repeat(np.arange(len(lists)), np.diff(rows.start))[here]]
            slope = slope / (up[here, kind] - down[here, kind])
            np.add.at(own_slope[:, kind], rows.pair[here], lists.weights[lists_of(rows)[here]] * slope)
    width = fitted.shared.value.shape[1]
    shared_slope = np.zeros((len(shared) // width if width else 0, width))
    for coin in range(width):
        up, down = shared.copy(), shared.copy()
        up[coin::width], down[coin::width] = _moved(shared[coin::width])
        change = clicks(own, up) - clicks(own, down)
        copies = rows.query if rows.shared_per_query else np.zeros(len(lists), dtype=np.int64)
        slope = change / (up[coin::width] - down[coin::width])[copies]
        np.add.at(shared_slope[:, coin], copies, lists.weights * slope)
    known = rows.pair < len(fitted.own.value)
    own_value, shared_value = fitted.own.value, fitted.shared.value
    return ClickSlopes(
        clicks(own, shared),
        own_slope[:-1] * own_value * (1.0 - own_value),
        shared_slope[: len(shared_value)] * shared_value * (1.0 - shared_value),
        float(lists.weights[lists_of(rows)[~known]].sum() / max(lists.weights[lists_of(rows)].sum(), 1e-300)),
    )


def lists_of(rows: FitRows) -> Any:
    """The list of each position."""
    return np.repeat(np.arange(len(rows.start) - 1), np.diff(rows.start))


def _moved(theta: Floats) -> tuple[Floats, Floats]:
    """Probabilities a step up and a step down, within 0 and 1."""
    return np.minimum(theta + STEP, 1.0), np.maximum(theta - STEP, 0.0)


def list_influence(maximiser: Maximiser, part: Partition, log: ClickLog, slopes: ClickSlopes) -> Floats:
    """How much each list of the fit moves the function whose derivatives are given.

    Parameters
    ----------
    maximiser : Maximiser
        A fit in one partition, after an E-step at the maximum.
    part : Partition
        Its partition.
    log : ClickLog
        The log of the fit.
    slopes : ClickSlopes
        Derivatives of the function.

    Returns
    -------
    ndarray of float
        Per list of the log, counted once: adding it to the log once more moves the function by about so much.
    """
    rows = fit_rows(part, compress(log, merge=False))
    kinds, width = part.kinds, part.shared_coins
    own_score, shared_score = np.zeros((len(rows.pair), kinds)), np.zeros((len(rows.weight), width))
    sums = CoinSums(np.zeros(len(part.theta)), np.zeros(len(part.theta)))
    loop = speed(score_rows, len(rows.pair))
    loop(part.model, part.theta, rows, sums, own_score, shared_score, workspace(part.model.positions))
    free = part.free()
    slope = np.concatenate([slopes.own.ravel(), slopes.shared.ravel()])[: part.own] * free
    pieces = list(slices(maximiser, part))
    moved = np.zeros(0 if part.per_query else width)
    if len(moved):
        left = slopes.shared[0] * maximiser.free()
        for piece in pieces:
            left = left - np.einsum("qis,qi->s", piece.pull, slope[piece.coins])
        moved = shared_bread(maximiser, part) @ left
    answer = np.zeros(part.own)
    for piece in pieces:
        answer[piece.coins] = np.einsum("qij,qj->qi", piece.inverse, slope[piece.coins])
        if len(moved):
            answer[piece.coins] -= piece.pull @ moved
    answer *= free
    coin = rows.pair[:, None] * kinds + np.arange(kinds)
    per_place = (own_score * answer[coin]).sum(axis=1)
    found = np.add.reduceat(np.append(per_place, 0.0), rows.start[:-1])
    if part.per_query and width:
        found += (shared_score * answer[part.pair_coins + rows.query[:, None] * width + np.arange(width)]).sum(axis=1)
    elif width:
        found += (shared_score * maximiser.free()) @ moved
    influence = np.zeros(len(log))
    influence[list_order(log)] = found
    return influence
