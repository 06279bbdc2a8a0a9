"""The catalogue: finds every algorithm in this folder, and makes one from its name and parameters."""

from __future__ import annotations

from typing import Any

from toplist.core.protocols.kinds import expect_kind
from toplist.support.catalogue import POLICIES, Entry, entry

__all__ = ["Entry", "catalogue", "entry", "make"]


def catalogue() -> dict[str, Entry]:
    """The algorithms by name, found in the modules of this folder.

    Returns
    -------
    dict of str to Entry
        Every entry by its name, in alphabetical order.

    Examples
    --------
    >>> catalogue()["cascade-kl-ucb"].title
    'CascadeKL-UCB'
    """
    return POLICIES.entries()


def make(policy: Any) -> Any:
    """Make a policy from its name, with or without parameters.

    Parameters
    ----------
    policy : str or policy
        A name of the catalogue, as "cascade-ucb1" or "cascade-ucb1(scale=2)"; a policy is returned unchanged.

    Returns
    -------
    policy
        The policy.

    Raises
    ------
    InvalidInput
        If there is no policy or parameter of that name, or the argument is neither a name nor a policy.

    Examples
    --------
    >>> make("cascade-ucb1(scale=2)").scoring.scale
    2
    """
    if isinstance(policy, str):
        return POLICIES.make(policy)
    expect_kind("The policy", policy, "policy")
    return policy
