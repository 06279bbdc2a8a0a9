"""One policy in one run: set up, played step by step, saved and restored."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from toplist.core.beliefs import all_arrays, copy_arrays, named_arrays
from toplist.core.compiling import COMPILE_ERRORS, DoesNotCompile, can_link, direct, explain_compile_error, plain
from toplist.core.problem import InvalidInput, Problem
from toplist.core.protocols.kinds import expect_kind
from toplist.core.randomness import branch
from toplist.core.slate import Ints, Request, empty_page
from toplist.engine.linked_environment import EnvironmentLink
from toplist.engine.play import Environment, Run, changes_key, play_compiled, sample_every_item_compiled

SHORT = 40_000  # lists times items: plain Python plays them in less time than the compiler takes
FEW = 10_000  # samples of all runs: plain Python gives them in less time than the compiler takes
SMALL = 1 << 20  # bytes of state: copying them back is cheaper than making them again


class RunSetup(NamedTuple):
    """Policy, world, users and start, checked and prepared: the same for every run of a policy."""

    policy: Any
    world: Any
    users: Any
    start: Any
    problem: Problem
    compiled: bool = True  # how `simulate` plays its runs
    samples_compiled: bool = True  # and how it gives the samples before step 1

    @classmethod
    def of(cls, policy: Any, world: Any, users: Any, start: Any, steps: int | None) -> RunSetup:
        """Check the parts and prepare each one for the problem."""
        for kind, part in (("world", world), ("users", users), ("start", start)):
            expect_kind(f"The {kind}", part, kind)
        world = world.checked()
        problem = world.problem(steps)
        setup = cls(policy.prepare(problem), world, users.prepare(problem), start.prepare(problem), problem)
        if setup.start.places(problem) > 0 and not setup.policy.capabilities().takes_pins:
            raise InvalidInput(
                f"{type(start).__name__} forces items to be shown, but this policy takes no pins; use OneSample()."
            )
        if hasattr(world, "passing") and world.passing():
            setup._check_passing()
        return setup

    def _check_passing(self) -> None:
        """Items come and go in this world: refuse policies and starts that could show absent ones."""
        able = self.policy.capabilities()
        if not able.takes_subsets and not able.needs_simulator:
            raise InvalidInput(
                "Items come and go in this world, but this policy always chooses among all; "
                "use one that takes subsets, like cascade-kl-ucb."
            )
        if self.start.places(self.problem) > 0:
            raise InvalidInput(
                f"{type(self.start).__name__} forces items to be shown, but in this world they may be absent; "
                f"use OneSample()."
            )

    def on_gpu(self) -> RunSetup:
        """The same for runs on a GPU: parts that have another form for it, which makes the same lists, are replaced."""
        return self._replace(policy=form_for_gpu(self.policy, self.problem))

    def is_worth_compiling(self, lists: int) -> bool:
        """Whether this number of lists is played faster by waiting for the compiler."""
        return self._has_own_parts() or lists * self.problem.items > SHORT

    def are_samples_worth_compiling(self, runs: int) -> bool:
        """Whether the samples before step 1 are given faster by waiting for the compiler, in this number of runs."""
        return self._has_own_parts() or runs * self.sampled_positions() * self.problem.items > FEW

    def sampled_positions(self) -> int:
        """Number of positions at which the policy gets a sample of every item before step 1."""
        if not self.start.sampled():
            return 0
        samples = self.policy.capabilities().samples
        return {"item": 1, "item and place": self.problem.positions, "nothing": 0}[samples]

    def _has_own_parts(self) -> bool:
        """Whether a part is not toplist's: then all is compiled, so that a short simulation shows compile errors."""
        waiting: list[Any] = [self.policy, self.world, self.users, self.start]
        while waiting:
            part = waiting.pop()
            if hasattr(part, "_fields"):
                if type(part).__module__.partition(".")[0] != "toplist":
                    return True
                waiting.extend(part)
        return False

    def has_breakpoints(self) -> bool:
        """Whether the world tells when it changes abruptly."""
        return hasattr(self.world, "breakpoints") and self.problem.steps is not None

    def breakpoints(self, key: int) -> list[int]:
        """Steps after which the world changed abruptly in the run of this key; empty if the world reports none."""
        if not self.has_breakpoints():
            return []
        steps: list[int] = self.world.breakpoints(changes_key(request_key(key)), self.problem.steps).tolist()
        return steps


def form_for_gpu(part: Any, problem: Problem) -> Any:
    """A part in the form for a GPU, or made of parts that are."""
    if hasattr(part, "on_gpu"):
        return part.on_gpu(problem)
    return part._make(form_for_gpu(field, problem) for field in part) if hasattr(part, "_fields") else part


def request_key(key: int) -> int:
    """Key of a run's requests, from the key of the run."""
    return branch(key, 0)


class Player:
    """A policy at work in one run; it owns its arrays, so players may run in parallel threads."""

    def __init__(
        self,
        setup: RunSetup,
        key: int,
        checkpoints: Ints,
        labels: Ints | None = None,
        compiled: bool = True,
        columns: int = 2,
    ) -> None:
        problem = setup.problem
        items, positions = problem.items, problem.positions
        moment = setup.world.begin()
        request = Request(
            candidates=np.arange(items),
            positions=positions,
            pins=np.full(setup.start.places(problem), -1, dtype=np.int64),
            order=setup.world.order(moment),
            features=setup.world.features(moment),
            edition=0,
            labels=np.arange(items) if labels is None else labels,
            key=request_key(key),
        )
        self.step = 0
        self.setup = setup
        self.users = copy_arrays(setup.users)  # users may hold scratch arrays, and a setup is shared by threads
        self.run = Run(
            moment=moment,
            slate=setup.policy.slate(problem),
            page=empty_page(positions),
            request=request,
            attraction=np.zeros(positions),
            best_items=np.arange(positions),
            totals=np.zeros(3),
            checkpoints=checkpoints,
            curves=np.zeros((len(checkpoints), columns)),
        )
        with_best_list = getattr(setup.policy, "with_best_list", None)
        self.policy = setup.policy if with_best_list is None else with_best_list(self.run.best_items)
        self.belief = self.policy.begin(problem)
        self.cache = self._scratch()
        self._play: Any = play_compiled if compiled else plain(play_compiled)
        self._samples_compiled = compiled and setup.samples_compiled
        self._sample: Any = sample_every_item_compiled if self._samples_compiled else plain(sample_every_item_compiled)
        self._sampled_positions = setup.sampled_positions()
        self._is_linked = compiled and can_link()
        self._link: EnvironmentLink | None = None
        self._linked_run: Run | None = None
        self._detects = self.policy.capabilities().detects
        self._fresh: list[tuple[Any, Any]] | None = None  # arrays, and copies of them before the first step
        self._is_direct = False  # whether the machine code is called without checking types

    def keep_fresh(self) -> None:
        """Copy the state before the first step, so that `restart` can begin another run with the same arrays.

        A large state, or one that is not made of arrays only, is not copied.
        """
        run = self.run
        arrays = all_arrays(
            (self.users, run.moment, run.slate, run.page, run.request.candidates, run.request.pins, run.attraction,
             run.best_items, run.totals, run.curves, self.belief, self.cache)
        )  # fmt: skip
        if arrays is not None and sum(array.nbytes for array in arrays) <= SMALL:
            self._fresh = [(array, array.copy()) for array in arrays if array.size > 0 and array.flags.writeable]

    def restart(self, key: int) -> bool:
        """Begin the run of another key with the same arrays, after a run that was played; False if that cannot be."""
        if self._fresh is None:
            return False
        for array, fresh in self._fresh:
            array[...] = fresh
        self.step = 0
        self.run = self.run._replace(request=self.run.request._replace(key=request_key(key)))
        self._linked_run = None
        if not self._is_direct:  # types are those of the run before
            self._play = direct(self._play, *self._play_arguments(), 0, 0)
            if self._sampled_positions > 0:
                self._sample = direct(self._sample, *self._sample_arguments())
            self._is_direct = True
        return True

    def _scratch(self) -> Any:
        """An empty cache, of a type for this number of items: code for more items need not be compiled."""
        return self.policy.scratch(self.setup.problem._replace(grows=False))

    def _play_arguments(self) -> tuple[Any, ...]:
        environment, run = self._environment_and_run(self._is_linked)
        return self.policy, self.belief, self.cache, environment, self.setup.start, run

    def _sample_arguments(self) -> tuple[Any, ...]:
        environment, run = self._environment_and_run(self._is_linked and self._samples_compiled)
        return self.policy, self.belief, environment, self._sampled_positions, run

    def _environment_and_run(self, linked: bool) -> tuple[Any, Run]:
        """World and users, and the run; `linked` to machine code of their own, the policy is compiled without them."""
        if not linked:
            return Environment(self.setup.world, self.users), self.run
        if self._link is None:
            environment = Environment(self.setup.world, self.users)
            self._link = EnvironmentLink(environment, self.run, self._sampled_positions > 0)
        if self._linked_run is None:
            self._linked_run = self.run._replace(moment=())  # whose type would differ from world to world
        return self._link.environment, self._linked_run

    def play(self, until: int) -> None:
        """Continue until `until` steps are played in all."""
        try:
            if self.step == 0 and until > 0 and self._sampled_positions > 0:  # else it would be compiled for nothing
                self._call(self._sample, *self._sample_arguments())
            self._call(self._play, *self._play_arguments(), self.step, until)
        except COMPILE_ERRORS as error:
            raise self.does_not_compile(error) from None
        self.step = until

    def does_not_compile(self, error: Exception) -> DoesNotCompile:
        """A compile error of numba, explained in one sentence."""
        parts = self.policy, self.belief, self.cache, *self.setup[1:4]
        return DoesNotCompile(explain_compile_error(error, *parts))

    def _call(self, function: Any, *arguments: Any) -> None:
        """Call the code for arguments of these types; numba itself takes classes of one name and equal fields for one.

        So it would play a policy that was edited in a notebook as it was before.
        """
        (function if self._is_direct else direct(function, *arguments))(*arguments)

    def detections(self) -> list[int]:
        """Steps at which the policy has detected a change, ascending."""
        if not self._detects:
            return []
        return sorted({change.learned for change in self.policy.changes(self.belief)})

    def state_arrays(self) -> dict[str, Any]:
        """Everything needed to continue later, as arrays by name; the cache is not part of it."""
        arrays = named_arrays("belief", self.belief) | named_arrays("moment", self.run.moment)
        arrays |= {"best_items": self.run.best_items, "totals": self.run.totals, "curves": self.run.curves}
        return arrays | {"step": np.array(self.step)}

    def restore(self, arrays: dict[str, Any]) -> None:
        """Continue from the arrays of `state_arrays` as if there had been no interruption."""
        self.step = int(arrays["step"])
        for name, value in self.state_arrays().items():
            if name != "step":
                value[...] = arrays[name]
        self.cache = self._scratch()
