"""The catalogue: finds every algorithm in this folder, and makes one from its name and parameters."""

from __future__ import annotations

from typing import Any

from toplist.core.problem import expect
from toplist.support.catalogue import POLICIES, Entry, entry

__all__ = ["Entry", "catalogue", "entry", "make"]


def catalogue() -> dict[str, Entry]:
    """All algorithms by name, found in the modules of this folder.

    >>> catalogue()["cascade-kl-ucb"].title
    'CascadeKL-UCB'
    """
    return POLICIES.entries()


def make(policy: Any) -> Any:
    """A policy from its name, with or without parameters; what is a policy already is returned as it is.

    >>> make("cascade-ucb1(scale=2)").scoring.scale
    2
    """
    if isinstance(policy, str):
        return POLICIES.make(policy)
    expect("The policy", policy, ("prepare", "begin", "rank", "learn"), "a name of the catalogue or made of parts")
    return policy
