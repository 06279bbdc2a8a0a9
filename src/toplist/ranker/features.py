"""The features of a ranker's items, alone or joined with those of the visitor who asks for a list."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from toplist.core.item_id import ItemId
from toplist.core.problem import InvalidInput, refuse, whole
from toplist.core.protocols import Capabilities
from toplist.core.slate import Floats

JOINS = ("concatenate", "outer")
UNCACHED = -1  # the edition of features that hold for one call only
NO_PERSON = np.zeros(0)

CallFeatures = tuple[Floats, dict[Any, Floats] | None]  # of one call: a visitor's features, and rows by item


class Features:
    """A row of features per slot; with `person` > 0, each call joins the rows with that many features of a visitor.

    The papers' bounds assume norms of at most 1. If the largest norm of the first items is above 1, all rows, also
    later ones, are divided by it, and one warning says so. A visitor's features are divided by their own norm if that
    is above 1, and concatenated rows by the square root of 2. Degrees of topic coverage are in [0, 1] and never scaled.
    """

    def __init__(self, capacity: int, columns: int, person: int, join: str, degrees: bool, warns: bool = True) -> None:
        self.person = whole("person", person, 0, "give the number of features of a visitor")
        if join not in JOINS:
            raise refuse("join", join, " or ".join(map(repr, JOINS)), "say how a visitor's features meet an item's")
        if self.person > 0 and degrees:
            raise InvalidInput("This policy's features are topics, which only items have; leave person out.")
        self.join, self.degrees = join, degrees
        self.rows: Floats = np.zeros((capacity, columns))
        self.scale = 1.0
        self.edition = 0  # increases with every change of the rows
        self.warns = warns  # of norms above 1

    @classmethod
    def for_items(
        cls, names: Sequence[ItemId], given: Any, person: int, join: str, capabilities: Capabilities, policy: str,
        warns: bool = True,
    ) -> tuple[Features, Sequence[Any]]:  # fmt: skip
        """Features with room for the first items and their scale set; and a checked row per item, or none."""
        if given is None:
            if capabilities.needs_features:
                raise InvalidInput(f"The policy {policy} learns from features; give features={{item: [...], ...}}.")
            return cls(max(1, len(names)), 0, 0, join, capabilities.covers_topics), ()
        if not capabilities.needs_features:
            raise InvalidInput(f"The policy {policy} does not use features; leave them out.")
        several = feature_rows("features", given, names)
        if not several:
            raise InvalidInput("features are given without items, so their number is unknown; give at least one item.")
        first = cls(1, 0, person, join, capabilities.covers_topics)
        columns = len(first.checked_row(f"features of {names[0]!r}", several[0]))
        features = cls(len(names), columns, person, join, capabilities.covers_topics, warns)
        rows = [features.checked_row(f"features of {name!r}", row) for name, row in zip(names, several, strict=True)]
        features.set_scale(rows)
        return features, rows

    @property
    def total(self) -> int:
        """The number of features that the policy sees."""
        columns: int = self.rows.shape[1]
        if self.person == 0:
            return columns
        return columns + self.person if self.join == "concatenate" else columns * self.person

    def divisors(self) -> Floats:
        """Per feature that the policy sees, by what it is divided before; without visitors of a norm above 1."""
        columns = np.full(self.rows.shape[1], self.scale)
        if self.person == 0:
            return columns
        if self.join == "outer":
            return np.repeat(columns, self.person)
        return np.concatenate([np.ones(self.person), columns]) * math.sqrt(2.0)

    def checked_row(self, what: str, given: Any) -> Floats:
        """One row as an array."""
        row = _vector(what, given, self.rows.shape[1] if self.rows.shape[1] else None)
        if self.degrees and not ((row >= 0.0) & (row <= 1.0)).all():
            raise refuse(what, given, "numbers in [0, 1]", "give how far the item covers each topic")
        return row

    def set_scale(self, rows: Sequence[Floats]) -> None:
        """Choose the divisor of all rows by the largest norm of the first ones."""
        largest = max((float(np.linalg.norm(row)) for row in rows), default=0.0)
        if largest > 1.0 and not self.degrees:
            self.scale = largest
            if self.warns:
                warnings.warn(
                    f"Features are divided by {largest:.6g}, the largest norm among the items, so that no norm exceeds "
                    f"1.", stacklevel=4,
                )  # fmt: skip

    def put(self, slot: int, row: Floats) -> None:
        """Set the features of the item in a slot."""
        self.rows[slot] = row / self.scale
        self.edition += 1

    def grow(self, capacity: int) -> None:
        """Make room for more slots."""
        if capacity > len(self.rows):
            more = np.zeros((capacity - len(self.rows), self.rows.shape[1]))
            self.rows = np.concatenate([self.rows, more])
            self.edition += 1

    def checked_call(self, person: Any, given: Any) -> CallFeatures:
        """The features given for one call: a visitor's, and rows of items that hold for this call only."""
        rows = None
        if given is not None:
            if not isinstance(given, Mapping):
                raise refuse("features", given, "a mapping from items to rows", "write {'a': [0.5, 1.0]}")
            rows = {item: self.checked_row(f"features[{item!r}]", row) for item, row in given.items()}
        if self.person == 0:
            if person is not None:
                raise InvalidInput("This ranker takes no features of visitors; leave person out.")
            return NO_PERSON, rows
        if person is None:
            raise InvalidInput(f"This ranker needs the {self.person} features of a visitor; give person=[...].")
        visitor = _vector("person", person, self.person)
        length = float(np.linalg.norm(visitor))
        if length > 1.0:
            visitor = visitor / length
            if self.warns:
                self.warns = False
                warnings.warn("A visitor's features with a norm above 1 are divided by their norm.", stacklevel=3)
        return visitor, rows

    def rows_for_call(self, call: CallFeatures, slot_of: Any) -> tuple[Floats, int]:
        """The rows that the policy sees in one call, and their edition."""
        visitor, given = call
        rows, edition = self.rows, self.edition
        if given is not None:
            rows, edition = rows.copy(), UNCACHED
            for item, row in given.items():
                rows[slot_of(item, "An item of features")] = row / self.scale
        if self.person == 0:
            return rows, edition
        if self.join == "outer":
            return (rows[:, :, None] * visitor[None, None, :]).reshape(len(rows), self.total), UNCACHED
        joined = np.empty((len(rows), self.total))
        joined[:, : self.person] = visitor
        joined[:, self.person :] = rows
        joined /= math.sqrt(2.0)
        return joined, UNCACHED


def _vector(what: str, given: Any, length: int | None) -> Floats:
    """A vector of finite numbers, dense or sparse."""
    accepted = f"{'a row of' if length is None else length} finite numbers"
    try:
        row = np.asarray(given.toarray() if hasattr(given, "toarray") else given, dtype=np.float64).ravel()
    except (TypeError, ValueError):
        raise refuse(what, given, accepted, "give one number per feature") from None
    if len(row) == 0 or (length is not None and len(row) != length):
        raise refuse(what, given, accepted, f"give one number per feature, not {len(row)}")
    if not np.isfinite(row).all():
        raise refuse(what, given, accepted, "one of them is not finite")
    return row


def feature_rows(what: str, given: Any, names: Sequence[ItemId]) -> list[Any]:
    """A row for each name, from a mapping or from rows in the same order, dense or sparse."""
    if isinstance(given, Mapping):
        missing = [name for name in names if name not in given]
        if missing:
            raise InvalidInput(f"{what} lacks the item {missing[0]!r}; give a row for every item.")
        return [given[name] for name in names]
    rows = given.toarray() if hasattr(given, "toarray") else given
    try:
        several = list(rows)
    except TypeError:
        raise refuse(what, given, "a row per item", "give a mapping from items to rows") from None
    if len(several) != len(names):
        accepted = f"{len(names)}, one per item"
        raise refuse(f"The number of rows of {what}", len(several), accepted, "give them in the order of the items")
    return several
