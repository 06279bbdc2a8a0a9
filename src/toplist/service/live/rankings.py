"""Creates, changes and deletes rankings."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Container
from contextlib import suppress
from typing import Any

import msgspec

from toplist.service.clock import as_time
from toplist.service.errors import Conflict, LogMoved, Refused
from toplist.service.live.change_policy import (
    LEARNER_FIELDS,
    NewLearners,
    PolicyChange,
    check_divisible,
    has_spare_places,
    needs_new_learners,
    would_work,
)
from toplist.service.live.compiler import PolicyCompiler
from toplist.service.live.groups import new_salt
from toplist.service.live.ranking import LiveRanking
from toplist.service.live.request_errors import setting_at_fault
from toplist.service.live.state import LiveState
from toplist.service.live.transaction import Transactions
from toplist.service.live.work_memory import check_size
from toplist.service.log.events import RankingEvent, encode
from toplist.service.log.policy_code import policy_code
from toplist.service.log.settings import SHORTEST, LearnerSettings, pins_problem
from toplist.service.store.divisions import ranking_scope
from toplist.service.store.row_kinds import (
    RANKING,
    WHOLE_RANKING,
    DeletedRow,
    DeleteRanking,
    DeleteSnapshots,
    EventRow,
    RankingRow,
    Row,
    TallyPlace,
)
from toplist.service.wire import Ranking, RankingChange, RankingSpec

RANKING_FIELDS = (
    "positions",
    "click_window",
    "retention",
    "reference",
    "propensities",
    "pool_strength",
    "baseline",
    "mode",
    "explore",
    "holdout",
    "holdout_learns",
    "stop_if",
    "pins",
    "when_unavailable",
)  # can change with the same learners
FIXED_FIELDS = ("features", "person", "join", "divisions")  # items and lists of the log were made with them
MEASURED_FIELDS = ("baseline", "mode", "explore", "holdout")  # a change of them begins the measuring of the uplift anew


class RankingManager:
    """Creates, changes and deletes rankings."""

    def __init__(self, transactions: Transactions, compiler: PolicyCompiler, most: int) -> None:
        self._transactions, self._compiler, self._most = transactions, compiler, most
        self.policy_change = PolicyChange(transactions, compiler)

    async def create(self, spec: RankingSpec, by: str = "") -> Ranking:
        """Create a ranking, without items; `by` is who asked for it, here and below."""
        if spec.divisions == 1:  # as where nothing is said, so that an older release can read it
            spec = msgspec.structs.replace(spec, divisions=msgspec.UNSET)
        await self._check_name_is_free(spec.name)
        settings = LearnerSettings.of(RankingEvent(spec, longest=SHORTEST))
        try:
            await self._compiler.wait_for(settings)
        except Refused as problem:
            if problem.field is not None:
                raise
            plain = RankingSpec(name=spec.name, positions=spec.positions, features=spec.features, person=spec.person)
            works = functools.partial(would_work, settings, True, SHORTEST)
            raise Refused(str(problem), await asyncio.to_thread(setting_at_fault, spec, plain, works)) from problem
        check_divisions(settings, self._transactions.store.parts)
        check_divisible(settings, "/divisions")
        check_size(
            settings, settings.places + 1, self._transactions.work, "/features" if spec.features else "/positions"
        )
        state = await self._check_name_is_free(spec.name)  # another request may have been faster
        now, seq = self._transactions.clock(), state.next_seq()
        if settings.divisions > 1:
            settings = settings._replace(scope=ranking_scope(seq, self._transactions.store.part))
        ranking = LiveRanking(seq, now, with_measuring(settings.in_force_from(seq), None, (), seq))
        state.add_ranking(ranking)
        reply = ranking_reply(ranking)
        await self._transactions.commit(ranking.shared(None, ranking_rows(ranking, seq, now, by)))
        return reply

    async def _check_name_is_free(self, name: str) -> LiveState:
        state = await self._transactions.state()
        if name in state.rankings:
            raise Conflict(f"There is a ranking {name!r} already; change it, or choose another name.", "/name")
        if len(state.rankings) >= self._most:
            raise Refused(
                f"There are {len(state.rankings)} rankings, and {self._most} are the most; delete some, or raise "
                f"limits.rankings."
            )
        return state

    async def change(self, name: str, change: RankingChange, by: str = "") -> Ranking:
        """Change a ranking; if its learners cannot go on, new ones are trained on the log before they serve.

        With `train: false`, they start without the past.
        """
        ranking = (await self._transactions.state()).ranking(name)
        ranking.check_home()
        given = {
            field: value
            for field in (*RANKING_FIELDS, *LEARNER_FIELDS, *FIXED_FIELDS)
            if (value := getattr(change, field)) is not msgspec.UNSET
        }
        _check_fixed_fields(ranking, given)
        given.pop("divisions", None)
        spec = msgspec.structs.replace(ranking.spec, **given)
        if "pins" in given and "policy" not in given and (problem := pins_problem(ranking.settings.with_spec(spec))):
            raise problem
        needed = needs_new_learners(ranking, spec, change)
        if ranking.is_changing_policy and (needed or "positions" in given):
            raise Conflict(f"The ranking {name!r} is getting another policy already; wait for that.")
        if not needed and not (change.train and has_spare_places(ranking, spec)):
            return await self._change(ranking, given, None, by)
        blame = functools.partial(setting_at_fault, spec, ranking.spec, given=given)
        async with self.policy_change.new_learners(ranking, spec, change.train, needed, blame) as new:
            if self._transactions.store.parts > 1:  # another server may have written to the log: it is not tried anew
                with suppress(LogMoved):
                    await self._transactions.confirm()
                await self.policy_change.check_exists(ranking)
            return await self._change(ranking, given, new, by)

    async def _change(self, ranking: LiveRanking, given: dict[str, Any], new: NewLearners | None, by: str) -> Ranking:
        """Change settings of a ranking, and put new learners in the place of its present ones."""
        state = await self._transactions.state()
        now, seq = self._transactions.clock(), state.next_seq()
        rows: list[Row] = []
        before = ranking.settings
        spec = msgspec.structs.replace(ranking.spec, **given)  # other requests may have changed the rest meanwhile
        if new is None:
            settings = ranking.settings.with_spec(spec)
        else:
            settings = new.settings.with_spec(spec).in_force_from(seq).with_groups_of(ranking.settings)
            ranking.can, ranking.longest = settings.capabilities(), SHORTEST
            ranking.pool_checked = None
            state.learners.remove(ranking)
            kept = [one for one in new.snapshots if one.learner not in state.learners.deleted]
            rows = [DeleteSnapshots(ranking.id), *(one._replace(policy_seq=seq) for one in kept)]
        settings = with_measuring(settings, ranking.spec, given, seq)
        if settings.measured == seq:
            state.outdated_sums[ranking.id] = TallyPlace()  # of the measuring before; they are deleted in parts
        ranking.change_settings(settings)
        reply = ranking_reply(ranking)
        await self._transactions.commit(ranking.shared(before, [*ranking_rows(ranking, seq, now, by), *rows]))
        return reply

    def note_code(self, state: LiveState) -> None:
        """Record the code of policies for rankings of which an older version has not recorded it."""
        rows: list[Row] = []
        for ranking in state.rankings.values():
            if not ranking.settings.code and not ranking.is_divided:  # one that is divided was made with it
                settings = ranking.settings
                ranking.change_settings(settings._replace(code=policy_code(settings.policy)))
                rows += ranking_rows(ranking, state.next_seq(), self._transactions.clock(), "")
        if rows:
            # Nobody waits for it: after a failed commit, the state is loaded again, and with it this is done again.
            asyncio.ensure_future(self._transactions.commit(rows)).add_done_callback(_ignore_failure)

    async def delete(self, name: str, by: str = "") -> None:
        """Delete a ranking: its lists are dropped, and its rows are purged later, in parts."""
        state = await self._transactions.state()
        ranking = state.ranking(name)
        ranking.check_home()
        now, seq = self._transactions.clock(), state.next_seq()
        body = encode(msgspec.structs.replace(ranking.settings.event(deleted=True), by=by))
        state.remove_ranking(ranking)
        event = EventRow(seq, now, ranking.id, WHOLE_RANKING, RANKING, None, body)
        state.has_deleted = True
        deleted = DeletedRow(ranking.id, ranking.id - 1, seq)  # a ranking's id is the seq of its first event
        await self._transactions.commit(ranking.shared(ranking.settings, [event, DeleteRanking(ranking.id), deleted]))


def _ignore_failure(done: asyncio.Future[None]) -> None:
    if not done.cancelled():
        done.exception()


def with_measuring(
    settings: LearnerSettings, before: RankingSpec | None, given: Container[str], seq: int
) -> LearnerSettings:
    """Settings that event `seq` brings into force, with a new measuring of the uplift where it begins.

    It begins with a holdout, and again when something changes on which the groups depend. A ranking that its guardrail
    has stopped stays so until a mode is given.
    """
    spec = settings.spec
    if spec.holdout > 0.0 and not settings.salt:
        settings = settings._replace(salt=new_salt())
    goes_on = settings.stopped > 0 and "mode" in given
    if goes_on:
        settings = settings._replace(stopped=0)
    is_other = before is None or any(getattr(spec, field) != getattr(before, field) for field in MEASURED_FIELDS)
    if spec.holdout > 0.0 and not settings.shows_baseline and (is_other or goes_on):
        settings = settings._replace(measured=seq, share=spec.holdout)
    return settings


def _check_fixed_fields(ranking: LiveRanking, given: dict[str, Any]) -> None:
    for field in FIXED_FIELDS:
        known = ranking.settings.divisions if field == "divisions" else getattr(ranking.spec, field)
        if field in given and given[field] != known:
            raise Refused(
                f"The {field} of the ranking {ranking.name!r} cannot become {given[field]!r}, since its items and "
                f"lists were made with {known!r}; make a new ranking.", f"/{field}",
            )  # fmt: skip


def check_divisions(settings: LearnerSettings, parts: int) -> None:
    """Refuse to divide a ranking into more divisions than there are partitions."""
    divisions = settings.divisions
    if divisions > parts:
        has = f"{parts} partitions, so give at most {parts}" if parts > 1 else "one partition, so leave divisions out"
        raise Refused(
            f"divisions is {divisions}, but each division lies in another partition of a cluster, and this store has "
            f"{has}.", "/divisions",
        )  # fmt: skip


def ranking_rows(ranking: LiveRanking, seq: int, now: int, by: str) -> list[Row]:
    """Rows of a ranking with new settings."""
    settings = ranking.settings
    event = settings.event()
    body = encode(msgspec.structs.replace(event, by=by))
    return [
        EventRow(seq, now, ranking.id, WHOLE_RANKING, RANKING, None, body),
        RankingRow(ranking.id, settings.name, ranking.created, settings.policy_seq, encode(event)),
    ]


def ranking_reply(ranking: LiveRanking) -> Ranking:
    """A ranking as requests read it."""
    spec = msgspec.structs.asdict(ranking.spec)
    spec |= {"when_unavailable": ranking.when_unavailable, "divisions": ranking.settings.divisions}
    stopped = ranking.settings.stopped > 0
    return Ranking(
        **spec, items=len(ranking.items), created=as_time(ranking.created), stopped=stopped,
        code=ranking.settings.code or None, code_warning=ranking.settings.code_warning,
    )  # fmt: skip
