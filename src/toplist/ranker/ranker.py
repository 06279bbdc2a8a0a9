"""The ranker: a policy at work on items with names."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, cast

import numpy as np

from toplist.core.beliefs import copy_arrays
from toplist.core.coverage import COVERAGE_KINDS, gains
from toplist.core.problem import Problem, refuse, several, whole
from toplist.core.randomness import branch
from toplist.core.slate import NONE, Ints, Page, Request, Slate
from toplist.policies.by_name import make
from toplist.ranker import saved_file
from toplist.ranker.base import Core
from toplist.ranker.eligible import eligible as eligible_slots
from toplist.ranker.eligible import from_the_end, with_few_new
from toplist.ranker.features import Features, Told, feature_rows
from toplist.ranker.item_slots import Roster
from toplist.ranker.options import Options
from toplist.ranker.reported_page import page_of
from toplist.ranker.shown import Identity, Shown
from toplist.support.catalogue import part_text
from toplist.support.files import AnyPath


class Asked(NamedTuple):
    """A list that is asked for."""

    wanted: int  # places
    eligible: list[str] | None  # None: everybody
    excluded: list[str]
    by_place: dict[int, str]  # pinned items, by place counted from 0
    told: Told  # features for this list alone


class Made(NamedTuple):
    """A list that was made, beside its slate."""

    number: int
    life: str
    pinned: tuple[int, ...]  # positions, counted from 1
    among: Ints | None  # slots of the eligible items, where it can be told later who was the best of them


class Ranker(Core):
    """Shows lists of `positions` of your items, and learns from the clicks on them.

    `policy` is a name of the catalogue, with or without parameters, or a policy made of parts. `seed` decides all that
    is left to chance. New items rank above everything that was ever examined, unless they come with a prior, as if
    each had been examined `prior_strength` times with mean `prior_mean`. `new_per_list` is how many never-examined
    items one list may carry, where enough others are eligible to fill it. At most `open_slates` lists may wait for
    their clicks; one more gives the oldest up. `steps` is how many lists are expected, for policies that want to know.

    Any number of threads may use a ranker: lists are made beside each other, and what changes it is done one at a time,
    so that every list is made from a belief between two changes. One process has it; others get a copy by `save`.

    >>> ranker = Ranker(["tea", "coffee", "milk"], positions=2, policy="cascade-kl-ucb", seed=1)
    >>> for _ in range(100):
    ...     shown = ranker.rank()
    ...     ranker.learn(shown, clicks=["milk"] if "milk" in shown.items else [])
    >>> ranker.rank().items[0]
    'milk'
    """

    def __init__(
        self,
        items: Iterable[str],
        positions: int,
        policy: Any = "dcm-kl-ucb",
        seed: int = 0,
        *,
        features: Any = None,
        person: int = 0,
        join: str = "concatenate",
        steps: int | None = None,
        prior_mean: float = 0.5,
        prior_strength: float = 0.0,
        new_per_list: int | None = None,
        open_slates: int = 10_000,
        name: str | None = None,
        compiled: bool = True,
    ) -> None:
        names = Roster(0).check_new(several("The items", items, "names"))
        if name is not None and (not isinstance(name, str) or not name):
            raise refuse("The ranker's name", name, "text", "or leave it out")
        options = Options(positions, seed, steps, prior_mean, prior_strength, new_per_list, open_slates).checked()
        made = make(policy)
        title = policy if isinstance(policy, str) else part_text(made)
        known, rows = Features.of(names, features, person, join, made.capabilities(), title, self._warns)
        problem = Problem(max(1, len(names)), options.positions, known.total, options.steps)
        identity = Identity(name or secrets.token_hex(4), secrets.token_hex(16))
        self._set_up(made, title, options, problem, identity, known, compiled)
        if len(names) < options.positions and not self._can.takes_subsets:
            self._refuse(f"needs items for all of its {options.positions} positions, not {len(names)}", "give more")
        self._roster.fill(names)
        for slot, row in enumerate(rows):
            self._inform(slot, options.prior_mean, options.prior_strength, row)

    # Lists ------------------------------------------------------------------------------------------------------------

    def rank(
        self,
        among: Iterable[str] | None = None,
        positions: int | None = None,
        *,
        exclude: Iterable[str] = (),
        pins: Mapping[int, str] | None = None,
        person: Any = None,
        features: Mapping[str, Any] | None = None,
    ) -> Shown:
        """A list, to be learned from once its clicks are known; nothing that was learned is touched.

        `among` are the eligible items, all but those in `exclude` if not given; the list is shorter where fewer are
        eligible. `pins` gives single positions, counted from 1, to items, eligible or not; where the list ends above
        such a position, its item stands at the end. `person` are the features of who asks, for a ranker that joins
        them with the items'; `features` are those of some items for this list alone.
        """
        asked = self._asked(among, positions, exclude, pins, person, features)
        with self._gate.reading:
            slate = self._learner.slate()
            made = self._make(asked, slate)
            items = tuple(self._named(slate.items[: slate.size[0]].tolist()))
            return Shown(
                self._identity, made.number, made.life, items, slate, self._learned, pinned=made.pinned,
                among=made.among,
            )  # fmt: skip

    def _asked(
        self, among: Iterable[str] | None, positions: int | None, exclude: Iterable[str] | None,
        pins: Mapping[int, str] | None, person: Any, features: Mapping[str, Any] | None,
    ) -> Asked:  # fmt: skip
        """What is asked of `rank`, checked as far as nobody's items are needed; no caller's code is run after this."""
        wanted = self.positions if positions is None else self._wanted(positions)
        eligible = None if among is None else several("among", among, "items")
        excluded = [] if exclude is None else several("exclude", exclude, "items")
        if (eligible is not None or excluded) and not self._can.takes_subsets:
            self._refuse("takes no subsets of its items", "leave out among and exclude")
        by_place = self._places(pins, wanted) if pins else {}
        return Asked(wanted, eligible, excluded, by_place, self._known.told(person, features))

    def _make(self, asked: Asked, slate: Slate) -> Made:
        """Fill an empty slate with a list, which is open from now on."""
        roster, wanted = self._roster, asked.wanted
        pinned = self._pinned(asked.by_place) if asked.by_place else {}
        candidates = eligible_slots(roster, asked.eligible, asked.excluded, pinned)
        places = from_the_end(pinned, min(wanted, len(candidates))) if pinned else {}
        seen_as, edition = self._known.of_call(asked.told, roster.slot)
        number, life = self._book.enter()
        try:
            key = branch(self._key, number)
            limit = self.options.new_per_list
            if limit is not None:
                candidates = with_few_new(roster, limit, candidates, wanted, key, pinned)
            if len(candidates) > 0:
                pins_array = NONE
                if places:
                    pins_array = np.full(self.positions, -1, dtype=np.int64)
                    pins_array[list(places)] = list(places.values())
                request = Request(candidates, wanted, pins_array, NONE, seen_as, edition, roster.labels, key)
                self._learner.rank(request, slate)
        except BaseException:
            self._book.close(number)
            raise
        # Who is best by features of one call cannot be told later, when these are gone.
        among = candidates if edition >= 0 else None
        return Made(number, life, tuple(place + 1 for place in places) if places else (), among)

    def _pinned(self, by_place: dict[int, str]) -> dict[int, int]:
        """The slots of pinned items, by place."""
        roster = self._roster
        pinned = dict(zip(by_place, roster.slots(list(by_place.values()), "pins"), strict=True))
        for slot in pinned.values():
            if roster.is_hidden(slot):
                raise refuse("pins", roster.names[slot], "items that are not hidden", "unhide it, or leave it out")
        return pinned

    def _named(self, slots: Iterable[int]) -> list[str]:
        """The items in slots where there are some."""
        names = self._roster.names
        return cast(list[str], [names[slot] for slot in slots])

    def adopt(self, items: Sequence[str], person: Any = None, features: Mapping[str, Any] | None = None) -> Shown:
        """A list that somebody else made, to be learned from like one's own; features as in `rank`."""
        return self._adopted(items, person, features)

    def _adopted(
        self, items: Sequence[str], person: Any, features: Mapping[str, Any] | None, number: int | None = None
    ) -> Shown:
        """The adopted list under a new number, or the one that a log has."""
        if not self._can.learns_from_any_list:
            self._refuse("learns from its own lists only", "show a list of rank()")
        names = several("The adopted list", items, "items")
        if len(names) > self.positions:
            raise refuse("The adopted list", names, f"at most {self.positions} items, one per position", "cut it there")
        told = self._known.told(person, features)
        with self._gate.reading:
            slots = self._roster.slots(names, "the adopted list")
            seen_as, _ = self._known.of_call(told, self._roster.slot)
            slate = self._learner.slate()
            slate.items[: len(slots)] = slots
            slate.size[0] = len(slots)
            if self._can.needs_features:
                rows = seen_as[slots]
                slate.rows[: len(slots)] = gains(rows, self._coverage()) if self._can.covers_topics else rows
            entered = self._book.enter() if number is None else (number, self._book.enter_again(number))
            return Shown(self._identity, *entered, tuple(names), slate, self._learned, origin="adopted")

    def shown(self, kept: Mapping[str, Any]) -> Shown:
        """The list whose `as_dict()` was kept."""
        return Shown.from_dict(kept, self._identity, self._learner.slate())

    def _coverage(self) -> str:
        """How items cover topics together, in words."""
        return {number: word for word, number in COVERAGE_KINDS.items()}[self._learner.policy.arrangement.coverage]

    def _wanted(self, positions: int) -> int:
        wanted = whole("positions", positions, 1, "give the length of the list")
        if wanted > self.positions:
            raise refuse("positions", wanted, f"at most {self.positions}, the ranker's own", "make a ranker for more")
        return wanted

    def _places(self, pins: Mapping[int, str], wanted: int) -> dict[int, str]:
        """Pinned items by place, counted from 0."""
        if not self._can.takes_pins:
            self._refuse("takes no pins", "leave them out")
        if not isinstance(pins, Mapping):
            raise refuse("pins", pins, "a mapping from positions to items", "write {1: 'a'}")
        by_place: dict[int, str] = {}
        for given, item in pins.items():
            position = whole("A pinned position", given, 1, "positions are counted from 1")
            if position > wanted:
                raise refuse("A pinned position", position, f"at most {wanted}, the length of the list", "leave it out")
            by_place[position - 1] = item
        return by_place

    # Learning ---------------------------------------------------------------------------------------------------------

    def learn(
        self,
        shown: Shown,
        clicks: Iterable[int | str],
        left: int | str | None = None,
        seen: Iterable[int | str] | Mapping[int | str, float] | None = None,
    ) -> None:
        """Learn from what came back for a list: late and in any order, but at most once, whatever happens meanwhile.

        `clicks` are positions, counted from 1, or items; () is no click. `left` is the last position that was looked
        at, for readings that go by it, as UntilSatisfied; `seen` are the positions that were in view, or their
        probabilities of it. Both are for pages that know; leave them out where nobody does.
        """
        self._check_own(shown)
        page = page_of(shown, clicks, left, seen, self.positions)
        with self._gate.writing:
            self._take_in(shown.number, shown._slate, page)

    def _take_in(self, number: int, slate: Slate, page: Page) -> None:
        """Learn from a list that is open, and closed from here on."""
        self._book.close_open(number)
        self._learner.learn(slate, page, self._roster.examined)
        self._learned += 1
        if self._can.detects:
            self._changes.note(self._learner.policy, self._learner.belief, self._roster.names)

    # Items ------------------------------------------------------------------------------------------------------------

    def add(
        self,
        items: str | Iterable[str],
        prior_mean: float | None = None,
        prior_strength: float | None = None,
        features: Any = None,
    ) -> None:
        """Take in a new item, or several, with a row of features each; an item that was removed starts anew."""
        if not self._can.adds_items:
            self._refuse("cannot add items", "make a new ranker with all of them")
        options = self.options
        if prior_mean is not None:
            options = options._replace(prior_mean=prior_mean).checked()
        if prior_strength is not None:
            options = options._replace(prior_strength=prior_strength).checked()
        if options.prior_strength > 0.0:
            self._need_samples()
        names = _one_or_several(items)
        rows: list[Any] = [None] * len(names)
        if features is not None:
            alone = isinstance(items, str) and not isinstance(features, Mapping)
            rows = [features] if alone else feature_rows("features", features, names)
            rows = [self._known.checked(f"features of {name!r}", row) for name, row in zip(names, rows, strict=True)]
        elif self._can.needs_features:
            self._refuse("learns from features", "give a row for every new item, features=[...]")
        with self._gate.writing:
            for item, row in zip(self._roster.check_new(names), rows, strict=True):
                self._settle(item, options.prior_mean, options.prior_strength, row)

    def remove(self, items: str | Iterable[str]) -> None:
        """Never show an item again, or several; clicks that still come in for it harm nobody."""
        if not self._can.takes_subsets:
            self._refuse("always shows all of its items", "make a new ranker without it")
        names = _one_or_several(items)
        with self._gate.writing:
            self._roster.slots(names, "the items to remove")
            for item in names:
                self._roster.leave(item, self._book.made)

    def hide(self, items: str | Iterable[str]) -> None:
        """Never show an item, or several, until `unhide`; what is known of it stays, and late clicks are learned."""
        if not self._can.takes_subsets:
            self._refuse("always shows all of its items", "make a new ranker without it")
        self._set_hidden(items, True)

    def unhide(self, items: str | Iterable[str]) -> None:
        """Show an item, or several, again."""
        self._set_hidden(items, False)

    def _set_hidden(self, items: str | Iterable[str], hidden: bool) -> None:
        names = _one_or_several(items)
        with self._gate.writing:
            self._roster.slots(names, f"the items to {'hide' if hidden else 'unhide'}")
            for item in names:
                self._roster.hide(item, hidden)

    def change(self, item: str, features: Any) -> None:
        """Give an item other features; lists made before are learned by those that they were made with."""
        if not self._can.needs_features:
            self._refuse("does not look at features", "leave them out")
        row = self._known.checked(f"features of {item!r}", features)
        with self._gate.writing:
            self._known.put(self._roster.slot(item), row)

    def _settle(self, item: str, mean: float, strength: float, row: Any) -> None:
        slot = self._roster.vacant(self._book.all_open_are_later_than)
        if slot is None:
            slot = self._roster.capacity
            self._enlarge(max(16, 2 * slot))
        else:
            self._learner.forget(slot)
        self._roster.settle(item, slot)
        self._inform(slot, mean, strength, row)

    def _inform(self, slot: int, mean: float, strength: float, row: Any) -> None:
        """What is known of a newcomer beforehand."""
        if row is not None:
            self._known.put(slot, row)
        if strength > 0.0:
            self._learner.sample(slot, mean, strength)

    def _enlarge(self, capacity: int) -> None:
        self._learner.enlarge(capacity)
        self._roster.enlarge(capacity)
        self._known.enlarge(capacity)

    # Files ------------------------------------------------------------------------------------------------------------

    def save(self, path: AnyPath) -> None:
        """Keep everything in a file, which takes the place of an older one only when it is complete."""
        with self._gate.reading:
            header, arrays = saved_file.packed(saved_file.State(
                self._identity, self.policy, self._title, self.options, self._learner.begun,
                copy_arrays(self._learner.belief), self._roster, self._book, self._learned, self._known, self._changes,
            ))  # fmt: skip
        saved_file.write(path, header, arrays)

    @classmethod
    def load(cls, path: AnyPath, policy: Any = None, *, compiled: bool = True) -> Ranker:
        """The ranker that was saved, to go on as if there had been no break.

        A policy with parts of your own must be given again, since a file is never trusted to import code.
        """
        state = saved_file.read(path, policy)
        ranker = cls.__new__(cls)
        ranker._set_up(state.policy, state.title, state.options, state.problem, state.identity, state.known, compiled)
        capacity = state.roster.capacity
        if capacity > state.problem.items and ranker._can.adds_items:
            ranker._enlarge(capacity)
        saved_file.restore(ranker._learner.belief, state.belief, path)
        ranker._roster, ranker._book = state.roster, state.book
        ranker._learned, ranker._changes = state.learned, state.changes
        return ranker


def _one_or_several(items: Any) -> list[Any]:
    return [items] if isinstance(items, str) else several("The items", items, "names")
