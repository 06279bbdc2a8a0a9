"""The uplift: sums of closed lists by visitor, day and segment, kept over restarts, and a guardrail that stops."""

import asyncio
import json
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from running import (
    WINDOW,
    Clock,
    at_work,
    check,
    events,
    execute,
    front,
    killed,
    ranking_of,
    reader_of,
    run,
    shown,
    state_of,
    told,
)

from toplist.service.errors import Conflict
from toplist.service.live import rankings, retention, uplift_sums
from toplist.service.live.service import Service
from toplist.service.store.row_kinds import FIRST_TALLY
from toplist.service.wire import RankingChange, StopIf, Uplift

DAY = 86_400.0


@pytest.fixture(autouse=True)
def same_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same visitors are held out in every run."""
    monkeypatch.setattr(rankings, "new_salt", lambda: "0123456789abcdef" * 2)


def damage(path: Path) -> list[str]:
    with closing(reader_of(path)) as reader:
        return [found.text for found in reader.find_damage()]


async def visits(
    service: Service,
    count: int,
    rng: np.random.Generator,
    segments: bool = False,
    rates: tuple[float, float] = (0.4, 0.4),
) -> None:
    """Lists of some visitors, most of which come again; `rates` of clicks in the holdout and with the policy."""
    for n in range(count):
        visitor = None if n % 7 == 0 else f"v{int(rng.integers(30)) ** 2 // 20}"
        made = await shown(service, visitor=visitor, segment=f"s{n % 2}" if segments and n % 3 else None)
        rate = rates[made.group == "policy"]
        clicks = [place for place in (1, 2, 3) if rng.random() < rate]
        if n % 5:
            await told(service, made, *clicks, final=True)
        elif clicks:
            await told(service, made, *clicks)


async def counted_by_hand(
    service: Service, segment: str | None = None, day: str | None = None, after: int = 0
) -> dict[str, Counter[str]]:
    """The same counts, from the exported log."""
    lists: dict[int, tuple[str, Any]] = {}
    found: dict[str, Counter[str]] = {"policy": Counter(), "holdout": Counter()}
    seen: set[tuple[str, Any]] = set()
    for event in await events(service):
        body = json.loads(bytes(event.body))
        if event.kind == "list" and "group" in body and event.seq > after:
            lists[event.seq] = body["group"], body.get("visitor", event.seq)
        elif event.kind == "learned" and body["list"] in lists:
            group, visitor = lists[body["list"]]
            if (segment is not None and event.segment != segment) or (day is not None and event.at[:10] != day):
                continue
            clicks = body.get("merged", {}).get("clicks", [])
            found[group]["visitors"] += (group, visitor) not in seen
            seen.add((group, visitor))
            found[group].update(lists=1, clicked=bool(clicks), clicks=len(clicks), clicks_at_1=1 in clicks)
    return found


def same(part: Any, by_hand: dict[str, Counter[str]]) -> None:
    for group in ("policy", "holdout"):
        counts = getattr(part, group)
        for name in ("visitors", "lists", "clicked", "clicks", "clicks_at_1"):
            assert getattr(counts, name) == by_hand[group][name], (group, name)


def test_a_sum_that_cannot_be_read_stops_no_list(tmp_path: Path) -> None:
    async def play() -> None:
        clock, rng = Clock(), np.random.default_rng(1)
        async with at_work(tmp_path / "db", clock) as service:
            await front(service, holdout=0.4)
            await visits(service, 20, rng)
        execute(tmp_path / "db", "UPDATE tallies SET body = ?", b"\0")
        async with at_work(tmp_path / "db", clock) as service:
            await service.uplift.uplift("front")
            clock.pass_(DAY)
            assert await service.impressions.close_due() > 0
            await visits(service, 20, rng)
            await service.uplift.uplift("front", by="day")

    run(play())
    assert any("tallies" in text for text in damage(tmp_path / "db"))


def test_a_learner_that_is_loaded_while_sums_are_read_learns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db", learner_bytes=0) as service:
            await front(service, holdout=0.9)
            made = await shown(service, visitor="v1", segment="s1")
            assert made.group == "holdout"
            await shown(service, visitor="v1", segment="s2")  # evicts the learner of s1
            load = uplift_sums.UpliftSums.load

            async def slow(sums: uplift_sums.UpliftSums, lists: Any) -> None:
                monkeypatch.undo()
                await shown(service, visitor="v2", segment="s1")  # loads the learner
                await load(sums, lists)

            monkeypatch.setattr(uplift_sums.UpliftSums, "load", slow)
            assert (await told(service, made, 1, final=True)).counted
            assert service.quarantined.total() == 0

    run(play())


def test_closed_lists_count_by_visitor_day_and_segment_also_after_a_restart(tmp_path: Path) -> None:
    async def play() -> None:
        clock, rng = Clock(), np.random.default_rng(1)
        async with at_work(tmp_path / "db", clock) as service:
            await front(service, holdout=0.4)
            await visits(service, 60, rng, segments=True)
            same(await service.uplift.uplift("front"), await counted_by_hand(service))
            clock.pass_(DAY)
            await killed(service)
        async with at_work(tmp_path / "db", clock) as service:
            before = await service.uplift.uplift("front")
            assert await service.impressions.close_due() > 0
            after = await service.uplift.uplift("front")
            assert after.policy.lists + after.holdout.lists > before.policy.lists + before.holdout.lists
            await visits(service, 40, rng, segments=True)
            found = await service.uplift.uplift("front", by="day")
            same(found, await counted_by_hand(service))
            assert [part.name for part in found.slices] == ["2023-11-14", "2023-11-15"]
            for part in found.slices:
                same(part, await counted_by_hand(service, day=part.name))
            by_segment = await service.uplift.uplift("front", by="segment")
            assert [part.name for part in by_segment.slices] == ["s1", "s0"]
            for part in by_segment.slices:
                same(part, await counted_by_hand(service, segment=part.name))
            page = await service.uplift.uplift("front", by="day", limit=1)
            assert page.next == "2023-11-14"
            rest = await service.uplift.uplift("front", by="day", after=page.next)
            assert (page.slices + rest.slices, rest.next) == (found.slices, None)
        assert check(tmp_path / "db") == damage(tmp_path / "db") == []

    run(play())


def test_the_figures_are_means_of_the_groups(tmp_path: Path) -> None:
    async def play() -> Uplift:
        async with at_work(tmp_path / "db") as service:
            await front(service, holdout=0.5)
            for n in range(500):
                made = await shown(service, visitor=f"v{n}")
                clicks = {"policy": [1, 2] if n % 2 else [], "holdout": [3] if n % 3 else []}[str(made.group)]
                await told(service, made, *clicks, final=True)
            return await service.uplift.uplift("front")

    found = run(play())
    through, clicks, first = found.metrics
    assert [metric.metric for metric in found.metrics] == ["click_through", "clicks_per_list", "clicks_at_1"]
    assert clicks.policy == found.policy.clicks / found.policy.lists
    assert through.holdout == found.holdout.clicked / found.holdout.lists
    assert first.holdout == 0.0
    assert first.ratio is None
    assert clicks.difference is not None
    assert clicks.ratio is not None
    assert clicks.policy
    assert clicks.holdout
    assert clicks.difference.estimate == pytest.approx(clicks.policy - clicks.holdout)
    assert clicks.ratio.estimate == pytest.approx(clicks.policy / clicks.holdout)
    sequence, fixed = clicks.difference.sequence, clicks.difference.fixed_horizon
    assert sequence is not None
    assert fixed is not None
    assert sequence.low < fixed.low < clicks.difference.estimate < fixed.high < sequence.high
    assert (sequence.high - sequence.low) < 2.5 * (fixed.high - fixed.low)
    assert sequence.low > 0.0  # one click more per three lists
    assert not found.sample_ratio.alarm
    assert found.sample_ratio.observed == found.holdout.visitors / 500


def test_visitors_that_do_not_come_as_assigned_raise_an_alarm(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service, holdout=0.5)
            for n in range(250):
                made = await shown(service, visitor=f"v{n}", deferred=True)
                if made.group == "policy" or n % 2:  # half of the holdout is lost on its way
                    await told(service, made, final=True)
            ratio = (await service.uplift.uplift("front")).sample_ratio
            assert ratio.alarm
            assert ratio.p_value < 0.01
            assert (ratio.observed or 1.0) < 0.4

    run(play())


def test_a_guardrail_puts_a_harmful_policy_back_to_its_baseline(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service, holdout=0.5, stop_if=StopIf(metric="click_through", worse_by=0.1))
            for n in range(2000):
                made = await shown(service, visitor=f"v{n}")
                if made.group == "shadow":
                    break
                await told(service, made, *([1] if made.group == "holdout" or n % 4 == 0 else []), final=True)
            assert 200 < n < 1000
            kinds = [(event.kind, json.loads(bytes(event.body))) for event in (await events(service))[-4:]]
            why = next(body for kind, body in kinds if kind == "stopped")
            assert why["metric"] == "click_through"
            assert why["high"] < 0.9
            assert next(body for kind, body in kinds if kind == "ranking")["by"] == "stop_if"
            ranking = await service.queries.ranking("front")
            assert ranking.stopped
            assert ranking.mode == "live"
            found = await service.uplift.uplift("front")
            assert found.stopped is not None
            assert found.stopped.high == why["high"]
            assert found.stopped.ratio == pytest.approx(found.metrics[0].ratio.estimate)  # type: ignore[union-attr]
            await killed(service)
        async with at_work(tmp_path / "db") as service:
            made = await shown(service, visitor="anybody")
            assert (made.group, made.items) == ("shadow", ["item-0", "item-1", "item-2"])
            await service.rankings.change("front", RankingChange(holdout=0.3))
            assert (await shown(service, visitor="anybody")).group == "shadow"  # only a mode puts it to work again
            reply = await service.rankings.change("front", RankingChange(mode="live"))
            assert not reply.stopped
            assert (await shown(service, visitor="anybody")).group in ("policy", "holdout")
            assert (await service.uplift.uplift("front")).policy.lists == 0
        assert check(tmp_path / "db") == damage(tmp_path / "db") == []

    run(play())


def test_a_harmless_policy_goes_on(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service, holdout=0.5, stop_if=StopIf(metric="click_through", worse_by=0.0))
            for n in range(300):
                made = await shown(service, visitor=f"v{n}")
                await told(service, made, *([1] if n % 3 == 0 else []), final=True)
            assert not (await service.queries.ranking("front")).stopped

    run(play())


def test_a_change_on_which_groups_depend_begins_anew_and_others_do_not(tmp_path: Path) -> None:
    async def play() -> None:
        clock = Clock()
        async with at_work(tmp_path / "db", clock) as service:
            await front(service, holdout=0.5)
            open_before = [await shown(service, visitor=f"v{n}") for n in range(20)]
            for made in open_before[:10]:
                await told(service, made, 1, final=True)
            clock.pass_(1)
            await service.rankings.change("front", RankingChange(stop_if=StopIf(), holdout_learns=False))
            found = await service.uplift.uplift("front")
            assert found.policy.lists + found.holdout.lists == 10
            await service.rankings.change("front", RankingChange(holdout=0.6))
            for made in open_before[10:]:  # of the former groups
                assert (await told(service, made, 1, final=True)).counted
            found = await service.uplift.uplift("front")
            assert found.policy.lists + found.holdout.lists == 0
            assert found.since == "2023-11-14T22:13:21.000Z"
            assert found.sample_ratio.assigned == 0.6
            await told(service, await shown(service, visitor="v1"), 1, final=True)
            last = await shown(service, visitor="v2")
            await service.rankings.change("front", RankingChange(holdout=0.0))
            assert (await shown(service, visitor="v1")).items  # nobody has a group any more, and the sums stay
            await told(service, last, 1, final=True)
            found = await service.uplift.uplift("front")
            assert found.policy.lists + found.holdout.lists == 2
        assert check(tmp_path / "db") == damage(tmp_path / "db") == []

    run(play())


def test_a_list_counts_once_however_often_and_at_once_it_is_reported(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service, holdout=0.5)
            lists = [await shown(service, visitor=f"v{n % 5}") for n in range(20)]
            for _ in range(2):
                await asyncio.gather(*(told(service, made, 1, final=True) for made in lists for _ in range(3)))
            found = await service.uplift.uplift("front")
            assert found.policy.lists + found.holdout.lists == 20
            assert found.policy.visitors + found.holdout.visitors == 5
        assert check(tmp_path / "db") == []

    run(play())


def test_sums_that_are_not_in_memory_are_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uplift_sums, "REMEMBERED_SUMS", 5)
    monkeypatch.setattr(uplift_sums, "EVICTED_AT_ONCE", 1)

    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service, holdout=0.5)
            rng = np.random.default_rng(2)
            await visits(service, 60, rng)
            lists = [await shown(service, visitor=f"v{n % 9}") for n in range(40)]
            await asyncio.gather(*(told(service, made, 2, final=True) for made in lists))
            assert len(state_of(service).uplift) < 60
            same(await service.uplift.uplift("front"), await counted_by_hand(service))
        assert check(tmp_path / "db") == []

    run(play())


def test_a_deleted_segment_and_a_deleted_ranking_leave_no_sums(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "PURGED_AT_ONCE", 20)

    async def left(service: Service) -> int:
        id, measured = ranking_of(service).id, ranking_of(service).settings.measured
        await service.settle()
        with closing(reader_of(tmp_path / "db")) as reader:
            return sum(1 for _ in reader.all_tallies(id, measured))

    async def purge(service: Service) -> None:
        while await service.retention.purge_deleted():
            pass

    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service, holdout=0.5)
            await visits(service, 60, np.random.default_rng(3), segments=True)
            before = await left(service)
            named = [part.name for part in (await service.uplift.uplift("front", by="segment")).slices]
            await service.segments.delete("front", "s1")
            await purge(service)
            assert 2 < await left(service) < before
            assert [part.name for part in (await service.uplift.uplift("front", by="segment")).slices] == named[1:]
            id = ranking_of(service).id
            await service.rankings.delete("front")
            await purge(service)
            with closing(reader_of(tmp_path / "db")) as reader:
                assert [row for kept in range(id, id + 3) for row in reader.all_tallies(id, kept)] == []
        assert damage(tmp_path / "db") == []

    run(play())


def test_sums_of_an_earlier_measuring_are_deleted_in_small_parts_also_after_a_kill(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "PURGED_AT_ONCE", 10)

    def kept(id: int) -> Counter[bool]:
        """How many sums are of the first measuring, and how many of the second."""
        with closing(reader_of(tmp_path / "db")) as reader:
            return Counter(measured > id for _, measured in reader.tally_places(id, FIRST_TALLY, 10_000))

    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service, holdout=0.5)
            for n in range(45):
                await told(service, await shown(service, visitor=f"v{n}"), 1, final=True)
            id = ranking_of(service).id
            assert kept(id) == {False: 47}  # one per visitor, that of the day, and that of all
            await service.rankings.change("front", RankingChange(holdout=0.4))
            assert kept(id) == {False: 47}  # the change waits for none of them
            for n in range(20):
                await told(service, await shown(service, visitor=f"v{n}"), 1, final=True)
            assert await service.retention.purge_deleted()
            assert 37 <= kept(id)[False] < 47
            await killed(service)
        async with at_work(tmp_path / "db") as service:  # it goes on after a kill
            before = kept(id)
            parts = 0
            while await service.retention.purge_deleted():
                now = kept(id)
                assert before[False] - now[False] <= 10
                before, parts = now, parts + 1
            assert parts >= 6
            assert kept(id) == {True: 22}
            same(await service.uplift.uplift("front"), await counted_since(service))
        assert damage(tmp_path / "db") == []
        assert check(tmp_path / "db") == []

    async def counted_since(service: Service) -> dict[str, Counter[str]]:
        return await counted_by_hand(service, after=ranking_of(service).settings.measured)

    run(play())


def test_no_uplift_without_a_holdout(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service)
            with pytest.raises(Conflict, match="holdout"):
                await service.uplift.uplift("front")
            made = await shown(service, visitor="Ada")
            await told(service, made, 1, final=True)
            assert len(state_of(service).uplift) == 0
            body = json.loads(bytes((await events(service))[-2].body))
            assert not {"group", "visitor"} & body.keys()

    run(play())


def test_a_deleted_row_of_the_sums_is_found(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service, holdout=0.5)
            await visits(service, 20, np.random.default_rng(4))
            state = state_of(service)
            for known in state.uplift.known_sums():
                known.value = None  # as if somebody had forgotten them
            await visits(service, 5, np.random.default_rng(5))

    run(play())
    assert any("uplift of 'front' differs" in sentence for sentence in check(tmp_path / "db"))


def test_windows_that_close_count_with_the_day_of_closing(tmp_path: Path) -> None:
    async def play() -> None:
        clock = Clock()
        async with at_work(tmp_path / "db", clock) as service:
            await front(service, holdout=0.5)
            for n in range(8):
                await told(service, await shown(service, visitor=f"v{n % 3}"), 1)
            clock.pass_(DAY + WINDOW)
            assert await service.impressions.close_due() == 8
            found = await service.uplift.uplift("front", by="day")
            assert [part.name for part in found.slices] == ["2023-11-15"]
            same(found.slices[0], await counted_by_hand(service))
        assert check(tmp_path / "db") == []

    run(play())
