"""What tests of rankers share: which policies, and features of items so that every policy can tell them apart."""

from collections.abc import Iterable
from typing import Any

import toplist

COLUMNS = 12


def kind(policy: Any) -> tuple[type, ...]:
    """What a policy is made of, without its reading: what a ranker does with it does not depend on that."""
    parts = (getattr(policy, name, None) for name in ("memory", "scoring", "arrangement"))
    return (type(policy), *map(type, parts))


def told(name: str) -> str:
    """With what a policy wants to be told where nobody knows the number of lists, or can be foreseen better."""
    rates = {"exploration": 0.3, "gamma": 0.9, "tau": 5, "delta": 0.3, "steps": 3}
    policy = toplist.make(name)
    known = [*policy._fields, *getattr(policy, "memory", policy)._fields]
    given = [f"{field}={rate}" for field, rate in rates.items() if field in known]
    return f"{name}({given[0]})" if given else name


# One policy of the catalogue per kind, but for `best`, which works in simulations only.
ONE_OF_A_KIND = sorted(
    told(name)
    for name in {kind(toplist.make(name)): name for name in reversed(toplist.catalogue())}.values()
    if name != "best"
)


def row(item: str) -> list[float]:
    """One feature per item, by the number in its name or its first letter."""
    digits = "".join(letter for letter in item if letter.isdigit())
    place = int(digits) if digits else ord(item[0])
    return [1.0 if column == place % COLUMNS else 0.0 for column in range(COLUMNS)]


def known(policy: Any, items: Iterable[str]) -> dict[str, Any]:
    """What a ranker with this policy must be told about these items."""
    needed = toplist.make(policy).capabilities().needs_features
    return {"features": {item: row(item) for item in items}} if needed else {}
