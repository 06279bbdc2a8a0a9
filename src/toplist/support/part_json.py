"""Parts to and from JSON: a part is its class and its fields."""

from __future__ import annotations

import hashlib
import importlib
from typing import Any

import numpy as np

from toplist.core.problem import InvalidInput

_CLASS = "part"
_LONG = 64  # elements; a longer array is described by its digest
# Files name a part by the module it had in version 0.1, so that moving code never changes them: (code, file).
_SAVED_AS = (("toplist.policies.fixed_list", "toplist.policies.yardsticks"), ("toplist.parts", "toplist"))
# The only ones that are imported:
_SAVED_FOLDERS = ("arrange", "detectors", "feedback", "forced_turns", "index", "memory", "policies")


def saved_module(module: str) -> str:
    """Name of a module in files.

    >>> saved_module("toplist.parts.index.ucb1")
    'toplist.index.ucb1'
    """
    for code, file in _SAVED_AS:
        if module == code or module.startswith(f"{code}."):
            return file + module.removeprefix(code)
    return module


def _code_module(saved: str) -> str:
    """Name in the code of a module that a file names."""
    for code, file in _SAVED_AS[:-1]:
        if saved == file:
            return code
    return saved if saved.startswith("toplist.policies") else "toplist.parts" + saved.removeprefix("toplist")


def _head(part: Any) -> dict[str, str]:
    """The class of a part."""
    return {_CLASS: f"{saved_module(type(part).__module__)}.{type(part).__qualname__}"}


def as_plain(value: Any) -> Any:
    """A part, array or plain value as JSON can hold it.

    >>> from toplist.parts.index import UCB1
    >>> as_plain(UCB1(scale=2.0))
    {'part': 'toplist.index.ucb1.UCB1', 'scale': 2.0}
    """
    if hasattr(value, "_asdict"):
        return _head(value) | {name: as_plain(field) for name, field in value._asdict().items()}
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, tuple | list):
        return [as_plain(element) for element in value]
    return value


def described(value: Any) -> Any:
    """A part, array or plain value as JSON, to compare but not to read back: a long array is given by its digest.

    >>> described(np.arange(3.0))
    [0.0, 1.0, 2.0]
    >>> described(np.zeros(1000))["array"]
    'float64 (1000,)'
    """
    if hasattr(value, "_asdict"):
        return _head(value) | {name: described(field) for name, field in value._asdict().items()}
    if isinstance(value, tuple | list):
        return [described(element) for element in value]
    if isinstance(value, np.ndarray) and max(value.size, *value.shape, 0) > _LONG and value.dtype != object:
        content = hashlib.sha256(value.tobytes())
        return {"array": f"{value.dtype} {value.shape}", "sha256": content.hexdigest()}
    return as_plain(value)


def from_plain(plain: Any) -> Any:
    """The part that `as_plain` described; only classes of toplist are imported.

    >>> from_plain({"part": "toplist.index.ucb1.UCB1", "scale": 2.0})
    UCB1(scale=2.0)
    """
    if isinstance(plain, list):
        return [from_plain(element) for element in plain]
    if not isinstance(plain, dict):
        return plain
    path = str(plain.get(_CLASS))
    module, _, name = path.rpartition(".")
    if module.split(".")[:1] != ["toplist"]:
        raise InvalidInput(
            f"The part {path} does not belong to toplist; give the policy that uses it, as "
            f"Ranker.load(path, policy=...)."
        )
    try:
        if not any(module.split(".")[1:2] == [folder] for folder in _SAVED_FOLDERS):
            raise ImportError("that module has no parts")
        code = _code_module(module)
        cls = getattr(importlib.import_module(code), name)
        if not (isinstance(cls, type) and issubclass(cls, tuple) and cls.__module__ == code):
            raise TypeError("it is not a part")
        return cls(**{field: from_plain(value) for field, value in plain.items() if field != _CLASS})
    except (ImportError, AttributeError, TypeError) as problem:
        raise InvalidInput(
            f"The part {path} is different or missing in this version of toplist ({problem}); "
            f"use the version that wrote it."
        ) from problem
