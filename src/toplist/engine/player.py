"""One policy in one run: sets it up, plays it on, and can be put aside and taken up again."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from toplist.core.beliefs import copied, named_arrays
from toplist.core.compiling import COMPILE_ERRORS, DoesNotCompile, explained, plain
from toplist.core.problem import InvalidInput, Problem, expect
from toplist.core.randomness import branch
from toplist.core.slate import Ints, Request, empty_page
from toplist.engine.play import Run, changes_key, play_compiled, sample_every_item_compiled


class RunSetup(NamedTuple):
    """What is simulated, checked and resolved: the same for every run of a policy."""

    policy: Any
    world: Any
    users: Any
    start: Any
    problem: Problem

    @classmethod
    def of(cls, policy: Any, world: Any, users: Any, start: Any, steps: int | None) -> RunSetup:
        """Let every part check its parameters and get ready."""
        expect("The world", world, ("checked", "problem", "begin", "advance", "attract"), "a world, like Fixed()")
        expect("The users", users, ("prepare", "click", "reward", "best"), "a click model, like Cascade() or DCM()")
        expect("The start", start, ("prepare", "sampled", "pin"), "OneSample(), Forced() or NeverSeenFirst()")
        world = world.checked()
        problem = world.problem(steps)
        setting = cls(policy.prepare(problem), world, users.prepare(problem), start.prepare(problem), problem)
        if setting.start.places(problem) > 0 and not setting.policy.capabilities().takes_pins:
            raise InvalidInput(
                f"{type(start).__name__} forces items to be shown, but this policy takes no pins; use OneSample()."
            )
        if hasattr(world, "passing") and world.passing():
            setting._check_passing()
        return setting

    def _check_passing(self) -> None:
        """Items come and go in this world: refuse what would show some that are not there."""
        able = self.policy.capabilities()
        if not able.takes_subsets and not able.needs_simulator:
            raise InvalidInput(
                "Items come and go in this world, but this policy always chooses among all; "
                "take one that takes subsets, like cascade-kl-ucb."
            )
        if self.start.places(self.problem) > 0:
            raise InvalidInput(
                f"{type(self.start).__name__} forces items to be shown, but in this world they may not be there; "
                f"use OneSample()."
            )

    def breakpoints(self, key: int) -> list[int]:
        """After how many steps the world changed abruptly in the run of this key; none where it does not tell."""
        if not hasattr(self.world, "breakpoints") or self.problem.steps is None:
            return []
        told: list[int] = self.world.breakpoints(changes_key(request_key(key)), self.problem.steps).tolist()
        return told


def request_key(key: int) -> int:
    """The key of a run's requests, from that of the run."""
    return branch(key, 0)


class Player:
    """A policy at work in one run. Its arrays are its own, so players may run in threads beside each other."""

    def __init__(
        self,
        setting: RunSetup,
        key: int,
        checkpoints: Ints,
        labels: Ints | None = None,
        compiled: bool = True,
        columns: int = 2,
    ) -> None:
        problem = setting.problem
        items, positions = problem.items, problem.positions
        moment = setting.world.begin()
        request = Request(
            candidates=np.arange(items),
            positions=positions,
            pins=np.full(setting.start.places(problem), -1, dtype=np.int64),
            order=setting.world.order(moment),
            features=setting.world.features(moment),
            edition=0,
            labels=np.arange(items) if labels is None else labels,
            key=request_key(key),
        )
        self.step = 0
        self.setting = setting
        self.users = copied(setting.users)  # which may hold arrays to work in, and a setting is shared by threads
        self.run = Run(
            moment=moment,
            slate=setting.policy.slate(problem),
            page=empty_page(positions),
            request=request,
            attraction=np.zeros(positions),
            best_items=np.arange(positions),
            totals=np.zeros(3),
            checkpoints=checkpoints,
            curves=np.zeros((len(checkpoints), columns)),
        )
        told = getattr(setting.policy, "told", None)
        self.policy = setting.policy if told is None else told(self.run.best_items)
        self.belief = self.policy.begin(problem)
        self.cache = self.policy.scratch(problem)
        self._play = play_compiled if compiled else plain(play_compiled)
        self._open = sample_every_item_compiled if compiled else plain(sample_every_item_compiled)

    def play(self, until: int) -> None:
        """Play on up to so many steps in all."""
        setting, run = self.setting, self.run
        world = setting.world
        try:
            if self.step == 0 and until > 0 and setting.start.sampled():
                samples = self.policy.capabilities().samples
                places = {"item": 1, "item and place": setting.problem.positions, "nothing": 0}[samples]
                if places > 0:  # else it would be compiled for nothing
                    self._open(self.policy, self.belief, world, places, run)
            self._play(self.policy, self.belief, self.cache, world, self.users, setting.start, run, self.step, until)
        except COMPILE_ERRORS as error:
            raise DoesNotCompile(explained(error, self.policy, self.belief, self.cache, *setting)) from None
        self.step = until

    def detections(self) -> list[int]:
        """At which steps so far the policy found that something had changed, ascending."""
        if not self.policy.capabilities().detects:
            return []
        return sorted({change.learned for change in self.policy.changes(self.belief)})

    def state_arrays(self) -> dict[str, Any]:
        """Everything that must be kept to go on later, as arrays by name. The cache is not among it."""
        kept = named_arrays("belief", self.belief) | named_arrays("moment", self.run.moment)
        kept |= {"best_items": self.run.best_items, "totals": self.run.totals, "curves": self.run.curves}
        return kept | {"step": np.array(self.step)}

    def restore(self, kept: dict[str, Any]) -> None:
        """Go on from what was put aside, as if there had been no break."""
        self.step = int(kept["step"])
        for name, value in self.state_arrays().items():
            if name != "step":
                value[...] = kept[name]
        self.cache = self.policy.scratch(self.setting.problem)
