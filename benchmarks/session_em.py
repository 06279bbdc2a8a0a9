"""UBM and DBN fitted session by session in Python, the straightforward way: baselines of the compiled fits."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple


class Session(NamedTuple):
    """A list with its clicks."""

    query: int
    items: Sequence[int]
    clicks: Sequence[int]


Pair = tuple[int, int]


def fit_ubm(sessions: Sequence[Session], iterations: int) -> tuple[dict[Pair, float], dict[Pair, float]]:
    """Attraction by (query, item), and examination by (position, last click above)."""
    attraction: dict[Pair, float] = defaultdict(lambda: 0.5)
    examination: dict[Pair, float] = defaultdict(lambda: 0.5)
    examination[0, -1] = 1.0
    for _ in range(iterations):
        heads: dict[tuple[str, Pair], float] = defaultdict(float)
        tosses: dict[tuple[str, Pair], float] = defaultdict(float)
        for session in sessions:
            last = -1
            for place, item in enumerate(session.items):
                own, look = (session.query, item), (place, last)
                if session.clicks[place]:
                    attracted = examined = 1.0
                    last = place
                else:
                    silent = 1.0 - attraction[own] * examination[look]
                    attracted = attraction[own] * (1.0 - examination[look]) / silent if silent > 0 else 0.0
                    examined = examination[look] * (1.0 - attraction[own]) / silent if silent > 0 else 0.0
                heads["attraction", own] += attracted
                tosses["attraction", own] += 1.0
                heads["examination", look] += examined
                tosses["examination", look] += 1.0
        for (kind, key), count in tosses.items():
            (attraction if kind == "attraction" else examination)[key] = heads[kind, key] / count
        examination[0, -1] = 1.0
    return attraction, examination


def fit_dbn(sessions: Sequence[Session], iterations: int) -> tuple[dict[Pair, float], dict[Pair, float], float]:
    """Attraction and satisfaction by (query, item), and the persistence."""
    attraction: dict[Pair, float] = defaultdict(lambda: 0.5)
    satisfaction: dict[Pair, float] = defaultdict(lambda: 0.5)
    persistence = 0.5
    for _ in range(iterations):
        heads: dict[tuple[str, Pair], float] = defaultdict(float)
        tosses: dict[tuple[str, Pair], float] = defaultdict(float)
        went_on = decided = 0.0
        for session in sessions:
            size = len(session.items)
            pairs = [(session.query, item) for item in session.items]
            last = max((place for place in range(size) if session.clicks[place]), default=-1)
            # silence[k]: probability of no click from position k on, if it is examined
            silence = [1.0] * (size + 1)
            for place in range(size - 1, last, -1):
                on = persistence if place < size - 1 else 0.0
                silence[place] = (1.0 - attraction[pairs[place]]) * ((1.0 - on) + on * silence[place + 1])
            here = 1.0
            for place in range(last + 1):
                heads["attraction", pairs[place]] += session.clicks[place]
                tosses["attraction", pairs[place]] += 1.0
                if place == size - 1:
                    continue
                unsatisfied = 1.0
                if session.clicks[place]:
                    content = satisfaction[pairs[place]]
                    satisfied = 0.0
                    if place == last:
                        below = (1.0 - persistence) + persistence * silence[last + 1]
                        total = content + (1.0 - content) * below
                        satisfied = content / total
                        here = (1.0 - content) * persistence * silence[last + 1] / total
                    heads["satisfaction", pairs[place]] += satisfied
                    tosses["satisfaction", pairs[place]] += 1.0
                    unsatisfied -= satisfied
                decided += unsatisfied
                went_on += here if place == last else 1.0
            for place in range(last + 1, size):
                heads["attraction", pairs[place]] += 0.0
                tosses["attraction", pairs[place]] += here
                if place < size - 1:
                    on = persistence * silence[place + 1] / ((1.0 - persistence) + persistence * silence[place + 1])
                    decided += here
                    went_on += here * on
                    here *= on
        for (kind, key), count in tosses.items():
            if count > 0:
                (attraction if kind == "attraction" else satisfaction)[key] = heads[kind, key] / count
        persistence = went_on / decided
    return attraction, satisfaction, persistence
