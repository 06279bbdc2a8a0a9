"""After any sequence of calls, a ranker agrees with a model of a few dictionaries."""

import json
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import settings
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from ranker_cases import ONE_OF_A_KIND, features_for

import toplist
from toplist import InvalidInput, Ranker, Shown
from toplist.core.beliefs import array_bytes
from toplist.ranker import AlreadyLearned, SlateRefused

POSITIONS, OPEN = 3, 6
PLACES = st.sets(st.integers(1, POSITIONS))
NAMES = st.sampled_from([f"item {n}" for n in range(12)])


@dataclass
class Model:
    """What a ranker should hold: its items, the open lists, and every page learned."""

    items: list[str]
    opened: list[int] = field(default_factory=list)
    given_up: set[int] = field(default_factory=set)
    made: int = 0
    pages: list[tuple[tuple[tuple[str, int], ...], tuple[int, ...]]] = field(default_factory=list)
    lives: dict[str, int] = field(default_factory=dict)  # how often an item was added again: then it is a new one

    def enter(self) -> None:
        self.opened.append(self.made)
        self.made += 1
        if len(self.opened) > OPEN:
            self.given_up.add(self.opened.pop(0))


class Machine(RuleBasedStateMachine):
    """Rank, learn in any order, add, remove, subset, pin, adopt, save and load; one subclass per policy."""

    policy = "cascade-ucb1"
    shown: Bundle[Any] = Bundle("shown")

    @initialize()
    def begin(self) -> None:
        names = [f"item {n}" for n in range(5)]
        features = features_for(self.policy, names)
        self.ranker = Ranker(names, POSITIONS, self.policy, seed=3, open_slates=OPEN, compiled=False, **features)
        self.can = self.ranker.capabilities
        self.parts = toplist.make(self.policy)
        self.model = Model(names, lives=dict.fromkeys(names, 0))
        self.folder = Path(tempfile.mkdtemp())

    def teardown(self) -> None:
        if hasattr(self, "folder"):
            shutil.rmtree(self.folder)

    def check_list(self, shown: Shown, eligible: set[str], wanted: int) -> None:
        assert len(shown) == len(set(shown)) == min(wanted, len(eligible))
        assert set(shown) <= eligible
        assert shown.number == self.model.made
        self.model.enter()

    def kept(self, shown: Shown) -> tuple[Shown, tuple[tuple[str, int], ...]]:
        return shown, tuple((item, self.model.lives[item]) for item in shown)

    @rule(target=shown, wanted=st.integers(1, POSITIONS))
    def rank(self, wanted: int) -> Any:
        before = array_bytes(self.ranker.belief)
        made = self.ranker.rank(positions=wanted)
        assert array_bytes(self.ranker.belief) == before
        self.check_list(made, set(self.model.items), wanted)
        return self.kept(made)

    @rule(target=shown, some=st.sets(NAMES, max_size=6))
    def rank_some(self, some: set[str]) -> Any:
        eligible = some & set(self.model.items)
        if not self.can.takes_subsets:
            with pytest.raises(InvalidInput, match="takes no subsets"):
                self.ranker.rank(among=sorted(eligible))
            return self.rank(POSITIONS)
        made = self.ranker.rank(among=sorted(eligible))
        self.check_list(made, eligible, POSITIONS)
        return self.kept(made)

    @precondition(lambda self: self.can.takes_pins and len(self.model.items) >= 2)
    @rule(target=shown, place=st.integers(1, POSITIONS), choice=st.integers(0, 99))
    def rank_with_a_pin(self, place: int, choice: int) -> Any:
        item = self.model.items[choice % len(self.model.items)]
        made = self.ranker.rank(pins={place: item})
        self.check_list(made, set(self.model.items), POSITIONS)
        assert made[min(place, len(made)) - 1] == item
        assert made.pinned == (min(place, len(made)),)
        return self.kept(made)

    @rule(target=shown, items=st.permutations([f"item {n}" for n in range(12)]))
    def adopt(self, items: list[str]) -> Any:
        present = [item for item in items if item in self.model.items][:POSITIONS]
        if not self.can.learns_from_any_list:
            with pytest.raises(InvalidInput, match="learns from its own lists only"):
                self.ranker.adopt(present)
            return self.rank(POSITIONS)
        made = self.ranker.adopt(present)
        assert list(made) == present
        self.model.enter()
        return self.kept(made)

    @rule(slate=consumes(shown), clicked=PLACES, by_name=st.booleans(), as_json=st.booleans())
    def learn(self, slate: Any, clicked: set[int], by_name: bool, as_json: bool) -> None:
        made, lives = slate
        places = sorted(place for place in clicked if place <= len(made))
        clicks = [made[place - 1] if by_name else place for place in places]
        if as_json:
            made = self.ranker.shown(json.loads(json.dumps(made.as_dict())))
        if made.number in self.model.given_up:
            with pytest.raises(SlateRefused, match=rf"List {made.number} was (learned or )?given up"):
                self.ranker.learn(made, clicks)
            return
        self.ranker.learn(made, clicks)
        self.model.opened.remove(made.number)
        self.model.pages.append((lives, tuple(places)))
        with pytest.raises(AlreadyLearned):
            self.ranker.learn(made, clicks)

    @rule(name=NAMES)
    def add(self, name: str) -> None:
        if not self.can.adds_items:
            with pytest.raises(InvalidInput, match="cannot add items"):
                self.ranker.add(name)
        elif name in self.model.items:
            with pytest.raises(InvalidInput, match="already has an item"):
                self.ranker.add(name, **features_for(self.policy, [name]))
        else:
            self.ranker.add(name, **features_for(self.policy, [name]))
            self.model.items.append(name)
            self.model.lives[name] = self.model.lives.get(name, -1) + 1

    @rule(name=NAMES)
    def remove(self, name: str) -> None:
        if not self.can.takes_subsets:
            with pytest.raises(InvalidInput, match="always shows all"):
                self.ranker.remove("item 0")
        elif name not in self.model.items:
            with pytest.raises(InvalidInput, match="must be one of the ranker's items"):
                self.ranker.remove(name)
        else:
            self.ranker.remove(name)
            self.model.items.remove(name)

    @rule()
    def save_and_load(self) -> None:
        path = self.folder / "ranker.npz"
        self.ranker.save(path)
        loaded = Ranker.load(path, compiled=False)
        assert array_bytes(loaded.belief) == array_bytes(self.ranker.belief)
        self.ranker = loaded

    @invariant()
    def holds_what_the_model_holds(self) -> None:
        if not hasattr(self, "model"):
            return
        assert set(self.ranker.items) == set(self.model.items)
        assert self.ranker.learned == len(self.model.pages)
        if not hasattr(self.parts, "memory"):  # not made of parts; counts in its own way
            return
        examined, clicked = self.counts()
        for row in self.ranker.estimates():
            if row["examined"] is None:  # weights, not counts
                assert self.policy.startswith("ranked-exp3")
                continue
            life = row["item"], self.model.lives[row["item"]]
            assert row["examined"] == pytest.approx(examined.get(life, 0))
            if not self.can.needs_features:  # a model of features also estimates items never seen
                share = min(clicked.get(life, 0), row["examined"])  # estimated examinations may be fewer
                assert row["mean"] is None or row["mean"] * row["examined"] == pytest.approx(share)

    def counts(self) -> tuple[dict[Any, float], dict[Any, float]]:
        """The rules of each reading and memory once more, in plain Python."""
        examined: dict[Any, float] = {}
        clicked: dict[Any, float] = {}
        reading, memory = self.parts.reading, self.parts.memory
        kind = type(reading).__name__
        for age, (items, places) in zip(reversed(range(len(self.model.pages))), self.model.pages, strict=True):
            count = 1.0
            if hasattr(memory, "gamma"):
                count = memory.gamma**age
            elif hasattr(memory, "tau"):
                count = float(age < memory.tau)
            end, counting = len(items), places
            if kind == "ThroughFirstClick" and places:
                end = places[0]
            elif kind in ("ThroughLastClick", "UntilSatisfied") and places:
                end = places[-1]
            elif kind == "ThroughLastClick" and reading.none == "nothing":
                end = 0
            elif kind == "OnlyLastClick" and places:
                end, counting = places[-1], places[-1:]
            for place, life in enumerate(items[:end], 1):
                looks = 1 / place if hasattr(memory, "examination") else 1
                examined[life] = examined.get(life, 0) + count * looks
                clicked[life] = clicked.get(life, 0) + count * (place in counting)
        return examined, clicked


@pytest.mark.slow
@pytest.mark.parametrize("policy", ONE_OF_A_KIND)
def test_every_kind_of_policy_agrees_with_the_model(policy: str) -> None:
    machine = type(f"Machine of {policy}", (Machine,), {"policy": policy})
    run_state_machine_as_test(machine, settings=settings(max_examples=4, stateful_step_count=40, deadline=None))
