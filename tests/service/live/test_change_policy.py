"""Another policy for a ranking that is served: trained from the log before it serves."""

import asyncio
import random
import threading
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from running import (
    BY_FEATURES,
    ELIMINATION,
    Clock,
    at_work,
    check,
    front,
    items,
    learned,
    ranking_of,
    read,
    row,
    run,
    shown,
    told,
)

from toplist import InvalidInput, Ranker
from toplist.core.beliefs import array_bytes
from toplist.service.errors import Conflict, Refused, StoreUnavailable
from toplist.service.live import change_policy, learner_load, learners, quarantine
from toplist.service.live.change_policy import PolicyChange
from toplist.service.log import replay, training
from toplist.service.log.events import RankingEvent, decode_outcome
from toplist.service.log.settings import LearnerSettings, settings_problem
from toplist.service.wire import Item, RankingChange, RankingSpec, Report


def test_a_new_policy_knows_what_the_log_knows_as_if_it_had_adopted_every_list(tmp_path: Path) -> None:
    async def play() -> None:
        names = [item.id for item in items(8)]
        same = Ranker(names, 3, "dcm-kl-ucb", seed=7)
        async with at_work(tmp_path / "db") as service:
            await front(service, "cascade-ucb1")
            draw = random.Random(1)
            for _ in range(100):
                reply = await shown(service)
                clicks = draw.sample([1, 2, 3], draw.randint(0, 2))
                await told(service, reply, *clicks, final=True)
                same.learn(same.adopt(reply.items), clicks)
            waiting = await shown(service)
            assert (await service.rankings.change("front", RankingChange(policy="dcm-kl-ucb"))).policy == "dcm-kl-ucb"
            assert await learned(service) == 100
            assert service.transactions.loaded_state is not None
            (learner,) = service.transactions.loaded_state.learners
            assert array_bytes(learner.ranker.belief) == array_bytes(same.belief)
            after = await shown(service)
            await told(service, waiting, 2, final=True)  # made by the old policy, learned by the new one
            same.learn(same.adopt(waiting.items), [2])
            await told(service, after, 1, final=True)
            same.learn(same.adopt(after.items), [1])
            assert array_bytes(learner.ranker.belief) == array_bytes(same.belief)
            assert (await service.queries.explanation(waiting.impression)).positions[
                0
            ].why == "adopted: the caller chose it"
            assert check(tmp_path / "db", await service.beliefs()) == []
            before = await service.beliefs()
        async with at_work(tmp_path / "db") as service:
            assert (await service.queries.estimates("front")).policy == "dcm-kl-ucb"
            assert await service.beliefs() == before

    run(play())


def test_cold_learners_are_trained_when_they_are_first_used(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db", learner_bytes=0) as service:
            await front(service, "cascade-ucb1")
            for number in range(30):
                await told(service, await shown(service, segment=f"segment {number % 3}"), 1, final=True)
            await service.items.remove("front", ["item-3"])
            await service.items.put("front", items(2, first=20))
            await service.rankings.change("front", RankingChange(policy="cascade-ts"))
            for number in range(3):
                assert await learned(service, f"segment {number}") == 10
                assert "item-3" not in (await shown(service, segment=f"segment {number}", positions=3)).items
            assert check(tmp_path / "db", await service.beliefs()) == []

    run(play())


def test_only_what_takes_long_is_trained_before_the_change(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service, "cascade-ucb1")
            lists = {"first": 2, "long": learners.WORTH_A_SNAPSHOT, "short": 3}
            for segment, count in lists.items():
                for _ in range(count):
                    await told(service, await shown(service, segment=segment), 1, final=True)
            assert service.loaded_learners == 3
            await service.rankings.change("front", RankingChange(policy="dcm-kl-ucb"))
            ranking = ranking_of(service).id
            kept = await read(service, lambda reader: reader.learners_with_snapshots(ranking))
            assert [row.segment for row in kept] == ["first", "long"]
            assert {segment: await learned(service, segment) for segment in lists} == lists
            assert check(tmp_path / "db", await service.beliefs()) == []

    run(play())


def test_what_happens_while_it_is_trained_is_not_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service, "cascade-ucb1")
            first = await shown(service)
            await told(service, first, 1, final=True)
            rounds = 0
            trained = training.train_learners

            def slowly(*given: object) -> object:
                nonlocal rounds
                rounds += 1
                asyncio.run_coroutine_threadsafe(meanwhile(), loop).result()
                return trained(*given)  # type: ignore[arg-type]

            async def meanwhile() -> None:
                await told(service, await shown(service), 1, final=True)
                await service.items.put("front", items(1, first=100 + rounds))
                with pytest.raises(Conflict, match="another policy already"):
                    await service.rankings.change("front", RankingChange(policy="cascade-ts"))

            loop = asyncio.get_running_loop()
            monkeypatch.setattr(training, "train_learners", slowly)
            monkeypatch.setattr(change_policy, "LAST_ROUND", 1)
            await service.rankings.change("front", RankingChange(policy="dcm-kl-ucb"))
            assert rounds == 5
            assert await learned(service) == 6
            assert (await service.queries.ranking("front")).items == 13
            assert check(tmp_path / "db", await service.beliefs()) == []

    run(play())


def test_a_policy_that_learns_from_its_own_lists_only_starts_anew_or_not_at_all(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service)
            old = [await shown(service, segment="a") for _ in range(3)]
            await told(service, old[0], 1, final=True)
            with pytest.raises(Refused, match="say train: false") as refused:
                await service.rankings.change("front", RankingChange(policy=ELIMINATION))
            assert refused.value.field == "/policy"
            assert (await service.queries.ranking("front")).policy == "cascade-kl-ucb"
            await service.items.put("front", items(1, first=50))
            await service.rankings.change("front", RankingChange(policy=ELIMINATION, train=False))
            assert await learned(service, "a") == 0
            new = await shown(service, segment="a")
            assert (await told(service, old[1], 1, final=True)).counted
            assert await learned(service, "a") == 0
            assert (await told(service, new, 1, final=True)).counted
            assert await learned(service, "a") == 1
            assert check(tmp_path / "db", await service.beliefs()) == []
            before = await service.beliefs()
        async with at_work(tmp_path / "db") as service:
            assert (await told(service, old[2], 1, final=True)).counted
            assert await learned(service, "a") == 1
            assert await service.beliefs() == before

    run(play())


def test_from_items_to_features_and_back(tmp_path: Path) -> None:
    clock = Clock()

    async def play() -> None:
        async with at_work(tmp_path / "db", clock) as service:
            await front(service, "cascade-ucb1", features=4, count=0)
            await service.items.put("front", [Item(id=f"item-{n}", features=row(n)) for n in range(6)])
            for _ in range(10):
                await told(service, await shown(service), 1, final=True)
            for policy in (BY_FEATURES, "cascade-ucb1", BY_FEATURES):
                await service.rankings.change("front", RankingChange(policy=policy))
                reply = await shown(service)
                await service.impressions.report(reply.impression, Report(clicks=[2], final=True))
            assert await learned(service) == 13
            assert check(tmp_path / "db", await service.beliefs()) == []
            with pytest.raises(Refused):
                await service.rankings.change("front", RankingChange(policy="nonsense"))

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
    refused = settings_problem(LearnerSettings.of(RankingEvent(spec)))
    assert refused is not None
    assert refused.field == "/features"
    assert "2000 are the most; make a new ranking with fewer features" in str(refused)
    assert settings_problem(LearnerSettings.of(RankingEvent(replace(spec, policy="dcm-kl-ucb", person=0)))) is None
    assert settings_problem(LearnerSettings.of(RankingEvent(replace(spec, features=48, person=40)))) is None


def test_a_policy_that_needs_features_is_refused_with_advice_that_can_be_followed(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await service.rankings.create(RankingSpec(name="front", positions=2))
            advice = "learns from features, but features is 0; when the ranking is made, set features to the number of"
            with pytest.raises(Refused, match=advice) as refused:
                await service.rankings.change("front", RankingChange(policy=BY_FEATURES))
            assert refused.value.field == "/policy"
            with pytest.raises(Refused, match=advice) as refused:
                await service.rankings.create(RankingSpec(name="other", positions=2, policy=BY_FEATURES))
            assert refused.value.field == "/features"
            await service.rankings.create(RankingSpec(name="other", positions=2, policy=BY_FEATURES, features=3))

    run(play())


def test_nothing_is_forgotten_while_a_policy_learns_from_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()

    async def play() -> None:
        async with at_work(tmp_path / "db", clock) as service:
            await front(service, "cascade-ucb1", retention=100.0)
            for _ in range(20):
                await told(service, await shown(service), 1, final=True)
            clock.pass_(1000)
            await shown(service)
            forgotten: list[int] = []
            trained = training.train_learners

            def slowly(*given: object) -> object:
                result = trained(*given)  # type: ignore[arg-type]
                forgotten.append(asyncio.run_coroutine_threadsafe(service.retention.forget_old(), loop).result())
                return result

            loop = asyncio.get_running_loop()
            monkeypatch.setattr(training, "train_learners", slowly)
            await service.rankings.change("front", RankingChange(policy="dcm-kl-ucb"))
            assert forgotten == [0]
            assert check(tmp_path / "db", await service.beliefs()) == []
            assert await service.retention.forget_old() == 20
            assert await learned(service) == 20
            assert check(tmp_path / "db", await service.beliefs()) == []

    run(play())


def test_a_policy_that_cannot_have_the_items_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service, steps=1000)
            await shown(service)
            await service.items.put("front", [Item(id="item-1", hidden=True)])
            change = RankingChange(policy="batch-rank", train=False)
            with pytest.raises(Refused, match="batch-rank") as refused:
                await service.rankings.change("front", change)
            assert refused.value.field == "/policy"
            assert len((await shown(service)).items) == 3
            await service.items.put("front", [Item(id="item-1", hidden=False)])
            warm_up, loop = training.compile_policy, asyncio.get_running_loop()

            def meanwhile(*given: object) -> None:
                warm_up(*given)  # type: ignore[arg-type]
                hiding = service.items.put("front", [Item(id="item-2", hidden=True)])
                asyncio.run_coroutine_threadsafe(hiding, loop).result()

            monkeypatch.setattr(training, "compile_policy", meanwhile)
            with pytest.raises(Refused, match="batch-rank"):
                await service.rankings.change("front", change)
            monkeypatch.undo()
            await service.items.put("front", [Item(id="item-2", hidden=False)])
            assert (await service.rankings.change("front", change)).policy == "batch-rank"
            assert len((await shown(service)).items) == 3

    run(play())


@pytest.mark.parametrize("comes", [False, True], ids=["nothing comes meanwhile", "an item comes meanwhile"])
def test_items_are_checked_again_only_where_they_have_changed(
    comes: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked: list[int] = []
    new_ranker, train = replay.new_ranker, PolicyChange.train

    def check_them(settings: LearnerSettings, segment: str | None, items: Any) -> Any:
        checked.append(len(items))
        return new_ranker(settings, segment, items)

    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service, "cascade-ucb1")
            await told(service, await shown(service), 1, final=True)

            async def and_put(*given: Any) -> Any:
                if comes:
                    await service.items.put("front", [Item(id="late")])
                return await train(*given)

            monkeypatch.setattr(change_policy, "new_ranker", check_them)
            monkeypatch.setattr(PolicyChange, "train", and_put)
            await service.rankings.change("front", RankingChange(policy="dcm-kl-ucb"))

    run(play())
    assert checked == ([8, 9] if comes else [8])


def test_a_policy_that_cannot_have_the_items_that_there_were_is_not_trained(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service, BY_FEATURES)
            await service.items.put("front", [Item(id="below", features=[-1.0, 0.0, 0.0, 0.0])])
            await shown(service)
            await shown(service, segment="k")
        async with at_work(tmp_path / "db") as service:
            for _ in range(2):
                with pytest.raises(Refused) as refused:
                    await service.rankings.change("front", RankingChange(policy="cascade-lsb"))
                assert refused.value.field == "/policy"
                await service.items.remove("front", ["below"])
            await service.rankings.change("front", RankingChange(policy="cascade-lsb", train=False))
            assert len((await shown(service, segment="k")).items) == 3

    run(play())


@pytest.mark.parametrize("undone", ["removed", "corrected"])
def test_nor_is_one_that_cannot_have_what_was_put_meanwhile(
    undone: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even if it is as it should be again: learners are led through both."""

    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service, BY_FEATURES)
            for segment in (None, "k"):
                await told(service, await shown(service, segment=segment), 1, final=True)
            trained, loop = training.train_learners, asyncio.get_running_loop()

            async def meanwhile() -> None:
                await service.items.put("front", [Item(id="wrong", features=[2.0, 0.0, 0.0, 0.0])])
                if undone == "removed":
                    await service.items.remove("front", ["wrong"])
                else:
                    await service.items.put("front", [Item(id="wrong", features=[0.2, 0.0, 0.0, 0.0])])

            def slowly(*given: object) -> object:
                result = trained(*given)  # type: ignore[arg-type]
                asyncio.run_coroutine_threadsafe(meanwhile(), loop).result()
                return result

            monkeypatch.setattr(training, "train_learners", slowly)
            with pytest.raises(Refused, match="cannot have the items of the past") as refused:
                await service.rankings.change("front", RankingChange(policy="cascade-lsb"))
            assert refused.value.field == "/policy"
            monkeypatch.undo()
            for segment in (None, "k"):
                await told(service, await shown(service, segment=segment), 1, final=True)
                assert await learned(service, segment) == 2
            assert check(tmp_path / "db", await service.beliefs()) == []

    run(play())


def test_a_learner_that_cannot_be_loaded_is_in_nobody_elses_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()

    async def play() -> None:
        async with at_work(tmp_path / "db", clock) as service:
            await front(service, retention=100.0)
            await told(service, await shown(service, segment="k"), 1, final=True)
            clock.pass_(1000)
            await shown(service)
        async with at_work(tmp_path / "db", clock) as service:

            def impossible(*_: object) -> None:
                raise InvalidInput("These items cannot be.")

            await shown(service)
            memory = service.transactions.loaded_state
            monkeypatch.setattr(learner_load, "replay_from_start", impossible)
            with pytest.raises(Conflict, match="cannot be"):
                await shown(service, segment="k")
            assert await service.retention.forget_old() == 0
            assert service.transactions.loaded_state is memory
            assert len((await shown(service)).items) == 3
            monkeypatch.undo()
            monkeypatch.setattr(quarantine, "RETRY_AFTER", 0.0)
            assert await service.retention.forget_old() == 1
            assert await learned(service, "k") == 1

    run(play())


def test_a_service_that_ends_gives_up_what_it_trains(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service, "cascade-ucb1")
            for _ in range(10):
                await told(service, await shown(service), 1, final=True)
            begun, stopped = threading.Event(), threading.Event()
            met: list[int] = []
            decode = decode_outcome

            def slowly(body: bytes) -> object:
                met.append(len(met))
                begun.set()
                stopped.wait(10)
                return decode(body)

            monkeypatch.setattr(replay, "decode_outcome", slowly)
            patch = asyncio.create_task(service.rankings.change("front", RankingChange(policy="dcm-kl-ucb")))
            await asyncio.to_thread(begun.wait)
            await service.stop()
            stopped.set()
            with pytest.raises(StoreUnavailable, match="stays as it was"):
                await patch
            assert met == [0]
        monkeypatch.undo()
        async with at_work(tmp_path / "db") as service:
            assert (await service.queries.ranking("front")).policy == "cascade-ucb1"
            assert await learned(service) == 10

    run(play())
