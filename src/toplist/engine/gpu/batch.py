"""The loop for many runs at once: where the arrays of each run lie, and the function that plays one of them.

The 32 threads of a warp play 32 runs in step, so in memory each word of a run lies beside the same word of 31 others.
Shapes are constants of the compiled code: of a run, a thread needs nothing but its number.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from toplist.core.beliefs import filled_arrays, nested_values
from toplist.core.slate import Ints
from toplist.engine.play import Run, play_one_run
from toplist.engine.player import Player

LANES = 32  # runs that lie beside each other: a tile
WORD = 8  # bytes; smaller elements take a word each


class Arguments(NamedTuple):
    """The arguments of `play` before the steps."""

    policy: Any
    belief: Any
    cache: Any
    world: Any
    users: Any
    start: Any
    run: Run


class Batch(NamedTuple):
    """What a launch plays; arrays lie on a device."""

    shared: Arguments  # with 0 in place of each array that is a run's own
    curves: Any  # (runs, checkpoints, columns)
    kept: Any  # (tiles, words, LANES): all else that outlives an interruption
    scratch: Any  # likewise: the caches
    keys: Any  # per run, of its requests
    played: Any  # per run, the steps that were played


class ArrayPlace(NamedTuple):
    """Where an array of a run lies in a memory of tiles."""

    memory: str  # a field of `Batch`
    words: int  # of each run in this memory
    first: int  # word
    array: Any  # the player's

    def view(self, memory: Any, at: int) -> Any:
        """The array of a run, in a memory on the host."""
        tile, lane = divmod(at, LANES)
        strides = [step // self.array.itemsize * WORD * LANES for step in self.array.strides]
        begin = ((tile * self.words + self.first) * LANES + lane) * WORD
        return np.ndarray(self.array.shape, self.array.dtype, memory, begin, strides)


class HostMemory:
    """Has those methods of a device that put arrays into its memory."""

    def put(self, array: Any) -> Any:
        """Copy an array."""
        return np.array(array)

    def repeat(self, array: Any, times: int) -> Any:
        """Copy an array several times, along a new first axis."""
        return np.repeat(array[None], times, axis=0)


class BatchLayout:
    """Where a run's own arrays lie; the player is one of any run before its first step, and `load` fills its arrays."""

    def __init__(self, player: Player) -> None:
        self.player, setup, run = player, player.setup, player.run
        self._model = Arguments(player.policy, player.belief, player.cache, setup.world, player.users, setup.start, run)
        shared = [setup.world, setup.start, setup.policy, run.request.labels, run.checkpoints, run.curves]
        if any(array is run.request.features for array in filled_arrays(setup.world)):  # they are the same in all runs
            asked = run.request._replace(edition=setup.world.revision(run.moment))
            shared += [
                each.lay_out_once(asked) for each in nested_values(player.cache) if hasattr(each, "lay_out_once")
            ]
        known = {id(array) for array in filled_arrays(shared)}
        self.places: dict[int, ArrayPlace] = {}
        self._blanks: dict[str, Any] = {}  # a tile of runs before their first step
        for memory, part in (("kept", [player.belief, player.users, run]), ("scratch", player.cache)):
            found = {id(array): array for array in filled_arrays(part) if id(array) not in known}
            known |= found.keys()
            ends = np.cumsum([0, *(array.size for array in found.values())])
            words = max(1, int(ends[-1]))
            self._blanks[memory] = np.zeros((words, LANES), dtype=np.int64)
            for (name, array), first in zip(found.items(), ends.tolist(), strict=False):
                self.places[name] = place = ArrayPlace(memory, words, first, array)
                for lane in range(LANES):
                    place.view(self._blanks[memory], lane)[...] = array
        self._kept = [place for place in self.places.values() if place.memory == "kept"]
        self._classes: list[type] = []
        self._fixed: list[Any] = []  # arrays that all runs share
        self._source = self._write_source()
        arrays = [*(place.array for place in self.places.values()), *self._fixed]
        forms = [(array.shape, array.dtype.str) for array in arrays]
        self.key = f"{self._source} {self._classes} {forms}"  # runs of equal keys and types share a kernel

    def run_bytes(self) -> int:
        """Bytes of memory that each run takes."""
        return 16 + int(self.player.run.curves.nbytes) + sum(WORD * len(tile) for tile in self._blanks.values())

    def function(self, arrays: Any) -> Any:
        """The function of a batch's arrays, a run's number, sampled positions and a step: plays the run until there.

        `arrays` makes the functions by which it reaches arrays: `take`, `give` and `fixed`, as in `CudaArrays`.
        """
        names: dict[str, Any] = {f"class_{number}": cls for number, cls in enumerate(self._classes)}
        names |= {f"fixed_{number}": arrays.fixed(array) for number, array in enumerate(self._fixed)}
        for number, place in enumerate(self.places.values()):
            names |= {f"take_{number}": arrays.take(place), f"give_{number}": arrays.give(place)}
        exec(self._source, names | {"play_one_run": play_one_run}, made := {})  # type: ignore[var-annotated]
        return made["play_run"]

    def batch(self, keys: list[int], begun: Ints, device: Any) -> Batch:
        """Runs with these request keys and steps, on a device."""

        def put(value: Any) -> Any:
            if hasattr(value, "_fields"):
                return value._make(put(field) for field in value)
            if not isinstance(value, np.ndarray):
                return value
            return 0 if id(value) in self.places or value is self._model.run.curves else device.put(value)

        curves = device.repeat(np.zeros_like(self._model.run.curves), len(keys))
        kept, scratch = (device.repeat(tile, -(-len(keys) // LANES)) for tile in self._blanks.values())
        return Batch(put(self._model), curves, kept, scratch, device.put(np.array(keys)), device.put(begun))

    def examples(self) -> tuple[Any, ...]:
        """Arguments of a kernel, on the host, of the types that those of a batch have."""
        few = self.batch([0] * LANES, np.zeros(LANES, dtype=np.int64), HostMemory())
        return (*few.shared, *few[1:], 0, 0)

    def restore(self, batch: Batch, unfinished: dict[int, dict[str, Any]], device: Any) -> None:
        """Let runs of a batch continue from snapshots."""
        kept, curves = device.fetch(batch.kept), device.fetch(batch.curves)
        for at, snapshot in unfinished.items():
            self.load(self._blanks["kept"], np.zeros_like(curves[:1]), 0, 0).restore(snapshot)
            for place in self._kept:
                place.view(kept, at)[...] = place.array
            curves[at] = self.player.run.curves
        device.overwrite(batch.kept, kept)
        device.overwrite(batch.curves, curves)

    def load(self, kept: Any, curves: Any, at: int, step: int) -> Player:
        """The player, in the state of a run of a batch that was fetched."""
        for place in self._kept:
            place.array[...] = place.view(kept, at)
        self.player.run.curves[...] = curves[at]
        self.player.step = step
        return self.player

    def _write_source(self) -> str:
        """The source of the function that plays one run of a batch."""
        arguments = [self._expression(value, name) for name, value in self._model._asdict().items()]
        memories = [place.memory for place in self.places.values()]
        lines = [f"own_{number} = take_{number}({memory}, at)" for number, memory in enumerate(memories)]
        lines += [f"play_one_run(({', '.join(arguments)}), played, at, sampled_positions, until)"]
        lines += [f"give_{number}(own_{number}, {memory}, at)" for number, memory in enumerate(memories)]
        names = [*Arguments._fields, *Batch._fields[1:], "at", "sampled_positions", "until"]
        return "\n    ".join([f"def play_run({', '.join(names)}):", *lines])

    def _expression(self, value: Any, path: str) -> str:
        """The value of one run, from the place of the batch's in the arguments."""
        if id(value) in self.places:
            return f"own_{list(self.places).index(id(value))}"
        if path == "run.request.key":
            return "keys[at]"
        if value is self._model.run.curves:
            return "curves[at]"
        if isinstance(value, np.ndarray) and value is not self._model.run.checkpoints:  # of any number of them
            self._fixed.append(value)
            return f"fixed_{len(self._fixed) - 1}({path})"
        if not hasattr(value, "_fields"):
            return path
        fields = [self._expression(field, f"{path}.{name}") for name, field in zip(value._fields, value, strict=True)]
        if all(field == f"{path}.{name}" for name, field in zip(value._fields, fields, strict=True)):
            return path
        if type(value) not in self._classes:
            self._classes.append(type(value))
        return f"class_{self._classes.index(type(value))}({', '.join(fields)},)"
