"""The segments of a family of rankers, what they share, and what a new segment begins with."""

from __future__ import annotations

import hashlib
import secrets
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from toplist.core.defaults import DEFAULT_POLICY
from toplist.core.item_id import ItemId, checked_id, plain_id
from toplist.core.problem import InvalidInput, checked_seed, number, refuse, several
from toplist.core.protocols import Capabilities
from toplist.policies.by_name import make
from toplist.ranker.edit_items import one_or_several
from toplist.ranker.features import feature_rows
from toplist.ranker.priors import Priors, adds_up, checked_priors
from toplist.ranker.ranker import Ranker
from toplist.ranker.weights_pool import AnyPool, empty_pool
from toplist.support.catalogue import part_text

POOLS = ("none", "prior")
SegmentId = ItemId | None


class RankerFamily:
    """Rankers by segment, made when they are first used, and the items that they share; `Rankers` describes it."""

    def __init__(
        self,
        items: Iterable[ItemId],
        positions: int,
        policy: Any = DEFAULT_POLICY,
        seed: int = 0,
        *,
        pool: str = "prior",
        pool_strength: float | None = None,
        features: Any = None,
        priors: Priors | None = None,
        name: str | None = None,
        **options: Any,
    ) -> None:
        names = several("items", items, "names")
        made = make(policy)
        if pool not in POOLS:
            raise refuse("pool", pool, " or ".join(map(repr, POOLS)), "say what a new segment begins with")
        if pool == "prior" and (reason := pool_refusal(made)) is not None:
            title = policy if isinstance(policy, str) else part_text(made)
            raise InvalidInput(f"The policy {title} cannot pool segments, since it {reason}; give pool='none'.")
        if pool_strength is not None:
            pool_strength = number("pool_strength", pool_strength, 0.0, 1e9, "or leave it out to learn it")
        self.pool, self.pool_strength = pool, pool_strength
        self._policy, self._options = policy, options
        self._seed = checked_seed(seed)
        self._lock = threading.RLock()
        self._rankers: dict[SegmentId, Ranker] = {}
        # It ranks nothing: it checks what all segments share, and every change of the items before they have it.
        self._template = Ranker(
            names, positions, policy, seed, features=features, priors=priors, name=name or secrets.token_hex(4),
            **options,
        )  # fmt: skip
        self._priors = checked_priors(priors or {}, names)
        self._rows: dict[ItemId, Any] = dict.fromkeys(self._template.items)
        if features is not None:
            self._rows = dict(zip(names, feature_rows("features", features, names), strict=True))

    # Keys -------------------------------------------------------------------------------------------------------------

    def __getitem__(self, segment: SegmentId) -> Ranker:
        """The ranker of a segment, made if it is new."""
        known = segment if segment is None else checked_id("The segment", segment)
        with self._lock:
            ranker = self._rankers.get(known)
            if ranker is None:
                ranker = self._rankers[known] = self._new_ranker(known)
            return ranker

    def __contains__(self, segment: object) -> bool:
        return (segment is None or plain_id(segment) is not None) and segment in self._rankers

    def __len__(self) -> int:
        return len(self._rankers)

    def __iter__(self) -> Iterator[SegmentId]:
        return iter(self.segments())

    def __repr__(self) -> str:
        return f"<Rankers {self.name}: {len(self)} segments, {len(self._template)} items>"

    @property
    def name(self) -> str:
        """The name of the family."""
        return self._template.name

    @property
    def items(self) -> list[Any]:
        """All items, including hidden ones."""
        return self._template.items

    def segments(self) -> list[SegmentId]:
        """The segments that have a ranker.

        Returns
        -------
        list of str, int or None
            In the order in which they came.
        """
        with self._lock:
            return list(self._rankers)

    def keys(self) -> list[SegmentId]:
        """The former name of `segments`.

        Returns
        -------
        list of str, int or None
            The same.
        """
        return self.segments()

    def strength(self) -> float:
        """How many looks the mean over all segments would be worth in a new segment now.

        Returns
        -------
        float
            The stated strength, or the learned one: the less segments differ, the larger.
        """
        with self._lock:
            return self._strength(self._pool())

    def _strength(self, pool: AnyPool) -> float:
        return pool.strength() if self.pool_strength is None else self.pool_strength

    def _pool(self) -> AnyPool:
        """What all segments have learned."""
        pool = empty_pool(self._template.capabilities.needs_features)
        for segment, ranker in self._rankers.items():
            ranker._add_to_pool(pool, is_segment=segment is not None)
        return pool

    def _new_ranker(self, segment: SegmentId) -> Ranker:
        template = self._template
        features = self._rows if template.capabilities.needs_features else None
        ranker = Ranker(
            list(self._rows), template.positions, self._policy, segment_seed(self._seed, segment), features=features,
            priors=self._priors, name=self.name if segment is None else f"{self.name}/{segment}", **self._options,
        )  # fmt: skip
        if hidden := template.hidden:
            ranker.hide(hidden)
        if self.pool == "prior":
            pool = self._pool()
            if pool.looks:
                ranker._begin_pooled(pool, self._strength(pool), self._priors)
            ranker._keep_own_counts()
        return ranker

    # Items ------------------------------------------------------------------------------------------------------------

    def add(self, items: ItemId | Iterable[ItemId], features: Any = None, priors: Priors | None = None) -> None:
        """Add one or several items for all segments, as `Ranker.add` does.

        Parameters
        ----------
        items : str, int, or iterable of str or int
            Names that the family does not have yet.
        features : array_like or mapping, optional
            A row of numbers per item.
        priors : mapping of str or int to Prior or (float, float), optional
            Priors of some of these items.
        """
        names = one_or_several(items)
        with self._lock:
            self._template.add(items, features=features, priors=priors)
            rows: Sequence[Any] = [None] * len(names)
            if features is not None:
                alone = plain_id(items) is not None and not isinstance(features, Mapping)
                rows = [features] if alone else feature_rows("features", features, names)
            for ranker in self._rankers.values():
                ranker.add(items, features=features, priors=priors)
            self._rows |= zip(names, rows, strict=True)
            self._priors |= checked_priors(priors or {}, names)

    def remove(self, items: ItemId | Iterable[ItemId]) -> None:
        """Remove one or several items for all segments and for good, as `Ranker.remove` does.

        Parameters
        ----------
        items : str, int, or iterable of str or int
            Items of the family.
        """
        names = one_or_several(items)
        with self._lock:
            for ranker in self._all():
                ranker.remove(names)
            for name in names:
                del self._rows[name]
                self._priors.pop(name, None)

    def hide(self, items: ItemId | Iterable[ItemId]) -> None:
        """Hide one or several items from the lists of all segments, as `Ranker.hide` does.

        Parameters
        ----------
        items : str, int, or iterable of str or int
            Items of the family.
        """
        names = one_or_several(items)
        with self._lock:
            for ranker in self._all():
                ranker.hide(names)

    def unhide(self, items: ItemId | Iterable[ItemId]) -> None:
        """Show one or several hidden items again.

        Parameters
        ----------
        items : str, int, or iterable of str or int
            Items of the family.
        """
        names = one_or_several(items)
        with self._lock:
            for ranker in self._all():
                ranker.unhide(names)

    def change(self, item: ItemId, features: Any) -> None:
        """Replace the features of an item for all segments, as `Ranker.change` does.

        Parameters
        ----------
        item : str or int
            An item of the family.
        features : array_like of float
            Its new row.
        """
        with self._lock:
            for ranker in self._all():
                ranker.change(item, features)
            self._rows[item] = features

    def _all(self) -> list[Ranker]:
        """The template, which refuses a change before any segment has made it; and the rankers of all segments."""
        return [self._template, *self._rankers.values()]


def pool_refusal(policy: Any) -> str | None:
    """Why rankers of a policy cannot begin with what others have learned; None if they can."""
    can: Capabilities = policy.capabilities()
    if can.forgets:
        return "forgets, but what is pooled is kept for ever"
    if can.needs_features:
        return None if adds_up(policy) else "has a memory that cannot add up what others have seen"
    return "takes no priors of items" if can.samples == "nothing" else None


def segment_seed(seed: int, segment: SegmentId) -> int:
    """The seed of a segment's ranker; without a segment, that of the family."""
    if segment is None:
        return seed
    text = f"{seed}/{segment}" if isinstance(segment, str) else f"{seed}/\t{segment}"
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little") >> 1
