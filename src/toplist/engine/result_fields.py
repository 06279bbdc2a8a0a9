"""Checks the fields of results and comparisons, and takes copies of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from toplist.core.problem import float_array, refuse
from toplist.core.slate import Floats, Ints


def checked_checkpoints(given: Any) -> Ints:
    """Checkpoints as a read-only copy."""
    try:
        steps = np.array(given)
    except ValueError:  # rows of different lengths
        steps = np.empty(0)
    fine = steps.ndim == 1 and steps.size > 0 and steps.dtype.kind in "iu"
    if fine:
        steps = steps.astype(np.int64)
        fine = bool(steps[0] >= 1 and (np.diff(steps) > 0).all())
    if not fine:
        accepted = "ascending whole numbers of at least 1"
        raise refuse("checkpoints", given, accepted, "give the steps at which the curves were recorded")
    steps.flags.writeable = False
    return steps


def checked_curves(what: str, given: Any, checkpoints: int) -> dict[str, Floats]:
    """Curves of every policy as read-only copies."""
    if not isinstance(given, Mapping) or not given or not all(isinstance(name, str) for name in given):
        raise refuse(what, given, "a dict from the name of each policy to its curves", "name at least one policy")
    curves = {}
    for name, values in given.items():
        label, shape = f"{what}[{name!r}]", f"an array of shape (runs, {checkpoints})"
        advice = "give one row per run and one column per checkpoint"
        try:
            array = np.array(values, dtype=np.float64)
        except (TypeError, ValueError):
            raise refuse(label, values, shape, advice) from None
        if array.ndim != 2 or not len(array) or array.shape[1] != checkpoints:
            raise refuse(f"the shape of {label}", array.shape, f"(runs, {checkpoints})", advice)
        if not np.isfinite(array).all():
            raise refuse(label, values, "finite throughout", "leave out unfinished runs")
        array.flags.writeable = False
        curves[name] = array
    return curves


def checked_runs(what: str, given: Any) -> Floats:
    """Regret of each run as a read-only copy."""
    runs = float_array(given)
    if runs.ndim != 1 or runs.size == 0 or not np.isfinite(runs).all():
        raise refuse(what, given, "one finite number per run, of at least one", "leave out unfinished runs")
    runs.flags.writeable = False
    return runs


def checked_settings(settings: Any) -> dict[str, Any]:
    """Settings as JSON reads them back, so that a saved result equals the one in memory."""
    try:
        if not isinstance(settings, Mapping):
            raise TypeError("it is not a dict")
        text = json.dumps(dict(settings), allow_nan=False, default=lambda value: value.tolist())  # NumPy's values
    except (AttributeError, TypeError, ValueError, RecursionError) as problem:
        advice = f"give texts, finite numbers, lists and dicts ({problem})"
        raise refuse("settings", settings, "a dict that JSON can hold", advice) from None
    plain: dict[str, Any] = json.loads(text)
    return plain
