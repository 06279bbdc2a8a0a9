"""A ready ranking: the settings, items and priors with which the advised policy starts, as a JSON file."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import numpy as np

from toplist.advice.drift import NO_DRIFT, Drift
from toplist.advice.priors import priors_of_fit
from toplist.logs import ClickLog, FittedModel, Prior
from toplist.logs.id_table import Id
from toplist.policies import make
from toplist.ranker import Ranker
from toplist.ranker.priors import takes_item_priors
from toplist.support.files import AnyPath, read_json, write_text

FORM = {"format": "toplist.advice.ReadyRanking", "version": 1}


class ReadyRanking(NamedTuple):
    """A policy for the queries of a log, each with its items and their priors.

    Parameters
    ----------
    policy : str
        Name of the policy, with parameters.
    positions : int
        Number of positions of the page.
    steps : dict
        Expected number of lists within the horizon, by query.
    priors : dict
        Per query, mean and strength by item, the most attractive first.
    features : dict
        Features by item; empty without.
    """

    policy: str
    positions: int
    steps: dict[Id, int]
    priors: dict[Id, dict[Id, Prior]]
    features: dict[Id, list[float]]

    def ranker(self, query: Id, seed: int = 0) -> Ranker:
        """A ranker of the items of a query, which begins with their priors if its policy takes some.

        Parameters
        ----------
        query : str or int
            The query.
        seed : int, default 0
            Seed of its random choices.

        Returns
        -------
        Ranker
            The ranker.
        """
        items = list(self.priors[query])
        features = {item: self.features[item] for item in items} if self.features else None
        return Ranker(
            items, self.positions, self.policy, seed, steps=self.steps[query], features=features,
            priors=self.priors[query] if takes_item_priors(make(self.policy)) else None,
        )  # fmt: skip

    def rankers(self, seed: int = 0) -> dict[Id, Ranker]:
        """A ranker for each query.

        Parameters
        ----------
        seed : int, default 0
            Seed of their random choices.

        Returns
        -------
        dict
            Rankers by query.
        """
        return {query: self.ranker(query, seed) for query in self.priors}

    def as_json(self) -> dict[str, Any]:
        """Plain values; the settings and items of a query are as the service takes them."""
        rankings, takes_priors = [], takes_item_priors(make(self.policy))
        for query, priors in self.priors.items():
            settings = {"positions": self.positions, "policy": self.policy, "steps": self.steps[query]}
            items = []
            for item, prior in priors.items():
                entry: dict[str, Any] = {"id": item}
                if takes_priors:
                    entry["prior"] = {"mean": prior.mean, "strength": prior.strength}
                items.append(entry | ({"features": self.features[item]} if self.features else {}))
            ranking: dict[str, Any] = {"query": query, "settings": settings, "items": items}
            if not takes_priors:  # as the service would refuse them, they are not with the items
                ranking["fitted"] = [list(prior) for prior in priors.values()]
            rankings.append(ranking)
        return FORM | {"policy": self.policy, "positions": self.positions, "rankings": rankings}

    def save(self, path: AnyPath) -> None:
        """Write the ready ranking as JSON.

        Parameters
        ----------
        path : str or path-like
            The file.
        """
        write_text(path, "The ready ranking", json.dumps(self.as_json(), indent=1) + "\n")


def make_ready(
    log: ClickLog,
    fitted: FittedModel,
    policy: str,
    positions: int,
    horizon: float,
    trust: float,
    scale: float,
    features: Any,
    drift: Drift = NO_DRIFT,
) -> ReadyRanking:
    """The ready ranking of all queries of a log.

    Parameters
    ----------
    log : ClickLog
        The log.
    fitted : FittedModel
        The model that gives the priors.
    policy : str
        Name of the policy.
    positions : int
        Number of positions.
    horizon : float
        Number of lists of all queries together.
    trust : float
        Share of the priors' strength.
    scale : float
        Factor of the priors' means.
    features : dict or None
        Features by item.
    drift : Drift, optional
        How the log moved: the priors are those of the present.

    Returns
    -------
    ReadyRanking
        The ready ranking.
    """
    traffic = np.bincount(log.query, weights=log.weights, minlength=len(log.queries))
    traffic = traffic / traffic.sum()
    steps, priors = {}, {}
    for code in fitted.query_codes.tolist():
        query = fitted.queries[code]
        priors[query] = priors_of_fit(fitted, query, trust, scale=scale, drift=drift)
        steps[query] = max(1, round(horizon * float(traffic[code])))
    rows = {} if features is None else {item: list(map(float, row)) for item, row in features.items()}
    return ReadyRanking(policy, positions, steps, priors, rows)


def read_ready(path: AnyPath) -> ReadyRanking:
    """Read a ready ranking that `ReadyRanking.save` has written.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    ReadyRanking
        The ready ranking.

    Raises
    ------
    InvalidInput
        If the file is missing or damaged.
    """
    found = read_json(path, FORM, ("policy", "positions", "rankings"))
    priors: dict[Id, dict[Id, Prior]] = {}
    steps: dict[Id, int] = {}
    features: dict[Id, list[float]] = {}
    for each in found["rankings"]:
        fitted = each.get("fitted") or [(item["prior"]["mean"], item["prior"]["strength"]) for item in each["items"]]
        priors[each["query"]] = {item["id"]: Prior(*prior) for item, prior in zip(each["items"], fitted, strict=True)}
        steps[each["query"]] = each["settings"]["steps"]
        features |= {item["id"]: item["features"] for item in each["items"] if "features" in item}
    return ReadyRanking(found["policy"], found["positions"], steps, priors, features)
