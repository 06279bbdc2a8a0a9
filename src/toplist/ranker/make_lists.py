"""Making a ranker's lists: the candidates, the policy's input, and the probability of what it shows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, cast

import numpy as np

from toplist.core.item_id import ItemId
from toplist.core.problem import refuse, several
from toplist.core.protocols.list_probabilities import ListProbabilities
from toplist.core.randomness import AGAIN, branch
from toplist.core.slate import EVERY, NONE, Ints, Request, Slate
from toplist.policies.propensity.several_lists import weigh_lists
from toplist.ranker.candidates import Candidates
from toplist.ranker.edit_items import EditableRanker
from toplist.ranker.eligible import eligible_slots, limit_new_items, pinned_slots, pins_within
from toplist.ranker.propensities import weigh_list
from toplist.ranker.rank_request import Eligible, NewList, RankRequest, checked_pins, checked_positions

NO_SLOT = -1


class ListingRanker(EditableRanker):
    """A ranker that makes lists of slots; several threads may do so at once."""

    def _checked_request(
        self, among: Iterable[ItemId] | None, positions: int | None, exclude: Iterable[ItemId] | None,
        pins: Mapping[int, ItemId] | None, person: Any, features: Mapping[ItemId, Any] | None,
    ) -> RankRequest:  # fmt: skip
        """The arguments of `rank`, checked without the lock; later steps run none of the caller's code."""
        wanted = self.positions if positions is None else checked_positions(positions, self.positions)
        eligible = None if among is None else several("among", among, "items")
        excluded = [] if exclude is None else several("exclude", exclude, "items")
        if (eligible is not None or excluded) and not self._capabilities.takes_subsets:
            self._refuse("takes no subsets of its items", "leave out among and exclude")
        if pins and not self._capabilities.takes_pins:
            self._refuse("takes no pins", "leave them out")
        by_place = checked_pins(pins, wanted) if pins else {}
        return RankRequest(wanted, eligible, excluded, by_place, self._features.checked_call(person, features))

    def _make_list(self, asked: RankRequest, slate: Slate) -> NewList:
        """Fill an empty slate with a new list, and open the list."""
        return self._make_eligible(self._eligible(asked), slate)

    def _make_eligible(self, eligible: Eligible, slate: Slate, key: int | None = None) -> NewList:
        """The same, of eligible items; the random key of the list is that of its number, or given."""
        number, life = self._open_lists.open_new()
        try:
            if key is None:
                key = self._learner.branch(self._key, number)
            request, candidates = self._policy_request(eligible, key)
            if candidates.total > 0:
                self._learner.rank(request, slate)
        except BaseException:
            self._open_lists.discard(number)
            raise
        # Features of one call are gone later, so that explanations cannot compare the candidates by them.
        among = candidates if eligible.edition >= 0 else None
        pinned = tuple(place + 1 for place in eligible.places) if eligible.places else ()
        return NewList(number, life, pinned, among, eligible, request)

    def _eligible(self, asked: RankRequest) -> Eligible:
        """The items that a list may have, before the number of new ones is limited."""
        items = self._items
        pinned = pinned_slots(items, asked.by_place) if asked.by_place else {}
        takes_gaps = self._capabilities.takes_gaps
        candidates = eligible_slots(items, asked.eligible, asked.excluded, pinned, self.positions, takes_gaps)
        places = pins_within(pinned, min(asked.wanted, candidates.total)) if pinned else {}
        rows, edition = self._features.rows_for_call(asked.features, items.slot)
        return Eligible(asked.wanted, candidates, pinned, places, rows, edition)

    def _policy_request(self, eligible: Eligible, key: int) -> tuple[Request, Candidates]:
        """The policy's input for a list with this random key, and its candidates."""
        candidates, pins, limit = eligible.candidates, NONE, self.options.new_per_list
        if limit is not None:
            with self._learner.mode():
                candidates = limit_new_items(
                    self._items, limit, candidates, eligible.wanted, key, eligible.pinned, self.positions
                )
        if eligible.places:
            pins = self._no_pins.copy()
            for place, slot in eligible.places.items():
                pins[place] = slot
        request = Request(
            candidates.slots, eligible.wanted, pins, NONE, eligible.rows, eligible.edition, self._items.labels, key,
            candidates.present, candidates.exceptions,
        )  # fmt: skip
        return request, candidates

    def _weigh(self, made: NewList, slate: Slate) -> ListProbabilities:
        """The probabilities of a list just made."""
        policy, eligible = self._learner.policy, made.eligible
        items, key = slate.items[: slate.size[0]], branch(made.request.key, AGAIN)

        def draw(number: int) -> Ints:
            again = self._learner.empty_slate()
            self._learner.rank(self._policy_request(eligible, branch(key, number))[0], again)
            return again.items[: again.size[0]]

        exact = None
        # If new items are limited, it is drawn for each list which of them are candidates.
        if self.options.new_per_list is None and hasattr(policy, "list_probabilities"):
            listed = _without_gaps(made.request, eligible.candidates)
            exact = partial(policy.list_probabilities, self._learner.belief, listed, items)
        with self._learner.mode():
            return weigh_list(exact, draw, items)

    def weigh(self, lists: Any, names: Sequence[ItemId] | None = None) -> ListProbabilities | None:
        """Compute how likely the ranker would show some lists now; it makes none.

        Parameters
        ----------
        lists : sequence of sequence of str or int
            The lists, all of one length, from the top; or an array of numbers of items in `names`, which is quicker.
        names : sequence of str or int, optional
            The items that the numbers mean. The ranker need not have all of them.

        Returns
        -------
        ListProbabilities or None
            A row per list; None where the probabilities have no closed form. A list that the ranker cannot show has 0
            from the first item on that cannot stand there.

        Raises
        ------
        InvalidInput
            If the lists have different lengths, or need features of a visitor.

        Examples
        --------
        >>> from toplist import Ranker
        >>> ranker = Ranker(["tea", "coffee", "milk"], positions=2, policy="cascade-ucb1", compiled=False)
        >>> ranker.weigh([["milk", "tea"], ["milk", "wine"]]).conditional.round(3).tolist()
        [[0.333, 0.5], [0.333, 0.0]]
        """
        if names is None:
            names = list(dict.fromkeys(item for each in lists for item in each))
            number = {item: place for place, item in enumerate(names)}
            lists = [[number[item] for item in each] for each in lists]
        try:
            numbers = np.array(lists, dtype=np.int64)
        except ValueError:
            numbers = np.zeros(0, dtype=np.int64)
        if numbers.ndim != 2:
            raise refuse("The lists", lists, "lists of one length", "weigh those of each length alone")
        size = numbers.shape[1]
        with self._lock.reading, self._learner.mode():
            if not 0 < size <= min(self.positions, self._items.visible_count):
                return ListProbabilities.exact(np.zeros(numbers.shape), np.zeros(numbers.shape))
            if self.options.new_per_list is not None:  # it is drawn for each list which of them are candidates
                return None
            eligible = self._eligible(self._checked_request(None, size, None, None, None, None))
            request, candidates = self._policy_request(eligible, 0)
            slots = [self._items.slot(name) if name in self._items else NO_SLOT for name in names]
            listed = np.array([*slots, NO_SLOT], dtype=np.int64)[np.where(numbers < 0, len(slots), numbers)]
            return weigh_lists(self._learner.policy, self._learner.belief, _without_gaps(request, candidates), listed)

    def _names_of(self, slots: Iterable[int]) -> list[ItemId]:
        """The items in occupied slots."""
        names = self._items.names
        return cast("list[ItemId]", [names[slot] for slot in slots])


def _without_gaps(request: Request, candidates: Candidates) -> Request:
    """The request with all of its candidates listed, as probabilities need them."""
    return request._replace(candidates=candidates.eligible(), present=EVERY, exceptions=NONE)
