"""Tables of what a ranker has learned about its items, and of why it showed them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from toplist.core.item_id import ItemId
from toplist.core.protocols import Assessment
from toplist.core.slate import Floats, Request
from toplist.ranker.estimate_rows import EstimateRows
from toplist.ranker.item_slots import ItemSlots
from toplist.ranker.shown import Shown
from toplist.support.intervals import NORMAL_95, wilson_interval
from toplist.support.tables import Table, count_text

ESTIMATES = ("item", "examined", "mean", "low", "high", "index")
PREFERENCES = ("feature", "weight", "deviation")
REASONS = ("position", "item", "examined", "mean", "bonus", "index", "why")


def confidence_intervals(assessment: Assessment) -> tuple[Floats, Floats]:
    """Ends of the 95% confidence interval of each mean."""
    if assessment.deviation is None:
        return wilson_interval(assessment.examined, assessment.mean)
    half = NORMAL_95 * assessment.deviation
    return assessment.mean - half, assessment.mean + half


def assess(policy: Any, belief: Any, request: Request, place: int | None) -> Assessment:
    """The policy's assessment of the candidates; all nan if it gives none."""
    if hasattr(policy, "assess"):
        assessment: Assessment = policy.assess(belief, request, place)
        return assessment
    unknown = np.full(len(request.candidates), np.nan)
    return Assessment(unknown, unknown, unknown)


def estimate_rows(names: Sequence[ItemId], assessment: Assessment) -> EstimateRows:
    """One row per item, the largest index first, or the largest mean if there is no index."""
    low, high = confidence_intervals(assessment)
    # Copies, since the rows are made when they are read, perhaps after more was learned.
    columns = [np.array(column) for column in (assessment.examined, assessment.mean, low, high, assessment.index)]
    return EstimateRows(names, columns)


def estimates(names: Sequence[ItemId], assessment: Assessment, learned: int) -> Table:
    """These rows as a table."""
    given = any(bool(np.isfinite(column).any()) for column in (assessment.examined, assessment.mean, assessment.index))
    note = "means as the policy reads clicks" if given or not names else "the policy gives no estimates"
    title = f"{count_text(len(names), 'item')}, {count_text(learned, 'list')} learned; {note}"
    return Table(title, ESTIMATES, estimate_rows(names, assessment))


def reasons(shown: Shown, policy: Any, belief: Any, request: Request, items: ItemSlots, learned: int) -> Table:
    """One row per position of a list; `request` has all items of the ranker."""
    slate = shown.slate
    slots = slate.items[: len(shown)].tolist()
    here = [slot if items.names[slot] == item else -1 for slot, item in zip(slots, shown.items, strict=True)]
    eligible = request.candidates
    if shown.among is not None:
        eligible = np.intersect1d(shown.among.eligible(), eligible, assume_unique=True)
    eligible = np.union1d(eligible, [slot for slot in here if slot >= 0]).astype(np.int64)
    one_by_one = hasattr(policy, "proposal")  # then each position has a belief of its own
    candidates = assess(policy, belief, request._replace(candidates=eligible), 0)
    rows: list[tuple[Any, ...]] = []
    for place, (item, slot) in enumerate(zip(shown.items, here, strict=True)):
        if slot < 0:
            gone = "removed and added again since" if item in items else "removed since"
            rows.append((place + 1, item, None, None, None, None, gone))
            continue
        if one_by_one:
            above = [other for other in here[:place] if other >= 0]
            left = np.setdiff1d(eligible, above)
            candidates = assess(policy, belief, request._replace(candidates=left), place)
        at = int(np.searchsorted(left if one_by_one else eligible, slot))
        alone = candidates if slate.rows.shape[1] == 0 else assess_row(policy, belief, request, slot, slate.rows[place])
        columns = (alone.examined, alone.mean, alone.index)
        examined, mean, index = (_none_if_nan(float(column[-1 if len(column) == 1 else at])) for column in columns)
        if shown.origin == "adopted":
            why = "adopted: the caller chose it"
        elif place + 1 in shown.pinned:
            why = "pinned here by the caller"
        elif one_by_one and policy.proposal(slate, place)[0] != slot:
            why = "drawn at random: the item proposed for this position stands above"
        elif candidates.drawn:
            index = policy.proposal(slate, place)[1]
            why = "drawn with the index as probability"
        else:
            why = _reason(candidates, at, hasattr(policy, "assess"), shown.among is not None, one_by_one)
            if policy.capabilities().covers_topics:
                why = f"adds most to those above: {_topics(slate.rows[place])}"
        bonus = index - mean if index is not None and mean is not None else None
        rows.append((place + 1, item, examined, mean, bonus, index, why))
    since = learned - shown.learned_before
    moment = f"; with current numbers, {count_text(since, 'list')} later" if since > 0 else ""
    return Table(f"List {shown.number} of {shown.ranker}{moment}", REASONS, rows)


def assess_row(policy: Any, belief: Any, request: Request, slot: int, row: Floats) -> Assessment:
    """The assessment of one item with the features it was scored with."""
    features = np.zeros((slot + 1, len(row)))
    features[slot] = row
    return assess(policy, belief, request._replace(candidates=np.array([slot]), features=features), None)


def preferences(policy: Any, belief: Any, learned: int) -> Table:
    """One row per feature: its learned weight, and the standard deviation of that."""
    deviation = policy.memory.doubt(belief)
    rows = [
        (number + 1, *values)
        for number, values in enumerate(zip(belief.theta.tolist(), deviation.tolist(), strict=True))
    ]
    return Table(f"{count_text(len(rows), 'feature')}, {count_text(learned, 'list')} learned", PREFERENCES, rows)


def _topics(row: Floats) -> str:
    """The topics to which an item adds, largest addition first."""
    order = [int(topic) for topic in np.argsort(-row, kind="stable") if row[topic] > 0.0]
    text = ", ".join(f"topic {topic + 1} by {row[topic]:.2f}" for topic in order[:3])
    return text + (f" and {len(order) - 3} more" if len(order) > 3 else "") if order else "nothing"


def _reason(candidates: Assessment, at: int, is_assessed: bool, among_known: bool, one_by_one: bool) -> str:
    """Why the policy chose one of the candidates."""
    index = float(candidates.index[at])
    if candidates.sampled:
        return _draw_reason(candidates, at, among_known)
    if math.isnan(index):
        return candidates.why if is_assessed else "chosen by the policy, which gives no reasons"
    if math.isinf(index):
        return "never examined, so it goes before all examined items"
    if not among_known:
        return "by its index"
    rank = int((candidates.index > index).sum()) + 1
    return f"index number {rank} of {len(candidates.index)} {'left for this position' if one_by_one else 'eligible'}"


def _draw_reason(candidates: Assessment, at: int, among_known: bool) -> str:
    """Why Thompson sampling chose one of the candidates; 95% of the draws lie about in the interval of the mean."""
    if math.isnan(candidates.mean[at]):
        return "never examined, so its random draw may be anything from 0 to 1"
    low, high = (float(ends[at]) for ends in confidence_intervals(candidates))
    rivals = f" of {len(candidates.mean)} eligible" if among_known else ""
    return f"its random draw, mostly {low:.2f} to {high:.2f}, is among the largest{rivals}"


def _none_if_nan(value: float) -> float | None:
    return None if math.isnan(value) else value
