"""What the service knows, for people to read."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from itertools import chain
from typing import NamedTuple, TypeVar

import msgspec

from toplist.core.problem import InvalidInput, nearest
from toplist.ranker import LoggedRanker
from toplist.service.clock import as_time
from toplist.service.errors import NotFound, Refused
from toplist.service.live.closing import found
from toplist.service.live.impression import Impression, as_text
from toplist.service.live.learners import HotLearner
from toplist.service.live.ranking import ItemState, RankingState, as_item
from toplist.service.live.state import Memory
from toplist.service.live.transaction import Core
from toplist.service.log import replay
from toplist.service.log.events import decode_learner
from toplist.service.store.protocol import EVERYBODY, STATES, RankingRow, Store
from toplist.service.wire import Estimate, Estimates, Event, Explanation, Item, NextList, Ranking, Reason
from toplist.service.wire import Impression as ImpressionShape

T = TypeVar("T")
READ_AT_ONCE = 1000  # events of the log that are looked through


class Page(NamedTuple):
    """Some of the log."""

    until: int  # there are no others up to this event
    events: list[Event]


class Looking(Core):
    """What can be asked of the desk; nothing is changed by it."""

    @asynccontextmanager
    async def _looking(self) -> AsyncIterator[Memory]:
        """For everything that is only read, and for the answer that there is no such thing.

        Memory knows what is not committed yet, and may never be: the answer waits until all that it can show is. And
        room is made, where learners were loaded for it.
        """
        memory = self._now()
        try:
            yield memory
        finally:
            with self._changing() as memory:
                rows = memory.learners.evicted()
            await self._written(rows)

    async def ranking(self, name: str) -> Ranking:
        """A ranking, as it is now."""
        async with self._looking():
            return ranking_shape(self._ranking(name))

    async def rankings(self) -> list[Ranking]:
        """All rankings, by name."""
        async with self._looking() as memory:
            return [ranking_shape(ranking) for _, ranking in sorted(memory.rankings.items())]

    async def item(self, name: str, item: str) -> Item:
        """One item."""
        async with self._looking():
            return as_item(item, self._item(name, item))

    async def items(self, name: str, after: str | None = None, limit: int = 1000) -> list[Item]:
        """Items in the order in which they came, behind the one called `after`."""
        async with self._looking():
            items = self._ranking(name).items
            ids = list(items)
            begin = 0
            if after is not None:
                self._item(name, after)
                begin = ids.index(after) + 1
            return [as_item(id, items[id]) for id in ids[begin : begin + limit]]

    def _item(self, name: str, item: str) -> ItemState:
        items = self._ranking(name).items
        if item not in items:
            raise NotFound(f"There is no item {item!r} in the ranking {name!r}; put it first.")
        return items[item]

    async def impression(self, impression: str) -> ImpressionShape:
        """A list that was made, and what is known of it."""
        async with self._looking() as memory:
            return impression_shape(memory, kept(memory, impression))

    async def estimates(
        self, name: str, key: str | None = None, limit: int = 100, person: Sequence[float] | None = None
    ) -> Estimates:
        """What is thought of the items, the best first."""
        async with self._looking():
            learner = await self._learner(name, key)
            spec, learned = learner.ranking.spec, learner.ranker.learned

            def best(ranker: LoggedRanker) -> list[Estimate]:
                return [Estimate(**row) for row in ranker.estimates(person).rows()[:limit]]

            try:
                rows = await self._of_copy(learner, best)
            except InvalidInput as problem:
                raise Refused(str(problem), "/person") from problem
            return Estimates(ranking=name, key=key, policy=spec.policy, learned=learned, items=rows)

    async def explanation(self, impression: str) -> Explanation:
        """Why a list is as it is."""
        async with self._looking() as memory:
            one = kept(memory, impression)
            name, key = names(memory, one)
            learner = await self._learner(name, key)
            setting = learner.ranking.setting
            body = self._now().list_of(one)
            known = one.seq > replay.first_event(setting, learner.id)

            def explained(ranker: LoggedRanker) -> list[Reason] | None:
                shown = replay.recalled(ranker, body, own=one.seq > setting.policy)
                return None if shown is None else [Reason(**row) for row in ranker.explain(shown).rows()]

            reasons = await self._of_copy(learner, explained) if known else None
            if reasons is None:
                raise NotFound(
                    "The list was made by an earlier policy of its ranking, which cannot explain it any more."
                )
            return Explanation(impression=impression, ranking=name, key=key, positions=reasons)

    async def next_list(self, name: str, key: str | None = None, person: Sequence[float] | None = None) -> NextList:
        """The list that would be made next, and why; nothing comes of it."""
        async with self._looking():
            learner = await self._learner(name, key)
            spec, learned = learner.ranking.spec, learner.ranker.learned

            def explained(ranker: LoggedRanker) -> list[Reason]:
                shown = ranker.rank(positions=spec.positions, person=person)
                return [Reason(**row) for row in ranker.explain(shown).rows()]

            try:
                reasons = await self._of_copy(learner, explained)
            except InvalidInput as problem:
                raise Refused(str(problem), "/person") from problem
            return NextList(ranking=name, key=key, policy=spec.policy, learned=learned, positions=reasons)

    async def _of_copy(self, learner: HotLearner, work: Callable[[LoggedRanker], T]) -> T:
        """What a copy of a learner says, in another thread, since it takes long where there are many items."""
        policy, name, state = learner.ranking.spec.policy, learner.ranker.name, learner.ranker.state()
        await self._written([])  # at once, since later nobody knows whether this was committed or given up
        return await asyncio.to_thread(lambda: work(LoggedRanker.of(state, policy, name)))

    async def _learner(self, name: str, key: str | None) -> HotLearner:
        await self._warming.ready(self._ranking(name).setting)
        with self._changing() as memory:
            learner = memory.learners.find(self._ranking(name), key)
        if learner is None:
            which = "no list was made without a key" if key is None else f"no list was made for the key {key!r}"
            raise NotFound(f"Of the ranking {name!r}, {which} yet; ask for one first.")
        return learner

    async def keys(self, name: str, after: str | None = None, limit: int = 1000) -> list[str]:
        """The keys that lists were made for, in order."""
        async with self._looking() as memory:
            return memory.store.keys(self._ranking(name).id, after or "", limit)

    async def pages(self, name: str, after: int = 0) -> Iterator[Page]:
        """The log of a ranking, in small parts, between which others can have their turn."""
        async with self._looking() as memory:
            return paged(memory.store, self._ranking(name), after)

    async def events(self, name: str, after: int = 0) -> Iterator[Event]:
        """The log of a ranking, as far as it is committed when the end is reached."""
        return chain.from_iterable(page.events for page in await self.pages(name, after))


def ranking_shape(ranking: RankingState) -> Ranking:
    """A ranking as it is read."""
    spec = msgspec.structs.asdict(ranking.spec)
    return Ranking(**spec, items=len(ranking.items), created=as_time(ranking.created))


def impression_shape(memory: Memory, one: Impression) -> ImpressionShape:
    """A list that was made, and what is known of it."""
    event = memory.event_of(one)
    merged = one.outcome.merged
    seen = None if merged.seen is None else {str(place): chance for place, chance in merged.seen.items()}
    name, key = names(memory, one)
    return ImpressionShape(
        impression=as_text(one.id), ranking=name, key=key, items=list(memory.items_of(one)),
        state=STATES[one.state], made=as_time(event.at), due=as_time(one.due), clicks=list(merged.clicks),
        left=merged.left, seen=seen, reason=one.outcome.reason,
    )  # fmt: skip


def kept(memory: Memory, impression: str) -> Impression:
    """The impression that somebody named, if its ranking is there still."""
    one = found(memory, impression)
    if one.ranking not in memory.by_id:
        raise NotFound("The ranking of this list was deleted, and the list with it.")
    return one


def names(memory: Memory, one: Impression) -> tuple[str, str | None]:
    """The names of an impression's ranking and key."""
    event = memory.event(one.learner)
    return memory.by_id[one.ranking].name, None if event is None else decode_learner(event.body).key


def exported(store: Store, name: str | None = None) -> Iterator[Event]:
    """The log of a ranking, or of all rankings that there are, one after the other."""
    there = {row.name: row for row in store.rankings()}
    if name is not None and name not in there:
        raise NotFound(f"There is no ranking {name!r}; {nearest(name, there, 'leave it out for all of them')}.")
    for row in there.values() if name is None else [there[name]]:
        for page in paged(store, row, 0):
            yield from page.events


def paged(store: Store, ranking: RankingState | RankingRow, after: int) -> Iterator[Page]:
    """The log of a ranking, as far as it is committed when the end is reached; pages may be empty."""
    keys: dict[int, str | None] = {EVERYBODY: None}
    while after < (last := store.last_seq()):
        until = min(after + READ_AT_ONCE, last)  # what comes while this is read belongs to the next round
        events: list[Event] = []
        for event in store.events(ranking.id, after, until):
            if event.learner not in keys:
                begun = store.event(event.learner)
                keys[event.learner] = None if begun is None else decode_learner(begun.body).key
            events.append(Event(
                seq=event.seq, at=as_time(event.at), ranking=ranking.name, key=keys[event.learner], kind=event.kind,
                impression=None if event.impression is None else as_text(event.impression),
                body=msgspec.Raw(event.body),
            ))  # fmt: skip
        yield Page(until, events)
        after = until
