"""Users of different classes as users of one class, so that a policy is compiled once for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from toplist.clicks import Mixture


class Link(NamedTuple):
    """One kind of a crowd."""

    kind: Any
    share: float  # of those who are of no kind before it
    level: int  # which of the crowd's coins decides


def alike(users: Sequence[Any], positions: Sequence[int]) -> list[Any]:
    """The same users, prepared as they are, but all of one class: every click and every reward stays what it was.

    `play` is compiled for the classes of its arguments, and compiling takes a policy seconds; seven classes of users
    would take it seven times. So everybody becomes a chain of mixtures with a link for each class among the users. A
    link's share is 1 where these are the users themselves and 0 where they are others: then its kind is never asked,
    and somebody else's stands in. A mixture keeps its shares, and its coins, since a link may have any level. Its
    kinds must come in the chain's order; where they do not, or one comes twice, the mixture stays as it is.
    """
    crowds = [_links(crowd) for crowd in users]
    chain: dict[type, Any] = {}
    for crowd in sorted(crowds, key=len, reverse=True):  # the order of the kinds is that of the largest mixture
        for link in crowd:
            chain.setdefault(type(link.kind), link.kind)
    if len({tuple(type(link.kind) for link in crowd) for crowd in crowds}) == 1:
        return list(users)
    made = (_chained(crowd, chain, size) for crowd, size in zip(crowds, positions, strict=True))
    return [given if chained is None else chained for given, chained in zip(users, made, strict=True)]


def _links(users: Any) -> list[Link]:
    """The kinds of a crowd, from the outermost mixture to the innermost; one link for those who are no mixture."""
    links = []
    while isinstance(users, Mixture) and not isinstance(users.first, Mixture):
        links.append(Link(users.first, users.share, users.level))
        users = users.second
    return [*links, Link(users, 1.0, 0)]


def _chained(crowd: list[Link], chain: dict[type, Any], positions: int) -> Any:
    """A crowd as a chain of all classes; None where its kinds are not among them in this order."""
    waiting = list(crowd)
    links = []
    for cls, somebody in chain.items():
        own = bool(waiting) and type(waiting[0].kind) is cls
        links.append(waiting.pop(0) if own else Link(somebody, 0.0, 0))
    if waiting:
        return None
    users = links.pop().kind
    for kind, share, level in reversed(links):
        room = np.zeros(positions), np.zeros(positions, dtype=np.int64)
        users = Mixture(kind, users, share, level, *room)
    return users
