"""Priors of items in the service: durable, in the log, in rebuilds, and refused where a policy takes none."""

from pathlib import Path
from typing import Any

import pytest
from running import (
    BY_FEATURES,
    ELIMINATION,
    alike_id,
    at_work,
    check,
    events,
    front,
    items,
    killed,
    run,
    service_of,
    shown,
    told,
)

from toplist.service.errors import Refused
from toplist.service.live.service import Service
from toplist.service.wire import Item, ItemPrior, ListEntry, RankingChange


def prior(mean: float, strength: float) -> ItemPrior:
    return ItemPrior(mean=mean, strength=strength)


async def examined(service: Service, segment: str | None = None) -> dict[Any, Any]:
    """Looks and means of all items."""
    found = await service.queries.estimates("front", segment)
    return {row.item: (row.examined or 0.0, row.mean or 0.0) for row in found.items}


def test_items_begin_with_their_priors_in_every_learner_and_after_every_restart(tmp_path: Path) -> None:
    async def play() -> None:
        service = service_of(tmp_path / "db")
        await service.start()
        await front(service, "dcm-ts", count=4, named=alike_id)
        first, second = alike_id(0), alike_id(1)
        changed = await service.items.put(
            "front", [Item(id=first, prior=prior(0.5, 20)), Item(id=second, prior=prior(0.25, 8))]
        )
        assert (changed.changed, changed.unchanged) == (2, 0)
        assert (await service.items.put("front", [Item(id=first, prior=prior(0.5, 20))])).unchanged == 1
        await told(service, await shown(service), ListEntry(position=1), final=True)
        for _ in range(3):
            await shown(service, segment="a")
            looks = await examined(service, "a")
            assert (looks[first], looks[second]) == ((20.0, 0.5), (8.0, 0.25))
            assert looks[alike_id(2)] == (0.0, 0.0)
            there = {item.id: item.prior for item in await service.queries.items("front")}
            assert there[first] == prior(0.5, 20)
            assert there[alike_id(3)] is None
            assert check(tmp_path / "db", await service.beliefs()) == []
            await killed(service)
            service = service_of(tmp_path / "db")
            await service.start()
        await service.stop()
        assert check(tmp_path / "db") == []

    run(play())


def test_a_new_prior_is_for_learners_that_do_not_have_the_item_yet(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service, "dcm-kl-ucb", count=3)
            await shown(service, segment="old")
            await service.items.put("front", [Item(id="item-0", prior=prior(0.4, 10)), Item(id="beer")])
            await service.items.put("front", [Item(id="rum", prior=prior(0.4, 10))])
            await shown(service, segment="new")
            old, new = await examined(service, "old"), await examined(service, "new")
            assert (old["item-0"], new["item-0"]) == ((0.0, 0.0), (10.0, pytest.approx(0.4)))
            assert old["rum"][0] == pytest.approx(new["rum"][0]) == 10.0
            # None leaves it as it is, and a strength of 0 is no prior.
            await service.items.put("front", [Item(id="rum", hidden=True), Item(id="item-0", prior=prior(0.4, 0))])
            there = {item.id: item.prior for item in await service.queries.items("front")}
            assert (there["rum"], there["item-0"]) == (prior(0.4, 10), None)
            await shown(service, segment="newest")
            assert (await examined(service, "newest"))["item-0"] == (0.0, 0.0)
            assert check(tmp_path / "db", await service.beliefs()) == []
            puts = [event.body for event in await events(service) if event.kind == "items"]
            assert b'"prior":[0.4,10.0]' in bytes(puts[1])
            assert b"prior" not in bytes(puts[0])

    run(play())


def test_a_prior_can_be_taken_by_later_policies(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service, "dcm-kl-ucb", count=4)
            await service.items.put("front", [Item(id="item-0", prior=prior(0.4, 10))])
            await told(service, await shown(service, among=["item-1"]), 1, final=True)
            for policy, looks in (("dcm-ts", 10.0), ("pbm-ucb", 0.0), ("cascade-ucb1", 10.0)):
                await service.rankings.change("front", RankingChange(policy=policy))
                await shown(service)
                assert (await examined(service))["item-0"][0] == looks, policy
                assert check(tmp_path / "db", await service.beliefs()) == []

    run(play())


def test_priors_of_items_with_features_are_a_prior_of_the_weights(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service, BY_FEATURES, count=4)
            put = [Item(id=item.id, prior=prior(0.4, 50)) for item in items(4, BY_FEATURES)]
            await service.items.put("front", put)
            await shown(service)
            found = await examined(service)
            assert max(mean for _, mean in found.values()) > 0.1
            assert all(looks == 0.0 for looks, _ in found.values())  # nobody has seen them yet
            # An item that comes later tells learners nothing that have begun.
            (later,) = items(1, BY_FEATURES, 9)
            await service.items.put("front", [Item(id=later.id, features=later.features, prior=prior(0.9, 50))])
            await shown(service)
            assert (await examined(service))["item-0"] == found["item-0"]
            assert check(tmp_path / "db", await service.beliefs()) == []

    run(play())


@pytest.mark.parametrize(
    ("policy", "why", "more"),
    [(BY_FEATURES, "it learns from features", {"person": 2}), (ELIMINATION, "does not count", {})],
)
def test_policies_without_priors_refuse_them(policy: str, why: str, more: dict[str, Any], tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service, policy, count=4, **more)
            (item,) = items(1, policy, 9)
            with pytest.raises(Refused, match=f"takes no priors of items, since.*{why}") as refused:
                await service.items.put("front", [Item(id=item.id, features=item.features, prior=prior(0.4, 10))])
            assert refused.value.field == "/items/0/prior"
            await service.items.put("front", [Item(id=item.id, features=item.features, prior=prior(0.4, 0))])

    run(play())
