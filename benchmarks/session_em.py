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


class Coin:
    """A probability, and the expected heads and tosses of the next one."""

    __slots__ = ("chance", "heads", "tosses")

    def __init__(self) -> None:
        self.chance, self.heads, self.tosses = 0.5, 0.0, 0.0

    def add(self, heads: float, tosses: float) -> None:
        """Count tosses."""
        self.heads += heads
        self.tosses += tosses

    def update(self) -> None:
        """The M-step."""
        if self.tosses > 0:
            self.chance = self.heads / self.tosses
        self.heads = self.tosses = 0.0


def fit_ubm(
    sessions: Sequence[Session], iterations: int
) -> tuple[dict[tuple[int, int], Coin], dict[tuple[int, int], Coin]]:
    """Attraction by (query, item), and examination by (position, last click above)."""
    attraction: dict[tuple[int, int], Coin] = defaultdict(Coin)
    examination: dict[tuple[int, int], Coin] = defaultdict(Coin)
    examination[0, -1].chance = 1.0
    for _ in range(iterations):
        for session in sessions:
            last = -1
            for place, item in enumerate(session.items):
                own, look = attraction[session.query, item], examination[place, last]
                if session.clicks[place]:
                    own.add(1.0, 1.0)
                    look.add(1.0, 1.0)
                    last = place
                else:
                    silent = 1.0 - own.chance * look.chance
                    own.add(own.chance * (1.0 - look.chance) / silent if silent > 0 else 0.0, 1.0)
                    look.add(look.chance * (1.0 - own.chance) / silent if silent > 0 else 0.0, 1.0)
        for coin in (*attraction.values(), *examination.values()):
            coin.update()
        examination[0, -1].chance = 1.0
    return attraction, examination


def fit_dbn(
    sessions: Sequence[Session], iterations: int
) -> tuple[dict[tuple[int, int], Coin], dict[tuple[int, int], Coin], Coin]:
    """Attraction and satisfaction by (query, item), and the persistence."""
    attraction: dict[tuple[int, int], Coin] = defaultdict(Coin)
    satisfaction: dict[tuple[int, int], Coin] = defaultdict(Coin)
    persistence = Coin()
    for _ in range(iterations):
        for session in sessions:
            size = len(session.items)
            last = max((place for place in range(size) if session.clicks[place]), default=-1)
            own = [attraction[session.query, item] for item in session.items]
            pleased = [satisfaction[session.query, item] for item in session.items]
            stay = persistence.chance
            # silence[k]: probability of no click from position k on, if it is examined
            silence = [1.0] * (size + 1)
            for place in range(size - 1, last, -1):
                on = stay if place < size - 1 else 0.0
                silence[place] = (1.0 - own[place].chance) * ((1.0 - on) + on * silence[place + 1])
            for place in range(last + 1):
                own[place].add(float(session.clicks[place]), 1.0)
                if place < last:
                    persistence.add(1.0, 1.0)
                    if session.clicks[place]:
                        pleased[place].add(0.0, 1.0)
            here = 1.0
            if 0 <= last < size - 1:
                content = pleased[last].chance
                total = content + (1.0 - content) * ((1.0 - stay) + stay * silence[last + 1])
                pleased[last].add(content / total, 1.0)
                here = (1.0 - content) * stay * silence[last + 1] / total
                persistence.add(here, 1.0 - content / total)
            if last < size - 1:
                for place in range(last + 1, size):
                    own[place].add(0.0, here)
                    if place < size - 1:
                        total = (1.0 - stay) + stay * silence[place + 1]
                        on = here * stay * silence[place + 1] / total
                        persistence.add(on, here)
                        here = on
        for coin in (*attraction.values(), *satisfaction.values(), persistence):
            coin.update()
    return attraction, satisfaction, persistence
