"""The live views of a real service: all rankings, a part of a long order, segments, weights and detected changes."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from running import BY_FEATURES, Clock, at_work, front, items, run, shown, told

from toplist.service.errors import NotFound
from toplist.service.http import activity, history, live_view
from toplist.service.http.history import Histories
from toplist.service.http.live_view import LiveViews
from toplist.service.http.metrics import Metrics
from toplist.service.http.overview import CURVE_POINTS, Overviews
from toplist.service.live.service import Service
from toplist.service.log import export
from toplist.service.wire import Item, ListRequest, LiveQuery, OverviewQuery, RankingChange, RankingSpec, RankingView


class Views:
    """What the dashboard asks of a service."""

    def __init__(self, service: Service) -> None:
        metrics = cast(Metrics, SimpleNamespace(reports={}, requests_by_key={}, reports_of=lambda _: []))
        histories = Histories(service)
        self.overviews, self.views = Overviews(service, histories), LiveViews(service, histories, metrics)

    async def overview(self, allowed: Any = None, **query: Any) -> Any:
        return await self.overviews.state(OverviewQuery(**query), allowed)

    async def ranking(self, **query: Any) -> RankingView:
        return await self.views.state("front", LiveQuery(**query), is_limited=False)


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A state is made anew for every look."""
    monkeypatch.setattr(live_view, "SHARED", -1.0)


async def learn(service: Service, *clicks: int, **request: Any) -> None:
    await told(service, await shown(service, **request), *clicks, final=True)


def test_the_overview_has_all_rankings_with_their_numbers(tmp_path: Path) -> None:
    async def play() -> None:
        clock = Clock()
        async with at_work(tmp_path / "db", clock) as service:
            await front(service, holdout=0.5)
            for name in ("a-quiet", "Side"):
                await service.rankings.create(RankingSpec(name=name, positions=2, reference=0.25))
            for n in range(400):
                clock.pass_(1)
                await learn(service, *([1, 2] if n % 4 == 0 else []), visitor=f"v{n}")
            made = await shown(service)
            await told(service, made, 1)  # a report, and not learned yet
            views = Views(service)
            found = await views.overview()
            assert (found.total, found.found, found.complete) == (3, 3, True)
            assert [row.name for row in found.rankings] == ["Side", "a-quiet", "front"]
            busy = found.rankings[2]
            assert (busy.lists, busy.clicked, busy.clicks, busy.reports) == (400, 100, 200, 401)
            assert (busy.items, busy.holdout, busy.latest) == (8, 0.5, "2023-11-14T22:20:00.000Z")
            assert len(busy.curve) <= CURVE_POINTS
            assert sum(point.lists for point in busy.curve) == 400
            assert sum(point.clicked for point in busy.curve) == 100
            whole = await service.uplift.uplift("front")
            assert busy.uplift == whole.metrics[0]
            quiet = found.rankings[1]
            assert (quiet.lists, quiet.reference, quiet.uplift, quiet.curve, quiet.latest) == (0, 0.25, None, [], None)
            assert (await views.overview(sort="lists")).rankings[0].name == "front"
            assert (await views.overview(sort="click_through")).rankings[0].name == "front"
            part = await views.overview(search="QUIET")
            assert (part.total, part.found, part.rankings[0].name) == (3, 1, "a-quiet")
            assert [row.name for row in (await views.overview(offset=1, limit=1)).rankings] == ["a-quiet"]
            own = await views.overview(allowed={"Side"})
            assert (own.total, [row.name for row in own.rankings]) == (1, ["Side"])
            await service.rankings.delete("front")
            await front(service)
            again = (await views.overview(search="front")).rankings[0]
            assert (again.lists, again.uplift) == (0, None)  # it is another one

    run(play())


def test_a_long_log_is_read_bit_by_bit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "_PAGES_PER_READ", 1)

    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service)
            for _ in range(120):  # three events each, of which 200 are a page
                await learn(service, 1)
            views = Views(service)
            seen = [await views.overview() for _ in range(4)]
            assert [one.complete for one in seen] == [False, False, True, True]
            assert seen[0].rankings[0].lists < seen[2].rankings[0].lists == 120

    run(play())


def test_a_part_of_a_long_order_is_found_by_place_and_by_name(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service, count=500)
            await service.items.put("front", [Item(id="Ärmel"), Item(id=7), Item(id="item-3", hidden=True)])
            views = Views(service)
            before = await views.ranking(search="item-49")  # no list was made yet
            assert (before.found, [row.item for row in before.items][:2]) == (11, ["item-49", "item-490"])
            for _ in range(30):
                await learn(service, 1)
            whole = [row for n in range(3) for row in (await views.ranking(items=200, offset=200 * n)).items]
            assert [row.place for row in whole] == list(range(1, 503))
            assert len({row.item for row in whole}) == 502
            known = [row for row in whole if row.mean is not None]
            numbers = [(row.index is None, -(row.index or 0), -(row.mean or 0)) for row in known]
            assert numbers == sorted(numbers)
            assert [row.item for row in whole if row.hidden] == ["item-3"]
            part = await views.ranking(items=5, offset=3, search="ITEM-4")
            fitting = [row for row in whole if str(row.item).startswith("item-4")]
            assert part.found == len(fitting) == 111
            assert [(row.place, row.item) for row in part.items] == [(row.place, row.item) for row in fitting[3:8]]
            assert [row.item for row in (await views.ranking(search="ärm")).items] == ["Ärmel"]
            assert (await views.ranking(offset=1000)).items == []

    run(play())


def test_a_segment_has_its_own_history_order_and_events(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service)
            for n in range(30):
                await learn(service, 1, segment="tea" if n % 3 else "milk")
            await learn(service, 2)
            views = Views(service)
            whole, tea = await views.ranking(), await views.ranking(segment="tea")
            assert (whole.history.lists, whole.learned, whole.recent) == (31, 1, 31)
            assert (tea.history.lists, tea.learned, tea.recent, tea.segment) == (20, 20, 20, "tea")
            assert [event.kind for event in tea.events] == ["learned", "list"] * 20
            assert tea.changes == whole.changes
            assert sum(row.examined or 0 for row in tea.items) >= 20
            none = await views.ranking(segment="coffee")
            assert (none.history.lists, none.learned, none.recent) == (0, 0, 0)
            await learn(service, 1, segment="tea")
            assert (await views.ranking(segment="tea")).history.lists == 21

    run(play())


@pytest.mark.parametrize("most_learners", [50, 0])  # with more segments, only the end of the log is looked at
def test_a_quiet_ranking_keeps_its_events_and_shares_beside_a_busy_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most_learners: int
) -> None:
    monkeypatch.setattr(activity, "TAIL", 60)
    monkeypatch.setattr(activity, "NEXT", 30)
    monkeypatch.setattr(export, "EVENTS_PER_PAGE", 7)
    monkeypatch.setattr(export, "MOST_LEARNERS", most_learners)

    async def make_busy(service: Service, lists: int = 40) -> None:
        for _ in range(lists):
            made = await service.lists.make("busy", ListRequest())
            await told(service, made, final=True)

    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service)
            await service.rankings.create(RankingSpec(name="busy", positions=1))
            await service.items.put("busy", items(2))
            for n in range(12):
                await learn(service, 1, segment="tea" if n % 2 else None)
            await make_busy(service)  # more events than are read at first
            views = Views(service)
            seen = await views.ranking()
            if not most_learners:
                assert (seen.recent, seen.events) == (0, [])
            else:
                assert (seen.recent, len(seen.events)) == (12, 26)
                assert [event.kind for event in seen.events[-2:]] == ["items", "ranking"]
                tea = await views.ranking(segment="tea")
                assert (tea.recent, len(tea.events)) == (6, 14)
                assert max(row.shares[0] for row in tea.items) > 0.0
            await learn(service, 2)
            await make_busy(service, 10)  # fewer than are read at a time
            assert (await views.ranking()).recent == seen.recent + 1
            if most_learners:
                await learn(service, 3)
                await make_busy(service)
                found = await views.ranking()
                assert found.recent == seen.recent + 2
                assert found.events[0].detail == "a click at 3, by a final report"
                for _ in range(25):  # more than are read at a time: the latest
                    await learn(service, 1)
                assert (await views.ranking()).recent == seen.recent + 2 + 15

    run(play())


def test_trends_are_of_successive_parts_of_the_recent_lists(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service)
            for n in range(100):
                await learn(service, pins={"1": "item-0" if n < 50 else "item-1"}, exclude=["item-7"], positions=1)
            rows = {row.item: row for row in (await Views(service).ranking()).items}
            assert rows["item-0"].trend == [1.0] * 5 + [0.0] * 5
            assert rows["item-1"].trend == [0.0] * 5 + [1.0] * 5
            assert rows["item-0"].shares == [0.5, 0, 0]

    run(play())


def test_weights_of_features_name_items(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service, BY_FEATURES)
            for _ in range(60):
                made = await shown(service)
                clicks = [n for n, item in enumerate(made.items, 1) if item in ("item-2", "item-6")]
                await told(service, made, *clicks, final=True)
            found = (await Views(service).ranking()).weights
            assert found[0].feature == 3  # the largest first
            assert sorted(one.feature for one in found) == [1, 2, 3, 4]
            assert found[0].low < found[0].weight < found[0].high
            assert set(found[0].items[:2]) == {"item-2", "item-6"}
            await front_without_features(service)
            assert (await Views(service).views.state("plain", LiveQuery(), is_limited=False)).weights == []

    async def front_without_features(service: Service) -> None:
        await service.rankings.create(RankingSpec(name="plain", positions=1))
        await service.items.put("plain", items(2))

    run(play())


def test_detected_changes_have_their_time(tmp_path: Path) -> None:
    async def play() -> None:
        clock = Clock()
        async with at_work(tmp_path / "db", clock) as service:
            await front(service, "cascade-kl-ucb-resetting", count=4, positions=2)
            for n in range(300):
                clock.pass_(1)
                made = await shown(service)
                clicks = [p for p, item in enumerate(made.items, 1) if item == "item-0" and n < 200]
                await told(service, made, *clicks, final=True)
            (found,) = (await Views(service).ranking()).detected
            assert found.item == "item-0"
            assert found.mean > 0.9
            assert "2023-11-14T22:16:35" < str(found.at) < "2023-11-14T22:17:15"  # list 200 came at 22:16:40

    run(play())


def test_changes_of_settings_say_what_changed(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service)
            await service.rankings.change("front", RankingChange(holdout=0.1, positions=2), by="boss")
            changes = (await Views(service).ranking()).changes
            assert [change.detail for change in changes][-1] == "positions: 3 to 2; holdout: 0.0 to 0.1"
            assert changes[-1].by == "boss"

    run(play())


def test_few_views_are_kept_and_a_deleted_ranking_is_not_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_view, "KEPT_VIEWS", 2)
    monkeypatch.setattr(history, "SEGMENT_CURVES", 2)

    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service)
            views = Views(service)
            for segment in "abcde":
                await learn(service, 1, segment=segment)
                assert (await views.ranking(segment=segment)).history.lists == 1
            assert (await views.ranking(segment="a")).history.lists == 1  # read again
            assert len(vars(views.views)["_made"]) == len(vars(views.views)["_activities"]) == 2
            await asyncio.gather(*(views.ranking() for _ in range(5)))
            await service.rankings.delete("front")
            with pytest.raises(NotFound):
                await views.ranking()

    run(play())
