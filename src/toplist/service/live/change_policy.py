"""Rankings are created, changed and deleted; a new policy is trained from the log before it serves."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable
from itertools import chain
from typing import NamedTuple

import msgspec

from toplist.core.problem import InvalidInput
from toplist.core.protocols import Capabilities
from toplist.policies.by_name import make
from toplist.ranker import LoggedRanker
from toplist.service.errors import Conflict, Refused, StoreUnavailable
from toplist.service.live.learners import WORTH_A_SNAPSHOT
from toplist.service.live.queries import ranking_shape
from toplist.service.live.ranking import SHORTEST, RankingState, Setting
from toplist.service.live.request_errors import at_fault
from toplist.service.live.transaction import Core
from toplist.service.log import replay, training
from toplist.service.log.events import RankingBody, decode_items, encode
from toplist.service.store.protocol import (
    EVERYBODY,
    ITEMS,
    RANKING,
    EventRow,
    RankingGone,
    RankingRow,
    Row,
    SnapshotRow,
    SnapshotsGone,
)
from toplist.service.wire import Ranking, RankingChange, RankingSpec

LAST_ROUND = 1000  # events that may be left to learn when a new policy takes over

# What can be changed of a ranking: as it is, and with new learners.
OF_RANKING = ("positions", "click_window", "retention", "reference")
OF_LEARNERS = ("policy", "seed", "steps", "prior_mean", "prior_strength", "new_per_list")
FIXED = ("features", "person", "join")  # what items and lists of the log have, so it stays

Works = Callable[[RankingSpec], bool]  # whether settings are free of a problem
Blamed = Callable[[Works], str]  # which of the settings that were given a problem is about


class NewLearners(NamedTuple):
    """What takes the place of a ranking's learners."""

    setting: Setting
    snapshots: list[SnapshotRow]


class Changing(Core):
    """Changes of rankings."""

    async def create_ranking(self, spec: RankingSpec) -> Ranking:
        """A new ranking, without items."""
        self._check_free(spec.name)
        setting = Setting.of(RankingBody(spec, longest=SHORTEST))
        try:
            await self._warming.ready(setting)
        except Refused as problem:
            if problem.field is not None:
                raise
            plain = RankingSpec(name=spec.name, positions=spec.positions, features=spec.features, person=spec.person)
            works = functools.partial(_would_work, setting, True, SHORTEST)
            raise Refused(str(problem), await asyncio.to_thread(at_fault, spec, plain, works)) from problem
        self._check_free(spec.name)  # somebody may have been faster
        memory, now = self._now(), self._clock()
        seq = memory.next_seq()
        ranking = RankingState(seq, now, setting.since(seq))
        memory.add(ranking)
        reply = ranking_shape(ranking)
        await self._written(self._ranking_rows(ranking, seq, now))
        return reply

    def _check_free(self, name: str) -> None:
        if name in self._now().rankings:
            raise Conflict(f"There is a ranking {name!r} already; change it, or choose another name.", "/name")

    def _ranking_rows(self, ranking: RankingState, seq: int, now: int) -> list[Row]:
        setting = ranking.setting
        body = encode(setting.body())
        return [
            EventRow(seq, now, ranking.id, EVERYBODY, RANKING, None, body),
            RankingRow(ranking.id, setting.name, ranking.created, setting.policy, body),
        ]

    async def change_ranking(self, name: str, change: RankingChange) -> Ranking:
        """Change a ranking; another policy is trained from the log before it serves, unless it starts anew.

        So is the same policy where something else changes that its learners are made from.
        """
        ranking = self._ranking(name)
        given = {
            field: value
            for field in (*OF_RANKING, *OF_LEARNERS, *FIXED)
            if (value := getattr(change, field)) is not msgspec.UNSET
        }
        for field in FIXED:
            if field in given and given[field] != getattr(ranking.spec, field):
                raise Refused(
                    f"The {field} of the ranking {name!r} cannot become {given[field]!r}, since its items and lists "
                    f"were made with {getattr(ranking.spec, field)!r}; make a new ranking.", f"/{field}",
                )  # fmt: skip
        spec = msgspec.structs.replace(ranking.spec, **given)
        needed = _needs_new_learners(ranking, spec, change)
        if ranking.changing and (needed or "positions" in given):
            raise Conflict(f"The ranking {name!r} is getting another policy already; wait for that.")
        new: NewLearners | None = None
        if needed or (change.train and _has_room_to_spare(ranking, spec)):
            blamed = functools.partial(at_fault, spec, ranking.spec, given=given)
            new = await self._new_learners(ranking, spec, change.train, needed, blamed)
        memory, now = self._now(), self._clock()
        seq = memory.next_seq()
        rows: list[Row] = []
        spec = msgspec.structs.replace(ranking.spec, **given)  # others may have changed the rest meanwhile
        if new is None:
            setting = ranking.setting.changed(spec)
        else:
            setting = new.setting.changed(spec).since(seq)
            ranking.can, ranking.longest = setting.capabilities(), SHORTEST
            memory.learners.forget(ranking)
            rows = [SnapshotsGone(ranking.id), *(snapshot._replace(policy=seq) for snapshot in new.snapshots)]
        ranking.setting = setting
        reply = ranking_shape(ranking)
        await self._written([*self._ranking_rows(ranking, seq, now), *rows])
        return reply

    async def _new_learners(
        self, ranking: RankingState, spec: RankingSpec, train: bool, needed: bool, blamed: Blamed
    ) -> NewLearners | None:
        """Learners by other settings, as far as it takes long, or the error why there cannot be any.

        None where there is no need: nothing but a lower number of positions asks for them, and there are lists that
        want all the places which the learners have.
        """
        was = ranking.setting
        ranking.changing = True
        try:
            longest = await self._longest(ranking) if train and ranking.served else SHORTEST
            setting = was.anew(spec, train, longest)
            needed = needed or setting.places < was.places
            snapshots: list[SnapshotRow] = []
            if needed:
                await self._compiled(setting, functools.partial(_would_work, was, train, longest), blamed)
                _check_items(ranking, setting, was, blamed)
            while needed and train and ranking.served:
                setting = was.anew(spec, train, max(longest, ranking.longest))
                snapshots = await self._trained(ranking, setting, blamed)
                if ranking.longest <= setting.places:  # else longer lists were made meanwhile, and find no place
                    break
        except Refused:
            self._check_there(ranking)  # or what is missing was deleted meanwhile
            raise
        finally:
            ranking.changing = False
        self._check_there(ranking)
        if not needed:
            return None
        _check_items(ranking, setting, was, blamed)
        if snapshots:
            self._check_what_came(ranking, setting, snapshots[0], blamed)
        return NewLearners(setting, snapshots)

    async def _compiled(self, setting: Setting, works: Works, blamed: Blamed) -> None:
        try:
            await self._warming.ready(setting)
        except Refused as problem:
            raise Refused(str(problem), await asyncio.to_thread(blamed, works)) from problem

    def _check_there(self, ranking: RankingState) -> None:
        if self._now().rankings.get(ranking.name) is not ranking:
            raise StoreUnavailable(f"The ranking {ranking.name!r} was read again or deleted meanwhile; try again.")

    async def _longest(self, ranking: RankingState) -> int:
        """The most items of a list that learners may be trained by; memory knows it of those not committed yet."""
        setting = ranking.setting
        found = await asyncio.to_thread(
            training.longest_list, self._path, ranking.id, setting.policy, setting.places, self._ending.is_set
        )
        return max(setting.longest, ranking.longest, found)

    async def _trained(self, ranking: RankingState, setting: Setting, blamed: Blamed) -> list[SnapshotRow]:
        """Learners of another policy, as far as it takes long; the others are trained when they are first used."""
        if not _can_be_trained(setting.spec):
            raise Refused(
                f"The policy {setting.spec.policy} cannot learn from lists that others made; say train: false, and it "
                f"starts anew.", blamed(_can_be_trained),
            )  # fmt: skip
        assert self._store is not None
        await self._written([])  # training reads the store, which must have the learners of now and what they know
        kept = self._store.learners_with_snapshots(ranking.id)
        long = (one.key for one in self._now().learners.of(ranking) if one.unkept >= WORTH_A_SNAPSHOT)
        unkept = [self._store.learner(ranking.id, key) for key in long]
        # The first learner met every item that any other did, so it finds items that the policy cannot have.
        first = self._store.learners(ranking.id, 0, 1)
        rows = sorted({*first, *kept, *(row for row in unkept if row is not None)}, key=lambda row: row.id)
        snapshots: list[SnapshotRow] | None = None
        for _ in range(5):
            try:
                snapshots, led = await asyncio.to_thread(
                    training.trained, self._path, ranking.id, setting, rows, snapshots, self._ending.is_set
                )
            except InvalidInput as problem:
                raise _cannot_have_been(setting, problem, blamed) from problem
            if led < LAST_ROUND:
                break
        return snapshots or []

    def _check_what_came(self, ranking: RankingState, setting: Setting, first: SnapshotRow, blamed: Blamed) -> None:
        """Refuse a policy that cannot have what was put after the first learner was trained, even if it is gone again.

        Every learner is led through that, too.
        """
        assert self._store is not None
        assert self._writer is not None
        events = chain(self._store.item_events(ranking.id, first.seq), self._writer.pending_events())
        came = [event for event in events if event.kind == ITEMS and event.ranking == ranking.id]
        if not came:
            return
        ranker = LoggedRanker.from_bytes(first.body, setting.spec.policy, ranking.name)
        try:
            for event in came:
                replay.change_items(ranker, decode_items(event.body))
        except InvalidInput as problem:
            raise _cannot_have_been(setting, problem, blamed) from problem

    async def delete_ranking(self, name: str) -> None:
        """Delete a ranking: its lists are dropped, and what is left of it is purged bit by bit."""
        ranking = self._ranking(name)
        memory, now = self._now(), self._clock()
        seq = memory.next_seq()
        body = encode(ranking.setting.body(deleted=True))
        memory.learners.forget(ranking)
        del memory.rankings[name], memory.by_id[ranking.id]
        event = EventRow(seq, now, ranking.id, EVERYBODY, RANKING, None, body)
        await self._written([event, RankingGone(ranking.id, seq)])


def _cannot_have_been(setting: Setting, problem: InvalidInput, blamed: Blamed) -> Refused:
    return Refused(
        f"The policy {setting.spec.policy} cannot have the items that there were: {problem} Say train: false, and it "
        f"starts anew.", blamed(lambda _: False),
    )  # fmt: skip


def _needs_new_learners(ranking: RankingState, spec: RankingSpec, change: RankingChange) -> bool:
    """Whether the learners that there are cannot go on."""
    setting = ranking.setting
    if change.policy is not msgspec.UNSET and not change.train:
        return True
    if spec.positions > setting.places or (spec.positions != setting.places and not ranking.served):
        return True
    return any(getattr(spec, field) != getattr(setting.spec, field) for field in OF_LEARNERS)


def _has_room_to_spare(ranking: RankingState, spec: RankingSpec) -> bool:
    """Whether learners could do with fewer places, if no list needs them: each place makes every list take longer."""
    fewer = spec.positions < ranking.spec.positions and spec.positions < ranking.setting.places
    return fewer and ranking.longest < ranking.setting.places and _can_be_trained(spec)


def _can_be_trained(spec: RankingSpec) -> bool:
    can: Capabilities = make(spec.policy).capabilities()
    return can.learns_from_any_list and can.adds_items


def _would_work(was: Setting, train: bool, longest: int, spec: RankingSpec) -> bool:
    return training.would_work(was.anew(spec, train, longest))


def _check_items(ranking: RankingState, setting: Setting, was: Setting, blamed: Blamed) -> None:
    """Refuse what cannot have a ranking's items; before the first list, these may change as they like."""
    if not ranking.served or (problem := _problem_of_items(ranking, setting)) is None:
        return

    def works(spec: RankingSpec) -> bool:
        return _problem_of_items(ranking, was.anew(spec, setting.trained, setting.longest)) is None

    raise Refused(f"The policy {setting.spec.policy} cannot have these items: {problem}", blamed(works)) from problem


def _problem_of_items(ranking: RankingState, setting: Setting) -> InvalidInput | None:
    try:
        replay.begin(setting, None, ranking.items)
    except InvalidInput as problem:
        return problem
    return None
