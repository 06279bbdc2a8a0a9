"""The arguments of the loop for many runs at once: what differs from run to run gets an axis of runs."""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import Any, NamedTuple

import numpy as np

from toplist.engine.play import Run, play, sample_every_item
from toplist.engine.player import Player


class Arguments(NamedTuple):
    """The arguments of `play` before the steps; of one run, or of a batch of runs."""

    policy: Any
    belief: Any
    cache: Any
    world: Any
    users: Any
    start: Any
    run: Run

    @classmethod
    def of(cls, player: Player) -> Arguments:
        """Those of a player."""
        setup = player.setup
        return cls(player.policy, player.belief, player.cache, setup.world, player.users, setup.start, player.run)


class BatchLayout:
    """Which arrays of a run's arguments are its own, and how they are found in the arguments of a batch of runs.

    Parameters
    ----------
    player : Player
        A player before its first step, of any run. Its arrays are those that `load` fills.
    """

    def __init__(self, player: Player) -> None:
        self.player = player
        self._template = template = Arguments.of(player)
        run = template.run
        shared = [template.world, template.start, player.setup.policy, run.request.labels, run.checkpoints]
        of_all = {id(array) for part in shared for array in _arrays(part)}
        of_one = _arrays([template.belief, template.cache, template.users, run])
        # Arrays without elements stay as they are: the same empty one serves several fields.
        self._own = {id(array): array for array in of_one if array.size > 0 and id(array) not in of_all}
        self._caches = {id(array) for array in _arrays(template.cache)}
        self._fresh = [(array, array.copy()) for array in self._own.values()]
        writer = _ViewWriter(self._own)
        source = writer.source(template)
        self.key = f"{source} {writer.classes}"  # equal for runs that share a kernel, if all their types are equal
        self.view = writer.compile(source)  # view(*arguments of a batch, number): the arguments of one run

    def run_bytes(self) -> int:
        """Bytes of memory that each run takes."""
        return 16 + sum(int(array.nbytes) for array in self._own.values())

    def batch(self, keys: list[int], device: Any) -> Arguments:
        """The arguments of a batch of runs with these request keys, on a device."""
        made: dict[int, Any] = {}

        def put(value: Any) -> Any:
            if hasattr(value, "_fields"):
                return value._make(put(field) for field in value)
            if not isinstance(value, np.ndarray):
                return value
            if id(value) not in made:
                made[id(value)] = device.repeat(value, len(keys)) if id(value) in self._own else device.put(value)
            return made[id(value)]

        self._reset()
        batch: Arguments = put(self._template)
        request = batch.run.request._replace(key=device.put(np.array(keys, dtype=np.int64)))
        return batch._replace(run=batch.run._replace(request=request))

    def restore(self, batch: Arguments, at: int, unfinished: dict[str, Any], device: Any) -> None:
        """Let a run of a batch continue from a snapshot."""
        self._reset()
        self.player.restore(unfinished)
        for array, batched in self._kept(batch):
            device.overwrite(batched[at : at + 1], array[None])

    def fetch(self, batch: Arguments, device: Any) -> list[tuple[Any, Any]]:
        """Own arrays of the player, each with the rows of all runs of a batch; without caches."""
        return [(array, device.fetch(batched)) for array, batched in self._kept(batch)]

    def load(self, fetched: list[tuple[Any, Any]], at: int, step: int) -> Player:
        """The player, in the state of a run of a batch."""
        for array, rows in fetched:
            array[...] = rows[at]
        self.player.step = step
        return self.player

    def _reset(self) -> None:
        """Undo what `load` and `restore` did to the player's arrays."""
        for array, fresh in self._fresh:
            array[...] = fresh

    def _kept(self, batch: Arguments) -> list[tuple[Any, Any]]:
        """Own arrays without caches, each with the batch's."""
        request = batch.run.request._replace(key=0)  # as in the template; an array in the batch
        batch = batch._replace(run=batch.run._replace(request=request))
        pairs = zip(_arrays(self._template), _arrays(batch), strict=True)
        wanted = self._own.keys() - self._caches
        return list({id(own): (own, batched) for own, batched in pairs if id(own) in wanted}.values())


class _ViewWriter:
    """Writes the source of a function that takes one run's arguments out of those of a batch."""

    def __init__(self, own: Container[int]) -> None:
        self._own = own
        self.classes: list[type] = []

    def source(self, template: Arguments) -> str:
        fields = [self._expression(value, name) for name, value in template._asdict().items()]
        return f"def view({', '.join(template._fields)}, at):\n    return {', '.join(fields)}\n"

    def compile(self, source: str) -> Callable[..., tuple[Any, ...]]:
        names: dict[str, Any] = {f"class_{number}": cls for number, cls in enumerate(self.classes)}
        exec(source, names)
        view: Callable[..., tuple[Any, ...]] = names["view"]
        return view

    def _expression(self, value: Any, path: str) -> str:
        """The value of one run, from the place of the batch's in the arguments."""
        if path == "run.request.key" or id(value) in self._own:
            return f"{path}[at]"
        if not hasattr(value, "_fields"):
            return path
        fields = [self._expression(field, f"{path}.{name}") for name, field in zip(value._fields, value, strict=True)]
        if all(field == f"{path}.{name}" for name, field in zip(value._fields, fields, strict=True)):
            return path
        if type(value) not in self.classes:
            self.classes.append(type(value))
        return f"class_{self.classes.index(type(value))}({', '.join(fields)})"


def _arrays(value: Any) -> list[Any]:
    """All arrays of nested tuples, on the host or on a device."""
    if isinstance(value, tuple | list):
        return [array for field in value for array in _arrays(field)]
    return [value] if hasattr(value, "dtype") and hasattr(value, "strides") and value.ndim > 0 else []


def play_one_run(arguments: tuple[Any, ...], played: Any, at: int, sampled_positions: int, until: int) -> None:
    """Continue one run of a batch, given its own arguments, until `until` steps are played in all."""
    policy, belief, cache, world, users, start, run = arguments
    first = played[at]
    if first < until:  # runs that were begun earlier may be ahead of the others
        if first == 0 and sampled_positions > 0:
            sample_every_item(policy, belief, world, sampled_positions, run)
        play(policy, belief, cache, world, users, start, run, first, until)
        played[at] = until
