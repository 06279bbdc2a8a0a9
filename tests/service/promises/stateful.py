"""Promise 6: list, click, duplicate, expire, remove, restart and crash, in any order, beside a model of a few lines."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections import Counter
from collections.abc import Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import hypothesis
from benchmarks.server import Broken, item_names
from hypothesis import strategies as some
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from toplist.service.desk import Desk
from toplist.service.shapes import Item, ListReply, ListRequest, RankingSpec, Report, ReportReply

from .beliefs import states
from .journal import Log

RANKING, ITEMS, POSITIONS = "modelled", 6, 3
WINDOW = 10.0  # seconds of a clock that the test turns
POLICY = "dcm-kl-ucb"

T = TypeVar("T")
places = some.lists(some.integers(1, POSITIONS), unique=True, max_size=POSITIONS)
keys = some.sampled_from([None, "a", "b"])
names = some.sampled_from(item_names(ITEMS + 2))


@dataclass
class Shown:
    """What the model knows of an impression."""

    reply: ListReply
    state: str  # as the service calls it
    due: int
    clicks: set[int] = field(default_factory=set)
    reason: str | None = None

    def expect(self, clicks: set[int], final: bool, now: int) -> str | None:
        """Take a report; why it does not count, or None where it does."""
        if self.state == "dropped":
            return "dropped"
        if self.state == "learned":
            return None if clicks <= self.clicks else "contradicts" if self.reason == "final" else "late"
        if self.state == "deferred":
            self.state, self.due = "open", now + round(WINDOW * 1000)
        self.clicks |= clicks
        if final:
            self.state, self.reason = "learned", "final"
        return None


class Machine(RuleBasedStateMachine):
    """A desk on a store, and beside it the model."""

    counts: ClassVar[Counter[str]] = Counter()
    above: ClassVar[Path]
    shown: Bundle[str] = Bundle("shown")
    sent: Bundle[tuple[str, Report, ReportReply]] = Bundle("sent")
    asked: Bundle[tuple[ListRequest, ListReply]] = Bundle("asked")

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(dir=self.above))
        self.runner = asyncio.Runner()
        self.now = 1_800_000_000_000
        self.model: dict[str, Shown] = {}
        self.items = set(item_names(ITEMS))
        self.lives = 0
        self.requests = 0

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        self.counts["steps"] += 1
        return self.runner.run(work)

    @property
    def store(self) -> Path:
        return self.folder / f"life-{self.lives}" / "toplist.db"

    def open_desk(self) -> None:
        self.store.parent.mkdir(exist_ok=True)
        self.desk = Desk(self.store, lambda: self.now)
        self.run(self.desk.start())

    @initialize()
    def begin(self) -> None:
        self.open_desk()
        self.run(self.desk.create_ranking(
            RankingSpec(name=RANKING, positions=POSITIONS, policy=POLICY, click_window=WINDOW)
        ))  # fmt: skip
        self.run(self.desk.put_items(RANKING, [Item(id=name) for name in sorted(self.items)]))

    @rule(target=shown, key=keys, deferred=some.booleans(), exclude=names)
    def make_list(self, key: str | None, deferred: bool, exclude: str) -> Any:
        excluded = [exclude] if exclude in self.items else []
        request = ListRequest(key=key, deferred=deferred, exclude=excluded)
        return self._listed(request, self.run(self.desk.make_list(RANKING, request)))

    @rule(target=asked, key=keys)
    def list_by_request(self, key: str | None) -> Any:
        self.requests += 1
        request = ListRequest(key=key, request_id=f"request-{self.requests}")
        reply = self.run(self.desk.make_list(RANKING, request))
        self._listed(request, reply)
        return request, reply

    @rule(target=shown, asked=asked)
    def ask_again(self, asked: tuple[ListRequest, ListReply]) -> Any:
        request, reply = asked
        assert self.run(self.desk.make_list(RANKING, request)) == reply
        return reply.impression

    def _listed(self, request: ListRequest, reply: ListReply) -> str:
        left = self.items - set(request.exclude)
        assert len(reply.items) == len(set(reply.items)) == min(POSITIONS, len(left))
        assert set(reply.items) <= left
        assert reply.impression not in self.model
        state = "deferred" if request.deferred else "open"
        self.model[reply.impression] = Shown(reply, state, self.now + round(WINDOW * 1000))
        return reply.impression

    @rule(target=sent, impression=shown, clicks=places, final=some.booleans())
    def report(self, impression: str, clicks: list[int], final: bool) -> Any:
        shown = self.model[impression]
        fitting = [place for place in clicks if place <= len(shown.reply.items)]
        report = Report(clicks=[*fitting], final=final)
        reply = self.run(self.desk.report(impression, report))
        why = shown.expect(set(fitting), final, self.now)
        assert (reply.counted, reply.why or None) == (why is None, why)
        return impression, report, reply

    @rule(again=sent)
    def duplicate(self, again: tuple[str, Report, ReportReply]) -> None:
        impression, report, before = again
        assert self.run(self.desk.report(impression, report)) == before

    @rule(impression=shown)
    def activate(self, impression: str) -> None:
        shown = self.model[impression]
        reply = self.run(self.desk.activate(impression))
        assert reply.counted == (shown.state != "dropped")
        if shown.state == "deferred":
            shown.state, shown.due = "open", self.now + round(WINDOW * 1000)

    @rule(seconds=some.floats(0.1, 1.5 * WINDOW))
    def expire(self, seconds: float) -> None:
        self.now += round(seconds * 1000)
        while self.run(self.desk.close_due()):
            pass
        for shown in self.model.values():
            if shown.due <= self.now and shown.state == "open":
                shown.state, shown.reason = "learned", "window"
            elif shown.due <= self.now and shown.state == "deferred":
                shown.state = "dropped"

    @precondition(lambda self: len(self.items) > 1)
    @rule(name=names)
    def remove_item(self, name: str) -> None:
        assert self.run(self.desk.remove_items(RANKING, [name])) == (name in self.items)
        self.items.discard(name)

    @rule(name=names)
    def put_item(self, name: str) -> None:
        changed = self.run(self.desk.put_items(RANKING, [Item(id=name)]))
        assert (changed.added, changed.unchanged) == ((0, 1) if name in self.items else (1, 0))
        self.items.add(name)

    @rule()
    def restart(self) -> None:
        self.counts["restarts"] += 1
        self.run(self.desk.stop())
        self.open_desk()

    @rule()
    def crash(self) -> None:
        """Another life begins from the files as they are; the old one is told nothing, and what it does is not seen."""
        self.counts["crashes"] += 1
        old, before = self.desk, self.store.parent
        self.lives += 1
        shutil.copytree(before, self.store.parent)
        self.open_desk()
        self.run(old.stop())

    @invariant()
    def impressions_are_as_modelled(self) -> None:
        for impression, shown in list(self.model.items())[-5:]:
            found = self.desk.impression(impression)
            assert found.items == shown.reply.items
            assert (found.state, set(found.clicks), found.reason) == (shown.state, shown.clicks, shown.reason)

    def teardown(self) -> None:
        try:
            if hasattr(self, "desk"):
                self.expire(2 * WINDOW)
                self.run(self.desk.stop())
                self._check_log()
        finally:
            self.runner.close()
            shutil.rmtree(self.folder)

    def _check_log(self) -> None:
        log = Log.of(self.store)
        assert set(log.lists) == set(self.model)
        for impression, shown in self.model.items():
            learned = [(set(one.clicks), one.reason) for one in log.learned[impression]]
            assert learned == ([(shown.clicks, shown.reason)] if shown.state == "learned" else [])
        states(self.store)
        self.counts["impressions"] += len(self.model)


def check(folder: Path, examples: int, steps: int) -> str:
    """So many histories of so many steps; what was met on the way."""
    Machine.counts.clear()
    Machine.above = folder
    chosen = hypothesis.settings(
        max_examples=examples, stateful_step_count=steps, derandomize=True, deadline=None, database=None,
        suppress_health_check=list(hypothesis.HealthCheck), print_blob=False,
    )  # fmt: skip
    try:
        run_state_machine_as_test(Machine, settings=chosen)  # type: ignore[no-untyped-call]
    except AssertionError as found:
        raise Broken("the service does not do what the model does; the steps are above") from found
    counts = Machine.counts
    return (
        f"{examples} histories: {counts['steps']} steps, {counts['impressions']} impressions, {counts['restarts']} "
        f"restarts and {counts['crashes']} crashes, always as the model says; beliefs equal to rebuilds"
    )
