"""Small simulated logs, and their penalised likelihood by brute force."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from itertools import permutations
from typing import Any

import numpy as np
from brute_force import pattern_chances

from toplist.core.slate import Floats
from toplist.logs import ClickLog, FittedModel, Prior
from toplist.logs.models import MODELS


def model_of(name: str, positions: int) -> Any:
    return MODELS[name]._replace(positions=positions)  # type: ignore[attr-defined]  # a NamedTuple


def true_values(name: str, queries: int, items: int, positions: int, seed: int) -> tuple[Floats, Floats]:
    """Own and shared parameters away from 0 and 1."""
    coins = model_of(name, positions).coins()
    generator = np.random.default_rng(seed)
    shared = generator.uniform(0.4, 0.85, len(coins.shared))
    shared[list(coins.fixed)] = 1.0
    return generator.uniform(0.25, 0.7, (queries, items, len(coins.own))), shared


@cache
def small_log(
    name: str, lists: int = 3000, queries: int = 2, items: int = 3, positions: int = 2, seed: int = 2
) -> ClickLog:
    """A log drawn from the probabilities of all click patterns on all lists, equal ones as one row with its weight."""
    own, shared = true_values(name, queries, items, positions, seed=5)
    coins = model_of(name, positions).coins()
    generator = np.random.default_rng(seed)
    shown = [(query, slate) for query in range(queries) for slate in permutations(range(items), positions)]
    rows: list[tuple[Any, ...]] = []
    for query, slate in shown:
        named = {(kind, item): own[query, item, k] for item in slate for k, kind in enumerate(coins.own)}
        chances = pattern_chances(name, named | dict(zip(coins.shared, shared, strict=True)), slate)
        counts = generator.multinomial(lists // len(shown), list(chances.values()))
        for clicks, count in zip(chances, counts.tolist(), strict=True):
            if count:
                rows.append((query, slate, [place + 1 for place, clicked in enumerate(clicks) if clicked], count))
    shown_to, slates, clicked, weights = (list(column) for column in zip(*rows, strict=True))
    return ClickLog.from_lists(shown_to, slates, clicked, weights=weights)


def names_of(fitted: FittedModel) -> list[Any]:
    """A name of every parameter: kind, query, item, or kind, query, label; all own ones first. None for all queries."""
    coins = fitted.model.coins()
    pairs = zip(fitted.pair_query.tolist(), fitted.pair_item.tolist(), strict=True)
    own = [(kind, query, item) for query, item in pairs for kind in coins.own]
    queries = fitted.query_codes.tolist() if fitted.per_query else [None]
    return own + [(kind, query, label) for query in queries for kind, label in coins.shared]


def values_of(fitted: FittedModel) -> Floats:
    return np.concatenate([fitted.own.value.ravel(), fitted.shared.value.ravel()])


def errors_of(fitted: FittedModel) -> Floats:
    return np.concatenate([fitted.own.error.ravel(), fitted.shared.error.ravel()])


def statuses_of(fitted: FittedModel) -> Any:
    return np.concatenate([fitted.own.status.ravel(), fitted.shared.status.ravel()])


def objective(fitted: FittedModel, log: ClickLog, priors: Mapping[str, Prior], values: Any) -> Any:
    """The penalised log-likelihood of a log by brute force; the values may be complex."""
    by_name = dict(zip(names_of(fitted), values, strict=True))
    total, known = 0.0, {}
    for number in range(len(log)):
        at = slice(log.start[number], log.start[number + 1])
        query, items = int(log.query[number]), tuple(log.item[at].tolist())
        if (query, items) not in known:
            coins = {(kind, what): value for (kind, of, what), value in by_name.items() if of in {query, None}}
            known[query, items] = pattern_chances(fitted.name, coins, items)
        clicks = tuple(log.click[at].tolist())
        if fitted.name == "cascade" and 1 in clicks:
            clicks = clicks[: clicks.index(1) + 1]
        chances = known[query, items]
        chance = sum(each for pattern, each in chances.items() if pattern[: len(clicks)] == clicks)
        total = total + log.weights[number] * np.log(chance)
    for (kind, _, _), value in by_name.items():
        prior = priors.get(kind.partition(" at ")[0], Prior(0.5, 0.0))
        if prior.strength:
            total = total + prior.strength * (prior.mean * np.log(value) + (1 - prior.mean) * np.log(1 - value))
    return total


def gradient(fitted: FittedModel, log: ClickLog, priors: Mapping[str, Prior], values: Floats, moved: Any) -> Floats:
    """Derivatives of the penalised log-likelihood by some logits, from imaginary steps."""
    found = np.zeros(len(moved))
    for number, coin in enumerate(moved):
        at = values.astype(np.complex128)
        at[coin] += 1e-30j * values[coin] * (1 - values[coin])
        found[number] = objective(fitted, log, priors, at).imag / 1e-30
    return found
