"""An algorithm made of four parts: a reading of the clicks, a memory, an index and an arrangement."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

from toplist import index, memory
from toplist.arrange import Desk, TopK
from toplist.problem import InvalidInput, Problem
from toplist.protocols import Capabilities
from toplist.slate import Page, Request, Slate, empty_slate


class Policy(NamedTuple):
    """Reads the clicks, remembers, scores the items and arranges the best of them.

    >>> from toplist import feedback, index, memory
    >>> policy = Policy(feedback.ThroughFirstClick(), memory.Everything(), index.KLUCB(loglog=3))
    >>> policy.scoring.loglog
    3
    """

    reading: Any
    memory: Any
    scoring: Any
    arrangement: Any = TopK()

    def prepare(self, problem: Problem) -> Self:
        """Check that the parts fit each other, and let each get ready."""
        check_fit(self.memory, self.scoring)
        return self._replace(
            reading=self.reading.prepare(problem),
            memory=self.memory.prepare(problem),
            scoring=self.scoring.prepare(problem),
            arrangement=self.arrangement.prepare(problem),
        )

    def begin(self, problem: Problem) -> Any:
        """The memory's belief."""
        return self.memory.begin(problem)

    def scratch(self, problem: Problem) -> Desk:
        """Room for the arrangement, and the index's cache."""
        return Desk(self.arrangement.scratch(problem), self.scoring.scratch(problem))

    def slate(self, problem: Problem) -> Slate:
        """Nothing to remember with a list but its items and their features."""
        return empty_slate(problem.positions, problem.features)

    def capabilities(self) -> Capabilities:
        """Everything; it does not learn where its index does not look at what was learned."""
        return Capabilities(learns=self.scoring.reads() != "any")

    def rank(self, belief: Any, cache: Desk, request: Request, slate: Slate) -> None:
        """Let the arrangement fill the slate."""
        self.arrangement.arrange(self.scoring, belief, cache, request, slate)

    def learn(self, belief: Any, slate: Slate, page: Page) -> None:
        """Remember what the examined places said."""
        size = slate.size[0]
        self.reading.read(page, size)
        self.memory.tick(belief)
        for place in range(size):
            if page.weight[place] > 0.0:
                item = slate.items[place]
                self.memory.add(belief, item, page.weight[place], page.value[place], slate, place)

    def sample(self, belief: Any, item: int, place: int, value: float, slate: Slate) -> None:
        """Remember one free sample."""
        self.memory.add(belief, item, 1.0, value, slate, place)


def check_fit(kept_by: Any, scoring: Any) -> None:
    """Refuse an index that cannot read what the memory keeps."""
    reads, keeps = scoring.reads(), kept_by.keeps()
    if reads not in ("any", keeps):
        raise InvalidInput(
            f"{type(scoring).__name__} reads {reads}, but {type(kept_by).__name__} keeps {keeps}; "
            f"use {_alternatives(keeps, reads)}."
        )


def _alternatives(keeps: str, reads: str) -> str:
    """Which of the parts that come with toplist would fit instead."""
    indices = [f"{name}()" for name in index.__all__ if _kind(getattr(index, name), "reads") == keeps]
    memories = [f"{name}()" for name in memory.__all__ if _kind(getattr(memory, name), "keeps") == reads]
    return " or ".join(indices + memories)


def _kind(part: Any, question: str) -> str | None:
    return getattr(part(), question)() if hasattr(part, question) else None
