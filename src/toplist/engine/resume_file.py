"""The file from which an interrupted simulation continues: finished runs, and snapshots of unfinished ones."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import toplist
from toplist.core.compiling import fingerprint
from toplist.core.problem import InvalidInput
from toplist.core.slate import Floats, Ints
from toplist.engine.play import play, sample_every_item
from toplist.engine.player import RunSetup
from toplist.support.files import AnyPath, check_writable, read_arrays, write_arrays
from toplist.support.part_json import described

FORMAT = "toplist simulation 2"
FILE_LABEL = "The file to resume from"
PAUSE = 10.0  # times the last write's duration before the next write: a large file must not be written all the time


class ResumeFile:
    """Curves of finished runs and snapshots of unfinished ones, in one file of arrays; in memory only, without a path.

    The file is replaced as a whole, so that a killed process leaves the last complete one behind. The simulation is
    described only if there is a path: hashing its code can take longer than a short simulation.
    """

    def __init__(self, path: AnyPath | None, description: Callable[[], dict[str, Any]]) -> None:
        self._path = None if path is None else Path(path)
        self._description = {} if path is None else description()
        self._finished: dict[tuple[str, int], Floats] = {}
        self._detections: dict[tuple[str, int], Ints] = {}
        self._unfinished: dict[tuple[str, int], dict[str, Any]] = {}
        self._saved_at = time.monotonic()
        self._pause = 0.0
        self._changed = False
        if self._path is not None:
            check_writable(self._path, FILE_LABEL, suffixes=(".npz",))
            if self._path.exists():
                self._unpack(self._load(self._path))

    @property
    def has_path(self) -> bool:
        """Whether there is a file to save to."""
        return self._path is not None

    @property
    def digest(self) -> str:
        """A hash of everything that says which simulation this is; without a path it is always the same."""
        return hashlib.sha256(json.dumps(self._description, sort_keys=True).encode()).hexdigest()[:16]

    def finished(self, label: str, run: int) -> Floats | None:
        """Curves of a finished run."""
        return self._finished.get((label, run))

    def detections(self, label: str, run: int) -> list[int]:
        """Steps of a finished run at which the policy detected a change."""
        steps: list[int] = self._detections[label, run].tolist() if (label, run) in self._detections else []
        return steps

    def unfinished(self, label: str, run: int) -> dict[str, Any] | None:
        """Snapshot of an unfinished run."""
        return self._unfinished.get((label, run))

    def add_finished(self, label: str, run: int, curves: Floats, detections: list[int]) -> None:
        """Add a finished run and drop its snapshot."""
        self._unfinished.pop((label, run), None)
        self._finished[label, run] = curves
        if detections:
            self._detections[label, run] = np.array(detections)
        self._changed = True

    def add_unfinished(self, label: str, run: int, snapshot: dict[str, Any]) -> None:
        """Add the snapshot of an unfinished run."""
        self._unfinished[label, run] = snapshot
        self._changed = True

    def save(self, throttled: bool = False) -> None:
        """Write the file if something changed; `throttled`, only a fraction of the time is spent on writing."""
        begun = time.monotonic()
        if self._path is None or not self._changed or (throttled and begun - self._saved_at < self._pause):
            return
        arrays: dict[str, Any] = {f"finished/{label}/{run}": curves for (label, run), curves in self._finished.items()}
        arrays |= {f"detections/{label}/{run}": steps for (label, run), steps in self._detections.items()}
        for (label, run), snapshot in self._unfinished.items():
            arrays |= {f"unfinished/{label}/{run}/{name}": value for name, value in snapshot.items()}
        write_arrays(self._path, FILE_LABEL, self._description, arrays)
        self._saved_at, self._changed = time.monotonic(), False
        self._pause = PAUSE * (self._saved_at - begun)

    def _unpack(self, arrays: dict[str, Any]) -> None:
        """Read the names of the arrays as `save` writes them."""
        for full_name, value in arrays.items():
            kind, _, rest = full_name.partition("/")
            if kind in ("finished", "detections"):
                label, run = rest.rsplit("/", 1)
                (self._finished if kind == "finished" else self._detections)[label, int(run)] = value
            else:
                label, run, name = rest.rsplit("/", 2)
                self._unfinished.setdefault((label, int(run)), {})[name] = value

    def _load(self, path: Path) -> dict[str, Any]:
        """The arrays of the file, or the error that says how its simulation differs from this one."""
        saved, arrays = read_arrays(path, FILE_LABEL, "a simulation")
        differing = [name for name, value in self._description.items() if saved.get(name) != value]
        if differing == ["code"]:
            raise InvalidInput(
                f"{path} was played by other code: a part, or toplist itself, has changed since; "
                f"name another file or remove it."
            )
        if differing:
            name = differing[0]
            there, here = saved.get(name), self._description[name]
            if name == "policies" and isinstance(there, dict) and set(there) != set(here):
                there, here = list(there), list(here)
            raise InvalidInput(
                f"{path} holds a simulation with {name} {_short(there)}, but this one has {_short(here)}; "
                f"name another file, or ask for the same simulation."
            )
        return arrays


def describe(setups: dict[str, RunSetup], checkpoints: Ints, seed: int, watch: Any = None) -> dict[str, Any]:
    """Everything that must be equal for two simulations to be the same, apart from the number of runs.

    An error names the first difference, so causes stand before their consequences.
    """
    first = next(iter(setups.values()))
    ordered = [setups[label] for label in sorted(setups)]
    parts = [part for setup in ordered for part in (setup.policy, setup.world, setup.users)]
    classes = (cls for part in [*parts, first.start] for cls in classes_of(part))
    description = {
        "format": FORMAT,
        "version": toplist.__version__,
        "steps": int(checkpoints[-1]),
        "policies": {label: described(setup.policy) for label, setup in setups.items()},
        "world": described(first.world),
        "users": described(first.users),
        "start": described(first.start),
        "seed": seed,
        "checkpoints": described(checkpoints),
        "watch": None if watch is None else fingerprint(watch),
        "code": fingerprint(play, sample_every_item, *classes),
    }
    plain: dict[str, Any] = json.loads(json.dumps(description))  # as it reads back from the file
    return plain


def classes_of(part: Any) -> Iterator[type]:
    """Classes of a part and of its own parts."""
    if isinstance(part, tuple | list):
        yield type(part)
        for field in part:
            yield from classes_of(field)


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 80 else text[:77] + "..."
