"""Whatever is done to the service, in whatever order: it does what a few lines of dictionaries would do."""

import asyncio
import shutil
import tempfile
from collections.abc import Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)
from msgspec import UNSET
from running import (
    ELIMINATION,
    ITEM_WISE,
    POLICIES,
    WINDOW,
    Clock,
    alike_id,
    check,
    front,
    items,
    killed,
    service_of,
    shown,
    told,
)

from toplist.core.item_id import ItemId
from toplist.service.errors import NotFound
from toplist.service.wire import Item, ItemPrior, ListEntry, ListReply

SEGMENTS = st.sampled_from([None, "a", "b"])
PRIORS = st.sampled_from([None, ItemPrior(mean=0.3, strength=10), ItemPrior(mean=0.0, strength=100),
                          ItemPrior(mean=0.5, strength=0)])  # fmt: skip
CLICKS = st.sets(st.integers(1, 3)).map(sorted)


@dataclass
class Seen:
    """What the model knows of a list."""

    reply: ListReply
    due: int
    state: str
    clicks: set[int] = field(default_factory=set)
    final: bool = False


class ServiceMachine(RuleBasedStateMachine):
    """List, click, duplicate, expire, remove and add items, restart and be killed; one subclass per policy.

    Half of the items have integers as ids, and the others texts that look like them. Some visitors are held out.
    """

    policy = POLICIES[0]
    lists: Bundle[Any] = Bundle("lists")

    @initialize()
    def begin(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.folder = Path(tempfile.mkdtemp())
        self.clock = Clock()
        self.seen: dict[str, Seen] = {}
        self.requests: dict[str, ListReply] = {}
        self.groups: dict[str, Any] = {}  # of visitors
        self.visible = {item.id for item in items(6, named=alike_id)}
        self.hidden: set[ItemId] = set()
        self.priors: dict[ItemId, ItemPrior | None] = {}
        self.service = service_of(self.folder / "db", self.clock)
        self.do(self.service.start())
        pool = "prior" if self.policy == ITEM_WISE else "none"
        self.do(front(self.service, self.policy, count=6, named=alike_id, pool=pool, holdout=0.3, holdout_learns=False))

    def do(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self.loop.run_until_complete(work)

    def teardown(self) -> None:
        if hasattr(self, "service"):
            self.everything_is_closed_and_learned_in_time()
            self.do(self.service.stop())
            assert check(self.folder / "db") == []
            self.loop.close()
            shutil.rmtree(self.folder)

    def expire(self) -> None:
        """The rules of time, in the plainest words."""
        for one in self.seen.values():
            if one.due <= self.clock.now:
                one.state = {"open": "learned", "deferred": "dropped"}.get(one.state, one.state)

    @rule(
        target=lists,
        segment=SEGMENTS,
        deferred=st.booleans(),
        request=st.none() | st.integers(0, 3),
        weighed=st.booleans(),
        visitor=st.none() | st.sampled_from("uvwxyz"),
    )
    def list_(
        self, segment: str | None, deferred: bool, request: int | None, weighed: bool, visitor: str | None
    ) -> str:
        weighed = weighed and self.policy == ITEM_WISE  # others are drawn a thousand times
        asked = None if request is None else f"{segment} {deferred} {request} {weighed} {visitor}"
        reply = self.do(
            shown(
                self.service,
                segment=segment,
                deferred=deferred,
                request_id=asked,
                propensities=weighed or None,
                visitor=visitor,
            )
        )
        if visitor is not None:
            assert self.groups.setdefault(visitor, reply.group) == reply.group
        assert (reply.propensities is not UNSET) == (weighed and bool(reply.items))
        if reply.impression in self.seen:
            assert asked is not None
            assert self.seen[reply.impression].reply == reply
        else:
            assert set(reply.items) <= self.visible
            assert len(set(reply.items)) == min(3, len(self.visible))
            due = self.clock.now + round(WINDOW * 1000)
            self.seen[reply.impression] = Seen(reply, due, "deferred" if deferred else "open")
        if asked is not None:
            known = self.requests.setdefault(asked, reply)
            assert known == reply
        return str(reply.impression)

    @rule(one=lists, clicks=CLICKS, final=st.booleans(), by_item=st.booleans(), times=st.integers(1, 3))
    def click(self, one: str, clicks: list[int], final: bool, by_item: bool, times: int) -> None:
        known = self.seen[one]
        clicks = [place for place in clicks if place <= len(known.reply.items)]
        self.expire()
        counted = known.state in ("open", "deferred") or (known.state == "learned" and set(clicks) <= known.clicks)
        if known.state in ("open", "deferred"):
            known.clicks |= set(clicks)
            if known.state == "deferred" and not final:
                known.due = self.clock.now + round(WINDOW * 1000)
            known.state = "learned" if final else "open"
            known.final = final
        given = [
            ListEntry(item=known.reply.items[place - 1]) if by_item else ListEntry(position=place) for place in clicks
        ]

        async def all_at_once() -> list[Any]:
            return await asyncio.gather(*(told(self.service, known.reply, *given, final=final) for _ in range(times)))

        answers = self.do(all_at_once())
        assert {answer.counted for answer in answers} == {counted}
        if not counted:
            why = "dropped" if known.state == "dropped" else "contradicts" if known.final else "late"
            assert {answer.why for answer in answers} == {why}

    @rule(one=lists)
    def activate(self, one: str) -> None:
        known = self.seen[one]
        self.expire()
        if known.state == "deferred":
            known.state, known.due = "open", self.clock.now + round(WINDOW * 1000)
        assert self.do(self.service.impressions.activate(one)).counted == (known.state != "dropped")

    @rule(seconds=st.sampled_from([1.0, WINDOW / 2, WINDOW]))
    def time_passes(self, seconds: float) -> None:
        self.clock.pass_(seconds)

    @precondition(lambda self: self.policy != ELIMINATION)
    @rule(number=st.integers(0, 9), hidden=st.booleans(), prior=PRIORS)
    def put(self, number: int, hidden: bool, prior: ItemPrior | None) -> None:
        (item,) = items(1, self.policy, number, alike_id)
        known = prior if self.policy == ITEM_WISE else None
        put = Item(id=item.id, features=item.features, hidden=hidden, prior=known)
        self.do(self.service.items.put("front", [put]))
        if known is not None:
            self.priors[item.id] = known if known.strength else None
        self.visible.discard(item.id)
        self.hidden.discard(item.id)
        (self.hidden if hidden else self.visible).add(item.id)

    @rule(number=st.integers(0, 9))
    def remove(self, number: int) -> None:
        name = alike_id(number)
        if len(self.visible | self.hidden) < 2:
            return
        there = name in self.visible or name in self.hidden
        assert self.do(self.service.items.remove("front", [name])) == there
        self.visible.discard(name)
        self.hidden.discard(name)
        self.priors.pop(name, None)

    @rule(kill=st.booleans())
    def restart(self, kill: bool) -> None:
        self.do(killed(self.service) if kill else self.service.stop())
        self.service = service_of(self.folder / "db", self.clock, learner_bytes=0 if kill else 1 << 30)
        self.do(self.service.start())

    @invariant()
    def items_are_there_and_lists_of_which_the_time_is_not_over(self) -> None:
        if not hasattr(self, "service"):
            return
        assert {item.id for item in self.do(self.service.queries.items("front")) if not item.hidden} == self.visible
        assert {item.id for item in self.do(self.service.queries.items("front")) if item.hidden} == self.hidden
        for item in self.do(self.service.queries.items("front")):
            assert item.prior == self.priors.get(item.id)
        for id, one in self.seen.items():
            if one.due > self.clock.now or one.final:
                self.check_list(id, one)
        with pytest.raises(NotFound):
            self.do(self.service.queries.impression("00000000-0000-7000-8000-000000000000"))

    def check_list(self, id: str, one: Seen) -> None:
        found = self.do(self.service.queries.impression(id))
        assert (found.state, found.clicks) == (one.state, sorted(one.clicks))
        assert found.items == one.reply.items

    @rule()
    def everything_is_closed_and_learned_in_time(self) -> None:
        self.do(self.service.impressions.close_due())
        self.expire()
        learned: dict[str | None, int] = {}
        for id, one in self.seen.items():
            self.check_list(id, one)
            is_learned = one.state == "learned" and one.reply.group == "policy"
            learned[one.reply.segment] = learned.get(one.reply.segment, 0) + is_learned
        for segment, count in learned.items():
            assert self.do(self.service.queries.estimates("front", segment)).learned == count
