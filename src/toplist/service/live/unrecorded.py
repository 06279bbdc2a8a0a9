"""Lists from memory while nothing can be recorded, of rankings that ask for it."""

from __future__ import annotations

import asyncio
import os
from time import monotonic
from typing import NamedTuple

import msgspec

from toplist.core.item_id import ItemId
from toplist.core.problem import InvalidInput
from toplist.ranker import LoggedRanker
from toplist.service.errors import StoreUnavailable
from toplist.service.live.groups import baseline_list, place_list
from toplist.service.live.learners import LoadedLearner
from toplist.service.live.list_arguments import list_arguments, scaled_request
from toplist.service.live.ranking import LiveRanking
from toplist.service.live.request_errors import request_error
from toplist.service.live.state import LiveState
from toplist.service.live.transaction import Transactions
from toplist.service.live.work_memory import TIMES_LEARNER
from toplist.service.log.events import ListPlacement
from toplist.service.wire import ListReply, ListRequest

TRY_EVERY = 0.25  # seconds between attempts to reach the store, while lists are asked for


class _Copy(NamedTuple):
    """A copy of a learner, which makes lists that change nothing."""

    ranker: LoggedRanker
    learner: LoadedLearner
    changes: int  # of the ranking's items that it has


class UnrecordedLists:
    """Makes lists from memory while nothing can be recorded, for some seconds.

    They have no impression, and are not remembered: copies of learners make them, so that what is learned later is as
    if they had never been asked for. A segment whose learner is not in memory gets the baseline.

    Parameters
    ----------
    transactions : Transactions
        The store and the state in memory.
    seconds : float
        For how long, from when the store was last well: so long, an item that another server removed may appear.
    """

    def __init__(self, transactions: Transactions, seconds: float) -> None:
        self._transactions, self._seconds = transactions, seconds
        self._copies: dict[tuple[int, str | None], _Copy] = {}
        self._copying: asyncio.Lock | None = None  # made in the event loop
        self._tried = 0.0

    def serves(self, name: str) -> bool:
        """Whether lists of a ranking are made from memory now."""
        return self._state(name) is not None

    @property
    def is_serving(self) -> bool:
        """Whether lists of any ranking are made from memory now."""
        state = self._standby()
        return state is not None and any(ranking.serves_unrecorded for ranking in state.rankings.values())

    def _standby(self) -> LiveState | None:
        since = self._transactions.away_since
        if since is None or monotonic() > since + self._seconds:
            if self._copies:
                self._copies = {}
            return None
        return self._transactions.standby

    def _state(self, name: str) -> LiveState | None:
        state = self._standby()
        ranking = None if state is None else state.rankings.get(name)
        return None if ranking is None or not ranking.serves_unrecorded else state

    async def make(self, name: str, request: ListRequest) -> ListReply:
        """Make a list that is not recorded; `StoreUnavailable` where there is nothing in memory to make it from."""
        state = self._state(name)
        if state is None:
            raise StoreUnavailable("The store has been away for too long to go on from memory; try again.")
        if monotonic() > self._tried + TRY_EVERY:
            self._tried = monotonic()
            self._transactions.try_again()
        ranking = state.ranking(name)
        own = state.learners.find(ranking, request.segment)
        any_learner = own or next(iter(state.learners.of_ranking(ranking)[::-1]), None)
        if any_learner is None:
            raise StoreUnavailable(f"Nothing of the ranking {name!r} is in memory to go on from; try again.")
        ranker = await self._copy(state, any_learner)
        items, placed = _listed(ranking, request, ranker, is_own=own is not None)
        reply = ListReply(impression="", items=items, ranking=name, segment=request.segment, recorded=False)
        if placed is not None and placed.group is not None:
            return msgspec.structs.replace(reply, group=placed.group)
        return reply

    async def _copy(self, state: LiveState, learner: LoadedLearner) -> LoggedRanker:
        """A copy of a learner, made once as long as its items stay the same."""
        if self._copying is None:
            self._copying = asyncio.Lock()
        key, ranking = (learner.ranking.id, learner.segment), learner.ranking
        kept = self._copies.get(key)
        if kept is None or kept.learner is not learner or kept.changes != ranking.change_count:
            async with self._copying:
                kept = self._copies.get(key)
                if kept is None or kept.learner is not learner or kept.changes != ranking.change_count:
                    kept = self._copies[key] = await self._new_copy(state, learner)
        return kept.ranker

    async def _new_copy(self, state: LiveState, learner: LoadedLearner) -> _Copy:
        ranking = learner.ranking
        size = TIMES_LEARNER * state.learners.size(ranking, learner.segment)
        async with self._transactions.work.reserve(size, urgent=True):
            await state.learners.catch_up(learner, left=0)
            changes = ranking.change_count
            policy, name, belief = ranking.settings.policy, learner.ranker.name, learner.ranker.state()
            return _Copy(await asyncio.to_thread(LoggedRanker.of, belief, policy, name), learner, changes)


def _listed(
    ranking: LiveRanking, request: ListRequest, ranker: LoggedRanker, *, is_own: bool
) -> tuple[list[ItemId], ListPlacement | None]:
    """The items of a list, and its group where the ranking has groups."""
    placed = place_list(ranking, request, os.urandom(16)) if ranking.has_groups else None
    try:
        items, record = ranker.make(**list_arguments(ranking, scaled_request(request, ranking)))
    except (InvalidInput, ValueError) as problem:
        raise request_error(problem, request, ranking) from problem
    ranker.drop(record.number)
    if not is_own or (placed is not None and placed.shows_baseline):
        pinned = [(position, items[position - 1]) for position in record.pinned]
        items = baseline_list(ranking, request, pinned, len(items))
    return items, placed
