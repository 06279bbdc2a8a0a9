"""A new segment begins with what the others have learned: logged, rebuilt to the byte, and refused where it cannot."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from running import (
    BY_FEATURES,
    ELIMINATION,
    Clock,
    at_work,
    check,
    events,
    front,
    items,
    killed,
    ranking_of,
    read,
    run,
    service_of,
    shown,
    told,
)

from toplist.service.errors import Refused
from toplist.service.live import pools
from toplist.service.live.service import Service
from toplist.service.log.pools import decode_pool
from toplist.service.wire import Item, ItemPrior, RankingChange

POLICY = "dcm-kl-ucb"


async def teach(service: Service, segment: str | None, lists: int, favourite: str = "item-1") -> None:
    for _ in range(lists):
        reply = await shown(service, segment=segment)
        clicks = [place + 1 for place, item in enumerate(reply.items) if item == favourite]
        await told(service, reply, *clicks, final=True)


async def known(service: Service, segment: str | None) -> dict[Any, Any]:
    found = await service.queries.estimates("front", segment)
    return {row.item: (row.examined or 0.0, row.mean or 0.0) for row in found.items}


async def kinds(service: Service) -> list[str]:
    return [event.kind for event in await events(service) if event.kind in ("pool", "learner")]


def test_a_new_segment_begins_with_what_everybody_told(tmp_path: Path) -> None:
    async def play() -> None:
        service = service_of(tmp_path / "db")
        await service.start()
        await front(service, POLICY, count=5, pool="prior", pool_strength=30.0)
        await teach(service, None, 60)
        assert await kinds(service) == ["learner"]
        everybody = await known(service, None)
        await shown(service, segment="new")
        assert await kinds(service) == ["learner", "pool", "learner"]
        begun = await known(service, "new")
        looks, mean = everybody["item-1"]
        assert begun["item-1"] == (pytest.approx(1 / (1 / 31 + 1 / looks) - 1), pytest.approx(mean))
        assert begun["item-1"][1] > 0.9
        await shown(service, segment="newer")  # the pool is still up to date
        assert await kinds(service) == ["learner", "pool", "learner", "learner"]
        assert check(tmp_path / "db", await service.beliefs()) == []
        await killed(service)
        service = service_of(tmp_path / "db")
        await service.start()
        await shown(service, segment="newest")
        assert (await known(service, "newest"))["item-1"] == begun["item-1"]
        assert check(tmp_path / "db", await service.beliefs()) == []
        await service.stop()
        assert check(tmp_path / "db") == []

    run(play())


def test_a_pool_is_brought_up_to_date_and_outlives_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools, "FIRST", 5)

    async def play() -> None:
        clock = Clock()
        async with at_work(tmp_path / "db", clock) as service:
            await front(service, POLICY, count=5, pool="prior")
            for segment in ("a", "b", "c"):
                await teach(service, segment, 20)
            first = await known(service, "c")
            assert first["item-1"][1] > 0.9
        # The learners are on the disk, and some of them are loaded for the pool.
        async with at_work(tmp_path / "db", clock, learner_bytes=0) as service:
            await shown(service, segment="d")
            row = await read(service, lambda reader: reader.latest_pool(1))
            assert row is not None
            pool = decode_pool(row)
            assert pool.pool.looks > 60.0
            assert (await known(service, "d"))["item-1"][1] > 0.9
            await teach(service, "d", 30)
            await shown(service, segment="e")
            later = await read(service, lambda reader: reader.latest_pool(1))
            assert later is not None
            # Fewer learners fit into the memory than the last pool was made of: what is known of more looks stays.
            assert decode_pool(later).pool.looks >= pool.pool.looks
            assert check(tmp_path / "db", await service.beliefs()) == []

    run(play())


def test_the_own_counts_are_apart_from_the_prior(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools, "FIRST", 0)
    monkeypatch.setattr(pools, "GROWTH", 1.0)

    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service, POLICY, count=4, pool="prior", pool_strength=50.0)
            await service.items.put("front", [Item(id="item-0", prior=ItemPrior(mean=0.5, strength=20))])
            await teach(service, "a", 30)
            for segment in ("b", "c", "d"):
                await shown(service, segment=segment)
            pool = ranking_of(service).pool
            assert pool is not None
            # Only what segment a has seen: not the priors with which b, c and d began.
            own = await known(service, "a")
            assert pool.pool.looks == pytest.approx(sum(looks for looks, _ in own.values()) - 20.0)
            assert check(tmp_path / "db", await service.beliefs()) == []

    run(play())


def test_items_come_and_go_and_other_policies_take_the_pool_over(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service, POLICY, count=5, pool="prior")
            await teach(service, None, 40)
            await service.items.remove("front", ["item-2"])
            await shown(service, segment="a")
            await service.items.put("front", items(2, POLICY, 5))
            await teach(service, "a", 10)
            assert check(tmp_path / "db", await service.beliefs()) == []
            before = await known(service, "a")
            await service.rankings.change("front", RankingChange(policy="dcm-ts"))
            await shown(service, segment="a")
            assert (await known(service, "a"))["item-1"] == before["item-1"]  # the same reading of the clicks
            await teach(service, "b", 10)
            assert check(tmp_path / "db", await service.beliefs()) == []
            # From scratch: what was pooled before does not count.
            await service.rankings.change("front", RankingChange(policy="dcm-ts", train=False))
            await shown(service)
            await shown(service, segment="c")
            assert (await known(service, "c"))["item-1"] == (0.0, 0.0)
            assert check(tmp_path / "db", await service.beliefs()) == []

    run(play())


def test_a_pool_can_be_asked_for_later(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service, POLICY, count=5)
            await teach(service, None, 30)
            await teach(service, "a", 30)
            await shown(service, segment="cold")
            assert (await known(service, "cold"))["item-1"] == (0.0, 0.0)
            assert "pool" not in await kinds(service)
            changed = await service.rankings.change("front", RankingChange(pool="prior"))
            assert (changed.pool, changed.pool_strength) == ("prior", None)
            await shown(service, segment="warm")
            assert (await known(service, "warm"))["item-1"][1] > 0.9
            await service.rankings.change("front", RankingChange(pool_strength=7.0))
            await shown(service, segment="weak")
            assert (await known(service, "weak"))["item-1"][0] < 7.0
            assert check(tmp_path / "db", await service.beliefs()) == []

    run(play())


def test_weights_of_features_are_pooled(tmp_path: Path) -> None:
    async def play() -> None:
        service = service_of(tmp_path / "db")
        await service.start()
        await front(service, BY_FEATURES, count=6, pool="prior")
        await teach(service, None, 60)
        await teach(service, "first", 10)
        await shown(service, segment="new")
        assert await kinds(service) == ["learner", "pool", "learner", "learner"]
        everybody, begun = await known(service, None), await known(service, "new")
        for item, (_, mean) in everybody.items():
            assert begun[item] == (0.0, pytest.approx(mean, abs=0.1))
        assert max(mean for _, mean in begun.values()) > 0.3
        await teach(service, "new", 5)
        assert check(tmp_path / "db", await service.beliefs()) == []
        await killed(service)
        async with at_work(tmp_path / "db") as again:
            await shown(again, segment="newest")
            assert max(mean for _, mean in (await known(again, "newest")).values()) > 0.3
            assert check(tmp_path / "db", await again.beliefs()) == []
            # Another policy counts items, for which sums over features say nothing; the next pool is of its kind.
            await again.rankings.change("front", RankingChange(policy=POLICY))
            await shown(again, segment="other")
            assert check(tmp_path / "db", await again.beliefs()) == []
        assert check(tmp_path / "db") == []

    run(play())


def test_too_many_features_are_not_pooled(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            with pytest.raises(Refused, match="would pool 201 features, but 200 are the most") as refused:
                await front(service, BY_FEATURES, pool="prior", features=201)
            assert refused.value.field == "/pool"
            with pytest.raises(Refused, match="has a memory that cannot add up what others have seen"):
                await front(service, "gl-cdcm", pool="prior", features=4)

    run(play())


@pytest.mark.parametrize(
    ("policy", "why"),
    [
        (ELIMINATION, "takes no priors of items"),
        ("cascade-swucb(tau=50)", "forgets"),
    ],
)
def test_policies_that_cannot_pool_say_why(policy: str, why: str, tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            with pytest.raises(Refused, match=f"cannot pool segments, since it {why}") as refused:
                await front(service, policy, pool="prior")
            assert refused.value.field == "/pool"
            await front(service, policy)
            with pytest.raises(Refused, match="cannot pool segments") as refused:
                await service.rankings.change("front", RankingChange(pool="prior", train=False))
            assert refused.value.field == "/pool"

    run(play())


def test_a_damaged_pool_stops_one_learner(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service, POLICY, count=4, pool="prior")
            await teach(service, None, 10)
            await shown(service, segment="a")
            row = await read(service, lambda reader: reader.latest_pool(1))
            assert row is not None
            body = msgspec.json.decode(row.body)
            assert set(body) == {"pooled", "sums", "strength"}
            with pytest.raises(ValueError, match="is no pool"):
                decode_pool(row._replace(body=msgspec.json.encode(body | {"sums": []})))
            with pytest.raises(ValueError, match="is no pool"):
                decode_pool(row._replace(body=msgspec.json.encode(body | {"total": [1.0]})))

    run(play())
