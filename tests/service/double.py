"""A double of the service that keeps everything in memory and learns nothing, for tests of HTTP."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import numpy as np

from toplist.core.defaults import DEFAULT_POLICY
from toplist.core.item_id import ItemId, id_order, item_text
from toplist.ranker.estimate_rows import EstimateRows
from toplist.service.errors import Conflict, NotFound, Refused, StoreUnavailable, UnknownRanking
from toplist.service.live.impression_state import report_in_positions
from toplist.service.live.impressions import TakenReport
from toplist.service.live.queries import LearnerStanding
from toplist.service.live.read_lane import ReadLane
from toplist.service.live.service import Service
from toplist.service.log.events import ListOutcome, MergedReport, encode
from toplist.service.log.export import EventPage, RowPage
from toplist.service.store.group_commit import CommitCounts
from toplist.service.store.row_kinds import EventRow
from toplist.service.wire import (
    Estimate,
    Estimates,
    Event,
    Explanation,
    GroupCounts,
    ImportReply,
    Impression,
    Item,
    ItemsChanged,
    ItemsPage,
    ListReply,
    ListRequest,
    NextList,
    Ranking,
    RankingChange,
    RankingSpec,
    Reason,
    Report,
    ReportReply,
    SampleRatio,
    Uplift,
)

THEN = "2026-11-15T12:00:00.000Z"
POLICIES = {DEFAULT_POLICY, "dcm-kl-ucb", "cascade-kl-ucb"}


GROUPS = {
    "rankings": {"create": "create_ranking", "change": "change_ranking", "delete": "delete_ranking"},
    "items": {"put": "put_items", "remove": "remove_items"},
    "lists": {"make": "make_list"},
    "imports": {"take": "import_ranker"},
    "impressions": {"take": "take", "activate": "activate", "close_all_due": "close_all_due"},
    "segments": {"delete": "delete_segment"},
    "uplift": {"uplift": "uplift_of", "click_through": "click_through"},
    "retention": {"forget_old": "forget_old", "purge_deleted": "purge_deleted"},
    "guardrails": {"check": "check_guardrails"},
}


class _Grouped:
    """A double with its methods in the groups of the service."""

    def __init__(self, double: Double) -> None:
        self._double = double

    def __getattr__(self, name: str) -> Any:
        if name == "queries":
            return self._double
        if name in GROUPS:
            return SimpleNamespace(**{short: getattr(self._double, long) for short, long in GROUPS[name].items()})
        return getattr(self._double, name)


class DoublePages:
    """A log in pages, any of which can be read again."""

    def __init__(self, log: list[Event], after: int, id_of: Callable[[str], int] | None = None) -> None:
        self._log, self.after, self._id_of = log, after, id_of

    def __aiter__(self) -> DoublePages:
        return self

    async def __anext__(self) -> Any:
        page = [event for event in self._log if event.seq > self.after][:500]
        if not page:
            raise StopAsyncIteration
        self.after = page[-1].seq
        if self._id_of is None:
            return EventPage(self.after, page)
        return RowPage(self.after, [_row(event, self._id_of(event.ranking)) for event in page])


def _row(event: Event, ranking: int) -> EventRow:
    at = round(datetime.fromisoformat(event.at).timestamp() * 1000)
    return EventRow(event.seq, at, ranking, 0, event.kind, None, encode(event.body))


class Double:
    """The methods of the service that HTTP calls."""

    def __init__(self) -> None:
        self.kept: dict[str, Ranking] = {}
        self.item_of: dict[str, dict[ItemId, Item]] = {}
        self.lists: dict[str, Impression] = {}
        self.by_request: dict[tuple[str, str], tuple[ListRequest, ListReply]] = {}
        self.log: list[Event] = []
        self.is_ready = False
        self.full = False  # as a disk is
        self.asked: ListRequest | None = None  # the last list
        self.backups: list[Path] = []
        self.lane = ReadLane()

    def as_service(self) -> Service:
        """The double with the interface of the service, whose methods are grouped."""
        return cast(Service, _Grouped(self))

    @property
    def loaded_learners(self) -> int:
        return 3

    @property
    def commit_counts(self) -> CommitCounts:
        return CommitCounts(len(self.log), 2 * len(self.log), 0.5)

    async def open_impressions(self) -> int:
        return 7

    @property
    def learned(self) -> Counter[str]:
        return Counter(final=2, window=1)

    @property
    def quarantined(self) -> Counter[str]:
        return Counter()

    def expiry_time(self) -> float:
        return time.time()

    @property
    def is_time_believed(self) -> bool:
        return True

    @property
    def is_compiling(self) -> bool:
        return False

    def begin_stop(self) -> None:
        pass

    async def start(self) -> None:
        self.is_ready = True

    async def stop(self) -> None:
        self.is_ready = False

    def _note(self, name: str, kind: str, body: Any, impression: str | None = None, segment: str | None = None) -> None:
        if self.full:
            raise StoreUnavailable("The disk is full; make room.", retry_after=1.5)
        self.log.append(
            Event(
                seq=len(self.log) + 1,
                at=THEN,
                ranking=name,
                segment=segment,
                kind=kind,
                impression=impression,
                body=body,
            )
        )

    def as_if_learned(self, name: str, clicks: Sequence[int]) -> None:
        """As if a list had been learned."""
        self._note(name, "learned", msgspec.Raw(encode(ListOutcome(MergedReport(tuple(clicks))))))

    async def settle(self) -> None:
        """Nothing is ever on its way to a disk here."""

    async def create_ranking(self, spec: RankingSpec, by: str = "") -> Ranking:
        if spec.name in self.kept:
            raise Conflict(f"There is a ranking {spec.name!r} already; choose another name.", "/name")
        if spec.policy not in POLICIES:
            raise Refused(f"There is no policy {spec.policy[:50]!r}.", "/policy")
        self._note(spec.name, "ranking", {"spec": msgspec.to_builtins(spec), "by": by})
        made = Ranking(**msgspec.structs.asdict(spec), items=0, created=THEN)
        self.kept[spec.name] = made
        self.item_of[spec.name] = {}
        return made

    async def ranking(self, name: str) -> Ranking:
        if name not in self.kept:
            raise UnknownRanking(name, f"perhaps you mean {min(self.kept, default='')!r}")
        return msgspec.structs.replace(self.kept[name], items=len(self.item_of[name]))

    async def rankings(self) -> list[Ranking]:
        return [await self.ranking(name) for name in sorted(self.kept)]

    async def change_ranking(self, name: str, change: RankingChange, by: str = "") -> Ranking:
        await self.ranking(name)
        fields = {k: v for k, v in msgspec.structs.asdict(change).items() if v is not msgspec.UNSET and k != "train"}
        if fields.get("policy", DEFAULT_POLICY) not in POLICIES:
            raise Refused("There is no such policy.", "/policy")
        self._note(name, "ranking", {"spec": fields, "by": by})
        self.kept[name] = msgspec.structs.replace(self.kept[name], **fields)
        return await self.ranking(name)

    async def delete_ranking(self, name: str, by: str = "") -> None:
        await self.ranking(name)
        self._note(name, "ranking", {"deleted": True, "by": by})
        del self.kept[name], self.item_of[name]

    async def put_items(self, name: str, items: Sequence[Item], by: str = "") -> ItemsChanged:
        ranking, there = await self.ranking(name), self.item_of[name]
        for place, item in enumerate(items):
            if item.features is not None and len(item.features) != ranking.features:
                raise Refused(f"An item has {ranking.features} features.", f"/items/{place}/features")
        added = len({item.id for item in items} - set(there))
        unchanged = sum(there.get(item.id) == item for item in items)
        self._note(name, "items", {"put": [item.id for item in items], "by": by})
        there |= {item.id: item for item in items}
        return ItemsChanged(added=added, changed=len(items) - added - unchanged, unchanged=unchanged)

    async def remove_items(self, name: str, ids: Sequence[ItemId], by: str = "") -> int:
        await self.ranking(name)
        self._note(name, "items", {"removed": list(ids), "by": by})
        return sum(self.item_of[name].pop(item, None) is not None for item in ids)

    async def item(self, name: str, item: ItemId) -> Item:
        await self.ranking(name)
        if item not in self.item_of[name]:
            raise NotFound(f"There is no item {item!r}.")
        return self.item_of[name][item]

    async def items(self, name: str, after: ItemId | None = None, limit: int = 1000) -> list[Item]:
        await self.ranking(name)
        ids = sorted(self.item_of[name], key=id_order)
        return [self.item_of[name][id] for id in ids if after is None or id_order(id) > id_order(after)][:limit]

    async def items_page(self, name: str, after: ItemId | None, limit: int) -> ItemsPage:
        rows = await self.items(name, after, limit + 1)
        page = rows[:limit]
        return ItemsPage(items=page, next=item_text(page[-1].id) if len(rows) > limit else None)

    def items_size(self, name: str, limit: int) -> int:
        return 0

    def click_window(self, name: str) -> float:
        return self.kept[name].click_window

    @property
    def ranking_count(self) -> int:
        return len(self.kept)

    @property
    def baseline_size(self) -> int:
        return sum(len(ranking.baseline or ()) for ranking in self.kept.values())

    @property
    def last_seq(self) -> int:
        return len(self.log)

    async def make_list(self, name: str, request: ListRequest) -> ListReply:
        ranking = await self.ranking(name)
        self.asked = request
        for unknown in set(request.among or []) - set(self.item_of[name]):
            raise Refused(f"There is no item {unknown!r}.", "/among")
        if request.request_id is not None and (name, request.request_id) in self.by_request:
            before, reply = self.by_request[name, request.request_id]
            if before != request:
                raise Conflict("This request_id was used for another list.", "/request_id")
            return reply
        eligible = [item.id for item in await self.items(name) if not item.hidden and item.id not in request.exclude]
        shown = [item for item in eligible if request.among is None or item in request.among]
        shown = shown[: request.positions or ranking.positions]
        number = len(self.lists)
        reply = ListReply(
            impression=f"019a8b5e-7c1f-7d3a-9b42-{number:012x}", items=shown, ranking=name, segment=request.segment,
            deferred=request.deferred,
        )  # fmt: skip
        self._note(name, "list", {"items": shown}, reply.impression, request.segment)
        self.lists[reply.impression] = Impression(
            impression=reply.impression, ranking=name, segment=request.segment, items=shown,
            state="deferred" if request.deferred else "open", made=THEN, due=THEN, clicks=[], left=None, seen=None,
            reason=None,
        )  # fmt: skip
        if request.request_id is not None:
            self.by_request[name, request.request_id] = request, reply
        return reply

    async def take(self, impression: str, report: Report) -> TakenReport:
        before = len(self.log)
        reply, shown = await self.report(impression, report), self.lists[impression]
        outcome = ("counted" if len(self.log) > before else "duplicate") if reply.counted else str(reply.why)
        return TakenReport(reply, outcome, shown.ranking)

    async def report(self, impression: str, report: Report) -> ReportReply:
        shown = await self.impression(impression)
        places = {*shown.clicks, *report_in_positions(report, shown.items).clicks}
        if shown.state == "learned" and places != set(shown.clicks):
            return ReportReply(impression=impression, counted=False, why="late", detail="It was learned before.")
        if shown.state == "learned":
            return ReportReply(impression=impression, counted=True)
        self._note(shown.ranking, "report", msgspec.to_builtins(report), impression, shown.segment)
        self.lists[impression] = msgspec.structs.replace(
            shown, clicks=sorted(places), state="learned" if report.final else "open"
        )
        return ReportReply(impression=impression, counted=True)

    async def activate(self, impression: str) -> ReportReply:
        self.lists[impression] = msgspec.structs.replace(await self.impression(impression), state="open")
        return ReportReply(impression=impression, counted=True)

    async def impression(self, impression: str) -> Impression:
        if impression not in self.lists:
            raise NotFound(f"There is no impression {impression}.")
        return self.lists[impression]

    async def ranking_of(self, impression: str) -> str | None:
        return self.lists[impression].ranking if impression in self.lists else None

    async def estimates(
        self, name: str, segment: str | None = None, limit: int = 100, person: Sequence[float] | None = None,
        by: str = "",
    ) -> Estimates:  # fmt: skip
        ranking = await self.ranking(name)
        if person is not None and len(person) != ranking.person:
            raise Refused(f"A person has {ranking.person} features.")
        if segment is not None and segment not in await self.segments(name):
            raise NotFound(f"There is no segment {segment!r}.")
        rows = [
            Estimate(item=item.id, examined=0.0, mean=None, low=None, high=None, index=None)
            for item in await self.items(name)
        ]
        return Estimates(ranking=name, segment=segment, policy=ranking.policy, learned=0, items=rows[:limit])

    async def standing(self, name: str, segment: str | None = None, by: str = "") -> LearnerStanding:
        found = await self.estimates(name, segment, 10_000)
        rows = [[one.examined, one.mean, one.low, one.high, one.index] for one in found.items]
        columns = [np.array(column, dtype=float) for column in zip(*rows, strict=True)] or [np.zeros(0)] * 5
        return LearnerStanding(found.learned, EstimateRows([one.item for one in found.items], columns), [], [])

    def ranking_id(self, name: str) -> int:
        return 1 + list(self.kept).index(name) if name in self.kept else 0

    @property
    def ranking_ids(self) -> Collection[int]:
        return range(1, len(self.kept) + 1)

    @property
    def ranking_names(self) -> list[str]:
        return sorted(self.kept)

    def hidden_items(self, name: str, items: Collection[ItemId]) -> set[ItemId]:
        return {id for id in items if self.item_of[name][id].hidden}

    async def items_with(self, name: str, features: Sequence[int], count: int) -> list[list[ItemId]]:
        return [[] for _ in features]

    def log_pages(self, after: int, kinds: Sequence[str]) -> DoublePages:
        return DoublePages([one for one in self.log if one.kind in kinds], after, self.ranking_id)

    def divided_rankings(self) -> dict[int, Any]:
        return {}

    async def segment_pages(self, name: str, segment: str, after: int = 0) -> DoublePages:
        found = [one for one in self.log if (one.ranking, one.segment) == (name, segment)]
        return DoublePages(found, after, self.ranking_id)

    async def click_through(self, names: Sequence[str], caller: str = "") -> dict[str, Any]:
        return {}

    async def explanation(self, impression: str, by: str = "") -> Explanation:
        shown = await self.impression(impression)
        reasons = [
            Reason(position=place, item=item, examined=None, mean=None, bonus=None, index=None, why="by its name")
            for place, item in enumerate(shown.items, 1)
        ]
        return Explanation(impression=impression, ranking=shown.ranking, segment=shown.segment, positions=reasons)

    async def next_list(
        self, name: str, segment: str | None = None, person: Sequence[float] | None = None, by: str = ""
    ) -> NextList:
        about = await self.estimates(name, segment, person=person)
        reasons = [
            Reason(position=place, item=one.item, examined=None, mean=None, bonus=None, index=None, why="by its name")
            for place, one in enumerate(about.items, 1)
        ]
        return NextList(ranking=name, segment=segment, policy=about.policy, learned=about.learned, positions=reasons)

    async def segments(self, name: str, after: str | None = None, limit: int = 1000) -> list[str]:
        await self.ranking(name)
        found = {shown.segment for shown in self.lists.values() if shown.ranking == name and shown.segment is not None}
        return sorted(segment for segment in found if segment > (after or ""))[:limit]

    async def uplift_of(
        self, name: str, by: str = "none", after: str | None = None, limit: int = 100, caller: str = ""
    ) -> Uplift:
        ranking = await self.ranking(name)
        if ranking.holdout == 0.0:
            raise Conflict(f"The ranking {name!r} has no holdout.")
        none = GroupCounts(visitors=0, lists=0, clicked=0, clicks=0, clicks_at_1=0)
        ratio = SampleRatio(assigned=ranking.holdout, observed=None, p_value=1.0, level=0.01, alarm=False)
        return Uplift(
            ranking=name, mode=ranking.mode, since=THEN, policy=none, holdout=none, metrics=[], sample_ratio=ratio,
            stopped=None, slices=[], next=None,
        )  # fmt: skip

    async def delete_segment(self, name: str, segment: str, by: str = "") -> None:
        if segment not in await self.segments(name):
            raise NotFound("There is no such segment.")
        self._note(name, "erased", {"learner": 1, "by": by})
        self.lists = {id: one for id, one in self.lists.items() if (one.ranking, one.segment) != (name, segment)}

    async def import_ranker(self, name: str, segment: str | None, content: bytes, by: str = "") -> ImportReply:
        ranking = await self.ranking(name)
        if not content.startswith(b"PK"):
            raise Refused("It is not the content of a file that Ranker.save has written.", "/ranker")
        if segment in [one.segment for one in self.lists.values() if one.ranking == name]:
            raise Conflict(f"The ranking {name!r} has a learner already.", "/segment")
        self._note(name, "imported", {"by": by})
        return ImportReply(ranking=name, segment=segment, policy=ranking.policy, learned=0, items=0)

    async def event_pages(
        self, name: str, after: int = 0, kinds: Collection[str] | None = None, cursor: str | None = None
    ) -> DoublePages:
        await self.ranking(name)
        found = [one for one in self.log if one.ranking == name and (kinds is None or one.kind in kinds)]
        return DoublePages(found, after if cursor is None else int(cursor))

    async def recent_pages(self, name: str, segment: str | None, after: int, limit: int) -> DoublePages:
        await self.ranking(name)
        kept = [one for one in self.log if one.ranking == name]
        kept = [one for one in kept if segment in (None, one.segment) or one.kind in ("ranking", "items")]
        return DoublePages(kept[-limit:], after)

    async def close_all_due(self) -> None:
        pass

    async def forget_old(self, now: int | None = None) -> int:
        return 0

    async def check_guardrails(self) -> None:
        return None

    async def purge_deleted(self) -> bool:
        return False

    async def backup(self, path: Path) -> None:
        self.backups.append(path)
