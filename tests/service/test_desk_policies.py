"""Another policy for a ranking that is served: trained from the log before it serves."""

import asyncio
import random
import threading
from pathlib import Path
from typing import Any

import pytest
from desks import BY_FEATURES, ELIMINATION, Clock, at_work, front, items, learned, row, run, shown, told
from msgspec.structs import replace

from toplist import InvalidInput, Ranker
from toplist.core.beliefs import frozen
from toplist.service.errors import Conflict, Refused, StoreUnavailable
from toplist.service.live import change_policy, learners
from toplist.service.live.ranking import Setting, policy_problem
from toplist.service.log import replay, training
from toplist.service.log.events import RankingBody, decode_outcome
from toplist.service.log.verify import differences
from toplist.service.wire import Item, RankingChange, RankingSpec, Report


def test_a_new_policy_knows_what_the_log_knows_as_if_it_had_adopted_every_list(tmp_path: Path) -> None:
    async def play() -> None:
        names = [item.id for item in items(8)]
        same = Ranker(names, 3, "dcm-kl-ucb", seed=7)
        async with at_work(tmp_path / "db") as desk:
            await front(desk, "cascade-ucb1")
            draw = random.Random(1)
            for _ in range(100):
                reply = await shown(desk)
                clicks = draw.sample([1, 2, 3], draw.randint(0, 2))
                await told(desk, reply, *clicks, final=True)
                same.learn(same.adopt(reply.items), clicks)
            waiting = await shown(desk)
            assert (await desk.change_ranking("front", RankingChange(policy="dcm-kl-ucb"))).policy == "dcm-kl-ucb"
            assert await learned(desk) == 100
            assert desk._memory is not None
            (learner,) = desk._memory.learners
            assert frozen(learner.ranker.belief) == frozen(same.belief)
            after = await shown(desk)
            await told(desk, waiting, 2, final=True)  # made by the old policy, learned by the new one
            same.learn(same.adopt(waiting.items), [2])
            await told(desk, after, 1, final=True)
            same.learn(same.adopt(after.items), [1])
            assert frozen(learner.ranker.belief) == frozen(same.belief)
            assert (await desk.explanation(waiting.impression)).positions[0].why == "adopted: the caller chose it"
            assert differences(tmp_path / "db", desk.states()) == []
            before = desk.states()
        async with at_work(tmp_path / "db") as desk:
            assert (await desk.estimates("front")).policy == "dcm-kl-ucb"
            assert desk.states() == before

    run(play())


def test_cold_learners_are_trained_when_they_are_first_used(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db", hot_bytes=0) as desk:
            await front(desk, "cascade-ucb1")
            for number in range(30):
                await told(desk, await shown(desk, key=f"key {number % 3}"), 1, final=True)
            await desk.remove_items("front", ["item-3"])
            await desk.put_items("front", items(2, first=20))
            await desk.change_ranking("front", RankingChange(policy="cascade-ts"))
            for number in range(3):
                assert await learned(desk, f"key {number}") == 10
                assert "item-3" not in (await shown(desk, key=f"key {number}", positions=3)).items
            assert differences(tmp_path / "db", desk.states()) == []

    run(play())


def test_only_what_takes_long_is_trained_before_the_change(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as desk:
            await front(desk, "cascade-ucb1")
            lists = {"first": 2, "long": learners.WORTH_A_SNAPSHOT, "short": 3}
            for key, count in lists.items():
                for _ in range(count):
                    await told(desk, await shown(desk, key=key), 1, final=True)
            assert desk.hot_learners == 3
            await desk.change_ranking("front", RankingChange(policy="dcm-kl-ucb"))
            assert desk._store is not None
            ranking = desk._ranking("front").id
            assert [row.key for row in desk._store.learners_with_snapshots(ranking)] == ["first", "long"]
            assert {key: await learned(desk, key) for key in lists} == lists
            assert differences(tmp_path / "db", desk.states()) == []

    run(play())


def test_what_happens_while_it_is_trained_is_not_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as desk:
            await front(desk, "cascade-ucb1")
            first = await shown(desk)
            await told(desk, first, 1, final=True)
            rounds = 0
            trained = training.trained

            def slowly(*given: object) -> object:
                nonlocal rounds
                rounds += 1
                asyncio.run_coroutine_threadsafe(meanwhile(), loop).result()
                return trained(*given)  # type: ignore[arg-type]

            async def meanwhile() -> None:
                await told(desk, await shown(desk), 1, final=True)
                await desk.put_items("front", items(1, first=100 + rounds))
                with pytest.raises(Conflict, match="another policy already"):
                    await desk.change_ranking("front", RankingChange(policy="cascade-ts"))

            loop = asyncio.get_running_loop()
            monkeypatch.setattr(training, "trained", slowly)
            monkeypatch.setattr(change_policy, "LAST_ROUND", 1)
            await desk.change_ranking("front", RankingChange(policy="dcm-kl-ucb"))
            assert rounds == 5
            assert await learned(desk) == 6
            assert (await desk.ranking("front")).items == 13
            assert differences(tmp_path / "db", desk.states()) == []

    run(play())


def test_a_policy_that_learns_from_its_own_lists_only_starts_anew_or_not_at_all(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as desk:
            await front(desk)
            old = [await shown(desk, key="a") for _ in range(3)]
            await told(desk, old[0], 1, final=True)
            with pytest.raises(Refused, match="say train: false") as refused:
                await desk.change_ranking("front", RankingChange(policy=ELIMINATION))
            assert refused.value.field == "/policy"
            assert (await desk.ranking("front")).policy == "cascade-kl-ucb"
            await desk.put_items("front", items(1, first=50))
            await desk.change_ranking("front", RankingChange(policy=ELIMINATION, train=False))
            assert await learned(desk, "a") == 0
            new = await shown(desk, key="a")
            assert (await told(desk, old[1], 1, final=True)).counted
            assert await learned(desk, "a") == 0
            assert (await told(desk, new, 1, final=True)).counted
            assert await learned(desk, "a") == 1
            assert differences(tmp_path / "db", desk.states()) == []
            before = desk.states()
        async with at_work(tmp_path / "db") as desk:
            assert (await told(desk, old[2], 1, final=True)).counted
            assert await learned(desk, "a") == 1
            assert desk.states() == before

    run(play())


def test_from_items_to_features_and_back(tmp_path: Path) -> None:
    clock = Clock()

    async def play() -> None:
        async with at_work(tmp_path / "db", clock) as desk:
            await front(desk, "cascade-ucb1", features=4, count=0)
            await desk.put_items("front", [Item(id=f"item-{n}", features=row(n)) for n in range(6)])
            for _ in range(10):
                await told(desk, await shown(desk), 1, final=True)
            for policy in (BY_FEATURES, "cascade-ucb1", BY_FEATURES):
                await desk.change_ranking("front", RankingChange(policy=policy))
                reply = await shown(desk)
                await desk.report(reply.impression, Report(clicks=[2], final=True))
            assert await learned(desk) == 13
            assert differences(tmp_path / "db", desk.states()) == []
            with pytest.raises(Refused):
                await desk.change_ranking("front", RankingChange(policy="nonsense"))

    run(play())


@pytest.mark.parametrize(
    "size",
    [
        {"features": 2001},
        {"features": 1500, "person": 501},
        {"features": 50, "person": 41, "join": "outer"},
        {"features": 10_000, "person": 10_000, "join": "outer"},
    ],
)
def test_features_that_no_belief_can_hold_are_refused(size: dict[str, Any]) -> None:
    spec = RankingSpec(name="front", positions=2, policy=BY_FEATURES, **size)
    refused = policy_problem(Setting.of(RankingBody(spec)))
    assert refused is not None
    assert refused.field == "/features"
    assert policy_problem(Setting.of(RankingBody(replace(spec, policy="dcm-kl-ucb", person=0)))) is None
    assert policy_problem(Setting.of(RankingBody(replace(spec, features=48, person=40)))) is None


def test_nothing_is_forgotten_while_a_policy_learns_from_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()

    async def play() -> None:
        async with at_work(tmp_path / "db", clock) as desk:
            await front(desk, "cascade-ucb1", retention=100.0)
            for _ in range(20):
                await told(desk, await shown(desk), 1, final=True)
            clock.pass_(1000)
            await shown(desk)
            forgotten: list[int] = []
            trained = training.trained

            def slowly(*given: object) -> object:
                result = trained(*given)  # type: ignore[arg-type]
                forgotten.append(asyncio.run_coroutine_threadsafe(desk.retain(), loop).result())
                return result

            loop = asyncio.get_running_loop()
            monkeypatch.setattr(training, "trained", slowly)
            await desk.change_ranking("front", RankingChange(policy="dcm-kl-ucb"))
            assert forgotten == [0]
            assert differences(tmp_path / "db", desk.states()) == []
            assert await desk.retain() == 20
            assert await learned(desk) == 20
            assert differences(tmp_path / "db", desk.states()) == []

    run(play())


def test_a_policy_that_cannot_have_the_items_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as desk:
            await front(desk, steps=1000)
            await shown(desk)
            await desk.put_items("front", [Item(id="item-1", hidden=True)])
            change = RankingChange(policy="batch-rank", train=False)
            with pytest.raises(Refused, match="batch-rank") as refused:
                await desk.change_ranking("front", change)
            assert refused.value.field == "/policy"
            assert len((await shown(desk)).items) == 3
            await desk.put_items("front", [Item(id="item-1", hidden=False)])
            warm_up, loop = training.warm_up, asyncio.get_running_loop()

            def meanwhile(*given: object) -> None:
                warm_up(*given)  # type: ignore[arg-type]
                hiding = desk.put_items("front", [Item(id="item-2", hidden=True)])
                asyncio.run_coroutine_threadsafe(hiding, loop).result()

            monkeypatch.setattr(training, "warm_up", meanwhile)
            with pytest.raises(Refused, match="batch-rank"):
                await desk.change_ranking("front", change)
            monkeypatch.undo()
            await desk.put_items("front", [Item(id="item-2", hidden=False)])
            assert (await desk.change_ranking("front", change)).policy == "batch-rank"
            assert len((await shown(desk)).items) == 3

    run(play())


def test_a_policy_that_cannot_have_the_items_that_there_were_is_not_trained(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as desk:
            await front(desk, BY_FEATURES)
            await desk.put_items("front", [Item(id="below", features=[-1.0, 0.0, 0.0, 0.0])])
            await shown(desk)
            await shown(desk, key="k")
        async with at_work(tmp_path / "db") as desk:
            for _ in range(2):
                with pytest.raises(Refused) as refused:
                    await desk.change_ranking("front", RankingChange(policy="cascade-lsb"))
                assert refused.value.field == "/policy"
                await desk.remove_items("front", ["below"])
            await desk.change_ranking("front", RankingChange(policy="cascade-lsb", train=False))
            assert len((await shown(desk, key="k")).items) == 3

    run(play())


@pytest.mark.parametrize("undone", ["removed", "corrected"])
def test_nor_is_one_that_cannot_have_what_was_put_meanwhile(
    undone: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even if it is as it should be again: learners are led through both."""

    async def play() -> None:
        async with at_work(tmp_path / "db") as desk:
            await front(desk, BY_FEATURES)
            for key in (None, "k"):
                await told(desk, await shown(desk, key=key), 1, final=True)
            trained, loop = training.trained, asyncio.get_running_loop()

            async def meanwhile() -> None:
                await desk.put_items("front", [Item(id="wrong", features=[2.0, 0.0, 0.0, 0.0])])
                if undone == "removed":
                    await desk.remove_items("front", ["wrong"])
                else:
                    await desk.put_items("front", [Item(id="wrong", features=[0.2, 0.0, 0.0, 0.0])])

            def slowly(*given: object) -> object:
                result = trained(*given)  # type: ignore[arg-type]
                asyncio.run_coroutine_threadsafe(meanwhile(), loop).result()
                return result

            monkeypatch.setattr(training, "trained", slowly)
            with pytest.raises(Refused, match="cannot have the items that there were") as refused:
                await desk.change_ranking("front", RankingChange(policy="cascade-lsb"))
            assert refused.value.field == "/policy"
            monkeypatch.undo()
            for key in (None, "k"):
                await told(desk, await shown(desk, key=key), 1, final=True)
                assert await learned(desk, key) == 2
            assert differences(tmp_path / "db", desk.states()) == []

    run(play())


def test_a_learner_that_cannot_be_loaded_is_in_nobody_elses_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()

    async def play() -> None:
        async with at_work(tmp_path / "db", clock) as desk:
            await front(desk, retention=100.0)
            await told(desk, await shown(desk, key="k"), 1, final=True)
            clock.pass_(1000)
            await shown(desk)
        async with at_work(tmp_path / "db", clock) as desk:

            def impossible(*_: object) -> None:
                raise InvalidInput("These items cannot be.")

            await shown(desk)
            memory = desk._memory
            monkeypatch.setattr(learners, "beginning", impossible)
            with pytest.raises(Conflict, match="cannot be"):
                await shown(desk, key="k")
            assert await desk.retain() == 0
            assert desk._memory is memory
            assert len((await shown(desk)).items) == 3
            monkeypatch.undo()
            assert await desk.retain() == 1
            assert await learned(desk, "k") == 1

    run(play())


def test_a_service_that_ends_gives_up_what_it_trains(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as desk:
            await front(desk, "cascade-ucb1")
            for _ in range(10):
                await told(desk, await shown(desk), 1, final=True)
            begun, stopped = threading.Event(), threading.Event()
            met: list[int] = []
            decode = decode_outcome

            def slowly(body: bytes) -> object:
                met.append(len(met))
                begun.set()
                stopped.wait(10)
                return decode(body)

            monkeypatch.setattr(replay, "decode_outcome", slowly)
            patch = asyncio.create_task(desk.change_ranking("front", RankingChange(policy="dcm-kl-ucb")))
            await asyncio.to_thread(begun.wait)
            await desk.stop()
            stopped.set()
            with pytest.raises(StoreUnavailable, match="stays as it was"):
                await patch
            assert met == [0]
        monkeypatch.undo()
        async with at_work(tmp_path / "db") as desk:
            assert (await desk.ranking("front")).policy == "cascade-ucb1"
            assert await learned(desk) == 10

    run(play())
