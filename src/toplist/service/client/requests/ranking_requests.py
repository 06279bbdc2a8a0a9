"""Requests about rankings."""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from toplist.service.client.client_request import ClientRequest, ranking_path
from toplist.service.wire import Ranking, RankingChange, Rankings, RankingSpec


def create_ranking(spec: RankingSpec) -> ClientRequest[Ranking]:
    """Create a ranking.

    Parameters
    ----------
    spec : RankingSpec
        Name, number of positions, policy and options of the ranking.

    Returns
    -------
    Ranking
    """
    return ClientRequest("POST", "/v1/rankings", Ranking, spec, repeatable=False, slow=True)


def rankings() -> ClientRequest[Rankings]:
    """Read all rankings.

    Returns
    -------
    Rankings
        `rankings` is sorted by name.
    """
    return ClientRequest("GET", "/v1/rankings", Rankings)


def ranking(name: str) -> ClientRequest[Ranking]:
    """Read one ranking.

    Parameters
    ----------
    name : str
        Name of the ranking.

    Returns
    -------
    Ranking
    """
    return ClientRequest("GET", ranking_path(name), Ranking)


def change_ranking(
    name: str,
    *,
    positions: int | UnsetType = UNSET,
    click_window: float | UnsetType = UNSET,
    retention: float | UnsetType | None = UNSET,
    reference: float | UnsetType | None = UNSET,
    policy: str | UnsetType = UNSET,
    seed: int | UnsetType = UNSET,
    steps: int | UnsetType | None = UNSET,
    prior_mean: float | UnsetType = UNSET,
    prior_strength: float | UnsetType = UNSET,
    new_per_list: int | UnsetType | None = UNSET,
    train: bool = True,
) -> ClientRequest[Ranking]:
    """Change a ranking; values that are not given stay.

    Parameters
    ----------
    name : str
        Name of the ranking.
    positions : int, optional
        Length of a list; more than the learners have needs new learners.
    click_window, retention, reference : float, optional
        Seconds to wait for clicks, seconds to keep events, and a baseline click-through rate.
    policy, seed, steps, prior_mean, prior_strength, new_per_list : optional
        A new value of one of these needs new learners.
    train : bool, default True
        Train new learners from the event log before they serve; else they start from nothing.

    Returns
    -------
    Ranking
    """
    change = RankingChange(
        positions=positions, click_window=click_window, retention=retention, reference=reference, policy=policy,
        seed=seed, steps=steps, prior_mean=prior_mean, prior_strength=prior_strength, new_per_list=new_per_list,
        train=train,
    )  # fmt: skip
    restarts = policy is not UNSET and not train  # each time: what was learned since the first would be lost
    return ClientRequest("PATCH", ranking_path(name), Ranking, change, repeatable=not restarts, slow=True)


def delete_ranking(name: str) -> ClientRequest[None]:
    """Delete a ranking with its items, lists, events and learners.

    Parameters
    ----------
    name : str
        Name of the ranking.
    """
    return ClientRequest("DELETE", ranking_path(name), type(None), repeatable=False)
