"""Baseline, holdout and modes: who gets which list, what is learned from it, and what is stored of a visitor."""

import asyncio
import base64
import json
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
from older_store import make_older
from running import (
    ELIMINATION,
    WINDOW,
    Clock,
    at_work,
    check,
    events,
    front,
    killed,
    learned,
    ranking_of,
    reader_of,
    run,
    shown,
    told,
)

from toplist.service.errors import Conflict
from toplist.service.live import rankings
from toplist.service.live.make_list import request_digest
from toplist.service.live.service import Service
from toplist.service.wire import Item, ListReply, ListRequest, RankingChange, RankingSpec
from toplist.uplift import is_held_out, visitor_hash

VISITORS = [f"visitor-{n}" for n in range(40)]
BASELINE = [f"item-{n}" for n in range(8)]


@pytest.fixture(autouse=True)
def same_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same visitors are held out in every run."""
    monkeypatch.setattr(rankings, "new_salt", lambda: "0123456789abcdef" * 2)


async def groups(service: Service, visitors: list[str] = VISITORS) -> dict[str, Any]:
    """The group of each visitor."""
    return {visitor: (await shown(service, visitor=visitor)).group for visitor in visitors}


async def bodies(service: Service, kind: str) -> list[dict[str, Any]]:
    return [json.loads(bytes(event.body)) for event in await events(service) if event.kind == kind]


def test_the_holdout_gets_the_baseline_and_keeps_its_members_over_restarts(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service, holdout=0.4)
            before = await groups(service)
            assert set(before.values()) == {"holdout", "policy"}
            lists = [await shown(service, visitor=visitor) for visitor in VISITORS]
            held = [made.items for made in lists if made.group == "holdout"]
            assert held == [BASELINE[:3]] * len(held)
            assert [made.group for made in lists] == list(before.values())
            salt = bytes.fromhex(ranking_of(service).settings.salt)
            for visitor, group in before.items():
                assert is_held_out(visitor_hash(salt, visitor), 0.4) == (group == "holdout")
            await killed(service)
        async with at_work(tmp_path / "db") as service:
            assert await groups(service) == before
            await service.rankings.change("front", RankingChange(holdout=0.7))
            after = await groups(service)
            assert {visitor for visitor in VISITORS if before[visitor] == "holdout"} < {
                visitor for visitor in VISITORS if after[visitor] == "holdout"
            }
            await service.rankings.change("front", RankingChange(holdout=0.4))
            assert await groups(service) == before

    run(play())
    assert check(tmp_path / "db") == []


def test_without_an_id_the_request_decides_and_a_retry_keeps_its_group(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service, holdout=0.5)
            first = [await shown(service, request_id=f"r{n}") for n in range(30)]
            again = await asyncio.gather(*(shown(service, request_id=f"r{n}") for n in range(30)))
            assert again == first
            assert {made.group for made in first} == {"holdout", "policy"}
            assert {(await shown(service)).group for _ in range(30)} == {"holdout", "policy"}
            salt = bytes.fromhex(ranking_of(service).settings.salt)
            for n, made in enumerate(first):
                assert is_held_out(visitor_hash(salt, f"r{n}", "request"), 0.5) == (made.group == "holdout")
            with pytest.raises(Conflict):
                await shown(service, request_id="r1", visitor="somebody else")
            assert all("visitor" not in body for body in await bodies(service, "list"))

    run(play())


def test_only_the_hash_of_a_visitor_is_stored(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service, holdout=0.5)
            for n in range(20):
                made = await shown(service, visitor="person-Ada-Lovelace", request_id=str(n))
                await told(service, made, 1, final=True)
            salt = bytes.fromhex(ranking_of(service).settings.salt)
            hashed = visitor_hash(salt, "person-Ada-Lovelace")
            stored = {base64.b64decode(body["visitor"]) for body in await bodies(service, "list")}
            assert stored == {hashed}
            await service.settle()
            for file in tmp_path.glob("db*"):
                assert b"Lovelace" not in file.read_bytes()

    run(play())


@pytest.mark.parametrize("learns", [True, False])
def test_the_holdout_is_learned_from_as_the_setting_says(learns: bool, tmp_path: Path) -> None:
    async def play() -> None:
        clock = Clock()
        async with at_work(tmp_path / "db", clock) as service:
            await front(service, holdout=0.5, holdout_learns=learns)
            lists = [await shown(service, visitor=visitor) for visitor in VISITORS]
            for n, made in enumerate(lists[::2]):
                assert (await told(service, made, 1 + n % 3, final=n % 2 == 0)).counted
            clock.pass_(WINDOW + 1)
            await service.impressions.close_due()
            held = sum(made.group == "holdout" for made in lists)
            assert 0 < held < len(lists)
            assert await learned(service) == len(lists) - (0 if learns else held)
            found = await service.uplift.uplift("front")
            assert (found.holdout.lists, found.policy.lists) == (held, len(lists) - held)
            assert (await service.queries.impression(lists[0].impression)).state == "learned"
        assert check(tmp_path / "db") == []

    run(play())


def test_a_policy_that_learns_from_its_own_lists_alone_ignores_those_of_the_holdout(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service, ELIMINATION, holdout=0.5)
            lists = [await shown(service, visitor=visitor) for visitor in VISITORS]
            for made in lists:
                assert (await told(service, made, 2, final=True)).counted
            assert await learned(service) == sum(made.group == "policy" for made in lists)
        assert check(tmp_path / "db") == []

    run(play())


def test_the_baseline_has_the_given_order_and_what_the_request_asks_for(tmp_path: Path) -> None:
    order = ["item-5", "gone", "item-2"]

    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service, holdout=1.0, baseline=order)
            assert (await shown(service)).items == ["item-5", "item-2", "item-0"]
            assert (await shown(service, positions=1)).items == ["item-5"]
            assert (await shown(service, exclude=["item-5", "item-0"])).items == ["item-2", "item-1", "item-3"]
            assert (await shown(service, among=["item-7", "item-3", "item-2"])).items == ["item-2", "item-3", "item-7"]
            assert (await shown(service, pins={"2": "item-7"})).items == ["item-5", "item-7", "item-2"]
            assert (await shown(service, pins={"3": "item-5"}, among=["item-1"])).items == ["item-1", "item-5"]
            await service.items.put("front", [Item(id="item-5", hidden=True)])
            assert (await shown(service)).items == ["item-2", "item-0", "item-1"]
            await service.items.put("front", [Item(id="gone")])
            assert (await shown(service)).items == ["gone", "item-2", "item-0"]
            await service.items.remove("front", ["item-2"])
            await service.rankings.change("front", RankingChange(baseline=None))
            assert (await shown(service)).items == ["item-0", "item-1", "item-3"]
        assert check(tmp_path / "db") == []

    run(play())


def test_a_shadow_shows_the_baseline_learns_from_it_and_says_what_it_would_have_shown(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service, mode="shadow")
            for _ in range(60):
                made = await shown(service, visitor="Ada")
                assert (made.items, made.group) == (BASELINE[:3], "shadow")
                await told(service, made, 3, final=True)
            assert await learned(service) == 60
            assert made.would_show != BASELINE[:3]  # the clicks at 3 were learned, and items 0 and 1 are known as bad
            again = await service.queries.impression(made.impression)
            assert (again.group, again.would_show) == ("shadow", made.would_show)
            assert all("visitor" not in body for body in await bodies(service, "list"))
            with pytest.raises(Conflict, match="no holdout"):
                await service.uplift.uplift("front")
            await service.rankings.change("front", RankingChange(mode="live"))
            live = await shown(service)
            assert live.items != BASELINE[:3]
            assert "group" not in json.loads(bytes((await events(service))[-1].body))
        assert check(tmp_path / "db") == []

    run(play())


def test_an_exploring_ranking_logs_propensities_and_the_holdout_is_certain(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service, holdout=0.5, mode="exploring", explore=0.6)
            lists = [await shown(service, visitor=visitor) for visitor in VISITORS[:12]]
            for made in lists:
                assert isinstance(made.propensities, list)
                if made.group == "holdout":
                    assert made.propensities == made.marginals == [1.0] * 3
                    assert made.items == BASELINE[:3]
                await told(service, made, 1, final=True)
            assert await learned(service) == 12
            assert any(min(made.propensities or [1.0]) < 1.0 for made in lists if made.group == "policy")
            await service.rankings.change("front", RankingChange(mode="live"))
            assert await learned(service) == 12  # by new learners, trained on the log
            after: ListReply = await shown(service, visitor=VISITORS[0])
            assert not isinstance(after.propensities, list)
        assert check(tmp_path / "db") == []

    run(play())


def test_changes_of_these_settings_say_who_made_them(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service)
            reply = await service.rankings.change("front", RankingChange(holdout=0.25, holdout_learns=False), by="Ada")
            assert (reply.holdout, reply.holdout_learns, reply.mode, reply.stopped) == (0.25, False, "live", False)
            event = (await events(service))[-1]
            body = json.loads(bytes(event.body))
            assert (event.kind, body["by"], body["spec"]["holdout"]) == ("ranking", "Ada", 0.25)

    run(play())


@pytest.mark.file
def test_an_older_store_gets_a_holdout(tmp_path: Path) -> None:
    path = tmp_path / "db"

    async def begin() -> None:
        async with at_work(path) as service:
            await front(service)
            for _ in range(5):
                await told(service, await shown(service), 1, final=True)

    async def go_on() -> None:
        async with at_work(path) as service:
            await service.rankings.change("front", RankingChange(holdout=0.5))
            for visitor in VISITORS:
                await told(service, await shown(service, visitor=visitor), 1, final=True)
            found = await service.uplift.uplift("front")
            assert found.policy.visitors + found.holdout.visitors == len(VISITORS)

    run(begin())
    make_older(path, 6)
    run(go_on())
    assert check(path) == []
    with closing(reader_of(path)) as reader:
        assert list(reader.find_damage()) == []


def test_requests_without_a_visitor_have_the_digests_of_older_stores() -> None:
    asked = ListRequest(segment="a", positions=2, request_id="r")
    assert request_digest(asked).hex() == "de54af4ab45f12baf5bea13eff7b080d"
    assert request_digest(msgspec.structs.replace(asked, visitor="v")) != request_digest(asked)


def test_a_baseline_with_an_item_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="twice"):
        RankingSpec(name="front", positions=2, baseline=["a", "b", "a"])
