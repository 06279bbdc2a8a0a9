"""A file that keeps what was played, so that an interrupted simulation goes on where it stopped."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
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
from toplist.support.part_json import as_plain

FORMAT = "toplist simulation 1"
FILE_LABEL = "The file to resume from"
PAUSE = 10.0  # times as long as writing took, before it is written again: a large file must not be written all the time


class ResumeFile:
    """Curves of finished runs and the state of unfinished ones, in one file of arrays; or nothing, without a path.

    The file is replaced as a whole, so that a killed process leaves the last complete one behind.
    """

    def __init__(self, path: AnyPath | None, description: dict[str, Any]) -> None:
        self._path = None if path is None else Path(path)
        self._description = description
        self._finished: dict[tuple[str, int], Floats] = {}
        self._detections: dict[tuple[str, int], Ints] = {}
        self._unfinished: dict[tuple[str, int], dict[str, Any]] = {}
        self._saved_at = time.monotonic()
        self._pause = 0.0
        self._changed = False
        if self._path is not None:
            check_writable(self._path, FILE_LABEL, suffixes=(".npz",))
            if self._path.exists():
                self._take(self._load(self._path))

    @property
    def keeps(self) -> bool:
        """Whether there is a file at all."""
        return self._path is not None

    def finished(self, label: str, run: int) -> Floats | None:
        """The curves of a run that was played to its end."""
        return self._finished.get((label, run))

    def detections(self, label: str, run: int) -> list[int]:
        """At which steps of a finished run the policy found a change."""
        found: list[int] = self._detections[label, run].tolist() if (label, run) in self._detections else []
        return found

    def unfinished(self, label: str, run: int) -> dict[str, Any] | None:
        """What was put aside of a run that was not."""
        return self._unfinished.get((label, run))

    def keep_finished(self, label: str, run: int, curves: Floats, detections: list[int]) -> None:
        """Remember a finished run, and forget that it ever was unfinished."""
        self._unfinished.pop((label, run), None)
        self._finished[label, run] = curves
        if detections:
            self._detections[label, run] = np.array(detections)
        self._changed = True

    def keep_unfinished(self, label: str, run: int, kept: dict[str, Any]) -> None:
        """Remember an unfinished run."""
        self._unfinished[label, run] = kept
        self._changed = True

    def save(self, patient: bool = False) -> None:
        """Write the file, unless nothing changed; who is `patient` does not spend all the time on writing."""
        begun = time.monotonic()
        if self._path is None or not self._changed or (patient and begun - self._saved_at < self._pause):
            return
        arrays: dict[str, Any] = {f"finished/{label}/{run}": curves for (label, run), curves in self._finished.items()}
        arrays |= {f"detections/{label}/{run}": found for (label, run), found in self._detections.items()}
        for (label, run), kept in self._unfinished.items():
            arrays |= {f"unfinished/{label}/{run}/{name}": value for name, value in kept.items()}
        write_arrays(self._path, FILE_LABEL, self._description, arrays)
        self._saved_at, self._changed = time.monotonic(), False
        self._pause = PAUSE * (self._saved_at - begun)

    def _take(self, arrays: dict[str, Any]) -> None:
        for key, value in arrays.items():
            kind, _, rest = key.partition("/")
            if kind in ("finished", "detections"):
                label, run = rest.rsplit("/", 1)
                (self._finished if kind == "finished" else self._detections)[label, int(run)] = value
            else:
                label, run, name = rest.rsplit("/", 2)
                self._unfinished.setdefault((label, int(run)), {})[name] = value

    def _load(self, path: Path) -> dict[str, Any]:
        found, arrays = read_arrays(path, FILE_LABEL, "a simulation")
        differing = [key for key, value in self._description.items() if found.get(key) != value]
        if differing == ["code"]:
            raise InvalidInput(
                f"{path} was played by other code: a part, or toplist itself, has changed since; "
                f"name another file or remove it."
            )
        if differing:
            key = differing[0]
            there, here = found.get(key), self._description[key]
            if key == "policies" and isinstance(there, dict) and set(there) != set(here):
                there, here = list(there), list(here)
            raise InvalidInput(
                f"{path} keeps a simulation with {key} {_short(there)}, but this one has {_short(here)}; "
                f"name another file, or ask for the same simulation."
            )
        return arrays


def describe(settings: dict[str, RunSetup], checkpoints: Ints, seed: int, watch: Any = None) -> dict[str, Any]:
    """What must be equal for two simulations to be the same but for the number of runs.

    Where several things differ, the first is named; so what others follow from stands before them.
    """
    some = next(iter(settings.values()))
    played = [settings[label] for label in sorted(settings)]
    parts = [part for setting in played for part in (setting.policy, setting.world, setting.users)]
    description = {
        "format": FORMAT,
        "version": toplist.__version__,
        "steps": int(checkpoints[-1]),
        "policies": {label: as_plain(setting.policy) for label, setting in settings.items()},
        "world": as_plain(some.world),
        "users": as_plain(some.users),
        "start": as_plain(some.start),
        "seed": seed,
        "checkpoints": as_plain(checkpoints),
        "watch": None if watch is None else fingerprint(watch),
        "code": fingerprint(play, sample_every_item, *(cls for part in [*parts, some.start] for cls in _classes(part))),
    }
    plain: dict[str, Any] = json.loads(json.dumps(description))  # as it will be read again
    return plain


def _classes(part: Any) -> Iterator[type]:
    """The classes of a part and of the parts it is made of."""
    if isinstance(part, tuple | list):
        yield type(part)
        for field in part:
            yield from _classes(field)


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 80 else text[:77] + "..."
