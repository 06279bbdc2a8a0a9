"""Pins of a ranking: in every list that can have them, in both groups, over restarts, in the log and in exports."""

import json
from pathlib import Path
from typing import Any

import pytest
from running import ELIMINATION, at_work, check, events, front, killed, rebuilt, run, shown, told

from toplist.service.errors import Refused
from toplist.service.live.service import Service
from toplist.service.wire import Item, RankingChange, RankingSpec


async def places(service: Service, **request: Any) -> list[Any]:
    return (await shown(service, **request)).items


async def pin(service: Service, **pins: Any) -> None:
    await service.rankings.change("front", RankingChange(pins={name[1:]: item for name, item in pins.items()}), "boss")


def test_a_pinned_item_is_in_every_list_of_both_groups(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service, holdout=0.5, pins={"2": "item-7"})
            groups = set()
            for n in range(30):
                made = await shown(service, visitor=f"v{n}", segment="a" if n % 2 else None)
                groups.add(made.group)
                assert made.items[1] == "item-7"
                assert len(set(made.items)) == 3
                await told(service, made, 2, final=True)
            assert groups == {"policy", "holdout"}
            await pin(service)
            assert {(await places(service, visitor=f"v{n}"))[1] for n in range(30)} != {"item-7"}
        assert check(tmp_path / "db") == []

    run(play())


def test_a_pin_gives_way_to_the_request_and_to_items_that_are_gone(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service)
            await pin(service, p1="item-7", p3="item-6")
            assert (await places(service))[::2] == ["item-7", "item-6"]
            assert (await places(service, pins={"1": "item-0"}))[::2] == ["item-0", "item-6"]
            moved = await places(service, pins={"2": "item-7"})
            assert moved[1:] == ["item-7", "item-6"]
            assert "item-7" not in await places(service, exclude=["item-7"])
            assert (await places(service, positions=2))[0] == "item-7"
            assert await places(service, among=["item-1", "item-6"]) == ["item-1", "item-6"]
            assert (await service.queries.next_list("front")).positions[0].item == "item-7"
            await service.items.put("front", [Item(id="item-7", hidden=True)])
            assert "item-7" not in await places(service)
            await service.items.put("front", [Item(id="item-7", hidden=False)])
            assert (await places(service))[0] == "item-7"
            await service.items.remove("front", ["item-7"])
            assert (await places(service))[2] == "item-6"
            await service.items.put("front", [Item(id="item-7")])  # it is there again
            assert (await places(service))[0] == "item-7"

    run(play())


def test_pins_are_kept_in_the_log_and_over_a_kill(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service)
            await pin(service, p1="item-7")
            for n in range(10):
                await told(service, await shown(service), 1 + n % 3, final=True)
            await killed(service)
        async with at_work(tmp_path / "db") as service:
            assert (await service.queries.ranking("front")).pins == {"1": "item-7"}
            assert (await places(service))[0] == "item-7"
            log = [(event.kind, json.loads(bytes(event.body))) for event in await events(service)]
            changed = [body for kind, body in log if kind == "ranking"][-1]
            assert (changed["spec"]["pins"], changed["by"]) == ({"1": "item-7"}, "boss")
            assert {tuple(body["pinned"]) for kind, body in log if kind == "list"} == {(1,)}
            await service.rankings.change("front", RankingChange(policy="cascade-ucb1"))  # trained on these lists
            assert (await places(service))[0] == "item-7"
            assert check(tmp_path / "db", await service.beliefs()) == []
        assert [one.learned for one in rebuilt(tmp_path / "db")] == [10]

    run(play())


def test_pins_that_no_list_could_have_are_refused(tmp_path: Path) -> None:
    faults: list[tuple[dict[str, str | int], str]] = [
        ({"0": "a"}, "whole numbers"), ({"x": "a"}, "whole numbers"), ({"1": "a", "2": "a"}, "twice")
    ]  # fmt: skip
    for wrong, why in faults:
        with pytest.raises(ValueError, match=why):
            RankingChange(pins=wrong)
        with pytest.raises(ValueError, match=why):
            RankingSpec(name="front", positions=3, pins=wrong)

    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service, ELIMINATION)
            await front_batchrank(service)

    async def front_batchrank(service: Service) -> None:
        with pytest.raises(Refused, match="takes no pins") as refused:
            await service.rankings.create(
                RankingSpec(name="b", positions=2, policy="batch-rank", steps=1000, pins={"1": "a"})
            )
        assert refused.value.field == "/pins"
        await service.rankings.create(RankingSpec(name="b", positions=2, policy="batch-rank", steps=1000))
        with pytest.raises(Refused, match="takes no pins"):
            await service.rankings.change("b", RankingChange(pins={"1": "a"}))
        assert (await service.queries.ranking("b")).pins == {}

    run(play())
