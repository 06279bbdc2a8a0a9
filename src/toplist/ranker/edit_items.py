"""Changes of a ranker's items: added, removed, hidden, and given other features."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from toplist.core.item_id import ItemId, plain_id
from toplist.core.prior import Prior
from toplist.core.problem import several
from toplist.core.slate import Floats
from toplist.ranker import explanations
from toplist.ranker.base import RankerBase
from toplist.ranker.features import feature_rows
from toplist.ranker.item_slots import refuse_unused_values
from toplist.ranker.pool import LARGEST_STRENGTH, POOLED_ODDS, Pool
from toplist.ranker.priors import Priors, capped_priors, checked_priors, checked_weights, sums_of_priors
from toplist.ranker.weights_pool import AnyPool


class EditableRanker(RankerBase):
    """A ranker whose items can be changed, each change under the lock for writing."""

    def add(
        self,
        items: ItemId | Iterable[ItemId],
        prior_mean: float | None = None,
        prior_strength: float | None = None,
        features: Any = None,
        priors: Priors | None = None,
    ) -> None:
        """Add one or several items; a removed item that comes back starts from nothing.

        Parameters
        ----------
        items : str, int, or iterable of str or int
            Names that the ranker does not have yet.
        prior_mean, prior_strength : float, optional
            The prior of these items; that of the ranker by default.
        features : array_like or mapping, optional
            A row of numbers per item, for policies that learn from features: the row itself for one item, otherwise
            rows by item or in their order.
        priors : mapping of str or int to Prior or (float, float), optional
            Mean and strength of the prior of some of these items, as in `Ranker`; strengths count up to 100, and less
            for items that are thought bad (see `Prior`).

        Raises
        ------
        InvalidInput
            If the policy cannot add items, an item is there already, or its features do not fit; nothing is added.

        Examples
        --------
        >>> from toplist import Ranker
        >>> ranker = Ranker(["tea", "milk"], positions=2, policy="cascade-ucb1", compiled=False)
        >>> ranker.add(["cocoa", "juice"], prior_mean=0.2, prior_strength=10)
        >>> ranker.estimates()["juice"]["mean"]
        0.2
        """
        if not self._capabilities.adds_items:
            self._refuse("cannot add items", "make a new ranker with all of them")
        options = self.options
        if prior_mean is not None:
            options = options._replace(prior_mean=prior_mean).checked()
        if prior_strength is not None:
            options = options._replace(prior_strength=prior_strength).checked()
        if options.prior_strength > 0.0:
            self._check_takes_prior()
        names = one_or_several(items)
        rows: list[Any] = [None] * len(names)
        if features is not None:
            alone = plain_id(items) is not None and not isinstance(features, Mapping)
            rows = [features] if alone else feature_rows("features", features, names)
            check = self._features.checked_row
            rows = [check(f"features of {name!r}", row) for name, row in zip(names, rows, strict=True)]
        elif self._capabilities.needs_features:
            self._refuse("learns from features", "give a row for every new item, features=[...]")
        refuse_unused_values(items, features)
        own, known = Prior(options.prior_mean, options.prior_strength), checked_priors(priors or {}, names)
        if any(prior.strength > 0.0 for prior in known.values()):
            self._check_takes_prior("priors")
        with self._lock.writing:
            new = self._items.checked_new(names)
            counted = self._counted_priors(known, own, len(new)) if known else known
            slots = self._take_slots(new)
            for slot, item, row in zip(slots, new, rows, strict=True):
                if row is not None:
                    self._features.put(slot, row)
                mean, strength = counted.get(item, own)
                if strength > 0.0:
                    self._learner.sample(slot, mean, strength)

    def _set_weights(self, given: Any) -> None:
        """Set the prior of the weights of features."""
        if not self._capabilities.needs_features:
            self._refuse("learns about each item separately, not from features", "give priors={item: (mean, strength)}")
        self._learner.begin_from(*checked_weights(given, self._features.divisors()))

    def _begin_pooled(self, pool: AnyPool, strength: float, known: Mapping[ItemId, Prior]) -> None:
        """Begin anew, with what other rankers know; only before the first list. `known` are the priors of items."""
        if isinstance(pool, Pool):
            self._begin_with_priors(known, pool.priors(strength, known))
        else:
            self._learner.add_sums(*pool.sums_for_new_segment(strength, self._features.divisors()))

    def _begin_with_priors(self, known: Mapping[ItemId, Prior], pooled: Mapping[ItemId, Prior]) -> None:
        """Begin anew, with the priors of a pool in place of those known apart from it."""
        names = self._items.all_names()
        means, strengths = self._first_priors(names, known)
        others = np.array([item not in pooled for item in names], dtype=bool)
        given = [pooled[item] for item in names if item in pooled]
        if given:
            looks, clicks = strengths[others], (strengths * means)[others]
            counted = np.array(capped_priors(given, looks, clicks, self.positions, LARGEST_STRENGTH, POOLED_ODDS))
            means[~others], strengths[~others] = counted[:, 0], counted[:, 1]
        self._learner.begin()
        self._learner.sample_first(means, strengths)

    def _set_first_priors(self, names: Sequence[ItemId], priors: Mapping[ItemId, Prior]) -> None:
        """Set the priors of the first items."""
        means, strengths = self._first_priors(names, priors)
        if not strengths.any():
            return
        if self._capabilities.needs_features:
            self._learner.add_sums(*sums_of_priors(self._features.rows[: len(names)], means, strengths))
        else:
            self._learner.sample_first(means, strengths)

    def _first_priors(self, names: Sequence[ItemId], priors: Mapping[ItemId, Prior]) -> tuple[Floats, Floats]:
        """Mean and strength of the first items: their own, as far as they count, or the ranker's."""
        own = Prior(self.options.prior_mean, self.options.prior_strength)
        means, strengths = np.full(len(names), own.mean), np.full(len(names), own.strength)
        if priors:
            others = np.array([item not in priors for item in names], dtype=bool)
            given = [priors[item] for item in names if item in priors]
            counted = np.array(capped_priors(given, strengths[others], (strengths * means)[others], self.positions))
            means[~others], strengths[~others] = counted[:, 0], counted[:, 1]
        return means, strengths

    def _counted_priors(self, priors: Mapping[ItemId, Prior], own: Prior, added: int) -> dict[ItemId, Prior]:
        """The priors of new items, of which `added` are added, as far as they count; the others have `own`."""
        looks = np.full(added - len(priors), own.strength)
        means = np.full(added - len(priors), own.mean)
        if len(self._items):
            request = self._request_all(self._features.rows)
            with self._learner.mode():
                present = explanations.assess(self._learner.policy, self._learner.belief, request, None)
            looks = np.concatenate([looks, np.nan_to_num(present.examined, nan=0.0)])
            means = np.concatenate([means, np.nan_to_num(present.mean, nan=0.0)])
        counted = capped_priors(list(priors.values()), looks, looks * means, self.positions)
        return dict(zip(priors, counted, strict=True))

    def remove(self, items: ItemId | Iterable[ItemId]) -> None:
        """Remove one or several items for good; late clicks on them are ignored.

        Parameters
        ----------
        items : str, int, or iterable of str or int
            Items of the ranker.

        Raises
        ------
        InvalidInput
            If an item is unknown, or the policy always shows all of its items; nothing is removed.

        See Also
        --------
        hide : Remove an item from lists only, and keep what was learned about it.
        """
        if not self._capabilities.takes_subsets:
            self._refuse("always shows all of its items", "make a new ranker without it")
        names = one_or_several(items)
        with self._lock.writing:
            self._items.slots(names, "the items to remove")
            made = self._open_lists.made
            self._learner.touch([self._items.vacate(item, made) for item in names])

    def hide(self, items: ItemId | Iterable[ItemId]) -> None:
        """Hide one or several items from all lists until `unhide`; late clicks on them are still learned.

        Parameters
        ----------
        items : str, int, or iterable of str or int
            Items of the ranker.

        Raises
        ------
        InvalidInput
            If an item is unknown, or the policy always shows all of its items; nothing is hidden.
        """
        if not self._capabilities.takes_subsets:
            self._refuse("always shows all of its items", "make a new ranker without it")
        self._set_hidden(items, True)

    def unhide(self, items: ItemId | Iterable[ItemId]) -> None:
        """Show one or several hidden items again.

        Parameters
        ----------
        items : str, int, or iterable of str or int
            Items of the ranker, hidden or not.

        Raises
        ------
        InvalidInput
            If an item is unknown.
        """
        self._set_hidden(items, False)

    def _set_hidden(self, items: ItemId | Iterable[ItemId], hidden: bool) -> None:
        names = one_or_several(items)
        with self._lock.writing:
            self._items.slots(names, f"the items to {'hide' if hidden else 'unhide'}")
            self._learner.touch([self._items.set_hidden(item, hidden) for item in names])

    def change(self, item: ItemId, features: Any) -> None:
        """Replace the features of an item; lists made before are learned with the old ones.

        Parameters
        ----------
        item : str or int
            An item of the ranker.
        features : array_like of float
            Its new row.

        Raises
        ------
        InvalidInput
            If the policy does not use features, the item is unknown, or the row does not fit.
        """
        if not self._capabilities.needs_features:
            self._refuse("does not use features", "leave them out")
        row = self._features.checked_row(f"features of {item!r}", features)
        with self._lock.writing:
            self._features.put(self._items.slot(item), row)

    def _take_slots(self, items: Sequence[ItemId]) -> list[int]:
        """Put new items into slots, of which nothing is known then; together, which is faster than one by one."""
        slots: list[int] = []
        used: list[int] = []  # by other items before
        for item in items:
            slot = self._items.vacant_slot(self._open_lists.all_made_after)
            if slot is None:
                slot = self._items.capacity
                self._grow(max(16, 2 * slot))
            else:
                used.append(slot)
            self._items.occupy(item, slot)
            slots.append(slot)
        if used:
            self._learner.forget(used)
            if self._own is not None:
                self._own.clear(used)
        return slots

    def _grow(self, capacity: int) -> None:
        """Make room for more items."""
        self._learner.grow(capacity)
        self._items.grow(capacity)
        self._features.grow(capacity)
        if self._own is not None:
            self._own.grow(capacity)


def one_or_several(items: Any) -> list[Any]:
    """Items as a list, from one or several."""
    return [items] if plain_id(items) is not None else several("items", items, "names")
