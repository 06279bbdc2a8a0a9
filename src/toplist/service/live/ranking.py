"""A ranking in memory: its settings, its items, and their recent changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np

from toplist.core.item_id import ItemId
from toplist.core.problem import InvalidInput, refuse
from toplist.service.errors import OtherDivision, Refused
from toplist.service.log.division_rows import shared_change
from toplist.service.log.events import ItemsEvent, PutItem, decode_items
from toplist.service.log.pools import KnownPool
from toplist.service.log.replay import item_parts
from toplist.service.log.settings import SHORTEST, ItemState, ItemStates, LearnerSettings, apply_items, known_prior
from toplist.service.store.row_kinds import EventRow, Row
from toplist.service.wire import DOTS, LARGEST, Item, ItemPrior, RankingSpec, too_large

TOO_LARGE = f"features must be numbers between {-LARGEST:,.0f} and {LARGEST:,.0f}; scale them, best to about 1."


BYTES_PER_ITEM = 500  # its id, its state and its place in a dictionary
BYTES_PER_POOLED = 200  # of an item in a pool
BYTES_PER_LISTED = 32  # of a feature of an item in a list: as row, as JSON, and while it is written
BYTES_PER_CHANGE = 128  # of an item in a remembered change, without its features


class ItemsChange(NamedTuple):
    """A change of the items, with the seq of its event: all of it, or a part."""

    seq: int
    event: ItemsEvent
    is_last: bool  # part of its event


class LiveRanking:
    """A ranking, with its items in the order in which they were added."""

    def __init__(self, id: int, created: int, settings: LearnerSettings) -> None:
        self.id, self.created = id, created
        self.change_settings(settings)
        self.can = settings.capabilities()
        self.items: ItemStates = {}
        self.changes: list[ItemsChange] = []  # recent ones, for learners that have not applied them yet
        self.change_count = 0  # number of changes, or parts of them, since the ranking is in memory
        self.change_bytes = 0  # of the remembered changes
        self.changed = 0  # seq of the last change of the items since the ranking is in memory
        self.has_learner = False
        self.segments = 0  # number of them that have a learner
        self.is_deleted = False
        self.longest = SHORTEST  # longest list that its policy made since it is in memory
        self.is_changing_policy = False
        self.compiled: LearnerSettings | None = None  # settings whose policy is known to be compiled
        self.pool: KnownPool | None = None  # the latest, once the log was looked at for it
        self.pool_checked: int | None = None  # seq of the last event when the pool was brought up to date
        spec = settings.spec
        self.item_bytes = BYTES_PER_ITEM + 8 * spec.features + BYTES_PER_POOLED * (spec.pool == "prior")
        joined = spec.features * spec.person if spec.person and spec.join == "outer" else spec.features + spec.person
        self._listed_bytes = BYTES_PER_LISTED * joined
        self._largest_norm = (-1, 1.0)  # of the items' features, after so many changes

    def change_settings(self, settings: LearnerSettings) -> None:
        """Take other settings; what every list needs of them is derived here, once."""
        self.settings = settings
        self.name = settings.name
        self.spec: RankingSpec = settings.spec  # as requests give them
        self.has_groups = settings.has_groups
        self.has_propensities = self.spec.propensities or self.spec.mode == "exploring"  # unless a request says else
        self.click_window = round(self.spec.click_window * 1000)  # milliseconds
        self.serves_unrecorded = self.spec.when_unavailable == "serve"  # from memory, while nothing can be recorded

    @property
    def when_unavailable(self) -> str:
        """What its lists do while nothing can be recorded: "refuse" or "serve"."""
        return self.spec.when_unavailable or "refuse"

    @property
    def is_divided(self) -> bool:
        """Whether other partitions have segments of it, too."""
        return self.settings.scope > 0

    @property
    def is_home(self) -> bool:
        """Whether this partition decides about its items and settings."""
        return self.settings.division == 0

    def check_home(self) -> None:
        """Raise `OtherDivision` unless this partition decides about the ranking."""
        if not self.is_home:
            raise OtherDivision(self.settings.divisions)

    def check_segment(self, segment: str | None) -> None:
        """Raise `OtherDivision` for a segment that another partition has."""
        if self.settings.scope and not self.settings.has_segment(segment):
            raise OtherDivision(self.settings.divisions)

    @property
    def may_have_learners(self) -> bool:
        """Whether there are learners; those of other partitions are not known here, so a divided ranking may."""
        return self.has_learner or (self.is_divided and bool(self.items))

    def shared(self, before: LearnerSettings | None, rows: Sequence[Row]) -> list[Row]:
        """Rows that change the ranking, with the change for its other partitions if it is divided."""
        if not self.is_divided:
            return list(rows)
        return [*rows, shared_change(self.id, before, self.name, self.settings.divisions, rows)]

    @property
    def largest_norm(self) -> float:
        """The largest norm of the items' features, at least 1."""
        if self._largest_norm[0] != self.change_count:
            rows = [state.features for state in self.items.values() if state.features is not None]
            largest = max((float(np.linalg.norm(row)) for row in rows), default=1.0)
            self._largest_norm = self.change_count, max(1.0, largest)
        return self._largest_norm[1]

    def scaled_features(self, features: Mapping[str, list[float]]) -> dict[str, list[float]]:
        """Features of one request, scaled down to the largest norm of the items' own.

        So that no list can move a belief further than one of the items' own features could.
        """
        if self.can.covers_topics:  # then each is at most 1
            return dict(features)
        largest = self.largest_norm
        scaled: dict[str, list[float]] = {}
        for text, row in features.items():
            norm = float(np.linalg.norm(row))
            scaled[text] = row if norm <= largest else (np.asarray(row) * (largest / norm)).tolist()
        return scaled

    def list_bytes(self, positions: int | None) -> int:
        """Bytes of the features of a list and of its rows until they are on disk, if the policy learns from them."""
        return self._listed_bytes * (self.spec.positions if positions is None else positions)

    @property
    def learner_size(self) -> int:
        """Bytes of one of its learners, foretold."""
        return self.settings.learner_size(len(self.items))

    def changes_after(self, applied: int) -> list[ItemsChange]:
        """The changes after the first ones, which must be among those that are remembered."""
        return self.changes[len(self.changes) - (self.change_count - applied) :]

    def checked_items(self, items: Sequence[Item]) -> ItemsEvent:
        """The event of putting items; refused if the ranking cannot have them."""
        width = self.spec.features
        seen: set[ItemId] = set()
        put: list[PutItem] = []
        for n, item in enumerate(items):
            at = f"/items/{n}"
            known = self.items.get(item.id)
            if item.id in seen:
                raise Refused(f"The item {item.id!r} is put twice; name each once.", f"{at}/id")
            seen.add(item.id)
            row = item.features
            if row is not None and len(row) != width:
                raise Refused(str(wrong_width("features", row, width)), f"{at}/features")
            if row is not None and not np.isfinite(row).all():
                raise Refused("features must be finite numbers; one of them is not.", f"{at}/features")
            if too_large(row):
                raise Refused(TOO_LARGE, f"{at}/features")
            if row is not None and self.can.covers_topics and not all(0.0 <= share <= 1.0 for share in row):
                accepted = "numbers in [0, 1]"
                advice = "give how far the item covers each topic"
                raise Refused(str(refuse("features", row, accepted, advice)), f"{at}/features")
            if known is None:
                if item.id in DOTS:
                    raise Refused(
                        f"The item {item.id!r} is new, and must not be one or two dots, which clients resolve in "
                        f"paths; choose another id.", f"{at}/id",
                    )  # fmt: skip
                if width and row is None:
                    raise Refused(f"The item {item.id!r} is new, and needs {width} features.", f"{at}/features")
                if self.may_have_learners and not self.can.adds_items:
                    raise Refused(
                        f"The policy {self.spec.policy} takes in no items once it serves; make a new ranking with all "
                        f"of them, or change the policy.", f"{at}/id",
                    )  # fmt: skip
            hidden = item.hidden if item.hidden is not None else known is not None and known.hidden
            if hidden and not self.can.takes_subsets:
                raise Refused(f"The policy {self.spec.policy} shows all of its items; hide none.", f"{at}/hidden")
            same_row = row is None or (known is not None and known.features is not None
                                       and known.features.tolist() == row)  # fmt: skip
            prior = self._changed_prior(item, known, at)
            if known is None or known.hidden != hidden or not same_row or prior is not None:
                put.append(PutItem(item.id, None if same_row else row, hidden, prior))
        return ItemsEvent(put=put)

    def _changed_prior(self, item: Item, known: ItemState | None, at: str) -> tuple[float, float] | None:
        """The prior of an item that is put, if it is another one than before; refused if the policy takes none."""
        if item.prior is None:
            return None
        given = float(item.prior.mean), float(item.prior.strength)
        prior = known_prior(given)
        if prior is not None and not self.settings.takes_item_priors():
            instead = "learns from features" if self.can.needs_features else "does not count clicks per item"
            raise Refused(
                f"The policy {self.spec.policy} takes no priors of items, since it {instead}; leave prior out.",
                f"{at}/prior",
            )  # fmt: skip
        return None if prior == (None if known is None else known.prior) else given

    def check_removable(self, ids: Iterable[ItemId]) -> None:
        """Refuse if the policy cannot do without one of its items."""
        if self.may_have_learners and not self.can.takes_subsets and any(id in self.items for id in ids):
            raise Refused(f"The policy {self.spec.policy} shows all of its items; make a new ranking without it.")

    def change_items(self, seq: int, event: ItemsEvent) -> None:
        """Change the items, and remember the change for learners, which apply it when they are next used."""
        apply_items(self.items, seq, event)
        self.changed = seq
        event = msgspec.structs.replace(event, put=[self._with_array(put) for put in event.put])
        parts = item_parts(event)
        self.changes += [ItemsChange(seq, part, part is parts[-1]) for part in parts]
        self.change_count += len(parts)
        self.change_bytes += _change_bytes(event)

    def stay(self, committed: LiveRanking, refused_from: int) -> None:
        """Forget what events from `refused_from` on have changed besides settings and items, which they have not."""
        self.has_learner, self.segments = committed.has_learner, committed.segments
        if self.pool is not None and self.pool.seq >= refused_from:
            self.pool = self.pool_checked = None

    def go_on_from(self, before: LiveRanking, refused_from: int, changes: Sequence[EventRow]) -> None:
        """Remember the changes of the items that learners of a former state have not applied, and those since then.

        Events of the former state from `refused_from` on were not committed.
        """
        self.changes = [change for change in before.changes if change.seq < refused_from]
        self.change_count = before.change_count - (len(before.changes) - len(self.changes))
        for row in changes:
            parts = item_parts(decode_items(row.body))
            self.changes += [ItemsChange(row.seq, part, part is parts[-1]) for part in parts]
            self.change_count += len(parts)
        self.change_bytes = sum(_change_bytes(change.event) for change in self.changes)

    def _with_array(self, put: PutItem) -> PutItem:
        """An item with the array of its features that the ranking has: a list would take four times as much."""
        features: Any = self.items[put.id].features
        return put if put.features is None else msgspec.structs.replace(put, features=features)

    def drop_changes(self, until: int | None) -> None:
        """Drop the remembered changes that all learners in memory have applied: the first ones, or all without one."""
        self.changes = [] if until is None else self.changes_after(until)
        self.change_bytes = sum(_change_bytes(change.event) for change in self.changes)


def _change_bytes(event: ItemsEvent) -> int:
    """Bytes of a remembered change."""
    numbers = sum(len(put.features) for put in event.put if put.features is not None)
    return 8 * numbers + BYTES_PER_CHANGE * (len(event.put) + len(event.removed))


def wrong_width(what: str, row: Sequence[float], width: int) -> InvalidInput:
    """The error for a row of features whose width is not the ranking's."""
    accepted = f"{width} numbers, as many as the ranking's features" if width else "left out"
    return refuse(what, row, accepted, "see the ranking's features")


def item_reply(id: ItemId, state: ItemState) -> Item:
    """An item as requests read it."""
    return Item(
        id=id,
        features=None if state.features is None else state.features.tolist(),
        hidden=state.hidden,
        prior=None if state.prior is None else ItemPrior(mean=state.prior.mean, strength=state.prior.strength),
    )
