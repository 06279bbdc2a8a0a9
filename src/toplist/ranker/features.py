"""The features of a ranker's items, alone or joined with those of the person who asks."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from toplist.core.problem import InvalidInput, refuse, whole
from toplist.core.protocols import Capabilities
from toplist.core.slate import Floats

JOINS = ("concatenate", "outer")
OWN_EDITION = -1  # features of one call, which nobody remembers
NOBODY = np.zeros(0)  # a person without features

Told = tuple[Floats, dict[Any, Floats] | None]  # the features of a person, and rows by item, of one call


class Features:
    """A row per slot. With `person` features of a person, a row is joined with them in every call.

    Norms above 1 would make the papers' bounds untrue, so all rows are divided by the largest norm there is at the
    beginning if that is above 1, and those that come later by the same number; a warning says so once. A person's are
    divided by their own norm if that is above 1, and what is concatenated by the square root of 2. Degrees of topic
    coverage are in [0, 1] and are never scaled.
    """

    def __init__(self, capacity: int, columns: int, person: int, join: str, degrees: bool, warns: bool = True) -> None:
        self.person = whole("person", person, 0, "give how many features a person has")
        if join not in JOINS:
            raise refuse("join", join, " or ".join(map(repr, JOINS)), "say how a person's features meet an item's")
        if self.person > 0 and degrees:
            raise InvalidInput("This policy's features are topics, which belong to items alone; leave out person.")
        self.join, self.degrees = join, degrees
        self.rows: Floats = np.zeros((capacity, columns))
        self.scale = 1.0
        self.edition = 0
        self.warns = warns  # still, of norms above 1

    @classmethod
    def of(
        cls, names: Sequence[str], given: Any, person: int, join: str, can: Capabilities, policy: str,
        warns: bool = True,
    ) -> tuple[Features, Sequence[Any]]:  # fmt: skip
        """Room for the features that are given at the beginning, with their scale; and a checked row per item."""
        if given is None:
            if can.needs_features:
                raise InvalidInput(f"The policy {policy} learns from features; give features={{item: [...], ...}}.")
            return cls(max(1, len(names)), 0, 0, join, can.covers_topics), [None] * len(names)
        if not can.needs_features:
            raise InvalidInput(f"The policy {policy} does not look at features; leave them out.")
        several = feature_rows("features", given, names)
        if not several:
            raise InvalidInput("There are features but no items, so nobody knows how long a row is; give one item.")
        first = cls(1, 0, person, join, can.covers_topics)
        columns = len(first.checked(f"features of {names[0]!r}", several[0]))
        known = cls(len(names), columns, person, join, can.covers_topics, warns)
        rows = [known.checked(f"features of {name!r}", row) for name, row in zip(names, several, strict=True)]
        known.settle_scale(rows)
        return known, rows

    @property
    def total(self) -> int:
        """How many features a policy gets to see."""
        columns: int = self.rows.shape[1]
        if self.person == 0:
            return columns
        return columns + self.person if self.join == "concatenate" else columns * self.person

    def checked(self, what: str, given: Any) -> Floats:
        """One row as an array, or the error that says why not."""
        row = _vector(what, given, self.rows.shape[1] if self.rows.shape[1] else None)
        if self.degrees and not ((row >= 0.0) & (row <= 1.0)).all():
            raise refuse(what, given, "numbers in [0, 1]", "give how far the item covers each topic")
        return row

    def settle_scale(self, rows: Sequence[Floats]) -> None:
        """Choose by what all rows are divided, from those there are at the beginning."""
        largest = max((float(np.linalg.norm(row)) for row in rows), default=0.0)
        if largest > 1.0 and not self.degrees:
            self.scale = largest
            if self.warns:
                warnings.warn(
                    f"Features are divided by {largest:.6g}, the largest norm among the items, so that no norm exceeds "
                    f"1.", stacklevel=4,
                )  # fmt: skip

    def put(self, slot: int, row: Floats) -> None:
        """The features of the item in a slot."""
        self.rows[slot] = row / self.scale
        self.edition += 1

    def enlarge(self, capacity: int) -> None:
        """More slots."""
        if capacity > len(self.rows):
            more = np.zeros((capacity - len(self.rows), self.rows.shape[1]))
            self.rows = np.concatenate([self.rows, more])
            self.edition += 1

    def told(self, person: Any, given: Any) -> Told:
        """What is told in one call, checked: a person's features, none for none, and rows for this call alone."""
        rows = None
        if given is not None:
            if not isinstance(given, Mapping):
                raise refuse("features", given, "a mapping from items to rows", "write {'a': [0.5, 1.0]}")
            rows = {item: self.checked(f"features[{item!r}]", row) for item, row in given.items()}
        if self.person == 0:
            if person is not None:
                raise InvalidInput("This ranker takes no features of persons; leave person out.")
            return NOBODY, rows
        if person is None:
            raise InvalidInput(f"A person's {self.person} features are needed for every list; give person=[...].")
        beside = _vector("person", person, self.person)
        length = float(np.linalg.norm(beside))
        if length > 1.0:
            beside = beside / length
            if self.warns:
                self.warns = False
                warnings.warn("A person's features with a norm above 1 are divided by their norm.", stacklevel=3)
        return beside, rows

    def of_call(self, told: Told, slot_of: Any) -> tuple[Floats, int]:
        """What a policy gets to see in one call, and its edition."""
        beside, given = told
        rows, edition = self.rows, self.edition
        if given is not None:
            rows, edition = rows.copy(), OWN_EDITION
            for item, row in given.items():
                rows[slot_of(item, "An item of features")] = row / self.scale
        if self.person == 0:
            return rows, edition
        if self.join == "outer":
            return (rows[:, :, None] * beside[None, None, :]).reshape(len(rows), self.total), OWN_EDITION
        whole_rows = np.concatenate([np.broadcast_to(beside, (len(rows), self.person)), rows], axis=1)
        return np.ascontiguousarray(whole_rows / math.sqrt(2.0)), OWN_EDITION


def _vector(what: str, given: Any, length: int | None) -> Floats:
    """A vector of finite numbers, dense or sparse."""
    accepted = f"{'a row of' if length is None else length} finite numbers"
    try:
        row = np.asarray(given.toarray() if hasattr(given, "toarray") else given, dtype=np.float64).ravel()
    except (TypeError, ValueError):
        raise refuse(what, given, accepted, "give a number per feature") from None
    if len(row) == 0 or (length is not None and len(row) != length):
        raise refuse(what, given, accepted, f"give as many as the other items have, not {len(row)}")
    if not np.isfinite(row).all():
        raise refuse(what, given, accepted, "one of them is not finite")
    return row


def feature_rows(what: str, given: Any, names: Sequence[str]) -> list[Any]:
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
