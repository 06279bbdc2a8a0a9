"""The service without its network: items, lists, reports and their closing, on one event loop.

What they stand on is in `core`; rankings change in `changing`, `looking` reads, and `keeping` forgets.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from toplist.core.problem import InvalidInput
from toplist.service.clock import milliseconds
from toplist.service.errors import Conflict
from toplist.service.live.change_policy import Changing
from toplist.service.live.closing import activated, closed, found, taken, verdict
from toplist.service.live.impression import Impression, Merged, Numbers, merged_of
from toplist.service.live.make_list import digest, listed, reply_of
from toplist.service.live.queries import Looking
from toplist.service.live.ranking import RankingState
from toplist.service.live.retention import Keeping
from toplist.service.live.state import Asked, Memory
from toplist.service.log.events import ItemsBody, encode
from toplist.service.store.protocol import (
    DEFERRED,
    EVERYBODY,
    ITEMS,
    EventRow,
    ImpressionRow,
    ItemGone,
    ItemRow,
    RequestRow,
    Row,
)
from toplist.service.wire import Item, ItemsChanged, ListReply, ListRequest, Report, ReportReply

CLOSED_AT_ONCE = 500  # impressions; more would keep others waiting


class Desk(Changing, Looking, Keeping):
    """Everything that the service promises. All methods belong to one event loop.

    Errors: `Refused` (with `field`, a JSON pointer), `NotFound`, `Conflict`; `StoreUnavailable` (with `retry_after`).
    """

    def __init__(self, path: Path, clock: Callable[[], int] = milliseconds, *, hot_bytes: int = 512 << 20) -> None:
        super().__init__(path, clock, hot_bytes=hot_bytes)
        self._numbers = Numbers()

    # Items ------------------------------------------------------------------------------------------------------------

    async def put_items(self, name: str, items: Sequence[Item]) -> ItemsChanged:
        """Add items, or change them; features that are left out stay."""
        ranking = self._ranking(name)
        body = ranking.checked(items)
        added = sum(put.id not in ranking.items for put in body.put)
        rows = self._change_items(ranking, body) if body.put else []
        await self._written(rows)
        changed = len(body.put) - added
        return ItemsChanged(added=added, changed=changed, unchanged=len(items) - len(body.put))

    async def remove_items(self, name: str, ids: Sequence[str]) -> int:
        """Remove items; those that are not there are none. After this, they are in no list."""
        ranking = self._ranking(name)
        ranking.check_removable(ids)
        there = [id for id in dict.fromkeys(ids) if id in ranking.items]
        rows = self._change_items(ranking, ItemsBody(removed=there)) if there else []
        await self._written(rows)
        return len(there)

    def _change_items(self, ranking: RankingState, body: ItemsBody) -> list[Row]:
        with self._changing() as memory:
            seq = memory.next_seq()
            ranking.change(seq, body)
            memory.learners.come_along(ranking)
        rows: list[Row] = [EventRow(seq, self._clock(), ranking.id, EVERYBODY, ITEMS, None, encode(body))]
        for put in body.put:
            place, features, hidden = ranking.items[put.id]
            rows.append(ItemRow(ranking.id, put.id, place, None if features is None else features.tobytes(), hidden))
        rows += [ItemGone(ranking.id, id) for id in body.removed]
        return rows

    # Lists ------------------------------------------------------------------------------------------------------------

    async def make_list(self, name: str, request: ListRequest) -> ListReply:
        """A list to show; the same request id gives the same list."""
        ranking = self._ranking(name)
        while ranking.compiled is not ranking.setting:
            setting = ranking.setting
            await self._warming.ready(setting)
            ranking.compiled = setting
            ranking = self._ranking(name)
        with self._changing() as memory:
            made = self._made_before(memory, ranking, request)
            rows: list[Row] = []
            if made is None:
                if not ranking.items:
                    raise Conflict(f"The ranking {name!r} has no items yet; put some.")
                made, rows = self._made(memory, ranking, request)
            items = memory.items_of(made)
        await self._written(rows)
        return reply_of(made, items, name, request)

    def _made_before(self, memory: Memory, ranking: RankingState, request: ListRequest) -> Impression | None:
        """The list that was made for this very request."""
        if request.request_id is None:
            return None
        asked = memory.asked(ranking.id, request.request_id)
        if asked is None or (one := memory.impression(asked.impression)) is None:
            return None
        if asked.digest != digest(request):
            raise Conflict(
                f"Another list was asked for with the request id {request.request_id!r}; use a new one.", "/request_id"
            )
        return one

    def _made(self, memory: Memory, ranking: RankingState, request: ListRequest) -> tuple[Impression, list[Row]]:
        """A new list, and its rows."""
        now = self._clock()
        rows: list[Row] = []
        learner = memory.learners.find(ranking, request.key)
        if learner is None:
            try:
                learner, rows = memory.learners.create(ranking, request.key, memory.next_seq(), now)
            except InvalidInput as problem:
                raise Conflict(f"The ranking {ranking.name!r} cannot serve yet: {problem}") from problem
        one = listed(memory, self._numbers, learner, request, now, rows)
        if request.request_id is not None:
            asked = Asked(digest(request), one.id, one.seq)
            memory.remember_request(ranking.id, request.request_id, asked)
            rows.append(RequestRow(ranking.id, request.request_id, asked.digest, one.id, now))
        rows += memory.learners.evicted()
        return one, rows

    # Reports ----------------------------------------------------------------------------------------------------------

    async def report(self, impression: str, report: Report) -> ReportReply:
        """Take in what came back for a list; however often and in whatever order, it counts once."""
        now = self._clock()
        with self._changing() as memory:
            one = found(memory, impression)
            told = merged_of(report, memory.items_of(one))
            was_open = one.is_open
            rows = closed(memory, one, now) or taken(memory, one, told, now)
            reply = verdict(impression, one, told)
            reason = one.outcome.reason if was_open else None  # now: while this waits, another report may close it
        await self._written(rows)
        self._count(reason)
        return reply

    async def activate(self, impression: str) -> ReportReply:
        """A deferred list is shown now, so its click window begins."""
        now = self._clock()
        with self._changing() as memory:
            one = found(memory, impression)
            was_open = one.is_open
            rows = closed(memory, one, now)
            if one.state == DEFERRED:
                rows += activated(memory, one, now)
                rows.append(ImpressionRow(one.state, one.due, encode(one.outcome), one.id))
            reply = verdict(impression, one, Merged())
            reason = one.outcome.reason if was_open else None
        await self._written(rows)
        self._count(reason)
        return reply

    async def close_due(self, now: int | None = None) -> int:
        """Close impressions whose window is over, at most some hundred at a time; how many these were."""
        now = self._clock() if now is None else now
        rows: list[Row] = []
        reasons: list[str | None] = []
        with self._changing() as memory:
            for row in memory.store.due(now, CLOSED_AT_ONCE):
                one = memory.taken_in(row)
                if one.is_open and one.due <= now:
                    rows += closed(memory, one, now)
                    reasons.append(one.outcome.reason)
        await self._written(rows)
        for reason in reasons:
            self._count(reason)
        return len(reasons)
