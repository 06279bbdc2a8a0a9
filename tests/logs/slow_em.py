"""EM of two click models list by list in plain Python, straight from their definitions; slow, and independent."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from toplist.logs import ClickLog, Prior

Values = dict[Any, float]


def lists_of(log: ClickLog) -> Iterator[tuple[int, list[int], list[int], float]]:
    """Query, items, clicks and weight of each list."""
    for number in range(len(log)):
        at = slice(log.start[number], log.start[number + 1])
        yield int(log.query[number]), log.item[at].tolist(), log.click[at].tolist(), float(log.weights[number])


def ratios(heads: Values, tosses: Values, priors: Mapping[str, Prior]) -> Values:
    """The M-step; the first element of a key is the kind of parameter."""
    found = {}
    for key, count in tosses.items():
        mean, strength = priors.get(key[0], (0.5, 0.0))
        found[key] = (heads[key] + mean * strength) / (count + strength)
    return found


def iterate(step: Any, log: ClickLog, priors: Mapping[str, Prior], iterations: int) -> Values:
    """EM until nothing changes by more than 1e-13."""
    rows = list(lists_of(log))
    values: Values = defaultdict(lambda: 0.5)
    for _ in range(iterations):
        heads: Values = defaultdict(float)
        tosses: Values = defaultdict(float)
        for row in rows:
            step(values, *row, heads, tosses)
        better = ratios(heads, tosses, priors)
        change = max(abs(better[key] - values[key]) for key in better)
        values = better
        if change < 1e-13:
            return values
    raise AssertionError(f"EM still changes by {change}")


def ubm_step(values: Values, query: int, items: Any, clicks: Any, weight: float, heads: Values, tosses: Values) -> None:
    last = 0
    for place, (item, clicked) in enumerate(zip(items, clicks, strict=True), start=1):
        attraction, look = ("attraction", query, item), ("examination", place, last)
        a, e = values[attraction], 1.0 if place == 1 else values[look]
        none = 1 - a * e
        tosses[attraction] += weight
        heads[attraction] += weight * (1.0 if clicked else a * (1 - e) / none)
        if place > 1:
            tosses[look] += weight
            heads[look] += weight * (1.0 if clicked else e * (1 - a) / none)
        if clicked:
            last = place


def dbn_step(values: Values, query: int, items: Any, clicks: Any, weight: float, heads: Values, tosses: Values) -> None:
    """Sums over the courses of a visit: the last examined position, and whether the item there satisfied."""
    size = len(items)
    attraction = [values["attraction", query, item] for item in items]
    satisfaction = [values["satisfaction", query, item] for item in items]
    persistence = values["persistence",]
    last = max((place for place in range(size) if clicks[place]), default=-1)
    courses = []
    for end in range(max(last, 0), size):
        chance = 1.0
        for place in range(end + 1):
            chance *= attraction[place] if clicks[place] else 1 - attraction[place]
            if place < end:
                chance *= persistence * (1 - satisfaction[place] if clicks[place] else 1.0)
        if end == size - 1:
            courses.append((end, False, chance))
        elif clicks[end]:
            courses.append((end, True, chance * satisfaction[end]))
            courses.append((end, False, chance * (1 - satisfaction[end]) * (1 - persistence)))
        else:
            courses.append((end, False, chance * (1 - persistence)))
    total = sum(chance for _, _, chance in courses)
    for end, satisfied, chance in courses:
        share = weight * chance / total
        for place in range(end + 1):
            tosses["attraction", query, items[place]] += share
            heads["attraction", query, items[place]] += share * clicks[place]
            if place == size - 1:
                continue  # after the last position nothing is decided
            if clicks[place]:
                tosses["satisfaction", query, items[place]] += share
                heads["satisfaction", query, items[place]] += share * (satisfied and place == end)
            if not (satisfied and place == end):
                tosses["persistence",] += share
                heads["persistence",] += share * (place < end)
