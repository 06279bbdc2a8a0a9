"""Makes the learners of a new policy: compiled, trained on the log, and checked, before they serve."""

from __future__ import annotations

import asyncio
import functools
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import chain
from typing import NamedTuple, TypeVar

import msgspec

from toplist.core.problem import InvalidInput
from toplist.core.protocols import Capabilities
from toplist.policies.by_name import make
from toplist.ranker import LoggedRanker
from toplist.service.errors import Refused, StoreUnavailable
from toplist.service.live.compiler import PolicyCompiler
from toplist.service.live.learners import WORTH_A_SNAPSHOT
from toplist.service.live.pauses import Pauses
from toplist.service.live.ranking import LiveRanking
from toplist.service.live.transaction import Transactions
from toplist.service.live.work_memory import TIMES_LEARNER, check_size
from toplist.service.log import training
from toplist.service.log.events import decode_items
from toplist.service.log.replay import change_items, item_parts, new_ranker
from toplist.service.log.settings import SHORTEST, LearnerSettings
from toplist.service.store.protocol import LogReader
from toplist.service.store.row_kinds import ITEMS, EventRow, LearnerRow, SnapshotRow
from toplist.service.wire import RankingChange, RankingSpec

T = TypeVar("T")
TRAINED_PART = 4  # of the memory for requests, for learners that are trained before they serve; others are at first use
LAST_ROUND = 1000  # events that may be left to learn when a new policy takes over
MOST_ROUNDS = 5

# Settings of which another value needs new learners.
LEARNER_FIELDS = ("policy", "seed", "steps", "prior_mean", "prior_strength", "new_per_list", "pool")

Works = Callable[[RankingSpec], bool]  # whether settings are free of a problem
Blame = Callable[[Works], str]  # pointer to the given setting that a problem is about


class NewLearners(NamedTuple):
    """What replaces the learners of a ranking."""

    settings: LearnerSettings
    snapshots: list[SnapshotRow]


class PolicyChange:
    """Makes new learners for a ranking."""

    def __init__(self, transactions: Transactions, compiler: PolicyCompiler) -> None:
        self._transactions, self._compiler = transactions, compiler
        self._stopping = threading.Event()  # for training, which runs in other threads
        self._trained_bytes = transactions.work.most_bytes // TRAINED_PART

    def start(self) -> None:
        """Allow training, again after `stop`."""
        self._stopping = threading.Event()

    def stop(self) -> None:
        """Give up training that is in progress."""
        self._stopping.set()

    @asynccontextmanager
    async def new_learners(
        self, ranking: LiveRanking, spec: RankingSpec, train: bool, needed: bool, blame: Blame
    ) -> AsyncIterator[NewLearners | None]:
        """Context with learners for other settings, as far as making them takes long, and with the memory for them.

        Refused if there cannot be any. None if the present ones can go on: only fewer positions ask for new ones, and
        lists need all places of the learners.
        """
        async with AsyncExitStack() as memory:
            yield await self._new_learners(ranking, spec, train, needed, blame, memory)

    async def _new_learners(
        self,
        ranking: LiveRanking,
        spec: RankingSpec,
        train: bool,
        needed: bool,
        blame: Blame,
        memory: AsyncExitStack,
    ) -> NewLearners | None:
        before = ranking.settings
        check_items = _ItemsCheck(ranking, before, blame)
        ranking.is_changing_policy = True
        try:
            longest = await self._longest_list(ranking) if train and ranking.may_have_learners else SHORTEST
            settings = before.for_new_learners(spec, train, longest)
            needed = needed or settings.places < before.places
            snapshots: list[SnapshotRow] = []
            if needed:
                await self._compile(settings, functools.partial(would_work, before, train, longest), blame)
                check_divisible(settings, "/policy")
                if ranking.items:
                    check_size(settings, len(ranking.items), self._transactions.work, blame(lambda _: False))
                check_items(settings)
            if needed and train and ranking.may_have_learners:
                size = self._trained_bytes + TIMES_LEARNER * settings.learner_size(len(ranking.items))
                await memory.enter_async_context(self._transactions.work.reserve(size))
            while needed and train and ranking.may_have_learners:
                settings = before.for_new_learners(spec, train, max(longest, ranking.longest))
                snapshots = await self.train(ranking, settings, blame)
                check_items(settings)
                if snapshots:
                    checked = _NewItems(settings, ranking.name, snapshots[0], self._pauses())
                    while not await self._check_new_items(ranking, checked, blame):
                        pass  # more items came during the check
                if ranking.longest <= settings.places:  # else longer lists were made meanwhile
                    break
        except Refused:
            await self.check_exists(ranking)  # the ranking may have been deleted meanwhile
            raise
        finally:
            ranking.is_changing_policy = False
        await self.check_exists(ranking)
        if not needed:
            return None
        check_items(settings)
        return NewLearners(settings, snapshots)

    async def _compile(self, settings: LearnerSettings, works: Works, blame: Blame) -> None:
        try:
            await self._compiler.wait_for(settings)
        except Refused as problem:
            raise Refused(str(problem), await asyncio.to_thread(blame, works)) from problem

    async def check_exists(self, ranking: LiveRanking) -> None:
        """Raise `StoreUnavailable` if a ranking was loaded again or deleted."""
        if (await self._transactions.state()).rankings.get(ranking.name) is not ranking:
            raise StoreUnavailable(f"The ranking {ranking.name!r} was loaded again or deleted meanwhile; try again.")

    async def _in_thread(self, work: Callable[[LogReader], T]) -> T:
        """Run reads that take long in another thread, with a reader of their own."""
        store = self._transactions.store

        def run() -> T:
            reader = store.reader()
            try:
                return work(reader)
            finally:
                reader.close()

        return await asyncio.to_thread(run)

    async def _longest_list(self, ranking: LiveRanking) -> int:
        """Upper bound of the length of lists to train on; memory has that of lists not committed yet.

        Other partitions of a divided ranking go on making lists, none longer than its learners have places.
        """
        if ranking.is_divided:
            return max(ranking.settings.longest, ranking.settings.places)
        settings, stops = ranking.settings, self._stopping.is_set
        found = await self._in_thread(
            lambda reader: training.longest_list(reader, ranking.id, settings.policy_seq, settings.places, stops)
        )
        return max(settings.longest, ranking.longest, found)

    async def train(self, ranking: LiveRanking, settings: LearnerSettings, blame: Blame) -> list[SnapshotRow]:
        """Train learners that take long to train; the others are trained when they are first used."""
        if not _can_be_trained(settings.spec):
            raise Refused(
                f"The policy {settings.spec.policy} cannot learn from lists that others made; say train: false to "
                f"start from scratch.", blame(_can_be_trained),
            )  # fmt: skip
        await self._transactions.commit([])  # training reads the store, which must have all learners and their events
        rows = await self._learners_to_train(ranking)
        trained: list[SnapshotRow] = []
        for _ in range(MOST_ROUNDS):
            work = functools.partial(_train, settings, rows, trained, self._trained_bytes, self._pauses())
            try:
                events = await self._in_thread(work)
            except InvalidInput as problem:
                raise _cannot_have_had(settings, problem, blame) from problem
            if events < LAST_ROUND:
                break
        return trained

    def _pauses(self) -> Pauses:
        """Pauses of work in another thread, which ends if the service stops."""
        commits = self._transactions.commits
        return Pauses(functools.partial(training.raise_if, self._stopping.is_set), lambda: commits.last_seq)

    async def _learners_to_train(self, ranking: LiveRanking) -> list[LearnerRow]:
        """Learners with a snapshot or with many events, those in memory before others.

        The very first is the one that met every item that any other did.
        """
        state = await self._transactions.state()
        loaded = state.learners.of_ranking(ranking)
        long = [one.segment for one in loaded if one.unkept >= WORTH_A_SNAPSHOT]
        in_memory = {one.id for one in loaded}

        def read(reader: LogReader) -> tuple[list[LearnerRow], set[LearnerRow | None]]:
            first, kept = reader.learners(ranking.id, 0, 1), reader.learners_with_snapshots(ranking.id)
            return first, {*kept, *(reader.learner(ranking.id, segment) for segment in long)}

        first, found = await state.store.read(read)
        others = [row for row in found if row is not None and row not in first]
        return first + sorted(others, key=lambda row: (row.id not in in_memory, row.id))

    async def _check_new_items(self, ranking: LiveRanking, checked: _NewItems, blame: Blame) -> bool:
        """Refuse a policy that cannot have items put after the first learner was trained, even if removed again.

        Every learner is led through these changes. False if more changes came meanwhile.
        """
        state = await self._transactions.state()
        changes = ranking.change_count
        pending = list(state.commits.pending_events())
        committed = await state.store.read(lambda reader: list(reader.item_events(ranking.id, checked.seq)))
        if ranking.change_count != changes:
            return False
        known = {event.seq for event in committed}
        waiting = (event for event in pending if _is_item_event(event, ranking) and event.seq not in known)
        events = [event for event in chain(committed, waiting) if event.seq > checked.seq]
        if events:
            try:
                await asyncio.to_thread(checked.apply, events)
            except InvalidInput as problem:
                raise _cannot_have_had(checked.settings, problem, blame) from problem
        return ranking.change_count == changes


class _NewItems:
    """A learner that is led through the changes of the items since it was trained, in another thread."""

    def __init__(self, settings: LearnerSettings, name: str, trained: SnapshotRow, between: Pauses) -> None:
        self.settings, self._name, self._trained, self._between = settings, name, trained, between
        self.seq = trained.seq  # of the last change
        self._ranker: LoggedRanker | None = None  # made when there is a change

    def apply(self, events: Sequence[EventRow]) -> None:
        """Apply changes; raises `InvalidInput` if the policy cannot have the items."""
        if self._ranker is None:
            self._ranker = LoggedRanker.from_bytes(self._trained.body, self.settings.policy, self._name)
        for event in events:
            for part in item_parts(decode_items(event.body)):
                change_items(self._ranker, part)
                self._between()
            self.seq = event.seq


def _train(
    settings: LearnerSettings,
    rows: list[LearnerRow],
    trained: list[SnapshotRow],
    most_bytes: int,
    between: Pauses,
    reader: LogReader,
) -> int:
    return training.train_learners(reader, settings, rows, trained, most_bytes, between)


def _is_item_event(event: EventRow, ranking: LiveRanking) -> bool:
    return event.kind == ITEMS and event.ranking == ranking.id


def _cannot_have_had(settings: LearnerSettings, problem: InvalidInput, blame: Blame) -> Refused:
    return Refused(
        f"The policy {settings.spec.policy} cannot have the items of the past: {problem} Say train: false to start "
        f"from scratch.", blame(lambda _: False),
    )  # fmt: skip


def needs_new_learners(ranking: LiveRanking, spec: RankingSpec, change: RankingChange) -> bool:
    """Whether the present learners cannot go on with new settings."""
    settings = ranking.settings
    if change.policy is not msgspec.UNSET and (not change.train or settings.code_warning is not None):
        return True
    if settings.with_spec(spec).policy != settings.policy:  # it begins or ends to explore
        return True
    if spec.positions > settings.places or (spec.positions != settings.places and not ranking.may_have_learners):
        return True
    return any(getattr(spec, field) != getattr(settings.spec, field) for field in LEARNER_FIELDS)


def has_spare_places(ranking: LiveRanking, spec: RankingSpec) -> bool:
    """Whether learners could do with fewer places, if no list needs them: each place makes every list slower.

    How long the lists of other partitions are is not known here.
    """
    if ranking.is_divided:
        return False
    fewer = spec.positions < ranking.spec.positions and spec.positions < ranking.settings.places
    return fewer and ranking.longest < ranking.settings.places and _can_be_trained(spec)


def check_divisible(settings: LearnerSettings, field: str) -> None:
    """Refuse a policy that depends on all items of its first list for a divided ranking."""
    can = settings.capabilities()
    if settings.divisions > 1 and not (can.adds_items and can.takes_subsets):
        raise Refused(
            f"The policy {settings.spec.policy} needs the same items from its first list on, so the segments of its "
            f"ranking cannot be divided; use another policy, or a ranking without divisions.", field,
        )  # fmt: skip


def _can_be_trained(spec: RankingSpec) -> bool:
    can: Capabilities = make(spec.policy).capabilities()
    return can.learns_from_any_list and can.adds_items


def would_work(before: LearnerSettings, train: bool, longest: int, spec: RankingSpec) -> bool:
    """Whether new learners could be made for other settings, as far as can be told without compiling."""
    return training.would_compile(before.for_new_learners(spec, train, longest))


class _ItemsCheck:
    """Refuses settings that cannot have a ranking's items; before the first list, items may still change.

    It makes a learner, which takes long with many items, and so does it again only where settings or items are others
    than those that it found good.
    """

    def __init__(self, ranking: LiveRanking, before: LearnerSettings, blame: Blame) -> None:
        self._ranking, self._before, self._blame = ranking, before, blame
        self._good: tuple[LearnerSettings, int] | None = None  # and how many changes of items there were

    def __call__(self, settings: LearnerSettings) -> None:
        """Raise `Refused` for settings that cannot have the items."""
        ranking, given = self._ranking, (settings, self._ranking.change_count)
        if not ranking.may_have_learners or given == self._good:
            return
        if (problem := _items_problem(ranking, settings)) is None:
            self._good = given
            return

        def works(spec: RankingSpec) -> bool:
            new = self._before.for_new_learners(spec, settings.trained, settings.longest)
            return _items_problem(ranking, new) is None

        reason = f"The policy {settings.spec.policy} cannot have these items: {problem}"
        raise Refused(reason, self._blame(works)) from problem


def _items_problem(ranking: LiveRanking, settings: LearnerSettings) -> InvalidInput | None:
    try:
        new_ranker(settings, None, ranking.items)
    except InvalidInput as problem:
        return problem
    return None
