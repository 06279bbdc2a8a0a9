"""Lists with the probability of what they show: in the reply, in the log, and read back for an evaluation."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest
from running import BY_FEATURES, at_work, check, events, front, items, run, shown, told

from toplist.service.errors import Conflict, Refused
from toplist.service.live.make_list import request_digest
from toplist.service.wire import ListReply, ListRequest, RankingChange


def test_a_list_says_how_likely_it_was_where_asked(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service, "random", count=4)
            plain = await shown(service)
            assert plain.propensities is msgspec.UNSET
            asked = await shown(service, propensities=True, request_id="one")
            assert asked.propensities == pytest.approx([1 / 4, 1 / 3, 1 / 2])
            assert asked.marginals == pytest.approx([1 / 4] * 3)
            assert asked.propensity_errors is msgspec.UNSET
            assert await shown(service, propensities=True, request_id="one") == asked
            with pytest.raises(Conflict):
                await shown(service, request_id="one")
            await service.rankings.change("front", RankingChange(propensities=True))
            always = await shown(service, segment="a")  # a new learner
            assert always.propensities == pytest.approx([1 / 4, 1 / 3, 1 / 2])
            assert (await shown(service, propensities=False)).propensities is msgspec.UNSET
            pinned = await shown(service, pins={"1": "item-2"}, exclude=["item-0"])
            assert pinned.propensities == pytest.approx([1, 1 / 2, 1])
            lists = [msgspec.json.decode(bytes(event.body)) for event in await events(service) if event.kind == "list"]
            assert [body.get("propensities") for body in lists] == [
                None, asked.propensities, always.propensities, None, pinned.propensities,
            ]  # fmt: skip
            assert check(tmp_path / "db", await service.beliefs()) == []

    run(play())


def test_the_digest_of_a_request_that_says_nothing_of_it_is_the_old_one() -> None:
    old = request_digest(ListRequest(segment="a", positions=2))
    assert old.hex() == "5179641e5571c5de41bdfb296634b2d9"
    assert request_digest(ListRequest(segment="a", positions=2, propensities=True)) != old


POLICIES = [
    "dcm-ts", "exploring(policy='dcm-ts', share=0.3)", "exploring(policy='cascade-kl-ucb', share=0.3, by='swaps')",
    BY_FEATURES,
]  # fmt: skip


@pytest.mark.parametrize("policy", POLICIES)
def test_lists_with_probabilities_are_learned_and_rebuilt_as_others(policy: str, tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db", learner_bytes=0) as service:
            await front(service, policy, count=6, propensities=True)
            replies = list[ListReply]()
            for turn in range(12):
                replies.append(await shown(service, segment="a" if turn % 3 else None))
                if turn % 4:
                    await told(service, replies[-1], 1 + turn % 3, final=True)
            for reply in replies:
                assert len(reply.items) == 3
                assert isinstance(reply.propensities, list)
                assert all(0.0 < p <= 1.0 for p in reply.propensities)
            await service.items.put("front", items(2, policy, 6))
            await service.items.remove("front", ["item-0"])
            assert "item-0" not in (await shown(service)).items
            assert check(tmp_path / "db", await service.beliefs()) == []

    run(play())


def test_many_at_once_get_lists_of_their_own(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service, "random", count=8)
            replies = await asyncio.gather(*(shown(service, propensities=n % 2 == 0) for n in range(30)))
            assert len({reply.impression for reply in replies}) == 30
            assert len({tuple(reply.items) for reply in replies}) > 10  # not the same draw
            await asyncio.gather(*(told(service, reply, 1, final=True) for reply in replies))
            assert (await service.queries.estimates("front")).learned == 30
            assert check(tmp_path / "db", await service.beliefs()) == []

    run(play())


def test_items_that_change_meanwhile_are_respected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service, "random", count=4)
            await shown(service)
            real, removed = asyncio.to_thread, list[str]()

            async def slow(work: Any, *given: Any) -> Any:
                found = await real(work, *given)
                if not removed:  # the first attempt
                    removed.append(found.items[0])
                    await service.items.remove("front", removed)
                return found

            monkeypatch.setattr(asyncio, "to_thread", slow)
            reply = await shown(service, propensities=True)
            assert removed[0] not in reply.items
            assert reply.propensities == pytest.approx([1 / 3, 1 / 2, 1])

    run(play())


def test_wrong_requests_are_refused_as_without_probabilities(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service, "random", count=4)
            for segment in (None, "new"):
                with pytest.raises(Refused) as refused:
                    await shown(service, among=["item-0", "beer"], propensities=True, segment=segment)
                assert refused.value.field == "/among/1"
            empty = await shown(service, among=[], propensities=True)
            assert (empty.items, empty.propensities) == ([], msgspec.UNSET)

    run(play())
