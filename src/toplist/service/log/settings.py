"""Settings and items of a ranking at an event: the input of its learners."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from toplist.core.item_id import ItemId
from toplist.core.prior import Prior
from toplist.core.problem import InvalidInput, Problem
from toplist.core.protocols import Capabilities
from toplist.core.slate import Floats
from toplist.policies.by_name import make
from toplist.ranker.family import pool_refusal, segment_seed
from toplist.ranker.own_sums import OwnSums
from toplist.ranker.priors import takes_item_priors
from toplist.ranker.size import SizeByItems
from toplist.service.errors import Refused
from toplist.service.log.events import ItemsEvent, RankingEvent, decode_items, decode_ranking
from toplist.service.log.policy_code import code_warning, policy_code
from toplist.service.store.divisions import division_of
from toplist.service.store.row_kinds import EventRow
from toplist.service.wire import RankingSpec

SHORTEST = 1  # least length of a list
MOST_JOINED = 2000  # features of an item and a person together: a linear belief holds their square, 32 MB
MOST_POOLED = 200  # of these if segments are pooled: the log holds the square of their number


class ItemState(NamedTuple):
    """An item at some event."""

    place: int
    features: Floats | None
    hidden: bool
    prior: Prior | None = None


ItemStates = dict[ItemId, ItemState]


class LearnerSettings(NamedTuple):
    """Settings of a ranking's learners: everything but items and segment."""

    name: str
    spec: RankingSpec
    policy_seq: int  # seq of the event that set the policy; 0 before it is recorded
    trained: bool  # whether learners learn from the lists before that
    places: int  # positions of a learner: lists may be shorter, not longer
    longest: int  # upper bound of the length of lists between `floor` and `policy_seq`
    first_list: int  # number of a learner's first list
    floor: int  # seq of the last event that reset learners: earlier lists are never learned again
    salt: str = ""  # by which visitors are hashed
    measured: int = 0  # seq of the event from which the uplift is measured; 0: it is not
    share: float = 0.0  # of the holdout in that measuring
    stopped: int = 0  # seq of the event by which the guardrail put it back to its baseline
    code: str = ""  # of `policy_code`: which code of the policy made the learners; empty before it is recorded
    division: int = 0  # of a divided ranking, in this partition
    scope: int = 0  # of a divided ranking, in all partitions; 0: it is not divided

    @classmethod
    def of(cls, event: RankingEvent, policy_seq: int = 0) -> LearnerSettings:
        """Settings of an event."""
        spec = event.spec
        positions = spec.positions
        places, longest = event.places or positions, event.longest or positions
        floor = event.floor or (0 if event.trained else policy_seq)
        return cls(
            spec.name, spec, policy_seq, event.trained, places, longest, event.first_list, floor, event.salt,
            event.measured, event.share, event.stopped, event.code, event.division, event.scope,
        )  # fmt: skip

    def event(self, deleted: bool = False) -> RankingEvent:
        """The event that records these settings."""
        return RankingEvent(
            self.spec, self.trained, self.policy_seq, deleted, self.places, self.longest, self.first_list, self.floor,
            self.salt, self.measured, self.share, self.stopped, code=self.code, division=self.division,
            scope=self.scope,
        )  # fmt: skip

    def with_spec(self, spec: RankingSpec) -> LearnerSettings:
        """Other settings for the same learners."""
        return self._replace(spec=spec)

    def with_groups_of(self, other: LearnerSettings) -> LearnerSettings:
        """The settings, with the salt and the measuring of others."""
        return self._replace(salt=other.salt, measured=other.measured, share=other.share, stopped=other.stopped)

    def for_new_learners(self, spec: RankingSpec, trained: bool, longest: int) -> LearnerSettings:
        """Other settings for new learners; if they are trained, they have positions for the `longest` list."""
        longest = longest if trained else SHORTEST
        return self._replace(
            spec=spec, policy_seq=0, trained=trained, places=max(longest, spec.positions), longest=longest, first_list=0
        )

    def in_force_from(self, seq: int) -> LearnerSettings:
        """The settings, in force from an event on.

        Learners that are not trained on earlier lists must not reuse the numbers of these lists, or random draws would
        repeat them. There were fewer lists than events, so seq is a free number.
        """
        if self.trained:
            return self._replace(policy_seq=seq, first_list=0, code=policy_code(self.policy))
        return self._replace(policy_seq=seq, first_list=seq, floor=seq, code=policy_code(self.policy))

    @property
    def divisions(self) -> int:
        """Number of parts of its segments, each in another partition."""
        return self.spec.divisions or 1

    def has_segment(self, segment: str | None) -> bool:
        """Whether a segment belongs to this partition."""
        return not self.scope or division_of(segment, self.divisions) == self.division

    @property
    def policy(self) -> str:
        """The policy of its learners: in mode "exploring", one that shows random lists now and then."""
        spec = self.spec
        if spec.mode != "exploring":
            return spec.policy
        return f"exploring(policy={spec.policy!r}, share={float(spec.explore)!r})"

    @property
    def code_warning(self) -> str | None:
        """What to say if the code of the policy is not the one that its learners were made with; else None."""
        return code_warning(self.name, self.policy, self.code)

    @property
    def has_groups(self) -> bool:
        """Whether some lists are the baseline: of a holdout, in shadow mode, or since the guardrail stopped it."""
        return self.spec.holdout > 0.0 or self.spec.mode == "shadow" or self.stopped > 0

    @property
    def shows_baseline(self) -> bool:
        """Whether all lists are the baseline."""
        return self.spec.mode == "shadow" or self.stopped > 0

    def seed(self, segment: str | None) -> int:
        """Seed of a segment's learner; without a segment, that of the ranking."""
        return segment_seed(self.spec.seed, segment)

    def learner_name(self, segment: str | None) -> str:
        """Name of a segment's learner."""
        return self.name if segment is None else f"{self.name}/{segment}"

    def capabilities(self) -> Capabilities:
        """What the policy can do."""
        can: Capabilities = make(self.policy).capabilities()
        return can

    @property
    def joined(self) -> int:
        """Number of features that the policy learns from: those of an item and of a person together."""
        spec = self.spec
        if not self.capabilities().needs_features:
            return 0
        return spec.features * spec.person if spec.person and spec.join == "outer" else spec.features + spec.person

    def takes_item_priors(self) -> bool:
        """Whether a new learner may have priors of items; those over features of a person say nothing of them alone."""
        return not self.spec.person and takes_item_priors(make(self.policy))

    def learner_size(self, items: int) -> int:
        """Bytes of a learner with so many items, foretold."""
        size = _size_by_items(self.policy, self.places, self.joined, self.spec.steps).at(items)
        return size + (_pooled_bytes(self.policy, self.joined) if self.spec.pool == "prior" else 0)

    def first_event(self, created: int) -> int:
        """Seq after which the history of a learner begins; event `created` created it."""
        return max(created, self.floor)


@lru_cache(1000)
def _pooled_bytes(policy: str, features: int) -> int:
    """Bytes of what a learner has seen itself, if its policy learns from features."""
    can: Capabilities = make(policy).capabilities()
    return sum(array.nbytes for array in OwnSums(features).arrays().values()) if can.needs_features else 0


@lru_cache(1000)
def _size_by_items(policy: str, places: int, features: int, steps: int | None) -> SizeByItems:
    return SizeByItems.of(make(policy), Problem(1, places, features, steps))


def settings_at_end(events: Iterable[EventRow]) -> LearnerSettings | None:
    """Settings of a ranking after its settings events; None if it was deleted."""
    settings: LearnerSettings | None = None
    for row in events:
        event = decode_ranking(row.body)
        settings = None if event.deleted else LearnerSettings.of(event, event.policy_seq)
    return settings


def known_prior(given: tuple[float, float]) -> Prior | None:
    """The prior of an item; a strength of 0 is none."""
    return Prior(*given) if given[1] > 0.0 else None


def apply_items(items: ItemStates, seq: int, event: ItemsEvent) -> None:
    """Apply an event to items; new ones go last."""
    for n, put in enumerate(event.put):
        known = items.get(put.id)
        features = known.features if known is not None else None
        if put.features is not None:
            features = np.array(put.features)
        prior = known.prior if known is not None else None
        if put.prior is not None:
            prior = known_prior(put.prior)
        place = known.place if known is not None else (seq << 20) + n
        items[put.id] = ItemState(place, features, put.hidden, prior)
    for id in event.removed:
        items.pop(id, None)


def items_at(changes: Iterable[EventRow], seq: int) -> ItemStates:
    """Items of a ranking at an event, from all changes of its items."""
    items: ItemStates = {}
    for event in changes:
        if event.seq > seq:
            break
        apply_items(items, event.seq, decode_items(event.body))
    return items


def pins_problem(settings: LearnerSettings) -> Refused | None:
    """Why these settings cannot have pins; None if they can, or have none."""
    if not settings.spec.pins or settings.capabilities().takes_pins:
        return None
    policy = settings.spec.policy
    return Refused(f"The policy {policy} takes no pins; set pins to {{}}, or use another policy.", "/pins")


def settings_problem(settings: LearnerSettings) -> Refused | None:
    """Why these settings are invalid, with the field at fault; None if they are valid."""
    spec = settings.spec
    try:
        can = settings.capabilities()
    except InvalidInput as problem:
        return Refused(str(problem), "/policy")
    if can.needs_features and spec.features == 0:
        return Refused(
            f"The policy {spec.policy} learns from features, but features is 0; when the ranking is made, set features "
            f"to the number of features of an item, or use another policy.", "/features",
        )  # fmt: skip
    if spec.person and (not can.needs_features or can.covers_topics):
        return Refused(
            f"The policy {spec.policy} takes no features of a person; leave person out, or make a new ranking without.",
            "/person",
        )
    if spec.pool == "prior" and (reason := pool_refusal(make(settings.policy))) is not None:
        return Refused(
            f"The policy {spec.policy} cannot pool segments, since it {reason}; set pool to none, or use another "
            f"policy.", "/pool",
        )  # fmt: skip
    if (refused := pins_problem(settings)) is not None:
        return refused
    joined = settings.joined
    if spec.pool == "prior" and can.needs_features and joined > MOST_POOLED:
        return Refused(
            f"The policy {spec.policy} would pool {joined} features, but {MOST_POOLED} are the most; set pool to none, "
            f"or make a new ranking with fewer.", "/pool",
        )  # fmt: skip
    if joined > MOST_JOINED:
        return Refused(
            f"The policy {spec.policy} would learn from {joined} features, but {MOST_JOINED} are the most; make a new "
            f"ranking with fewer features" + (", or fewer of a person." if spec.person else "."), "/features",
        )  # fmt: skip
    return None
