"""Excluded, hidden, pinned, removed and new items: the candidates, and lists equal to those of plain set arithmetic."""

from heapq import nsmallest
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from toplist import Ranker
from toplist.core.beliefs import MANY
from toplist.core.compiling import compiled
from toplist.core.randomness import CHOICES, NEWCOMERS, branch
from toplist.core.slate import Floats, Ints
from toplist.parts.index.draw_numbers import number_of
from toplist.ranker import eligible
from toplist.ranker.eligible import draw_new, eligible_slots, limit_new_items
from toplist.ranker.item_slots import ItemSlots, ItemSlotsState
from toplist.ranker.labels import MACHINE_CODE, label, labels_of


@compiled
def fill_numbers(key: int, slots: Ints, labels: Ints, numbers: Floats) -> None:
    """Fill the numbers that break ties among many items; thousands of them, a hundred times."""
    for i in range(len(slots)):
        numbers[i] = number_of(key, True, slots[i], labels[i])


class OpenRanker(Ranker):
    """A ranker that tells where its items are stored."""

    def stored(self) -> ItemSlots:
        return self._items


class Site:
    """A ranker that is used at random, and its next list by scoring all eligible items one by one."""

    def __init__(self, policy: str, items: int, positions: int, seed: int, **options: Any) -> None:
        self.rng = np.random.default_rng(seed)
        self.names = [f"item {n}" for n in range(items)]
        self.hidden: set[str] = set()
        self.ranker = OpenRanker(self.names, positions, policy, seed=seed, **options)
        self.key = branch(branch(branch(seed, 0), 0), CHOICES)
        self.made = self.added = 0
        self.estimates: dict[str, dict[str, Any]] = {}  # of all items, until they or the belief change

    def some(self, most: int) -> list[str]:
        count = min(int(self.rng.integers(0, most + 1)), len(self.names))
        return [self.names[n] for n in self.rng.choice(len(self.names), count, replace=False)]

    def expected(self, asked: set[str], pins: dict[int, str], wanted: int) -> list[str]:
        key, limit = branch(self.key, self.made), self.ranker.options.new_per_list
        names = (asked - self.hidden) | set(pins.values())
        if not self.estimates:
            self.estimates = {row["item"]: row for row in self.ranker.estimates()}
        estimates = self.estimates
        if limit is not None:
            new = {name for name in names if estimates[name]["examined"] == 0.0}
            fixed = new & set(pins.values())
            allowed = max(0, max(limit, wanted - (len(names) - len(new))) - len(fixed))
            lots = branch(key, NEWCOMERS)
            names -= set(sorted(new - fixed, key=lambda name: branch(lots, label(name)))[allowed:])
        size = min(wanted, len(names))
        least = sorted((estimates[name]["index"] for name in names), reverse=True)[: size + len(pins)][-1:]
        near = [name for name in names if [estimates[name]["index"]] >= least]  # ties of the others do not matter
        ties = self.places_in_ties(key, near)
        best = nsmallest(size + len(pins), near, key=lambda name: (-estimates[name]["index"], ties[name]))
        places, last = {}, size - 1
        for position in sorted(pins, reverse=True):
            places[min(position - 1, last)] = pins[position]
            last = min(position - 1, last) - 1
        others = (name for name in best if name not in pins.values())
        return [places[place] if place in places else next(others) for place in range(size)]

    def places_in_ties(self, key: int, names: list[str]) -> dict[str, float]:
        """A number of each name: of equal items, the one with the smallest goes first."""
        slots = self.ranker.stored()
        if slots.capacity < MANY:
            return {name: -branch(key, label(name)) for name in names}
        numbers = np.zeros(len(names))
        taken = np.array([slots.slot(name) for name in names], dtype=np.int64)
        fill_numbers(key, taken, np.array([label(name) for name in names], dtype=np.int64), numbers)
        return dict(zip(names, numbers.tolist(), strict=True))

    def check(self, **asked: Any) -> Any:
        wanted = asked.get("positions") or self.ranker.positions
        eligible = set(self.names if asked.get("among") is None else asked["among"]) - set(asked.get("exclude", ()))
        expected = self.expected(eligible, asked.get("pins") or {}, wanted)
        shown = self.ranker.rank(**asked)
        self.made += 1
        assert list(shown) == expected
        return shown

    def step(self) -> None:
        """One change, and lists of several kinds."""
        rng, change = self.rng, int(self.rng.integers(0, 5))
        some = self.some(3)
        if rng.random() < 0.5:  # items that the next list would have
            some = self.expected(set(self.names), {}, 3)
        if change == 0 and some:
            self.ranker.remove(some)
            self.names = [name for name in self.names if name not in some]
            self.hidden -= set(some)
        elif change == 1:
            self.added += 2
            new = [f"new {self.added}", f"new {self.added + 1}"]
            self.ranker.add(new)
            self.names += new
        elif change == 2 and some:
            self.ranker.hide(some)
            self.hidden |= set(some)
        elif change == 3 and self.hidden:
            again = sorted(self.hidden)[:2]
            self.ranker.unhide(again)
            self.hidden -= set(again)
        self.estimates = {}
        lately = self.check()
        excluded = list({*self.some(8), *list(lately)[: int(rng.integers(0, 4))]})
        self.check(exclude=excluded)
        pinnable = [name for name in self.some(4) if name not in self.hidden and name not in excluded]
        positions = rng.permutation(self.ranker.positions)[: len(pinnable)] + 1
        pins = dict(zip(positions.tolist(), pinnable, strict=False))
        shown = self.check(exclude=excluded, pins=pins)
        self.check(among=self.some(30), exclude=[], pins=pins)
        self.check(positions=2, exclude=excluded[:1])
        clicks = [int(place) + 1 for place in np.flatnonzero(rng.random(len(shown)) < 0.3)]
        self.ranker.learn(shown, clicks)
        self.estimates = {}


@pytest.mark.parametrize("options", [{}, {"new_per_list": 2}, {"prior_strength": 1.0}], ids=["plain", "limit", "prior"])
@pytest.mark.parametrize("policy", ["dcm-kl-ucb", "cascade-ucb1"])
def test_lists_of_few_items_are_those_of_set_arithmetic(policy: str, options: dict[str, Any]) -> None:
    site = Site(policy, 40, 5, seed=1, compiled=False, **options)
    for _ in range(60):
        site.step()


@pytest.mark.parametrize("limit", [None, 2])
@pytest.mark.parametrize("items", [40, MANY + 150])
def test_random_lists_without_some_items_are_those_of_the_others(items: int, limit: int | None) -> None:
    names, rng = [f"item {n}" for n in range(items)], np.random.default_rng(items)
    excluding, naming = (Ranker(names, 5, "dcm-ts", seed=3, new_per_list=limit) for _ in range(2))
    lately: list[str] = []
    for step in range(80):
        if step % 10 == 9:
            for ranker in (excluding, naming):
                ranker.hide(lately[:1])
        excluded = {*rng.choice(names, 6).tolist(), *lately[:2]}
        shown = excluding.rank(exclude=excluded)
        again = naming.rank(among=[name for name in names if name not in excluded])
        lately = [str(name) for name in shown]
        assert lately == list(again)
        assert not excluded & set(lately)
        clicks = (1 + np.flatnonzero(rng.random(5) < 0.3)).tolist()
        excluding.learn(shown, clicks)
        naming.learn(again, clicks)


@pytest.mark.parametrize("policy", ["random", "exploring(policy='dcm-ts', share=0.4)"])
@pytest.mark.parametrize("items", [300, MANY + 150])
def test_lists_by_chance_leave_out_a_few_items_without_listing_the_others(items: int, policy: str) -> None:
    names, rng = [f"item {n}" for n in range(items)], np.random.default_rng(items)
    ranker, inner = (Ranker(names, 5, name, seed=3, compiled=items > 300) for name in (policy, "dcm-ts"))
    own = 0
    for step in range(60):
        if step % 10 == 9:
            gone = names.pop(int(rng.integers(len(names))))
            for each in (ranker, inner):
                (each.hide if step % 20 == 9 else each.remove)(gone)
        excluded = rng.choice(names, 100, replace=False).tolist()
        shown, unchanged = (each.rank(exclude=excluded) for each in (ranker, inner))
        assert shown.among is not None
        assert len(shown.among.exceptions) == 100
        assert set(shown) <= set(names) - set(excluded)
        if list(shown) == list(unchanged):
            own += 1
            clicks = (1 + np.flatnonzero(rng.random(5) < 0.3)).tolist()
            ranker.learn(shown, clicks)
            inner.learn(unchanged, clicks)
    assert own == 0 if policy == "random" else 24 < own < 48  # 36 of 60, and four deviations less or more


@pytest.mark.parametrize("limit", [None, 2])
@pytest.mark.parametrize("policy", ["dcm-kl-ucb", "cascade-ucb1"])
def test_lists_of_very_many_items_are_those_of_set_arithmetic(policy: str, limit: int | None, monkeypatch: Any) -> None:
    site = Site(policy, MANY + 150, 6, seed=2, new_per_list=limit)
    if limit is not None:  # most items are known
        for start in range(0, MANY, 6):
            site.ranker.learn(site.ranker.adopt(site.names[start : start + 6]), clicks=[6] if start % 60 == 0 else [])
            site.made += 1
    for number in range(20):
        monkeypatch.setattr(eligible, "FEW", 4 if number % 5 == 4 else 1024)
        monkeypatch.setattr(eligible, "MOST_EXCEPTED", 1 << 20)
        site.step()
    many = [name for name in site.names if label(name) % 3]
    site.check(among=many)
    site.check(exclude=many)
    site.check(exclude=many[:1500])
    site.ranker.remove(many[500:])
    site.names = [name for name in site.names if name not in set(many[500:])]
    site.hidden &= set(site.names)
    site.check(exclude=site.some(20))


def test_a_loaded_ranker_makes_the_same_lists(tmp_path: Any) -> None:
    site = Site("cascade-ucb1", MANY + 50, 6, seed=3)
    for _ in range(10):
        site.step()
    site.ranker.save(tmp_path / "ranker.npz")
    loaded = Ranker.load(tmp_path / "ranker.npz")
    for _ in range(5):
        excluded = [name for name in site.some(50) if name not in site.hidden]
        assert loaded.rank(exclude=excluded).items == site.ranker.rank(exclude=excluded).items


def test_an_explanation_counts_the_items_that_were_eligible() -> None:
    for items in (30, MANY + 30):
        ranker = Ranker(
            [f"item {n}" for n in range(items)], 2, "cascade-ucb1", compiled=items > 100, prior_strength=1.0
        )
        ranker.hide(["item 7", "item 8"])
        shown = ranker.rank(exclude=["item 3", "item 4"])
        ranker.unhide("item 8")
        assert shown.among is not None
        assert shown.among.eligible().tolist() == [slot for slot in range(items) if slot not in (3, 4, 7, 8)]
        ranker.remove("item 9" if "item 9" not in shown else "item 10")
        assert f" of {items - 5} eligible" in ranker.explain(shown).rows()[0]["why"]


SLOTS = st.sets(st.integers(0, 11))


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_candidates_are_those_of_set_arithmetic(data: st.DataObject) -> None:
    many = data.draw(st.booleans())
    items = ItemSlots(MANY if many else 14)
    items.fill(*ItemSlots.checked_first([f"item {n}" for n in range(12)]))
    removed, hidden = data.draw(SLOTS), data.draw(SLOTS)
    for slot in removed:
        items.vacate(f"item {slot}", 0)
    for slot in hidden - removed:
        items.set_hidden(f"item {slot}", True)
    items.examined[sorted(data.draw(SLOTS))] = True
    present = set(range(12)) - removed
    visible = present - hidden
    asked = data.draw(st.none() | SLOTS.map(lambda some: some & present))
    excluded = data.draw(SLOTS) & present
    pins = dict(enumerate(data.draw(st.lists(st.sampled_from(sorted(visible - excluded)), max_size=3, unique=True))
                          if visible - excluded else []))  # fmt: skip
    names = None if asked is None else [f"item {slot}" for slot in data.draw(st.permutations(sorted(asked)))]
    takes_gaps = data.draw(st.booleans())
    left_out = [f"item {slot}" for slot in data.draw(st.permutations(sorted(excluded)))]
    found = eligible_slots(items, names, left_out, pins, 3, takes_gaps)
    expected = ((visible if asked is None else asked & visible) - excluded) | set(pins.values())
    assert found.eligible().tolist() == sorted(expected)
    assert found.total == len(expected)
    limit, wanted, key = data.draw(st.integers(0, 4)), 3, data.draw(st.integers(0, 100))
    new = {slot for slot in expected if not items.examined[slot]}
    fixed = new & set(pins.values())
    allowed = max(0, max(limit, wanted - len(expected - new)) - len(fixed))
    lots = branch(key, NEWCOMERS)
    dropped = sorted(new - fixed, key=lambda slot: branch(lots, int(items.labels[slot])))[allowed:]
    limited = limit_new_items(items, limit, found, wanted, key, pins, 3)
    assert limited.eligible().tolist() == sorted(expected - set(dropped))
    assert limited.total == len(expected) - len(dropped)


@pytest.mark.parametrize("wanted", [1, 7, 600])
def test_new_items_are_drawn_by_the_smallest_lots(wanted: int) -> None:
    items = ItemSlots(5000)
    items.fill(*ItemSlots.checked_first([f"item {n}" for n in range(5000)]))
    new = np.arange(5000) % 3 == 0
    lots = {slot: branch(branch(9, NEWCOMERS), int(items.labels[slot])) for slot in np.flatnonzero(new)}
    smallest = sorted(lots, key=lots.__getitem__)[:wanted]
    assert draw_new(items, new, len(lots), wanted, 9).tolist() == smallest


def test_labels_in_machine_code_are_the_digests() -> None:
    names: list[Any] = [n if n % 3 else "é" * (n % 70) + f"item {n}" for n in range(MACHINE_CODE)]
    assert labels_of(names).tolist() == [label(name) for name in names]
    texts = [f"item {n}" for n in range(MACHINE_CODE)]
    assert labels_of(texts).tolist() == [label(name) for name in texts]
    texts[5] = "a\0b"
    assert labels_of(texts).tolist() == [label(name) for name in texts]


def test_items_of_a_state_are_found_by_name_when_they_are_needed() -> None:
    state = ItemSlotsState(("a", None, 7, "b"), ((1, 3),), np.array([2]), 4)
    items = ItemSlots.from_state(state)
    assert (len(items), items.visible_count, items.all_names()) == (3, 3, ["a", 7, "b"])
    assert items.labels.tolist() == [label("a"), 0, label(7), label("b")]
    assert "_slot_of" not in vars(items)  # no name was looked up yet
    assert (items.slot("b"), items.slot(7), "c" in items) == (3, 2, False)
    items.occupy("c", 1)
    items.vacate("a", 4)
    assert (len(items), items.slots(["b", "c"], "among")) == (3, [3, 1])
    with pytest.raises(ValueError, match="an item is there twice"):
        ItemSlots.from_state(state._replace(names=("a", "b", "a", None)))


def test_eligible_slots_of_a_list_stay_known_whatever_changes_later() -> None:
    ranker = Ranker([f"item {n}" for n in range(MANY + 10)], 2, "cascade-ucb1")
    rng, names, kept = np.random.default_rng(4), [f"item {n}" for n in range(MANY + 10)], []
    hidden: set[str] = set()
    for _ in range(200):  # more changes than are noted
        name = names[int(rng.integers(50))]
        (ranker.unhide if name in hidden else ranker.hide)(name)
        hidden ^= {name}
        shown = ranker.rank()
        kept.append((shown, sorted(slot for slot, each in enumerate(names) if each not in hidden)))
    ranker.add([f"new {n}" for n in range(20)])
    for shown, expected in kept[::7]:
        assert shown.among is not None
        assert shown.among.eligible().tolist() == expected
