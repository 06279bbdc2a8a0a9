"""Requests about rankings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from msgspec import UNSET, UnsetType

from toplist.core.item_id import ItemId
from toplist.service.client.arguments import ids, wrong_type
from toplist.service.client.client_request import ClientRequest, ranking_path
from toplist.service.client.requests.list_requests import pins_by_text
from toplist.service.wire import Ranking, RankingChange, Rankings, RankingSpec, StopIf


def create_ranking(
    spec: RankingSpec | None = None,
    *,
    name: str | UnsetType = UNSET,
    positions: int | UnsetType = UNSET,
    policy: str | UnsetType = UNSET,
    click_window: float | UnsetType = UNSET,
    retention: float | UnsetType | None = UNSET,
    seed: int | UnsetType = UNSET,
    steps: int | UnsetType | None = UNSET,
    features: int | UnsetType = UNSET,
    person: int | UnsetType = UNSET,
    join: str | UnsetType = UNSET,
    prior_mean: float | UnsetType = UNSET,
    prior_strength: float | UnsetType = UNSET,
    new_per_list: int | UnsetType | None = UNSET,
    reference: float | UnsetType | None = UNSET,
    propensities: bool | UnsetType = UNSET,
    pool: Literal["none", "prior"] | UnsetType = UNSET,
    pool_strength: float | UnsetType | None = UNSET,
    baseline: Sequence[ItemId] | UnsetType | None = UNSET,
    mode: Literal["live", "shadow", "exploring"] | UnsetType = UNSET,
    explore: float | UnsetType = UNSET,
    holdout: float | UnsetType = UNSET,
    holdout_learns: bool | UnsetType = UNSET,
    stop_if: StopIf | UnsetType | None = UNSET,
    pins: Mapping[int, ItemId] | UnsetType = UNSET,
    when_unavailable: Literal["refuse", "serve"] | UnsetType = UNSET,
    divisions: int | UnsetType = UNSET,
) -> ClientRequest[Ranking]:
    """Create a ranking, from a `RankingSpec` or from its fields as keywords.

    Parameters
    ----------
    spec : RankingSpec or None, default None
        Name, number of positions, policy and options of the ranking; None: the keywords have them.
    name : str
        Name of the ranking.
    positions : int
        Length of a list.
    policy : str, default "dcm-ts"
        Name of a policy, with parameters if need be.
    click_window, retention, reference : float, optional
        Seconds to wait for clicks, seconds to keep events, and a baseline click-through rate.
    seed, steps, prior_mean, prior_strength, new_per_list : optional
        Options of the policy.
    features, person : int, default 0
        Numbers of features of an item and of a visitor, for policies that use them.
    join : str, default "concatenate"
        How the features of item and visitor are joined.
    propensities : bool, default False
        Whether lists come, and are logged, with the probability of what they show.
    pool : {"none", "prior"}, default "none"
        Whether a new segment begins with what the others have learned.
    pool_strength : float or None, default None
        Number of looks that this is worth; None: learned from how much segments differ.
    baseline : sequence of str or int, or None, default None
        Order of the items without learning; None: the order in which they were added.
    mode : {"live", "shadow", "exploring"}, default "live"
        "shadow" shows the baseline, and says what the policy would have shown; "exploring" shows random lists at times.
    explore : float, default 0.05
        Share of lists that are random in mode "exploring".
    holdout : float, default 0
        Share of visitors that always get the baseline.
    holdout_learns : bool, default True
        Whether the lists of the holdout are learned from, where the policy can.
    stop_if : StopIf or None, default None
        When to go back to the baseline.
    pins : mapping of int to str or int, default {}
        Item by position, from 1, of every list that can have it there.
    when_unavailable : {"refuse", "serve"}, default "refuse"
        What becomes of lists while nothing can be recorded; "serve" makes them from memory, for a while.
    divisions : int, default 1
        Number of parts of its segments, a power of two, each in another partition of a cluster.

    Returns
    -------
    Ranking

    Raises
    ------
    TypeError
        If both are given, or the name or the number of positions is missing.
    """
    fields = {
        "name": name, "positions": positions, "policy": policy, "click_window": click_window, "retention": retention,
        "seed": seed, "steps": steps, "features": features, "person": person, "join": join, "prior_mean": prior_mean,
        "prior_strength": prior_strength, "new_per_list": new_per_list, "reference": reference,
        "propensities": propensities, "pool": pool, "pool_strength": pool_strength,
        "baseline": _order(baseline), "mode": mode, "explore": explore, "holdout": holdout,
        "holdout_learns": holdout_learns, "stop_if": stop_if,
        "pins": _pins(pins), "when_unavailable": when_unavailable, "divisions": divisions,
    }  # fmt: skip
    given: dict[str, Any] = {field: value for field, value in fields.items() if value is not UNSET}
    if spec is None:
        if missing := [field for field in ("name", "positions") if field not in given]:
            raise TypeError(
                f"create_ranking needs a name and positions, but got no {' and no '.join(missing)}; "
                f"write create_ranking(name='front-page', positions=3)."
            )
        spec = RankingSpec(**given)
    elif isinstance(spec, str):
        advice = f"write create_ranking(name={spec!r}, positions=...)"
        raise wrong_type("spec", spec, "a RankingSpec, or left out", advice)
    elif given:
        raise TypeError(
            f"create_ranking got a RankingSpec and {', '.join(given)}, but takes one or the other; "
            f"put all fields into the RankingSpec, or leave it out."
        )
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
    propensities: bool | UnsetType = UNSET,
    pool_strength: float | UnsetType | None = UNSET,
    baseline: Sequence[ItemId] | UnsetType | None = UNSET,
    mode: Literal["live", "shadow", "exploring"] | UnsetType = UNSET,
    explore: float | UnsetType = UNSET,
    holdout: float | UnsetType = UNSET,
    holdout_learns: bool | UnsetType = UNSET,
    stop_if: StopIf | UnsetType | None = UNSET,
    pins: Mapping[int, ItemId] | UnsetType = UNSET,
    when_unavailable: Literal["refuse", "serve"] | UnsetType = UNSET,
    policy: str | UnsetType = UNSET,
    seed: int | UnsetType = UNSET,
    steps: int | UnsetType | None = UNSET,
    prior_mean: float | UnsetType = UNSET,
    prior_strength: float | UnsetType = UNSET,
    new_per_list: int | UnsetType | None = UNSET,
    pool: Literal["none", "prior"] | UnsetType = UNSET,
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
    propensities : bool, optional
        Whether lists come, and are logged, with the probability of what they show.
    pool_strength : float or None, optional
        Number of looks that the knowledge of other segments is worth in a new one; None: learned.
    baseline : sequence of str or int, or None, optional
        Order of the items without learning; None: the order in which they were added.
    mode : {"live", "shadow", "exploring"}, optional
        How the ranking serves; from and to "exploring", it needs new learners.
    explore, holdout : float, optional
        Share of lists that are random in mode "exploring", and share of visitors that always get the baseline.
    holdout_learns : bool, optional
        Whether the lists of the holdout are learned from, where the policy can.
    stop_if : StopIf or None, optional
        When to go back to the baseline.
    pins : mapping of int to str or int, optional
        Item by position, from 1, of every list that can have it there; all of them, {} for none.
    when_unavailable : {"refuse", "serve"}, optional
        What becomes of lists while nothing can be recorded.
    policy, seed, steps, prior_mean, prior_strength, new_per_list, pool : optional
        A new value of one of these needs new learners.
    train : bool, default True
        Train new learners from the event log before they serve; else they start from nothing.

    Returns
    -------
    Ranking
    """
    change = RankingChange(
        positions=positions, click_window=click_window, retention=retention, reference=reference,
        propensities=propensities, pool_strength=pool_strength, pool=pool, policy=policy, seed=seed, steps=steps,
        prior_mean=prior_mean, prior_strength=prior_strength, new_per_list=new_per_list, baseline=_order(baseline),
        mode=mode, explore=explore, holdout=holdout, holdout_learns=holdout_learns, stop_if=stop_if,
        pins=_pins(pins), when_unavailable=when_unavailable, train=train,
    )  # fmt: skip
    restarts = policy is not UNSET and not train  # each time: what was learned since the first would be lost
    return ClientRequest("PATCH", ranking_path(name), Ranking, change, repeatable=not restarts, slow=True)


def _pins(pins: Mapping[int, ItemId] | UnsetType) -> dict[str, ItemId] | UnsetType:
    return pins if isinstance(pins, UnsetType) else pins_by_text(pins)


def _order(baseline: Sequence[ItemId] | UnsetType | None) -> list[ItemId] | UnsetType | None:
    return baseline if baseline is None or isinstance(baseline, UnsetType) else ids("baseline", baseline)


def delete_ranking(name: str) -> ClientRequest[None]:
    """Delete a ranking with its items, lists, events and learners.

    Parameters
    ----------
    name : str
        Name of the ranking.
    """
    return ClientRequest("DELETE", ranking_path(name), type(None), repeatable=False)
