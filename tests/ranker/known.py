"""Features for rankers in tests: each item has one of its own, so that every policy can tell the items apart."""

from collections.abc import Iterable
from typing import Any

import toplist

COLUMNS = 12


def row(item: str) -> list[float]:
    """One feature per item, by the number in its name or its first letter."""
    digits = "".join(letter for letter in item if letter.isdigit())
    place = int(digits) if digits else ord(item[0])
    return [1.0 if column == place % COLUMNS else 0.0 for column in range(COLUMNS)]


def known(policy: Any, items: Iterable[str]) -> dict[str, Any]:
    """What a ranker with this policy must be told about these items."""
    needed = toplist.make(policy).capabilities().needs_features
    return {"features": {item: row(item) for item in items}} if needed else {}
