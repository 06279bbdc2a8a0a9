"""A ranking in memory: its settings, its items, and how these changed while it was there."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from toplist.core.problem import InvalidInput, refuse
from toplist.core.protocols import Capabilities
from toplist.core.slate import Floats
from toplist.policies.by_name import make
from toplist.service.errors import Refused
from toplist.service.log.events import ItemsBody, PutItem, RankingBody
from toplist.service.wire import LARGEST, Item, RankingSpec, too_large

SHORTEST = 1  # the length of the longest list where there is none


class ItemState(NamedTuple):
    """An item as it is now."""

    place: int
    features: Floats | None
    hidden: bool


Items = dict[str, ItemState]
TOO_LARGE = f"features must be numbers between {-LARGEST:,.0f} and {LARGEST:,.0f}; scale them, best to about 1."
MOST_JOINED = 2000  # features of an item and a person together: a linear belief holds their square, 32 MB


class Change(NamedTuple):
    """What an event did to the items."""

    seq: int
    body: ItemsBody


class Setting(NamedTuple):
    """What a learner is made from, beside items and key."""

    name: str
    spec: RankingSpec
    policy: int  # the event since which the ranking has its policy
    trained: bool  # whether a learner knows what happened before that
    places: int  # that a learner has for items: lists may be shorter, but not longer
    longest: int  # no list between `floor` and `policy` has more items
    first: int  # the number of a learner's first list
    floor: int  # the last event that let learners start anew: nobody who is trained later learns what was before

    @classmethod
    def of(cls, body: RankingBody, policy: int = 0) -> Setting:
        """As an event of the log says."""
        spec = body.spec
        positions = spec.positions
        places, longest = body.places or positions, body.longest or positions
        floor = body.floor or (0 if body.trained else policy)
        return cls(spec.name, spec, policy, body.trained, places, longest, body.first, floor)

    def body(self, deleted: bool = False) -> RankingBody:
        """What an event of the log says of it."""
        return RankingBody(
            self.spec, self.trained, self.policy, deleted, self.places, self.longest, self.first, self.floor
        )

    def changed(self, spec: RankingSpec) -> Setting:
        """With other settings that the same learners can have."""
        return self._replace(spec=spec)

    def anew(self, spec: RankingSpec, trained: bool, longest: int) -> Setting:
        """With other settings, for new learners: where they are trained, the `longest` list finds place in them."""
        longest = longest if trained else SHORTEST
        return Setting(self.name, spec, 0, trained, max(longest, spec.positions), longest, 0, self.floor)

    def since(self, seq: int) -> Setting:
        """In force from an event on.

        Learners that know nothing of the lists before do not use their numbers again, or chance would make the same
        lists once more. There were fewer lists than events.
        """
        if self.trained:
            return self._replace(policy=seq, first=0)
        return self._replace(policy=seq, first=seq, floor=seq)

    def seed(self, key: str | None) -> int:
        """The seed of a key's learner: the ranking's own where there is no key."""
        if key is None:
            return self.spec.seed
        digest = hashlib.blake2b(f"{self.spec.seed}/{key}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
        return int.from_bytes(digest, "little") >> 1

    def capabilities(self) -> Capabilities:
        """What the policy can take."""
        can: Capabilities = make(self.spec.policy).capabilities()
        return can


class RankingState:
    """A ranking, with its items in the order in which they came."""

    def __init__(self, id: int, created: int, setting: Setting) -> None:
        self.id, self.created, self.setting = id, created, setting
        self.can = setting.capabilities()
        self.items: Items = {}
        self.changes: list[Change] = []  # of the items, the latest
        self.trimmed = 0  # how many came before these since the ranking is in memory
        self.served = False  # whether there is a learner already
        self.longest = SHORTEST  # list that it made by its policy while it is in memory
        self.changing = False  # whether another policy is being trained
        self.compiled: Setting | None = None  # the setting whose policy is known to be compiled

    @property
    def name(self) -> str:
        """Its name."""
        return self.setting.name

    @property
    def spec(self) -> RankingSpec:
        """Its settings."""
        return self.setting.spec

    def checked(self, items: Sequence[Item]) -> ItemsBody:
        """What putting these items changes, or the error that says why it cannot be."""
        width = self.spec.features
        seen: set[str] = set()
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
                if width and row is None:
                    raise Refused(f"The item {item.id!r} is new, and needs {width} features.", f"{at}/features")
                if self.served and not self.can.adds_items:
                    raise Refused(
                        f"The policy {self.spec.policy} takes in no items once it serves; make a new ranking with all "
                        f"of them, or change the policy.", f"{at}/id",
                    )  # fmt: skip
            hidden = item.hidden if item.hidden is not None else known is not None and known.hidden
            if hidden and not self.can.takes_subsets:
                raise Refused(f"The policy {self.spec.policy} shows all of its items; hide none.", f"{at}/hidden")
            same_row = row is None or (known is not None and known.features is not None
                                       and known.features.tolist() == row)  # fmt: skip
            if known is None or known.hidden != hidden or not same_row:
                put.append(PutItem(item.id, None if same_row else row, hidden))
        return ItemsBody(put=put)

    def change(self, seq: int, body: ItemsBody) -> None:
        """Change the items, and remember it for learners that come along later."""
        apply(self.items, seq, body)
        self.changes.append(Change(seq, body))

    def check_removable(self, ids: Iterable[str]) -> None:
        """Refuse where the policy cannot do without an item."""
        if self.served and not self.can.takes_subsets and any(id in self.items for id in ids):
            raise Refused(f"The policy {self.spec.policy} shows all of its items; make a new ranking without it.")


def wrong_width(what: str, row: Sequence[float], width: int) -> InvalidInput:
    """The error for features that are not as many as the ranking's."""
    accepted = f"{width} numbers, as many as the ranking's features" if width else "left out"
    return refuse(what, row, accepted, "see the ranking's features")


def apply(items: Items, seq: int, body: ItemsBody) -> None:
    """Change items as an event of the log says; new ones go behind all others."""
    for n, put in enumerate(body.put):
        known = items.get(put.id)
        features = known.features if known is not None else None
        if put.features is not None:
            features = np.array(put.features)
        place = known.place if known is not None else (seq << 20) + n
        items[put.id] = ItemState(place, features, put.hidden)
    for id in body.removed:
        items.pop(id, None)


def as_item(id: str, state: ItemState) -> Item:
    """An item as it is read."""
    return Item(id=id, features=None if state.features is None else state.features.tolist(), hidden=state.hidden)


def policy_problem(setting: Setting) -> Refused | None:
    """Why a ranking cannot have its settings, pointing at the one that is wrong; None where it can."""
    spec = setting.spec
    try:
        can = setting.capabilities()
    except InvalidInput as problem:
        return Refused(str(problem), "/policy")
    if can.needs_features and spec.features == 0:
        return Refused(f"The policy {spec.policy} learns from features; say how many an item has.", "/features")
    if spec.person and (not can.needs_features or can.covers_topics):
        return Refused(
            f"The policy {spec.policy} knows nothing of persons; leave person out, or make a new ranking without.",
            "/person",
        )
    outer = spec.person and spec.join == "outer"
    joined = spec.features * spec.person if outer else spec.features + spec.person
    if can.needs_features and joined > MOST_JOINED:
        return Refused(
            f"The policy {spec.policy} would learn from {joined} features, but {MOST_JOINED} are the most; give fewer"
            + (" features, or fewer of a person." if spec.person else "."), "/features",
        )  # fmt: skip
    return None
