"""Lists with the probability of what they show: made by a copy of a learner in another thread, since it takes long.

The list is the learner's own a moment later: it is taken in under the next number if neither the items nor the settings
have changed meanwhile. What was learned in between makes no difference, as with a list that is reported late.
"""

from __future__ import annotations

import asyncio
from typing import Any, NamedTuple

from toplist.core.problem import InvalidInput
from toplist.ranker import LoggedRanker, WeighedList
from toplist.service.errors import Conflict
from toplist.service.live.learners import LoadedLearner
from toplist.service.live.list_arguments import list_arguments, scaled_request
from toplist.service.live.ranking import LiveRanking
from toplist.service.live.request_errors import request_error
from toplist.service.live.state import LiveState
from toplist.service.log.pools import KnownPool
from toplist.service.log.settings import LearnerSettings
from toplist.service.wire import ListRequest

MOST_DRAWS = 1 << 20  # lists of one moment, each with a draw of its own


class WeighedDraft(NamedTuple):
    """A list that is not made yet, and what it depends on."""

    made: WeighedList
    settings: LearnerSettings
    changes: int  # of the ranking's items
    learner: LoadedLearner | None  # None: it is not created yet
    pool: KnownPool | None  # that a new learner begins with

    def fits(self, state: LiveState, ranking: LiveRanking, segment: str | None) -> bool:
        """Whether the learner could have made the list now."""
        learner = state.learners.get(ranking, segment)
        same = self.settings is ranking.settings and self.changes == ranking.change_count
        return same and self.learner is learner and (learner is not None or self.pool is ranking.pool)


class ListWeigher:
    """Makes lists with their probabilities, one at a time: others would slow down the event loop."""

    def __init__(self) -> None:
        self._turn: asyncio.Lock | None = None  # made in the event loop
        self._draws = 0

    async def draft(self, state: LiveState, ranking: LiveRanking, request: ListRequest) -> WeighedDraft:
        """A list for a request; refused as a list without probabilities would be."""
        if self._turn is None:
            self._turn = asyncio.Lock()
        async with self._turn:
            return await self._draft(state, ranking, request)

    async def _draft(self, state: LiveState, ranking: LiveRanking, request: ListRequest) -> WeighedDraft:
        settings, changes, pool = ranking.settings, ranking.change_count, ranking.pool
        learner = state.learners.get(ranking, request.segment)
        self._draws = (self._draws + 1) % MOST_DRAWS
        draw = (state.last_seq << 20) + self._draws
        try:
            arguments = list_arguments(ranking, scaled_request(request, ranking))
        except (InvalidInput, ValueError) as problem:
            raise request_error(problem, request, ranking) from problem
        if learner is None:
            try:
                copy: Any = state.learners.new_ranker(ranking, request.segment)
            except InvalidInput as problem:
                raise Conflict(f"The ranking {ranking.name!r} cannot serve yet: {problem}") from problem
        else:
            copy = learner.ranker.state()
        policy, name = settings.policy, settings.learner_name(request.segment)

        def work() -> WeighedList:
            ranker = copy if learner is None else LoggedRanker.of(copy, policy, name)
            return ranker.make_weighed(draw, **arguments)

        try:
            made = await asyncio.to_thread(work)
        except (InvalidInput, ValueError) as problem:
            raise request_error(problem, request, ranking) from problem
        return WeighedDraft(made, settings, changes, learner, pool)
