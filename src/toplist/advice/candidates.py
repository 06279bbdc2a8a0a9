"""The policies that fit a situation: by the clicks, drift and features of a log."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from toplist.advice.situation import Situation
from toplist.core.problem import refuse, several
from toplist.core.slate import Floats
from toplist.policies import make
from toplist.support.catalogue import call_text

SEVERAL = 0.02  # share of clicked lists with more than one click, from which reading them differently matters
LEAST_EXAMINATION = 0.01  # of a position that a policy learns from
CLEARLY_MORE = 1.05  # times the examination of the first position; less may be chance in the fit


def candidate_policies(
    situation: Situation, examination: Floats | None, changes: float, has_features: bool
) -> dict[str, str]:
    """The policies to play, by name, each with the reason.

    Parameters
    ----------
    situation : Situation
        The situation.
    examination : ndarray of float or None
        Probability that each position is examined, by a position-based fit; None without one.
    changes : float
        Expected number of changes over the horizon; 0 if none were found.
    has_features : bool
        Whether the items have features.

    Returns
    -------
    dict of str to str
        Why each policy is a candidate, by its name with parameters.
    """
    clicks_twice = situation.several_clicks >= SEVERAL
    found = {
        "dcm-ts": "the default: learns from every item down to the last click, by Thompson sampling",
        "dcm-kl-ucb(loglog=0)": "the same reading of clicks with an index that explains every list",
    }
    if not clicks_twice:
        found["cascade-kl-ucb-plus-plus"] = "one click per list: an index that explores little over many lists"
    if clicks_twice:
        found["cascade-ts"] = "reads up to the first click only, where later clicks mislead"
    if examination is not None and situation.positions > 1:
        looks = np.clip(examination[: situation.positions], LEAST_EXAMINATION, 1.0).round(3).tolist()
        found[call_text("pbm-ts", {"examination": looks})] = "counts clicks by how often their position is examined"
        if max(looks[1:]) > CLEARLY_MORE * looks[0]:
            found["grab"] = "learns which positions are clicked, where a later one is examined more than the first"
        else:
            found["pb-mhb"] = "learns how often each position is examined, where the fit may be wrong"
    found["bubble-rank(delta=0.001)"] = "starts from the fitted order and changes it in small steps"
    if changes > 0:
        prefix, rate = "dcm" if clicks_twice else "cascade", {"changes": max(1, round(changes))}
        found[f"{prefix}-kl-ucb-resetting"] = "forgets when it detects a change"
        found[call_text(f"{prefix}-kl-ucb-windowed", rate)] = "learns from the latest lists only"
        found[call_text(f"{prefix}-kl-ucb-discounted", rate)] = "discounts old lists"
        found[call_text("cascade-swucb", rate)] = "learns from the latest lists only, with a wider index"
    if has_features:
        found["dcm-lin-ucb" if clicks_twice else "cascade-lin-ucb"] = "learns from features, so that items share clicks"
        found["cascade-lin-ts"] = "the same by Thompson sampling"
    return found


def checked_policies(policies: Iterable[str], has_features: bool) -> dict[str, str]:
    """Policies named by the caller.

    Parameters
    ----------
    policies : iterable of str
        Names of the catalogue, with or without parameters.
    has_features : bool
        Whether the items have features.

    Returns
    -------
    dict of str to str
        The reason of each, by name.

    Raises
    ------
    InvalidInput
        If a name is unknown, there are none, or a policy cannot be played here.
    """
    names = [policies] if isinstance(policies, str) else several("The policies", policies, "names of the catalogue")
    if not names:
        raise refuse("The policies", [], "at least one name of the catalogue", "or leave them out")
    for name in names:
        can = make(name).capabilities()
        if can.needs_features and not has_features:
            raise refuse("A policy", name, "one that needs no features", "or give the features of the items")
        if can.needs_simulator or not can.learns:
            raise refuse("A policy", name, "one that learns from clicks", "leave it out")
    return dict.fromkeys(names, "asked for")
