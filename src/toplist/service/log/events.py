"""The bodies of events, by kind; they are JSON in the log."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct, field

from toplist.core.item_id import ItemId, item_of_text
from toplist.core.problem import InvalidInput
from toplist.core.protocols.list_probabilities import ListProbabilities
from toplist.ranker import Record
from toplist.ranker.learned_state import LearnedState
from toplist.service.wire import ListRequest, RankingSpec

COMPRESSED_FROM = 256  # bytes of a memo; larger ones are flags that are mostly zero

Column = list[float] | None  # a number per position

encode = msgspec.json.Encoder().encode


class RankingEvent(Struct, frozen=True, omit_defaults=True):
    """A ranking was created, changed or deleted."""

    spec: RankingSpec
    trained: bool = True  # whether learners of this policy learned from the lists before it
    policy_seq: int = field(default=0, name="policy")  # seq of the event that set the policy; 0 for this event
    deleted: bool = False
    places: int = 0  # positions of a learner; 0: those of the ranking
    longest: int = 0  # upper bound of the length of the training lists; 0: as places
    first_list: int = field(default=0, name="first")  # number of a learner's first list
    floor: int = 0  # seq of the last event that reset learners; 0: that of the policy if not trained, else none
    salt: str = ""  # by which visitors are hashed, in hex; empty until the ranking first has a holdout
    measured: int = 0  # seq of the event from which the uplift is measured; 0: it is not
    share: float = 0.0  # of the holdout in that measuring
    stopped: int = 0  # seq of the event by which the guardrail put it back to its baseline; 0: it did not
    by: str = ""  # name of the API key that asked for it; empty without keys
    code: str = ""  # of `policy_code`: which code of the policy its learners were made with
    division: int = 0  # of a divided ranking, in this partition
    scope: int = 0  # of a divided ranking, in all partitions; 0: it is not divided


class PutItem(Struct, frozen=True, omit_defaults=True):
    """An item with its new features."""

    id: ItemId
    features: list[float] | None = None  # None: unchanged
    hidden: bool = False
    prior: tuple[float, float] | None = None  # mean and strength; None: unchanged


class ItemsEvent(Struct, frozen=True, omit_defaults=True):
    """Items were put or removed."""

    put: list[PutItem] = []
    removed: list[ItemId] = []
    by: str = ""  # as above


class LearnerEvent(Struct, frozen=True, omit_defaults=True):
    """A learner was created, with the items of that moment."""

    segment: str | None = field(name="key")
    pool: int = 0  # seq of the event of the pool that it began with; 0 for none


class ImportedEvent(Struct, frozen=True, omit_defaults=True):
    """A new learner began with what a saved ranker had learned."""

    belief: bytes  # of `LearnedState.packed`
    digest: str  # of these bytes
    learned: int  # number of lists
    by: str = ""  # as above

    @classmethod
    def of(cls, state: LearnedState, by: str) -> ImportedEvent:
        """The event of taking a ranker in."""
        belief = state.packed()
        return cls(belief, digest_of(belief), state.learned, by)

    def state(self) -> LearnedState:
        """What the ranker had learned; refused if the bytes are not those that were written."""
        if digest_of(self.belief) != self.digest:
            raise InvalidInput("The belief of an imported ranker is damaged; restore the store from a backup.")
        return LearnedState.unpacked(self.belief)


def digest_of(belief: bytes) -> str:
    """A digest of bytes."""
    return hashlib.blake2b(belief, digest_size=16).hexdigest()


POLICY, HOLDOUT, SHADOW = "policy", "holdout", "shadow"  # groups of lists


class ListPlacement(NamedTuple):
    """The group of a list, with what follows from it: the last fields of its event."""

    group: str | None = None
    visitor: bytes = b""
    segmented: bool = False
    learns: bool = True
    would_show: list[ItemId] | None = None

    @property
    def shows_baseline(self) -> bool:
        """Whether the list is the baseline."""
        return self.group is not None and self.group != POLICY

    @property
    def is_compared(self) -> bool:
        """Whether the list counts for the uplift."""
        return self.group in (POLICY, HOLDOUT)


NO_PLACEMENT = ListPlacement()


class ListEvent(Struct, frozen=True, omit_defaults=True, gc=False):
    """A list was made: everything that this policy, or another one, needs to learn from it."""

    items: list[ItemId]
    number: int
    slots: tuple[int, ...]
    after: int = 0  # number of lists learned before
    rows: bytes = b""
    memo: bytes = b""
    packed: bool = False  # whether the memo is compressed
    pinned: tuple[int, ...] = ()
    person: list[float] | None = None
    features: dict[str, list[float]] | None = None  # by `item_text`
    request_id: str | None = None
    deferred: bool = False
    # Per position the probability of its item given those above, and of its item there in any list; None: not asked
    # for. Their standard errors are None where they are exact.
    propensities: list[float] | None = None
    marginals: list[float] | None = None
    propensity_errors: list[float] | None = None
    marginal_errors: list[float] | None = None
    group: str | None = None  # POLICY, HOLDOUT or SHADOW; None: the ranking had no groups
    visitor: bytes = b""  # hash of the visitor, if it had an id
    segmented: bool = False  # whether a list with a group is of a segment
    learns: bool = True  # whether its clicks are learned
    would_show: list[ItemId] | None = None  # by the policy, in place of the baseline

    @classmethod
    def of(
        cls, items: list[ItemId], record: Record, request: ListRequest, weighed: ListProbabilities | None = None,
        placed: ListPlacement | None = None,
    ) -> ListEvent:  # fmt: skip
        """The event of a list that was just made, with its probabilities if they were asked for."""
        number, slots, rows, memo, after, pinned = record
        packed = len(memo) > COMPRESSED_FROM
        if packed:
            memo = zlib.compress(memo, 1)
        more: tuple[Any, ...] = ()
        if weighed is not None or placed is not None:
            more = *_as_lists(weighed), *(placed or NO_PLACEMENT)
        return cls(
            items, number, slots, after, rows, memo, packed, pinned, request.person, request.features,
            request.request_id, request.deferred, *more,
        )  # fmt: skip

    @property
    def is_by_policy(self) -> bool:
        """Whether the policy made the list; else it is the baseline."""
        return self.group is None or self.group == POLICY

    @property
    def placement(self) -> ListPlacement:
        """Group and visitor of the list."""
        return ListPlacement(self.group, self.visitor, self.segmented, self.learns, self.would_show)

    def record(self) -> Record:
        """The list in the form from which its ranker learns."""
        memo = zlib.decompress(self.memo) if self.packed else self.memo
        return Record(self.number, self.slots, self.rows, memo, self.after, self.pinned)


def _as_lists(weighed: ListProbabilities | None) -> tuple[Column, Column, Column, Column]:
    """Probabilities and their errors for the log; without errors if all of them are exact."""
    if weighed is None:
        return None, None, None, None
    conditional, marginal, *errors = (column.tolist() for column in weighed)
    of_conditional, of_marginal = (error if any(error) else None for error in errors)
    return conditional, marginal, of_conditional, of_marginal


def rows_by_item(features: Mapping[str, list[float]]) -> dict[ItemId, list[float]]:
    """Features by item, from features by its text: a name in JSON is always text."""
    return {item_of_text(text): row for text, row in features.items()}


class MergedReport(Struct, frozen=True, omit_defaults=True, gc=False):
    """All reports of a list so far, merged; the result does not depend on their order or on repetitions.

    Positions count from 1. `left` is the largest reported, `seen` the largest probability of each position.
    """

    clicks: tuple[int, ...] = ()  # ascending
    left: int | None = None
    seen: dict[int, float] | None = None
    final: bool = False

    def merge(self, other: MergedReport) -> MergedReport:
        """Merge both reports.

        >>> MergedReport((1, 3)).merge(MergedReport((2, 3), left=4))
        MergedReport(clicks=(1, 2, 3), left=4, seen=None, final=False)
        """
        if self == NO_REPORT:  # the usual case
            return other
        seen = self.seen
        if other.seen is not None:
            mine = seen or {}
            seen = {
                position: max(mine.get(position, 0.0), other.seen.get(position, 0.0))
                for position in sorted({*mine, *other.seen})
            }
        left = other.left if self.left is None else self.left if other.left is None else max(self.left, other.left)
        clicks = tuple(sorted({*self.clicks, *other.clicks}))
        return MergedReport(clicks, left, seen, self.final or other.final)

    def contains(self, other: MergedReport) -> bool:
        """Whether the other report adds nothing; `final` does not count."""
        return self is other or (
            set(other.clicks) <= set(self.clicks)
            and (other.left is None or (self.left is not None and other.left <= self.left))
            and (
                other.seen is None
                or (self.seen is not None and all(self.seen.get(at, -1.0) >= p for at, p in other.seen.items()))
            )
        )

    def for_learning(self) -> tuple[tuple[int, ...], int | None, dict[int, float] | None]:
        """Clicks, left and seen for `LoggedRanker.settle`; `left` is never above the last click."""
        left = self.left
        if left is not None and self.clicks:
            left = max(left, self.clicks[-1])
        return self.clicks, left, self.seen


NO_REPORT = MergedReport()


class ListOutcome(Struct, frozen=True, omit_defaults=True, gc=False):
    """The outcome of a list: a column of its impression, and the body of the event that closes it."""

    merged: MergedReport = NO_REPORT
    reason: str | None = None  # "final" or "window", once it is learned
    list_seq: int = field(default=0, name="list")  # seq of its "list" event


class QuarantinedEvent(Struct, frozen=True, omit_defaults=True):
    """A list is closed because it cannot be read or learned; without an impression, a learner could not be loaded."""

    reason: str
    list_seq: int = field(default=0, name="list")  # seq of its "list" event; 0 for a learner


class ClockEvent(Struct, frozen=True):
    """The clock of the service was corrected: times may fall here, and open click windows were moved."""

    milliseconds: int


class StoppedEvent(Struct, frozen=True, kw_only=True):
    """The guardrail of a ranking put it back to its baseline: the rule, and what broke it."""

    metric: str
    worse_by: float
    level: float
    ratio: float  # of policy to holdout
    high: float  # upper end of its confidence sequence
    policy: tuple[int, ...]  # sums of the groups, in the order of `GroupSums`
    holdout: tuple[int, ...]


class ForgottenEvent(Struct, frozen=True):
    """Impressions closed by events up to `until` were deleted from the log."""

    until: int
    impressions: int


class ErasedEvent(Struct, frozen=True, omit_defaults=True):
    """A segment was deleted, with its learner and all events about it; it is not named."""

    learner: int  # seq of the event that created its learner
    by: str = ""  # as above


decode_ranking = msgspec.json.Decoder(RankingEvent).decode
decode_items = msgspec.json.Decoder(ItemsEvent).decode
decode_list = msgspec.json.Decoder(ListEvent).decode
decode_learner = msgspec.json.Decoder(LearnerEvent).decode
decode_imported = msgspec.json.Decoder(ImportedEvent).decode
decode_quarantined = msgspec.json.Decoder(QuarantinedEvent).decode
decode_outcome = msgspec.json.Decoder(ListOutcome).decode
decode_stopped = msgspec.json.Decoder(StoppedEvent).decode
