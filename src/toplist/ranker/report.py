"""What a ranker thinks of its items and why it showed them, as tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from toplist.protocols import Assessment
from toplist.ranker.shown import Shown
from toplist.slate import Floats, Request, Slate
from toplist.tables import Table, counted

NORMAL_95 = 1.959963984540054  # the standard normal distribution has 95% between minus and plus this

ESTIMATES = ("item", "examined", "mean", "low", "high", "index")
REASONS = ("position", "item", "examined", "mean", "bonus", "index", "why")


def wilson_interval(examined: Floats, mean: Floats) -> tuple[Floats, Floats]:
    """Wilson's score interval for a share, at 95%; 0 to 1 for what was never examined.

    >>> low, high = wilson_interval(np.array([10.0]), np.array([0.2]))
    >>> round(float(low[0]), 3), round(float(high[0]), 3)
    (0.057, 0.51)
    """
    tries = np.where(examined > 0.0, examined, 1.0)
    square = NORMAL_95**2
    middle = (mean + square / (2.0 * tries)) / (1.0 + square / tries)
    half = NORMAL_95 / (1.0 + square / tries) * np.sqrt(mean * (1.0 - mean) / tries + square / (4.0 * tries**2))
    never = ~(examined > 0.0)
    return np.where(never, 0.0, np.maximum(middle - half, 0.0)), np.where(never, 1.0, np.minimum(middle + half, 1.0))


def assessed(policy: Any, belief: Any, request: Request, place: int | None) -> Assessment:
    """The policy's assessment of the candidates; nan throughout where it gives none."""
    if hasattr(policy, "assess"):
        assessment: Assessment = policy.assess(belief, request, place)
        return assessment
    unknown = np.full(len(request.candidates), np.nan)
    return Assessment(unknown, unknown, unknown)


def estimates(names: Sequence[str], assessment: Assessment, learned: int) -> Table:
    """One row per item, the largest index first."""
    low, high = wilson_interval(assessment.examined, assessment.mean)
    columns = (assessment.examined, assessment.mean, low, high, assessment.index)
    rows = [
        (name, *(_known(value) for value in values))
        for name, *values in zip(names, *(column.tolist() for column in columns), strict=True)
    ]
    rows.sort(key=lambda row: (_descending(row[5]), _descending(row[2]), row[0]))
    title = f"{counted(len(rows), 'item')}, {counted(learned, 'list')} learned; low and high hold 95%"
    return Table(title, ESTIMATES, rows)


def reasons(
    shown: Shown, slate: Slate, policy: Any, belief: Any, request: Request, names: Sequence[str | None], learned: int
) -> Table:
    """One row per position of a list."""
    candidates = np.union1d(request.candidates, slate.items[: len(shown)])
    rows = []
    for place, item in enumerate(shown.items):
        slot = int(slate.items[place])
        everybody = assessed(policy, belief, request._replace(candidates=candidates), place)
        here = int(np.searchsorted(candidates, slot))
        columns = (everybody.examined, everybody.mean, everybody.index)
        examined, mean, index = (_known(float(column[here])) for column in columns)
        bonus = index - mean if index is not None and mean is not None and not everybody.drawn else None
        if names[slot] != item:
            examined = mean = bonus = index = None
            why = "removed since"
        elif shown.origin == "adopted":
            why = "somebody else's choice"
        elif place + 1 in shown.pinned:
            why = "pinned here by the caller"
        elif hasattr(policy, "proposed") and policy.proposed(slate, place) != slot:
            wanted = names[policy.proposed(slate, place)]
            why = f"drawn at random, since {wanted!r}, which this position wanted, stood above already"
        else:
            why = _reason(everybody, here, told=hasattr(policy, "assess"))
        rows.append((place + 1, item, examined, mean, bonus, index, why))
    since = learned - shown.learned_before
    moment = f"; numbers of now, {counted(since, 'list')} later" if since > 0 else ""
    return Table(f"List {shown.number} of {shown.ranker}{moment}", REASONS, rows)


def _reason(everybody: Assessment, here: int, told: bool) -> str:
    """Why the policy put one of the candidates there."""
    index = float(everybody.index[here])
    if math.isnan(index):
        return "drawn by chance" if told else "as the policy has it, which gives no reasons"
    if everybody.drawn:
        return "drawn with the index as probability"
    if math.isinf(index):
        return "never examined, so it goes before everything that was"
    return f"index number {int((everybody.index > index).sum()) + 1} of {len(everybody.index)} eligible"


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value


def _descending(value: float | None) -> float:
    return math.inf if value is None else -value
