"""An algorithm made of four parts: a reading of the clicks, a memory, an index and an arrangement."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np

from toplist.core.problem import InvalidInput, Problem
from toplist.core.protocols import Assessment, Capabilities, Change
from toplist.core.protocols.kinds import expect_kind
from toplist.core.protocols.list_probabilities import ListProbabilities
from toplist.core.slate import Floats, Ints, Page, Request, Slate, empty_slate
from toplist.parts import index, memory
from toplist.parts.arrange import ComposedCache, TopK
from toplist.parts.memory import Ridge
from toplist.parts.memory.factored_ridge import FactoredRidge
from toplist.policies.propensity.composed_lists import composed_probabilities

TOP_K = TopK()


class _PolicyParts(NamedTuple):
    """The fields of `Policy`, which needs a `__new__` of its own."""

    reading: Any
    memory: Any
    scoring: Any
    arrangement: Any = TOP_K


class Policy(_PolicyParts):
    """An algorithm made of four parts: reads the clicks, remembers, scores the items and arranges the best of them.

    Parameters
    ----------
    reading : part of `toplist.parts.feedback`
        Which positions were examined, and what each observed.
    memory : part of `toplist.parts.memory`
        What is kept of the observations.
    scoring : part of `toplist.parts.index`
        How good each item could be, given the memory.
    arrangement : part of `toplist.parts.arrange`, default TopK()
        How scores become a list.

    Raises
    ------
    InvalidInput
        If a part is not of its kind.

    Examples
    --------
    >>> from toplist.parts import feedback, index, memory
    >>> policy = Policy(feedback.ThroughFirstClick(), memory.Everything(), index.KLUCB(loglog=3))
    >>> policy.scoring.loglog
    3
    """

    __slots__ = ()

    def __new__(cls, reading: Any, memory: Any, scoring: Any, arrangement: Any = TOP_K) -> Self:
        """Refuse parts of the wrong kind."""
        check_kinds(reading=reading, memory=memory, index=scoring, arrangement=arrangement)
        return super().__new__(cls, reading, memory, scoring, arrangement)

    def prepare(self, problem: Problem) -> Self:
        """Check that the parts fit each other, and prepare each."""
        check_kinds(arrangement=self.arrangement)  # `_replace` does not call `__new__`
        check_fit(self.reading, self.memory, self.scoring, whole_lists=True)
        if not hasattr(self.scoring, self.arrangement.asks()):
            raise InvalidInput(
                f"{type(self.arrangement).__name__} arranges by features, but {type(self.scoring).__name__} does not "
                f"score them; use TopK(), or an index over features, like Ellipsoid()."
            )
        return self._replace(
            reading=self.reading.prepare(problem),
            memory=memory_for(self.scoring, self.memory).prepare(problem),
            scoring=self.scoring.prepare(problem),
            arrangement=self.arrangement.prepare(problem),
        )

    def begin(self, problem: Problem) -> Any:
        """The memory's belief."""
        return self.memory.begin(problem)

    def begin_from(self, problem: Problem, mean: Floats, precision: Floats) -> Any:
        """The memory's belief of a prior of its weights."""
        if not hasattr(self.memory, "begin_from"):
            raise InvalidInput(
                f"{type(self.memory).__name__} takes no prior of its weights: it has no begin_from(); use Ridge()."
            )
        return self.memory.begin_from(problem, mean, precision)

    def add_sums(self, belief: Any, gram: Floats, total: Floats) -> None:
        """Let the memory count observations of others."""
        self.memory.add_sums(belief, gram, total)

    def scratch(self, problem: Problem) -> ComposedCache:
        """Scratch arrays of the arrangement, and the index's cache."""
        return ComposedCache(self.arrangement.scratch(problem), self.scoring.scratch(problem))

    def slate(self, problem: Problem) -> Slate:
        """A slate without a memo: the items and their features are enough to learn from."""
        return empty_slate(problem.positions, problem.features)

    def capabilities(self) -> Capabilities:
        """Everything, except that it does not learn where its index does not read the belief.

        One sample of an item carries no information for features before the item has its row, nor about a position that
        may not have been examined. Where only some features are topics, a list of others lacks the gains to learn from.
        """
        features = self.memory.keeps() in ("linear", "logistic")
        return Capabilities(
            learns=self.scoring.reads() != "any",
            needs_features=features,
            covers_topics=self.arrangement.asks() == "gauge",
            learns_from_any_list=not is_hybrid(self.arrangement),
            samples="item" if self.memory.keeps() == "counts" else "nothing",
            detects=hasattr(self.memory, "alarms"),
            takes_gaps=self.arrangement.asks() == "top" and takes_gaps(self.scoring),
            forgets=is_forgetful(self.memory),
        )

    def rank(self, belief: Any, cache: ComposedCache, request: Request, slate: Slate) -> None:
        """Let the arrangement fill the slate."""
        self.arrangement.arrange(self.scoring, belief, cache, request, slate)

    def learn(self, belief: Any, slate: Slate, page: Page) -> None:
        """Add the observations of the examined positions to the memory."""
        size = slate.size[0]
        self.reading.read(page, size)
        self.memory.tick(belief)
        for place in range(size):
            if page.weight[place] > 0.0:
                item = slate.items[place]
                self.memory.add(belief, item, page.weight[place], page.value[place], slate, place)
        self.memory.conclude(belief)

    def sample(self, belief: Any, item: int, place: int, weight: float, value: float, slate: Slate) -> None:
        """Add free samples to the memory."""
        self.memory.add(belief, item, weight, value, slate, place)

    def changes(self, belief: Any, after: int = 0) -> list[Change]:
        """Changes that the memory detected, without the first `after`."""
        found: list[Change] = self.memory.alarms(belief, after) if hasattr(self.memory, "alarms") else []
        return found

    def list_probabilities(self, belief: Any, request: Request, items: Ints) -> ListProbabilities | None:
        """Exact for an index over counts: ties are broken at random, and draws are independent."""
        found = self.weigh_lists(belief, request, items[None])
        return None if found is None else found.of_list(0)

    def weigh_lists(self, belief: Any, request: Request, lists: Ints) -> ListProbabilities | None:
        """The same for several lists."""
        return composed_probabilities(self.scoring, self.arrangement, belief, request, lists)

    def assess(self, belief: Any, request: Request, place: int | None) -> Assessment:
        """The same at every position."""
        return assess(self.memory, self.scoring, belief, request)


def memory_for(scoring: Any, kept_by: Any) -> Any:
    """The memory for an index: draws of weights take a factor where ridge regression has an inverse."""
    draws = hasattr(scoring, "draws_weights") and scoring.draws_weights()
    return FactoredRidge(*kept_by) if draws and isinstance(kept_by, Ridge) else kept_by


def assess(kept_by: Any, scoring: Any, belief: Any, request: Request) -> Assessment:
    """The estimates of a memory and an index for the candidates; nan where a part does not give one."""
    unknown = np.full(len(request.candidates), np.nan)
    examined, mean = kept_by.tally(belief, request) if hasattr(kept_by, "tally") else (unknown, unknown)
    index = scoring.exact(belief, request) if hasattr(scoring, "exact") else unknown
    deviation = kept_by.deviation(belief, request) if hasattr(kept_by, "deviation") else None
    why = scoring.says() if hasattr(scoring, "says") else Assessment.why
    sampled = hasattr(scoring, "draws_each") and scoring.draws_each()
    return Assessment(examined, mean, index, why=why, deviation=deviation, sampled=sampled)


def is_forgetful(kept_by: Any) -> bool:
    """Whether a memory discounts or drops old observations."""
    return hasattr(kept_by, "forgetful") and bool(kept_by.forgetful())


def is_hybrid(arrangement: Any) -> bool:
    """Whether an arrangement covers topics with some features, and not with others."""
    return hasattr(arrangement, "is_hybrid") and bool(arrangement.is_hybrid())


def takes_gaps(scoring: Any) -> bool:
    """Whether an index reads from the request which candidates are present."""
    return hasattr(scoring, "takes_gaps") and bool(scoring.takes_gaps())


def draws_one(scoring: Any) -> bool:
    """Whether an index draws a single item instead of a whole list."""
    return hasattr(scoring, "draws_one") and bool(scoring.draws_one())


def check_kinds(**parts: Any) -> None:
    """Refuse parts of the wrong kind; the error names every one of them."""
    wrong = []
    for kind, part in parts.items():
        try:
            expect_kind(f"The {kind}", part, kind)
        except InvalidInput as error:
            wrong.append(str(error))
    if wrong:
        raise InvalidInput(" ".join(wrong))


def check_fit(reading: Any, kept_by: Any, scoring: Any, whole_lists: bool) -> None:
    """Refuse parts of the wrong kind, and an index that cannot read the memory's belief."""
    check_kinds(reading=reading, memory=kept_by, index=scoring)
    reads, keeps = scoring.reads(), kept_by.keeps()
    if reads not in ("any", keeps):
        wrong = f"{type(scoring).__name__} reads {reads}, but {type(kept_by).__name__} keeps {keeps}"
    elif whole_lists and draws_one(scoring):
        wrong = f"{type(scoring).__name__} draws one item at a time, but Policy needs a whole list"
    else:
        return
    raise InvalidInput(f"{wrong}; use {_alternatives(keeps, reads, whole_lists)}.")


def _alternatives(keeps: str, reads: str, whole_lists: bool) -> str:
    """The parts of toplist that would fit instead."""
    indices = [getattr(index, name)() for name in index.__all__]
    fitting = [part for part in indices if part.reads() == keeps and not (whole_lists and draws_one(part))]
    memories = [getattr(memory, name)() for name in memory.__all__ if hasattr(getattr(memory, name), "keeps")]
    readable = {part.reads() for part in indices if not (whole_lists and draws_one(part))}
    fitting += [part for part in memories if part.keeps() == reads and reads in readable]
    names = [f"{type(part).__name__}()" for part in fitting]
    return " or ".join(names) if names else "Ranked() for such parts"
