"""Lists and items: what is asked for is what comes, and what is wrong is pointed at."""

import asyncio
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from running import (
    BY_FEATURES,
    ELIMINATION,
    WINDOW,
    Clock,
    at_work,
    check,
    events,
    front,
    items,
    learned,
    row,
    run,
    shown,
    told,
)

from toplist import Ranker
from toplist.ranker import LoggedRanker
from toplist.service.errors import Conflict, NotFound, Refused
from toplist.service.wire import Item, ListRequest, RankingChange, RankingSpec, Report


def test_the_same_request_id_gives_the_same_list_even_at_the_same_time_and_after_a_restart(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service)
            replies = await asyncio.gather(*(shown(service, request_id="r1", segment="k") for _ in range(5)))
            assert len({reply.impression for reply in replies}) == 1
            assert (await shown(service, request_id="r2", segment="k")).impression != replies[0].impression
            with pytest.raises(Conflict) as refused:
                await shown(service, request_id="r1")
            assert refused.value.field == "/request_id"
        async with at_work(tmp_path / "db") as service:
            assert await shown(service, request_id="r1", segment="k") == replies[0]
            with pytest.raises(Conflict):
                await shown(service, request_id="r1", segment="k", positions=1)
            assert sum(event.kind == "list" for event in await events(service)) == 2

    run(play())


def test_what_a_list_is_asked_for_is_what_comes(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service, positions=4)
            assert set((await shown(service, among=["item-1", "item-2"])).items) == {"item-1", "item-2"}
            assert len((await shown(service, positions=2)).items) == 2
            pinned = await shown(service, pins={"2": "item-5"}, exclude=["item-0", "item-1", "item-2"])
            assert pinned.items[1] == "item-5"
            assert set(pinned.items) <= {f"item-{n}" for n in range(3, 8)}
            reason = (await service.queries.explanation(pinned.impression)).positions[1]
            assert (reason.item, reason.why) == ("item-5", "pinned here by the caller")

    run(play())


@pytest.mark.parametrize(
    ("request_", "field"),
    [
        ({"among": ["item-1", "itme-2"]}, "/among/1"),
        ({"among": ["item-1", "item-1"]}, "/among/1"),
        ({"exclude": ["item-1", "item-2", "x"]}, "/exclude/2"),
        ({"pins": {"1": "x"}}, "/pins/1"),
        ({"pins": {"4": "item-1"}}, "/pins/4"),
        ({"pins": {"one/two": "item-1"}}, "/pins/one~1two"),
        ({"pins": {"0": "item-1"}}, "/pins/0"),
        ({"pins": {"1_0": "item-1"}}, "/pins/1_0"),
        ({"pins": {"1": "item-1", "01": "item-2"}}, "/pins/01"),
        ({"pins": {"9" * 5000: "item-1"}}, "/pins/" + "9" * 5000),
        ({"pins": {"1": "item-7"}}, "/pins/1"),
        ({"positions": 4}, "/positions"),
        ({"person": [1.0]}, "/person"),
        ({"features": {"x": [1.0]}}, "/features/x"),
    ],
)
def test_an_error_points_at_its_field_and_no_learner_comes_of_it(
    tmp_path: Path, request_: dict[str, Any], field: str
) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service)
            await service.items.put("front", [Item(id="item-7", hidden=True)])
            with pytest.raises(Refused) as refused:
                await shown(service, **request_)
            assert refused.value.field == field
            assert service.loaded_learners == 0
            assert (await shown(service)).items

    run(play())


def watched_ids(count: int) -> tuple[list[Any], list[int]]:
    """Ids, and a count of how often one of them was looked up."""
    looked_up = [0]

    class Id(int):
        def __hash__(self) -> int:
            looked_up[0] += 1
            return super().__hash__()

    return [Id(n) for n in range(count)], looked_up


@pytest.mark.parametrize("field", ["among", "exclude"])
def test_far_more_ids_than_items_are_refused_by_their_number(tmp_path: Path, field: str) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service, named=lambda n: n)
            ids, looked_up = watched_ids(20_000)
            with pytest.raises(Refused, match="is 20000, but must be at most 8, as many as the ranking has items"):
                await shown(service, **{field: ids})
            assert looked_up[0] < 100
            with pytest.raises(Refused, match="name 7 once"):
                await shown(service, **{field: [7] * 1000})
            with pytest.raises(Refused, match=r"An item of .* is 999, but must be one of") as refused:
                await shown(service, **{field: [1, 999]})
            assert refused.value.field == f"/{field}/1"

    run(play())


def test_many_pins_and_exclusions_are_compared_once(tmp_path: Path) -> None:
    async def play() -> None:
        compared = 0

        class Id(str):
            def __eq__(self, other: object) -> bool:
                nonlocal compared
                compared += 1
                return super().__eq__(other)

            __hash__ = str.__hash__

        async with at_work(tmp_path / "db") as service:
            await front(service, count=400, positions=150)
            pins = {str(n + 1): Id(f"item-{n}") for n in range(149)} | {"150": "unknown"}
            with pytest.raises(Refused) as refused:
                await shown(service, pins=pins, exclude=[f"item-{n}" for n in range(149, 400)])
            assert refused.value.field == "/pins/150"
            assert compared < 149 * 20

    run(play())


def test_features_are_checked_by_their_number_before_they_are_read(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service, BY_FEATURES)

            class Row(list[float]):
                def __iter__(self) -> Any:
                    raise AssertionError("a row was read")

            with pytest.raises(Refused, match="must be 4 numbers") as refused:
                await shown(service, features={"item-1": [0.0] * 4, "item-2": Row([0.0] * 1000)})
            assert refused.value.field == "/features/item-2"

    run(play())


def test_features_from_which_nothing_could_be_learned_are_refused(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service, BY_FEATURES, person=2)
            with pytest.raises(Refused, match="between -1,000,000 and 1,000,000") as refused:
                await service.items.put("front", [Item(id="item-0"), Item(id="large", features=[1e200, 0.0, 0.0, 0.0])])
            assert refused.value.field == "/items/1/features"
            for request, field in (
                ({"person": [0.0, -1e7]}, "/person"),
                ({"person": [0.0, 1.0], "features": {"item-1": [0.0, 1e200, 0.0, 0.0]}}, "/features/item-1"),
            ):
                with pytest.raises(Refused, match="scale them") as refused:
                    await shown(service, **request)
                assert refused.value.field == field
                assert service.loaded_learners == 0
            assert (await shown(service, person=[0.5, -0.5])).items

    run(play())


def test_a_repeated_request_gets_its_list_even_if_an_item_was_removed_since(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service)
            reply = await shown(service, request_id="r")
            await service.items.remove("front", reply.items[:1])
            assert await shown(service, request_id="r") == reply
            assert reply.items[0] not in (await shown(service, request_id="s")).items

    run(play())


def test_a_removed_item_is_in_no_list_after_the_reply_and_a_hidden_one_neither_but_its_clicks_count(
    tmp_path: Path,
) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service, "dcm-kl-ucb", count=5)
            segments = [None, "a", "b"]
            before = [await shown(service, segment=segment, among=["item-1", "item-2"]) for segment in segments]
            assert await service.items.remove("front", ["item-1", "item-1", "nobody"]) == 1
            await service.items.put("front", [Item(id="item-2", hidden=True)])
            for segment, old in zip([*segments, "c"], [*before, None], strict=True):
                for _ in range(3):
                    assert set((await shown(service, segment=segment)).items) == {"item-0", "item-3", "item-4"}
                if old is not None:
                    assert (await told(service, old, "item-1", "item-2", final=True)).counted
            estimate = {row.item: row for row in (await service.queries.estimates("front")).items}
            assert estimate["item-2"].mean is not None
            assert "item-1" not in estimate
            assert (await service.items.put("front", [Item(id="item-2"), Item(id="item-1")])).unchanged == 1
            assert (await service.queries.item("front", "item-2")).hidden  # as it was, since the request left it out
            await service.items.put("front", [Item(id="item-2", hidden=False)])
            for segment in [*segments, "c"]:
                assert set((await shown(service, segment=segment, among=["item-1", "item-2"])).items) == {
                    "item-1",
                    "item-2",
                }

    run(play())


def test_features_of_a_list_are_checked_by_policies_that_do_not_use_them(tmp_path: Path) -> None:
    """For one that does may learn from that list later."""

    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service, "dcm-kl-ucb", features=4, count=0)
            await service.items.put("front", items(5, BY_FEATURES))
            for given in ({"item-1": [1.0]}, {"nobody": row(1)}):
                with pytest.raises(Refused) as refused:
                    await shown(service, features=given)
                assert refused.value.field == f"/features/{next(iter(given))}"
            for _ in range(3):
                await told(service, await shown(service, features={"item-1": row(3)}), 1, final=True)
            await service.rankings.change("front", RankingChange(policy=BY_FEATURES))
            assert await learned(service) == 3
            await service.rankings.create(RankingSpec(name="plain", positions=2))
            await service.items.put("plain", items(3))
            with pytest.raises(Refused, match="left out"):
                await service.lists.make("plain", ListRequest(features={"item-1": [1.0]}))
            assert check(tmp_path / "db", await service.beliefs()) == []

    run(play())


def test_items_are_put_changed_and_read_in_order(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service, BY_FEATURES, count=3)
            put = [*items(2, BY_FEATURES), Item(id="item-2", hidden=True), Item(id="new", features=row(9))]
            reply = await service.items.put("front", put)
            assert (reply.added, reply.changed, reply.unchanged) == (1, 1, 2)
            assert [item.id for item in await service.queries.items("front")] == ["item-0", "item-1", "item-2", "new"]
            assert await service.queries.item("front", "item-2") == Item(id="item-2", features=row(2), hidden=True)
            assert [item.id for item in await service.queries.items("front", after="item-0", limit=2)] == [
                "item-1",
                "item-2",
            ]
            with pytest.raises(NotFound):
                await service.queries.item("front", "nobody")
        async with at_work(tmp_path / "db") as service:
            assert [item.id for item in await service.queries.items("front")] == ["item-0", "item-1", "item-2", "new"]
            assert await service.queries.item("front", "item-2") == Item(id="item-2", features=row(2), hidden=True)

    run(play())


@pytest.mark.parametrize(
    ("policy", "put", "field"),
    [
        (BY_FEATURES, [Item(id="x")], "/items/0/features"),
        (BY_FEATURES, [Item(id="x", features=[1.0])], "/items/0/features"),
        (BY_FEATURES, [Item(id="x", features=[1.0, 2.0, 3.0, float("inf")])], "/items/0/features"),
        ("cascade-ucb1", [Item(id="x"), Item(id="y", features=[1.0])], "/items/1/features"),
        ("cascade-ucb1", [Item(id="x"), Item(id="x")], "/items/1/id"),
        ("cascade-ucb1", [Item(id="..."), Item(id="..")], "/items/1/id"),
        ("cascade-ucb1", [Item(id=".")], "/items/0/id"),
        (ELIMINATION, [Item(id="x")], "/items/0/id"),
    ],
)
def test_items_that_cannot_be_are_refused_as_a_whole(tmp_path: Path, policy: str, put: list[Item], field: str) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service, policy)
            await shown(service)
            with pytest.raises(Refused) as refused:
                await service.items.put("front", put)
            assert refused.value.field == field
            assert (await service.queries.ranking("front")).items == 8

    run(play())


def test_rankings_are_created_read_changed_and_deleted(tmp_path: Path) -> None:
    clock = Clock()

    async def play() -> None:
        async with at_work(tmp_path / "db", clock) as service:
            await front(service)
            with pytest.raises(Conflict) as refused:
                await front(service)
            assert refused.value.field == "/name"
            with pytest.raises(NotFound, match="perhaps you mean 'front'"):
                await service.queries.ranking("fronts")
            changed = await service.rankings.change("front", RankingChange(click_window=5.0, retention=9.0))
            assert (changed.click_window, changed.retention, changed.policy) == (5.0, 9.0, "cascade-kl-ucb")
            assert (await service.rankings.change("front", RankingChange(retention=None))).retention is None
            reply = await shown(service, segment="k")
            await service.rankings.create(RankingSpec(name="again", positions=2))
            await service.rankings.delete("front")
            assert [ranking.name for ranking in await service.queries.rankings()] == ["again"]
            answer = await told(service, reply, 1)
            assert (answer.counted, answer.why) == (False, "dropped")
            with pytest.raises(NotFound):
                await shown(service)
            await front(service, count=2)
            assert await service.queries.segments("front") == []
            assert (await service.queries.ranking("front")).items == 2
        async with at_work(tmp_path / "db", clock) as service:
            assert [ranking.name for ranking in await service.queries.rankings()] == ["again", "front"]
            assert (await service.queries.ranking("front")).created == "2023-11-14T22:13:20.000Z"

    run(play())


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"policy": "cascade-klucb"}, "/policy"),
        ({"policy": "best"}, "/policy"),
        ({"policy": "top-rank"}, "/policy"),  # whose delta is made for a number of steps
        ({"policy": BY_FEATURES}, "/features"),
        ({"person": 2}, "/person"),
        ({"policy": "ranked-exp3(exploration=0.1)", "prior_strength": 2.0}, "/prior_strength"),
        ({"policy": "batch-rank", "steps": 1000, "new_per_list": 1, "seed": 3}, "/new_per_list"),
        ({"policy": BY_FEATURES, "features": 2, "join": "sum"}, "/join"),
    ],
)
def test_rankings_that_cannot_work_are_refused(tmp_path: Path, given: dict[str, Any], field: str) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            with pytest.raises(Refused) as refused:
                await service.rankings.create(RankingSpec(name="front", positions=3, **given))
            assert refused.value.field == field
            assert await service.queries.rankings() == []

    run(play())


def test_a_ranking_without_items_makes_no_list(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service, count=0)
            with pytest.raises(Conflict, match="no items yet"):
                await shown(service)
            with pytest.raises(NotFound, match="no list was made without a segment yet"):
                await service.queries.estimates("front")

    run(play())


def test_it_makes_the_lists_of_a_ranker_with_the_same_seed(tmp_path: Path) -> None:
    async def play() -> None:
        ranker = Ranker([item.id for item in items(8)], 3, "cascade-kl-ucb", seed=7)
        async with at_work(tmp_path / "db") as service:
            await front(service)
            for number in range(60):
                theirs, ours = await shown(service), ranker.rank()
                assert theirs.items == list(ours.items)
                ranker.learn(ours, clicks=[1 + number % 3])
                await told(service, theirs, 1 + number % 3, final=True)
            other = [(await shown(service, segment="other")).items for _ in range(5)]
            fresh = Ranker([item.id for item in items(8)], 3, "cascade-kl-ucb", seed=7)
            assert other != [list(fresh.rank().items) for _ in range(5)]  # a segment has a seed of its own

    run(play())


def test_features_of_a_person_and_of_a_call_are_learned_with(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service, BY_FEATURES, person=2)
            given = {"person": [0.3, 0.4], "features": {"item-1": [0.5, 0.5, 0.0, 0.0]}}
            for _ in range(4):
                await told(service, await shown(service, **given), 1, final=True)
            with pytest.raises(Refused, match="person"):
                await service.queries.estimates("front")
            assert (await service.queries.estimates("front", person=[0.3, 0.4], limit=2)).learned == 4
            before = await service.beliefs()
        async with at_work(tmp_path / "db") as service:
            assert (await service.queries.estimates("front", person=[0.3, 0.4])).learned == 4
            assert await service.beliefs() == before

    run(play())


def test_large_lists_of_items_go_in_and_out(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service, count=3000)
            await shown(service)
            for number in range(1100):  # more changes than are remembered for learners in memory
                await service.items.put("front", [Item(id="item-1", hidden=number % 2 == 0)])
            assert (await shown(service, among=["item-1"])).items == ["item-1"]
            await service.items.put("front", [Item(id="item-1", hidden=True)])
            assert (await shown(service, among=["item-1"])).items == []
            empty = await shown(service, among=[])
            assert (await told(service, empty, final=True)).counted
            assert await learned(service) == 1

    run(play())


def test_a_click_window_of_now_counts_for_lists_from_now_on(tmp_path: Path) -> None:
    clock = Clock()

    async def play() -> None:
        async with at_work(tmp_path / "db", clock) as service:
            await front(service)
            await shown(service)
            await service.rankings.change("front", RankingChange(click_window=1.0))
            short = await service.lists.make("front", ListRequest())
            clock.pass_(2)
            assert await service.impressions.close_due() == 1
            assert not (await service.impressions.report(short.impression, Report(clicks=[1]))).counted
            clock.pass_(WINDOW)
            assert await service.impressions.close_due() == 1

    run(play())


@pytest.mark.parametrize("policy", ["lr", "lr-sgd", "gl-cdcm-sgd", BY_FEATURES])
def test_features_of_a_request_weigh_no_more_than_those_of_the_items(policy: str, tmp_path: Path) -> None:
    async def belief(path: Path, size: float) -> tuple[bytes, bytes]:
        async with at_work(path) as service:
            await service.rankings.create(RankingSpec(name="front", positions=2, policy=policy, features=2))
            await service.items.put("front", [Item(id="a", features=[3.0, 4.0]), Item(id="b", features=[0.0, 1.0])])
            reply = await shown(service, features={"a": [size, 0.0], "b": [0.0, 0.5]})
            await told(service, reply, "a", final=True)
            (learned,) = (await service.beliefs()).values()
            assert check(path, await service.beliefs()) == []
            # A policy that learns it from the log later gets no more, either.
            await service.rankings.change("front", RankingChange(policy="cascade-lin-ts"))
            await service.queries.estimates("front")
            (trained,) = (await service.beliefs()).values()
            return learned, trained

    beliefs = [run(belief(tmp_path / str(size), size)) for size in (5.0, 1e6, 4.9)]
    assert beliefs[0] == beliefs[1] != beliefs[2]


@pytest.mark.parametrize("policy", ["lr", "lr-sgd", "lr-sgd(none='everything')"])
def test_one_honest_list_decides_what_policies_without_exploration_show(policy: str, tmp_path: Path) -> None:
    """By their published rule: lists without a click teach nothing, unless they are told to learn from them."""

    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await service.rankings.create(RankingSpec(name="front", positions=3, policy=policy, features=4))
            rows = np.random.default_rng(3).uniform(-1.0, 1.0, (10, 4)).tolist()
            await service.items.put("front", [Item(id=f"item-{n}", features=row) for n, row in enumerate(rows)])
            first = await shown(service)
            await told(service, first, next(item for item in first.items if item != "item-0"), final=True)
            count = 0  # of lists with the one item that is clicked from now on
            for _ in range(60):
                reply = await shown(service)
                count += "item-0" in reply.items
                await told(service, reply, *({"item-0"} & set(reply.items)), final=True)
            assert (count == 0) == ("everything" not in policy)

    run(play())


def test_a_large_learner_is_made_in_parts_while_others_are_served(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("toplist.service.live.make_list.AT_ONCE", 0)
    made: list[int] = []
    warm_up = LoggedRanker.warm_up

    def note(ranker: LoggedRanker) -> None:
        made.append(len(ranker.items))
        warm_up(ranker)

    monkeypatch.setattr(LoggedRanker, "warm_up", note)

    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service, BY_FEATURES)
            first = asyncio.create_task(shown(service, segment="new"))
            while not made:
                await asyncio.sleep(0)
            await service.items.put("front", items(1, BY_FEATURES, first=8))  # before the first list is made
            replies = [await first, *await asyncio.gather(*(shown(service, segment="new") for _ in range(3)))]
            assert made == [8, 9]  # the first one was out of date, and made again; the others found the learner
            for reply in replies:
                await told(service, reply, reply.items[0], final=True)
        assert check(tmp_path / "db") == []

    run(play())
