"""Logs simulated from click models with random parameters, on lists in random order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from toplist.core.slate import Floats
from toplist.logs import ClickLog, FittedModel, Prior, sample_log, shuffled_lists
from toplist.logs.models import MODELS

# Every list shows all items of a query. So few lists tell about an item at the first position, examination and
# attraction are correlated, and errors from the diagonal of the information alone are found out.
QUERIES, ITEMS, POSITIONS = 2, 4, 4


class Simulated(NamedTuple):
    """A log and the parameters that it was drawn with."""

    log: ClickLog
    own: Floats  # queries x items x kinds
    shared: Floats


def sized(name: str) -> Any:
    """A model for lists of this length."""
    return MODELS[name]._replace(positions=POSITIONS)  # type: ignore[attr-defined]  # a NamedTuple


def simulate(name: str, lists: int, seed: int, priors: Mapping[str, Prior] | None = None) -> Simulated:
    """A log from a model whose parameters are away from 0 and 1, or drawn from priors where there are some."""
    model = sized(name)
    coins, generator = model.coins(), np.random.default_rng((seed, list(MODELS).index(name)))
    own = generator.uniform(0.25, 0.7, (QUERIES, ITEMS, len(coins.own)))
    for number, kind in enumerate(coins.own):
        prior = (priors or {}).get(kind.partition(" at ")[0])
        if prior is not None:
            heads, tails = prior.mean * prior.strength, (1 - prior.mean) * prior.strength
            own[:, :, number] = generator.beta(heads, tails, (QUERIES, ITEMS))
    shared = generator.uniform(0.3, 0.8, len(coins.shared))
    if name == "position-ctr":
        shared = np.sort(shared)[::-1]  # less and less, so that PBM contains it
    elif name == "ccm":
        shared = np.sort(shared)  # going on is likelier after a click, so that DBN does not contain it
    shared[list(coins.fixed)] = 1.0
    shown = shuffled_lists(QUERIES, ITEMS, POSITIONS, lists, seed)
    return Simulated(sample_log(model, own, shared, shown, seed), own, shared)


def expected_examinations(name: str, true: Simulated) -> tuple[Floats, Floats]:
    """How often each coin counts: examinations for attraction and examination, else tosses; at the true parameters."""
    model = sized(name)
    coins, log = model.coins(), true.log
    names = {q: {i: true.own[q, i].tolist() for i in range(ITEMS)} for q in range(QUERIES)}
    known = FittedModel.from_values(model, names, true.shared.tolist())
    marginal = known.predict(log).marginal
    query, place = np.repeat(log.query, log.lengths), log.places()
    own, shared = np.zeros(true.own.shape), np.full(len(coins.shared), float(len(log)))
    for number, kind in enumerate(coins.own):
        counted = np.ones(len(marginal))
        if kind == "attraction":
            counted = marginal / true.own[query, log.item, number]
        elif kind == "satisfaction":
            counted = np.where(place < POSITIONS - 1, marginal, 0.0)
        elif " at " in kind:
            counted = place == int(kind.partition(" at ")[2]) - 1
        np.add.at(own[:, :, number], (query, log.item), counted)
    clicks = log.click.reshape(-1, POSITIONS)
    for number, (kind, label) in enumerate(coins.shared):
        at = int(label[0]) - 1 if label[:1].isdigit() else 0
        if kind == "termination":
            shared[number] = marginal[place == at].sum()
        elif kind == "examination":
            last = np.max(np.where(clicks[:, :at] > 0, np.arange(1, at + 1), 0), axis=1, initial=0)
            after = int(label.rpartition(" ")[2]) if " after " in label else 0
            lists = len(log) if name == "pbm" else (last == after).sum()
            shared[number] = lists * true.shared[number]
        elif kind == "continuation" and label != "after nothing":
            shared[number] = log.clicks_by_position()[:-1].sum() * 0.4  # of clicks on items of middling relevance
    return own, shared
