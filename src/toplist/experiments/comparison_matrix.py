"""The default matrix of `toplist compare`: all stationary policies x seven click models."""

from __future__ import annotations

from typing import Any

import numpy as np

from toplist.clicks import CCM, DBN, DCM, PBM, UBM, Cascade, Mixture
from toplist.policies import catalogue
from toplist.support.catalogue import REQUIRED, part_text
from toplist.worlds import Fixed

ITEMS, POSITIONS = 16, 4


def standard_world() -> Fixed:
    """Sixteen items on four positions, each a little less attractive than the next better one, in mixed order.

    The order matters to `bubble-rank`, which takes it as its first ranking. The features only identify the item: then
    policies over features have no more information than the others, and a column compares how clicks are read.

    >>> sorted((round(share, 2) for share in standard_world().attraction), reverse=True)[:5]
    [0.5, 0.42, 0.36, 0.31, 0.26]
    """
    ranks = [(7 * item + 3) % ITEMS for item in range(ITEMS)]
    return Fixed([0.5 * 0.85**rank for rank in ranks], POSITIONS, np.eye(ITEMS))


def standard_users(items: int = ITEMS, positions: int = POSITIONS) -> dict[str, Any]:
    """Seven click models for a page of any size; each violates an assumption of some policies.

    DCM: several clicks, of which a policy that reads one wastes the others. DBN: the most attractive item is not the
    most satisfying. PBM and UBM: items above a click may be unseen, and items below it seen. CCM: users also leave
    without a click. Mixture: no single reading is right for all.
    """
    place = np.arange(positions)
    pbm = PBM(0.6**place)
    return {
        "cascade": Cascade(),
        "dcm": DCM(np.linspace(0.8, 0.2, positions)),
        "dbn": DBN(satisfaction=np.where(np.arange(items) % 2 == 1, 0.4, 0.8), persistence=0.9),
        "pbm": pbm,
        "ubm": UBM(0.6),
        "ccm": CCM(after_nothing=0.8, after_irrelevant=0.7, after_relevant=0.3),
        "mixture": Mixture(Cascade(), pbm),
    }


def stationary_policies(features: bool) -> dict[str, Any]:
    """The policies for stationary users, by name: those that neither forget nor detect changes.

    Policies that need a simulator, or features if there are none, are left out, and so is a second name of equal parts.
    """
    found: dict[str, Any] = {}
    for name, entry in catalogue().items():
        if REQUIRED in entry.parameters.values():
            continue
        policy = entry.make()
        able = policy.capabilities()
        changes = able.forgets or able.detects
        if not changes and not able.needs_simulator and (features or not able.needs_features):
            found.setdefault(part_text(policy), (name, policy))
    return dict(found.values())
