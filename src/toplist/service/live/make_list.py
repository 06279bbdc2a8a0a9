"""Makes lists: in memory, and as rows of the log."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Coroutine
from typing import Any

import msgspec
import numpy as np

from toplist.core.item_id import ItemId
from toplist.core.problem import InvalidInput
from toplist.core.protocols.list_probabilities import ListProbabilities
from toplist.ranker import Record
from toplist.service.errors import Conflict, NotOwner, StoreUnavailable
from toplist.service.live.compiler import PolicyCompiler
from toplist.service.live.groups import baseline_list, place_list
from toplist.service.live.impression_state import ImpressionState
from toplist.service.live.list_arguments import list_arguments, scaled_request
from toplist.service.live.new_learner import AT_ONCE, BegunRanker
from toplist.service.live.pools import SegmentPools
from toplist.service.live.quarantine import Contained
from toplist.service.live.ranking import LiveRanking
from toplist.service.live.request_errors import request_error
from toplist.service.live.segments import check_segment_room
from toplist.service.live.state import LiveState, RememberedRequest, request_conflict
from toplist.service.live.together import Together
from toplist.service.live.transaction import Transactions
from toplist.service.live.unrecorded import UnrecordedLists
from toplist.service.live.weigh_list import ListWeigher, WeighedDraft
from toplist.service.live.work_memory import SMALL, TIMES_LEARNER
from toplist.service.log.events import NO_PLACEMENT, SHADOW, ListEvent, ListOutcome, ListPlacement, encode
from toplist.service.log.impression_id import ImpressionIds, id_text
from toplist.service.log.settings import LearnerSettings
from toplist.service.store.group_commit import SLOW_SECONDS
from toplist.service.store.row_kinds import (
    DEFERRED,
    DROPPED,
    LIST,
    OPEN,
    ClaimedRequest,
    EventRow,
    ImpressionRow,
    RequestRow,
    Row,
)
from toplist.service.wire import ListReply, ListRequest

SMALL_RECORD = 4096  # bytes of a record that is kept in memory; larger ones are read from the log again

PROBABILITIES = ("propensities", "marginals", "propensity_errors", "marginal_errors")  # of events and replies

IF_KNOWN = (*PROBABILITIES, "group", "would_show")  # of events, in replies that have them
NO_OUTCOME = ListOutcome()
NO_OUTCOME_JSON = encode(NO_OUTCOME)


class Lists:
    """Makes lists."""

    def __init__(
        self, transactions: Transactions, compiler: PolicyCompiler, most_segments: int, ids: ImpressionIds,
        unrecorded: UnrecordedLists,
    ) -> None:  # fmt: skip
        self._transactions, self._compiler, self._most_segments = transactions, compiler, most_segments
        self._ids, self.unrecorded = ids, unrecorded
        self._weigher, self._pools = ListWeigher(), SegmentPools(transactions)
        self._together = Together(transactions, self._make_at_hand)

    def make(self, name: str, request: ListRequest) -> Coroutine[Any, Any, ListReply]:
        """Make a list to show; the same request id gives the same list.

        Where the ranking says so, it is made from memory and not recorded while the store is away or slow.
        """
        state = self._transactions.standby
        ranking = None if state is None else state.rankings.get(name)
        if ranking is not None and ranking.serves_unrecorded:
            return self._make_in_any_case(name, request)
        if state is None or ranking is None or not is_plain(request):
            return self._make_recorded(name, request, [])
        is_at_hand = state.learners.find(ranking, request.segment) is not None  # mostly; else it is not worth a turn
        return self._make_plain(name, request) if is_at_hand else self._make_recorded(name, request, [])

    async def _make_plain(self, name: str, request: ListRequest) -> ListReply:
        """Make a list together with others if all that it needs is in memory, as it mostly is."""
        reply = await self._together.ask(name, request)
        return reply if reply is not None else await self._make_recorded(name, request, [])

    def _make_at_hand(self, now: int, name: str, request: ListRequest) -> tuple[ListReply, list[Row]] | None:
        """A list and its rows; None if it needs a read, a compilation, much memory or another kind of list."""
        state = self._transactions.ready_state
        ranking = None if state is None else state.rankings.get(name)
        if state is None or ranking is None or not ranking.items or ranking.compiled is not ranking.settings:
            return None
        if ranking.has_groups or wants_propensities(ranking, request):
            return None
        if ranking.can.needs_features and ranking.list_bytes(request.positions) >= SMALL:
            return None
        learner = state.learners.find(ranking, request.segment)
        if learner is None or learner.is_far_behind:
            return None
        made, event, rows = self._make(state, ranking, request, now, None, None, None)
        return list_reply(made, event, name, request), rows

    async def _make_in_any_case(self, name: str, request: ListRequest) -> ListReply:
        """Make a list, from memory where it cannot be recorded."""
        if self.unrecorded.serves(name):
            return await self.unrecorded.make(name, request)
        made: list[bytes] = []
        recording = asyncio.create_task(self._make_recorded(name, request, made))
        try:
            while not (await asyncio.wait([recording], timeout=SLOW_SECONDS))[0]:
                if self.unrecorded.serves(name):
                    break
            else:
                return recording.result()
        except NotOwner:
            raise
        except StoreUnavailable:
            self._transactions.doubt_store()
            if not self.unrecorded.serves(name):
                raise
        finally:
            recording.cancel()
        reply = await self.unrecorded.make(name, request)
        self._transactions.unshown += made
        return reply

    async def _make_recorded(self, name: str, request: ListRequest, ids: list[bytes]) -> ListReply:
        """Make a list and record it; its impression is added to the ids before it is committed."""
        work, held = self._transactions.work, 0
        draft: WeighedDraft | None = None
        begun: BegunRanker | None = None
        chance = b""  # decides about the group of a request without ids, once for all attempts
        try:
            while True:
                state = self._transactions.ready_state or await self._transactions.state()
                ranking = state.ranking(name)
                ranking.check_segment(request.segment)
                settings = ranking.settings
                if ranking.compiled is not settings:
                    await self._compiler.wait_for(settings)
                    ranking.compiled = settings
                    continue
                remembered: RememberedRequest | None = None
                if request.request_id is not None:
                    known = await state.load_request(ranking, request.request_id)
                    remembered = state.requests.get((ranking.id, request.request_id))
                    made = None if known is None else await state.load_impression(known.impression)
                    if not self._transactions.is_current(state):
                        continue  # what it knows may never have been committed
                    if known is not None and made is not None and _stands(state, made, known, request):
                        if (again := await self._repeat(state, made, known, name, request)) is not None:
                            return again
                        continue
                if not ranking.items:
                    raise Conflict(f"The ranking {name!r} has no items yet; put some.")
                known_learner = state.learners.find(ranking, request.segment)
                has_learner = known_learner is not None
                needed = ranking.list_bytes(request.positions) if ranking.can.needs_features else 0
                if not has_learner:
                    needed += TIMES_LEARNER * ranking.learner_size
                placed: ListPlacement | None = None
                if ranking.has_groups:
                    chance = chance or os.urandom(16)
                    placed = place_list(ranking, request, chance)
                weighs = wants_propensities(ranking, request) and (placed is None or not placed.shows_baseline)
                if weighs:
                    needed += TIMES_LEARNER * state.learners.size(ranking, request.segment)
                if needed > held and needed >= SMALL:  # until it is committed: the disk may be slow
                    give_back, held = held, 0
                    work.give_back(give_back)
                    await work.take(needed, urgent=True)
                    held = needed
                    continue
                if not has_learner:
                    learner = await state.learners.load(ranking, request.segment, reserved=True)
                    if learner is None and not state.learners.has_room(ranking.learner_size):
                        await state.learners.make_room(ranking.learner_size)
                        continue  # another request may have made it meanwhile
                    if learner is not None and not state.learners.has(ranking, request.segment):
                        continue  # it exists, and must not be made again
                    if learner is None and request.segment is not None and self._pools.is_outdated(state, ranking):
                        await self._pools.update(state, ranking)
                        continue
                    begins = learner is None and ranking.learner_size > AT_ONCE
                    if begins and (begun is None or not begun.fits(ranking, request.segment)):
                        begun = self._begin_ranker(ranking, request.segment)
                        await begun.finish()
                        continue
                if known_learner is not None and known_learner.is_far_behind:
                    await state.learners.catch_up(known_learner)
                    continue
                has_waited = not has_learner or request.request_id is not None  # since the state was read
                if has_waited and not self._can_make(state, ranking, settings, request, remembered):
                    continue
                if not weighs or (draft is not None and draft.fits(state, ranking, request.segment)):
                    break
                draft = await self._weigher.draft(state, ranking, request)
            try:
                now = self._transactions.clock()
                made, event, rows = self._make(state, ranking, request, now, draft if weighs else None, placed, begun)
                reply = list_reply(made, event, name, request)
            except BaseException as problem:
                self._transactions.fail_change(problem)
                raise
            ids.append(made.id)
            await state.commits.write(rows)
            return reply
        finally:
            if held:
                work.give_back(held)

    def _begin_ranker(self, ranking: LiveRanking, segment: str | None) -> BegunRanker:
        """Begin the ranker of a new learner."""
        check_segment_room(ranking, segment, self._most_segments)
        try:
            return BegunRanker(ranking, segment)
        except InvalidInput as problem:
            raise _cannot_serve_yet(ranking, problem) from problem

    def _can_make(
        self, state: LiveState, ranking: LiveRanking, settings: LearnerSettings, request: ListRequest,
        remembered: RememberedRequest | None,
    ) -> bool:  # fmt: skip
        """Whether all that was read is still so: other requests may have come in between."""
        return (
            self._transactions.is_current(state)
            and state.rankings.get(ranking.name) is ranking
            and ranking.compiled is ranking.settings is settings
            and bool(ranking.items)
            and (request.request_id is None or state.requests.get((ranking.id, request.request_id)) is remembered)
        )

    async def _repeat(
        self, state: LiveState, made: ImpressionState, known: RememberedRequest, name: str, request: ListRequest
    ) -> ListReply | None:
        """Give the list again that was made for the same request; None if it no longer stands."""
        if known.digest != request_digest(request):
            raise request_conflict(request.request_id)
        event = (await state.load_lists([made])).get(made.seq)
        self._transactions.check_current(state)  # else the list may never have been committed
        if event is None:
            raise Conflict(
                f"The list of this request cannot be read: {made.damage} Use a new request id.", "/request_id"
            )
        await self._transactions.settle()  # the list may not be committed yet
        if not _stands(state, made, known, request):
            return None
        if made.id in self._transactions.unshown:  # it is shown now
            self._transactions.unshown.remove(made.id)
        return list_reply(made, event, name, request)

    def _make(
        self, state: LiveState, ranking: LiveRanking, request: ListRequest, now: int, draft: WeighedDraft | None,
        placed: ListPlacement | None, begun: BegunRanker | None,
    ) -> tuple[ImpressionState, ListEvent, list[Row]]:  # fmt: skip
        """A new list, or the drafted one, or the baseline in its place; its event, and all of its rows."""
        rows: list[Row] = []
        had_learner = ranking.has_learner
        learner = state.learners.get(ranking, request.segment)
        if learner is None:
            check_segment_room(ranking, request.segment, self._most_segments)
            try:
                learner, rows = state.learners.create(ranking, request.segment, state.next_seq(), now, begun)
            except InvalidInput as problem:
                raise _cannot_serve_yet(ranking, problem) from problem
        weighed: ListProbabilities | None = None
        try:
            asked = request if request.features is None else scaled_request(request, ranking)
            if draft is None:
                items, record = learner.ranker.make(**list_arguments(ranking, asked))
            else:
                items, weighed = draft.made.items, draft.made.probabilities
                record = learner.ranker.accept(draft.made.record)
        except (InvalidInput, ValueError) as problem:
            if rows:  # the learner is new, and is not kept for a request that is refused
                state.learners.undo_create(learner, had_learner)
            raise request_error(problem, request, ranking) from problem
        except Exception as problem:  # of this learner alone, which may be half changed
            if rows:
                state.learners.undo_create(learner, had_learner)
            else:
                state.learners.discard(learner)
            raise Contained(f"A list of the ranking {ranking.name!r} failed.") from problem
        ranking.longest = max(ranking.longest, len(items))
        seq, id = state.next_seq(), self._ids.next(now)
        initial = DEFERRED if request.deferred else OPEN
        due = now + ranking.click_window
        made = ImpressionState(id, seq, ranking.id, learner.id, initial, due, items, NO_OUTCOME, last_seq=seq)
        if placed is not None and placed.shows_baseline:
            items, record, placed = _in_place_of(items, record, ranking, request, placed)
            made.items = items
            if wants_propensities(ranking, request):
                weighed = ListProbabilities.exact(np.ones(len(items)), np.ones(len(items)))
        elif len(record.rows) + len(record.memo) <= SMALL_RECORD:
            made.record = record
        if ranking.settings.measured:
            made.placed = placed if placed is not None and placed.is_compared else NO_PLACEMENT
        state.add_impression(made)
        learner.count_event(seq)
        if learner.may_have_grown:
            state.learners.measure(learner)
        event = ListEvent.of(items, record, asked, weighed, placed)
        rows += (
            EventRow(seq, now, ranking.id, learner.id, LIST, id, encode(event)),
            ImpressionRow(id, seq, ranking.id, learner.id, initial, due, NO_OUTCOME_JSON),
        )
        if learner.needs_snapshot:
            rows += state.learners.snapshot_rows(learner)
        if request.request_id is not None:
            known = RememberedRequest(request_digest(request), id, seq)
            state.remember_request(ranking.id, request.request_id, known)
            row = RequestRow(ranking.id, request.request_id, known.digest, id, now)
            rows.append(ClaimedRequest(*row, ranking.settings.scope) if ranking.is_divided else row)
        rows += state.learners.evict()
        return made, event, rows


def _stands(state: LiveState, made: ImpressionState, known: RememberedRequest, request: ListRequest) -> bool:
    """Whether the list of a request id is given again: not if its segment was deleted, or its caller got another.

    That one came from memory, during a slow commit, and the recorded one was dropped: reports of it would not count.
    """
    is_unshown = made.state == DROPPED and not request.deferred and known.digest == request_digest(request)
    return not is_unshown and not state.is_deleted(made)


def _cannot_serve_yet(ranking: LiveRanking, problem: InvalidInput) -> Conflict:
    return Conflict(f"The ranking {ranking.name!r} cannot serve yet: {problem}")


def is_plain(request: ListRequest) -> bool:
    """Whether a request is small, and was never sent before."""
    names_items = request.among is not None or request.exclude or request.pins or request.features is not None
    return not names_items and request.request_id is None


def wants_propensities(ranking: LiveRanking, request: ListRequest) -> bool:
    """Whether a list is made with the probability of what it shows."""
    return ranking.has_propensities if request.propensities is None else request.propensities


def _in_place_of(
    items: list[ItemId], record: Record, ranking: LiveRanking, request: ListRequest, placed: ListPlacement
) -> tuple[list[ItemId], Record, ListPlacement]:
    """The baseline in place of a list of the policy, under its number: items, record and group.

    The policy makes a list for the holdout, too, so that requests are refused for the same reasons in both groups.
    """
    pinned = [(position, items[position - 1]) for position in record.pinned]
    shown = baseline_list(ranking, request, pinned, len(items))
    if placed.group == SHADOW:
        placed = placed._replace(would_show=items)
    return shown, record._replace(slots=(), rows=b"", memo=b""), placed


def request_digest(request: ListRequest) -> bytes:
    """A digest of a request: equal for equal requests.

    Stores hold digests of all fields in the order in which they were first defined, with the segment as `key`.
    """
    fields = msgspec.structs.asdict(request)
    if request.visitor is None:  # a later field, as the next
        del fields["visitor"]
    if request.propensities is None:  # a later field
        del fields["propensities"]
    del fields["token"]  # it is made anew with each reply
    fields = {"key": fields.pop("segment")} | {name: fields[name] for name in fields if name != "key"}
    return hashlib.blake2b(encode(fields), digest_size=16).digest()


def list_reply(made: ImpressionState, event: ListEvent, name: str, request: ListRequest) -> ListReply:
    """A list as it is sent."""
    reply = ListReply(
        impression=id_text(made.id), items=event.items, ranking=name, segment=request.segment,
        deferred=request.deferred,
    )  # fmt: skip
    if event.group is None and event.propensities is None:
        return reply
    known = {field: value for field in IF_KNOWN if (value := getattr(event, field)) is not None}
    return msgspec.structs.replace(reply, **known)
