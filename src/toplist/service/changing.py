"""Rankings are created, changed and deleted; a new policy is trained from the log before it serves."""

from __future__ import annotations

import asyncio

import msgspec

from toplist.problem import InvalidInput
from toplist.service import replay, training
from toplist.service.bodies import RankingBody, encode
from toplist.service.core import Core
from toplist.service.errors import Conflict, Refused, StoreUnavailable
from toplist.service.looking import ranking_shape
from toplist.service.rankings import RankingState, Setting
from toplist.service.shapes import Ranking, RankingChange, RankingSpec
from toplist.service.store.protocol import (
    EVERYBODY,
    RANKING,
    EventRow,
    RankingGone,
    RankingRow,
    Row,
    SnapshotRow,
    SnapshotsGone,
)

LAST_ROUND = 1000  # events that may be left to learn when a new policy takes over


class Changing(Core):
    """Changes of rankings."""

    async def create_ranking(self, spec: RankingSpec) -> Ranking:
        """A new ranking, without items."""
        self._check_free(spec.name)
        await self._warming.of(Setting(spec.name, spec, 0, True))
        self._check_free(spec.name)  # somebody may have been faster
        memory, now = self._now(), self._clock()
        seq = memory.next_seq()
        ranking = RankingState(seq, now, Setting(spec.name, spec, seq, True))
        memory.add(ranking)
        reply = ranking_shape(ranking)
        await self._written(self._ranking_rows(ranking, seq, now))
        return reply

    def _check_free(self, name: str) -> None:
        if name in self._now().rankings:
            raise Conflict(f"There is a ranking {name!r} already; change it, or choose another name.", "/name")

    def _ranking_rows(self, ranking: RankingState, seq: int, now: int) -> list[Row]:
        setting = ranking.setting
        body = encode(RankingBody(setting.spec, setting.trained, setting.policy))
        return [
            EventRow(seq, now, ranking.id, EVERYBODY, RANKING, None, body),
            RankingRow(ranking.id, setting.name, ranking.created, setting.policy, body),
        ]

    async def change_ranking(self, name: str, change: RankingChange) -> Ranking:
        """Change a ranking; another policy is trained from the log before it serves, unless it starts anew."""
        ranking = self._ranking(name)
        given = {
            field: value
            for field in ("policy", "click_window", "retention", "reference")
            if (value := getattr(change, field)) is not msgspec.UNSET
        }
        anew = "policy" in given and (given["policy"] != ranking.spec.policy or not change.train)
        spec = msgspec.structs.replace(ranking.spec, **given)
        snapshots: list[SnapshotRow] = []
        if anew:
            if ranking.changing:
                raise Conflict(f"The ranking {name!r} is getting another policy already; wait for that.")
            ranking.changing = True
            try:
                setting = Setting(name, spec, 0, change.train)
                await self._warming.of(setting)
                self._check_items(ranking, setting)
                if change.train:
                    snapshots = await self._trained(ranking, setting)
            finally:
                ranking.changing = False
            if self._now().rankings.get(name) is not ranking:
                raise StoreUnavailable(f"The ranking {name!r} was read again or deleted meanwhile; try again.")
            # Others may have changed the rest meanwhile.
            spec = msgspec.structs.replace(ranking.spec, **given)
            self._check_items(ranking, setting)
        memory, now = self._now(), self._clock()
        seq = memory.next_seq()
        rows: list[Row] = []
        if anew:
            ranking.setting = Setting(name, spec, seq, change.train)
            ranking.can = ranking.setting.capabilities()
            memory.learners.forget(ranking)
            rows = [SnapshotsGone(ranking.id), *(snapshot._replace(policy=seq) for snapshot in snapshots)]
        else:
            ranking.setting = ranking.setting._replace(spec=spec)
        reply = ranking_shape(ranking)
        await self._written([*self._ranking_rows(ranking, seq, now), *rows])
        return reply

    def _check_items(self, ranking: RankingState, setting: Setting) -> None:
        """Refuse a policy that cannot have a ranking's items; before the first list, these may change as they like."""
        if not ranking.served:
            return
        try:
            replay.begin(setting, None, ranking.items)
        except InvalidInput as problem:
            raise Refused(
                f"The policy {setting.spec.policy} cannot have these items: {problem}", "/policy"
            ) from problem

    async def _trained(self, ranking: RankingState, setting: Setting) -> list[SnapshotRow]:
        """Learners of another policy, as far as it takes long; the others are trained when they are first used."""
        can = setting.capabilities()
        if not can.learns_from_any_list or not can.adds_items:
            raise Refused(
                f"The policy {setting.spec.policy} cannot learn from lists that others made; say train: false, and it "
                f"starts anew.", "/policy",
            )  # fmt: skip
        assert self._store is not None
        await self._written([])  # training reads the store, which must have the learners of now and what they know
        kept = self._store.learners_with_snapshots(ranking.id)
        hot = [self._store.learner(ranking.id, learner.key) for learner in self._now().learners.of(ranking)]
        # The first learner met every item that any other did, so it finds items that the policy cannot have.
        first = self._store.learners(ranking.id, 0, 1)
        rows = sorted({*first, *kept, *(row for row in hot if row is not None)}, key=lambda row: row.id)
        snapshots: list[SnapshotRow] | None = None
        for _ in range(5):
            try:
                snapshots, led = await asyncio.to_thread(
                    training.trained, self._path, ranking.id, setting, rows, snapshots, self._ending.is_set
                )
            except InvalidInput as problem:
                raise Refused(
                    f"The policy {setting.spec.policy} cannot have the items that there were: {problem} Say train: "
                    f"false, and it starts anew.", "/policy",
                ) from problem  # fmt: skip
            if led < LAST_ROUND:
                break
        return snapshots or []

    async def delete_ranking(self, name: str) -> None:
        """Delete a ranking; its events stay in the log, and its open lists are dropped."""
        ranking = self._ranking(name)
        memory, now = self._now(), self._clock()
        seq = memory.next_seq()
        body = encode(RankingBody(ranking.spec, ranking.setting.trained, ranking.setting.policy, deleted=True))
        memory.learners.forget(ranking)
        del memory.rankings[name], memory.by_id[ranking.id]
        event = EventRow(seq, now, ranking.id, EVERYBODY, RANKING, None, body)
        await self._written([event, RankingGone(ranking.id)])
