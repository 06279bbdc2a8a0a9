"""Shared by the tests of rankers: policies to test, and features that distinguish all items."""

from collections.abc import Iterable
from typing import Any

import toplist

COLUMNS = 12


def kind(policy: Any) -> tuple[type, ...]:
    """The parts of a policy but for its reading, which makes no difference to a ranker."""
    parts = (getattr(policy, name, None) for name in ("memory", "scoring", "arrangement"))
    return (type(policy), *map(type, parts))


def with_rates(name: str) -> str:
    """A policy with parameters that it needs if the number of lists is unknown, or that make it easier to predict."""
    rates = {"exploration": 0.3, "gamma": 0.9, "tau": 5, "delta": 0.3, "steps": 3}
    policy = toplist.make(name)
    known = [*policy._fields, *getattr(policy, "memory", policy)._fields]
    given = [f"{field}={rate}" for field, rate in rates.items() if field in known]
    return f"{name}({given[0]})" if given else name


# One policy of the catalogue per kind, except `best`, which works in simulations only.
ONE_OF_A_KIND = sorted(
    with_rates(name)
    for name in {kind(toplist.make(name)): name for name in reversed(toplist.catalogue())}.values()
    if name != "best"
)


def row(item: str) -> list[float]:
    """One feature per item, by the number in its name or its first letter."""
    digits = "".join(letter for letter in item if letter.isdigit())
    place = int(digits) if digits else ord(item[0])
    return [1.0 if column == place % COLUMNS else 0.0 for column in range(COLUMNS)]


def features_for(policy: Any, items: Iterable[str]) -> dict[str, Any]:
    """The features argument of a ranker with this policy and these items."""
    needed = toplist.make(policy).capabilities().needs_features
    return {"features": {item: row(item) for item in items}} if needed else {}
