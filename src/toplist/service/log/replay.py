"""A learner out of the log: begun with the items of its moment, and led through everything that happened since."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from heapq import merge
from operator import attrgetter

import numpy as np

from toplist.core.problem import InvalidInput
from toplist.ranker import LoggedRanker
from toplist.ranker.logged_ranker import NO_LIMIT
from toplist.ranker.shown import Shown
from toplist.service.live.ranking import Items, Setting, apply
from toplist.service.log.events import ItemsBody, ListBody, Outcome, decode_items, decode_list, decode_outcome
from toplist.service.store.protocol import DROP, ITEMS, LEARN, LIST, EventRow, LearnerRow, SnapshotRow


def begin(setting: Setting, key: str | None, items: Items) -> LoggedRanker:
    """A learner before its first list."""
    spec, can = setting.spec, setting.capabilities()
    features = None
    if can.needs_features:
        features = {id: state.features for id, state in items.items()}
    ranker = LoggedRanker(
        list(items), setting.places, spec.policy, setting.seed(key), features=features,
        person=spec.person if can.needs_features else 0, join=spec.join, steps=spec.steps,
        prior_mean=spec.prior_mean, prior_strength=spec.prior_strength, new_per_list=spec.new_per_list,
        open_slates=NO_LIMIT, name=known_as(setting, key),
    )  # fmt: skip
    hidden = [id for id, state in items.items() if state.hidden]
    if hidden:
        ranker.hide(hidden)
    if setting.first:
        ranker.reopen(setting.first - 1)
        ranker.drop(setting.first - 1)
    return ranker


def known_as(setting: Setting, key: str | None) -> str:
    """The name of a learner."""
    return setting.name if key is None else f"{setting.name}/{key}"


def change_items(ranker: LoggedRanker, body: ItemsBody) -> None:
    """What an event of the ranking's items means for a learner."""
    by_features = ranker.capabilities.needs_features
    new = [put for put in body.put if put.id not in ranker]
    if new:
        rows = np.array([put.features for put in new]) if by_features else None
        ranker.add([put.id for put in new], features=rows)
    fresh = {put.id for put in new}
    for put in body.put:
        if put.id not in fresh and by_features and put.features is not None:
            ranker.change(put.id, put.features)
    was_hidden = set(ranker.hidden)
    if hide := [put.id for put in body.put if put.hidden and put.id not in was_hidden]:
        ranker.hide(hide)
    if show := [put.id for put in body.put if not put.hidden and put.id in was_hidden]:
        ranker.unhide(show)
    if gone := [id for id in body.removed if id in ranker]:
        ranker.remove(gone)


def recalled(ranker: LoggedRanker, body: ListBody, own: bool) -> Shown | None:
    """A list of the log, to be learned now; None where another policy made it of items of which some are gone."""
    if own:
        return ranker.recall(body.items, body.record())
    if not ranker.capabilities.learns_from_any_list or not all(item in ranker for item in body.items):
        return None
    features = body.features if ranker.capabilities.needs_features else None
    person = body.person if ranker.capabilities.needs_features else None
    try:
        return ranker.take_over(body.items, body.number, person, features)
    except InvalidInput:  # as where a person's features were not asked for then
        return None


def learn(ranker: LoggedRanker, body: ListBody, outcome: Outcome, own: bool) -> None:
    """Learn a list of the log by what was reported of it."""
    told = outcome.merged.learnable()
    if own:
        ranker.reopen(body.number)
        ranker.settle(body.record(), *told)
    elif (shown := recalled(ranker, body, own)) is None:
        ranker.drop(body.number)
    else:
        ranker.learn(shown, *told)


class Replay:
    """Leads one learner through its events; lists up to the event `policy` were made by another policy."""

    def __init__(
        self, ranker: LoggedRanker, seq: int, start: int, policy: int, fetch: Callable[[int], EventRow | None]
    ) -> None:
        self.ranker = ranker
        self.seq = seq  # the last event that it knows
        self._start = start  # lists before this event are none of its
        self._policy = policy
        self._fetch = fetch
        self._lists: dict[int, ListBody] = {}  # open ones that were met on the way
        self.events = 0

    def run(self, events: Iterable[EventRow]) -> None:
        """Go on through events of the learner and of its ranking's items, in order."""
        for event in events:
            self.seq = event.seq
            self.events += 1
            if event.kind == ITEMS:
                change_items(self.ranker, decode_items(event.body))
            elif event.kind == LIST:
                body = self._lists[event.seq] = decode_list(event.body)
                self.ranker.reopen(body.number)
            elif event.kind in (LEARN, DROP):
                outcome = decode_outcome(event.body)
                if outcome.list <= self._start:
                    continue
                listed = self._lists.pop(outcome.list, None) or self._fetched(outcome.list)
                if listed is None:
                    continue
                if event.kind == LEARN:
                    learn(self.ranker, listed, outcome, own=outcome.list > self._policy)
                else:
                    self.ranker.drop(listed.number)

    def _fetched(self, seq: int) -> ListBody | None:
        event = self._fetch(seq)
        return None if event is None else decode_list(event.body)


def beginning(setting: Setting, row: LearnerRow, items: Items, fetch: Callable[[int], EventRow | None]) -> Replay:
    """A learner before all events, with the items of that moment."""
    start = first_event(setting, row.id)
    return Replay(begin(setting, row.key, items), start, start, setting.policy, fetch)


def from_snapshot(
    setting: Setting, row: LearnerRow, kept: SnapshotRow, fetch: Callable[[int], EventRow | None]
) -> Replay:
    """A learner as a snapshot has it."""
    ranker = LoggedRanker.from_bytes(kept.body, setting.spec.policy, known_as(setting, row.key))
    return Replay(ranker, kept.seq, first_event(setting, row.id), setting.policy, fetch)


def in_order(learner: Iterable[EventRow], items: Iterable[EventRow]) -> Iterator[EventRow]:
    """Events of a learner and of its ranking's items, by number."""
    return merge(learner, items, key=attrgetter("seq"))


def items_at(changes: Iterable[EventRow], seq: int) -> Items:
    """The items that a ranking had at an event, by all changes of its items."""
    items: Items = {}
    for event in changes:
        if event.seq > seq:
            break
        apply(items, event.seq, decode_items(event.body))
    return items


def first_event(setting: Setting, created: int) -> int:
    """The event behind which a learner's own history begins."""
    return max(created, setting.floor)
