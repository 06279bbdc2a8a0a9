"""More and fewer positions, and whatever else learners are made from, of a ranking that is served."""

import asyncio
import random
from pathlib import Path
from typing import Any

import pytest
from running import (
    BY_FEATURES,
    ELIMINATION,
    at_work,
    check,
    events,
    front,
    items,
    learned,
    ranking_of,
    run,
    shown,
    told,
)

from toplist.service.errors import Refused
from toplist.service.live.learners import LoadedLearner
from toplist.service.live.service import Service
from toplist.service.log import training
from toplist.service.log.events import RankingEvent
from toplist.service.log.settings import LearnerSettings
from toplist.service.wire import ListReply, RankingChange, RankingSpec


async def some_lists(service: Service, draw: random.Random, open_ones: list[ListReply], expected: int) -> None:
    """Lists of two segments, reported in no order, and some of them left open."""
    for number in range(8):
        reply = await shown(service, segment=str(number % 2))
        assert len(reply.items) == expected
        open_ones.append(reply)
    draw.shuffle(open_ones)
    for _ in range(6):
        reply = open_ones.pop()
        places = list(range(1, len(reply.items) + 1))
        assert (await told(service, reply, *draw.sample(places, draw.randint(0, 2)), final=True)).counted


def only_learner(service: Service) -> LoadedLearner:
    assert service.transactions.loaded_state is not None
    (learner,) = service.transactions.loaded_state.learners
    return learner


@pytest.mark.parametrize("policy", ["cascade-kl-ucb", BY_FEATURES])
@pytest.mark.parametrize("hot", [1 << 30, 0])
def test_positions_go_up_and_down_between_lists_and_the_log_says_the_same(
    policy: str, hot: int, tmp_path: Path
) -> None:
    draw, waiting = random.Random(3), list[ListReply]()

    async def play() -> None:
        for round_, positions in enumerate((2, 5, 1, 4, 6, 3)):
            async with at_work(tmp_path / "db", learner_bytes=hot) as service:
                if round_ == 0:
                    await front(service, policy, count=9, positions=3)
                    await some_lists(service, draw, waiting, 3)
                before = await learned(service, "0")
                changed = await service.rankings.change("front", RankingChange(positions=positions))
                assert changed.positions == positions
                assert await learned(service, "0") == before  # nothing is forgotten
                await some_lists(service, draw, waiting, positions)
                assert [one.position for one in (await service.queries.next_list("front", "0")).positions][
                    -1
                ] == positions
                assert len((await shown(service, segment="1", positions=1)).items) == 1
                with pytest.raises(Refused, match=f"at most {positions}, the ranking's own") as refused:
                    await shown(service, segment="1", positions=positions + 1)
                assert refused.value.field == "/positions"
                if hot:
                    assert check(tmp_path / "db", await service.beliefs()) == []
            assert check(tmp_path / "db") == []
        async with at_work(tmp_path / "db") as service:
            assert (await service.queries.ranking("front")).positions == 3
            assert await learned(service, "0") + await learned(service, "1") == 7 * 6
            for reply in waiting:
                assert (await told(service, reply, len(reply.items), final=True)).counted
            assert await learned(service, "0") + await learned(service, "1") == 7 * 8
            assert check(tmp_path / "db", await service.beliefs()) == []

    run(play())


def test_learners_are_made_anew_only_for_more_places_than_they_have(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service, positions=3)
            await told(service, await shown(service), 1, final=True)
            places, since = [], []
            for positions in (2, 3, 5, 4, 5, 1):
                await service.rankings.change("front", RankingChange(positions=positions))
                await shown(service)
                learner = only_learner(service)
                places.append(learner.ranker.positions)
                since.append(learner.ranking.settings.policy_seq)
            assert places == [3, 3, 5, 5, 5, 5]
            assert len(set(since)) == 2
            # What starts anew has no more places than it needs, and what came before is of no use any more.
            await service.rankings.change("front", RankingChange(policy="cascade-kl-ucb", train=False))
            await told(service, await shown(service), 1, final=True)
            learner = only_learner(service)
            assert (learner.ranker.positions, await learned(service)) == (1, 1)
            await service.rankings.change("front", RankingChange(seed=8))
            assert await learned(service) == 1
            assert check(tmp_path / "db", await service.beliefs()) == []

    run(play())


@pytest.mark.parametrize("restart", [False, True])
def test_places_that_no_list_had_are_given_back(restart: bool, tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service, positions=3)
            waiting = [await shown(service) for _ in range(4)]
            await told(service, waiting.pop(), 3, final=True)
            await service.rankings.change("front", RankingChange(positions=50))
            await shown(service, positions=2)
            assert only_learner(service).ranker.positions == 50
            if restart:
                await service.stop()
                await service.start()
            await service.rankings.change("front", RankingChange(positions=2))
            await told(service, waiting.pop(), 3, final=True)
            assert len((await shown(service)).items) == 2
            assert only_learner(service).ranker.positions == 3
            assert await learned(service) == 2
            assert check(tmp_path / "db", await service.beliefs()) == []
            await service.rankings.change("front", RankingChange(positions=7))
            long = await shown(service)
            if restart:
                await service.stop()
                await service.start()
            await service.rankings.change("front", RankingChange(positions=1))
            await service.rankings.change("front", RankingChange(seed=8))
            await told(service, long, 7, final=True)
            await told(service, waiting.pop(), 1, final=True)
            assert (await learned(service), only_learner(service).ranker.positions) == (4, 7)
            assert check(tmp_path / "db", await service.beliefs()) == []
        assert check(tmp_path / "db") == []

    run(play())


def test_longer_lists_that_are_made_meanwhile_find_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service, positions=3)
            await shown(service)
            await service.rankings.change("front", RankingChange(positions=6))
            trained, loop = training.train_learners, asyncio.get_running_loop()
            rounds, made = [], list[ListReply]()

            def slowly(*given: Any) -> Any:
                rounds.append(given[1].places)
                result = trained(*given)
                if len(rounds) == 1:
                    made.append(asyncio.run_coroutine_threadsafe(shown(service), loop).result())
                return result

            monkeypatch.setattr(training, "train_learners", slowly)
            await service.rankings.change("front", RankingChange(positions=2))
            assert rounds == [3, 6]
            await told(service, made[0], 6, final=True)
            assert (len((await shown(service)).items), await learned(service)) == (2, 1)
            assert check(tmp_path / "db", await service.beliefs()) == []

    run(play())


def test_a_policy_that_cannot_be_trained_keeps_its_places_and_what_it_knows(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service, ELIMINATION, positions=6)
            await told(service, await shown(service, positions=2), 1, final=True)
            await service.rankings.change("front", RankingChange(positions=2))
            assert (await learned(service), only_learner(service).ranker.positions) == (1, 6)
            await service.rankings.change("front", RankingChange(policy=ELIMINATION, train=False))
            await shown(service)
            assert only_learner(service).ranker.positions == 2
            assert check(tmp_path / "db", await service.beliefs()) == []

    run(play())


def test_before_the_first_list_positions_are_what_they_are_changed_to(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service, "batch-rank", count=5, positions=10, steps=1000)
            for positions in (8, 3):
                await service.rankings.change("front", RankingChange(positions=positions))
            await told(service, await shown(service), 1, final=True)
            assert only_learner(service).ranker.positions == 3
            assert check(tmp_path / "db", await service.beliefs()) == []

    run(play())


@pytest.mark.parametrize(
    "change", [{"seed": 8}, {"steps": 1000}, {"prior_mean": 0.3, "prior_strength": 2.0}, {"new_per_list": 1}]
)
def test_what_learners_are_made_from_trains_them_from_the_log(change: dict[str, Any], tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service)
            for number in range(10):
                await told(service, await shown(service), 1 + number % 3, final=True)
            before = await service.beliefs()
            ranking = await service.rankings.change("front", RankingChange(**change))
            assert {name: getattr(ranking, name) for name in change} == change
            assert await learned(service) == 10
            assert await service.beliefs() != before
            seq = (await service.queries.ranking("front")).created, list(await events(service))[-1].seq
            await service.rankings.change("front", RankingChange(**change))  # the same again changes nothing
            assert await learned(service) == 10
            assert list(await events(service))[-1].seq == seq[1] + 1
            assert ranking_of(service).settings.policy_seq == seq[1]
            await told(service, await shown(service), 2, final=True)
            assert check(tmp_path / "db", await service.beliefs()) == []
        assert check(tmp_path / "db") == []

    run(play())


@pytest.mark.parametrize("hot", [1 << 30, 0])
@pytest.mark.parametrize("change", [{"positions": 4}, {"seed": 8}, {"policy": "dcm-kl-ucb"}])
def test_what_was_given_up_is_not_learned_by_anybody_later(change: dict[str, Any], hot: int, tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db", learner_bytes=hot) as service:
            await front(service)
            for segment in ("a", "b"):
                for number in range(5):
                    await told(service, await shown(service, segment=segment), 1 + number % 3, final=True)
            old = await shown(service, segment="a")
            await service.items.put("front", items(1, first=50))
            await service.rankings.change("front", RankingChange(policy="cascade-kl-ucb", train=False))
            await service.items.put("front", items(1, first=60))
            await told(service, await shown(service, segment="a"), 1, final=True)
            await service.rankings.change("front", RankingChange(**change))
            assert (await learned(service, "a"), await learned(service, "b")) == (1, 0)
            assert (await told(service, old, 1, final=True)).counted
            await told(service, await shown(service, segment="b"), 2, final=True)
            await told(service, await shown(service, segment="c"), 2, final=True)
            assert check(tmp_path / "db", await service.beliefs()) == []
        async with at_work(tmp_path / "db", learner_bytes=hot) as service:
            await service.rankings.change("front", RankingChange(seed=9))
            assert [await learned(service, segment) for segment in "abc"] == [1, 1, 1]
            assert check(tmp_path / "db", await service.beliefs()) == []

    run(play())


@pytest.mark.parametrize("trained", [True, False])
def test_older_logs_say_nothing_of_what_was_given_up(trained: bool) -> None:
    body = RankingEvent(RankingSpec(name="front", positions=3), trained, policy_seq=17)
    assert LearnerSettings.of(body, 17).first_event(5) == (5 if trained else 17)


@pytest.mark.parametrize("change", [{"positions": 4}, {"seed": 8}])
def test_a_policy_that_learns_from_its_own_lists_only_cannot_be_trained_again(
    change: dict[str, Any], tmp_path: Path
) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service, ELIMINATION)
            await service.rankings.change("front", RankingChange(**change))  # there is nothing to learn yet
            await service.rankings.change("front", RankingChange(positions=3, seed=7))
            old = await shown(service)
            await told(service, await shown(service), 1, final=True)
            before = await service.beliefs()
            more = change | ({"positions": 5} if "positions" in change else {})
            with pytest.raises(Refused, match="cannot learn from lists that others made; say train: false") as refused:
                await service.rankings.change("front", RankingChange(**more))
            assert refused.value.field == f"/{next(iter(change))}"
            assert await service.beliefs() == before
            assert (await service.queries.ranking("front")).positions == 3
            await service.rankings.change("front", RankingChange(positions=2))
            assert len((await shown(service)).items) == 2
            assert await learned(service) == 1
            await service.rankings.change("front", RankingChange(**more, train=False))
            assert await learned(service) == 0
            assert (await told(service, old, 1, final=True)).counted
            assert await learned(service) == 0
            assert check(tmp_path / "db", await service.beliefs()) == []

    run(play())


def test_what_items_and_lists_were_made_with_stays(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service, BY_FEATURES)
            wrong: dict[str, Any] = {"features": 5, "person": 1, "join": "outer"}
            for field, value in wrong.items():
                with pytest.raises(Refused, match="make a new ranking") as refused:
                    await service.rankings.change("front", RankingChange(click_window=1.0, **{field: value}))
                assert refused.value.field == f"/{field}"
            assert (await service.queries.ranking("front")).click_window == 60.0
            same = RankingChange(features=4, person=0, join="concatenate", click_window=1.0)
            assert (await service.rankings.change("front", same)).click_window == 1.0

    run(play())


def test_a_ranking_with_fewer_items_than_places_is_refused_where_the_policy_shows_them_all(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service, "batch-rank", count=4, steps=1000)
            await shown(service)
            with pytest.raises(Refused, match="needs items for all of its 5 positions") as refused:
                await service.rankings.change("front", RankingChange(positions=5, train=False))
            assert refused.value.field == "/positions"
            assert len((await shown(service)).items) == 3

    run(play())


@pytest.mark.parametrize(
    ("policy", "change", "pointer"),
    [
        (ELIMINATION, {"prior_strength": 2.0}, "/prior_strength"),
        (ELIMINATION, {"prior_strength": 2.0, "seed": 9, "train": False}, "/prior_strength"),
        (ELIMINATION, {"policy": ELIMINATION, "prior_strength": 2.0, "train": False}, "/prior_strength"),
        ("top-rank", {"steps": None, "train": False}, "/steps"),
        ("top-rank", {"policy": "bubble-rank", "steps": None, "train": False}, "/steps"),
        ("batch-rank", {"new_per_list": 1, "train": False}, "/new_per_list"),
        ("batch-rank", {"policy": "batch-rank", "positions": 9, "train": False}, "/positions"),
        ("cascade-kl-ucb", {"policy": ELIMINATION, "positions": 6}, "/policy"),
        ("cascade-kl-ucb", {"policy": "top-rank", "steps": None, "seed": 2, "train": False}, "/steps"),
        ("cascade-kl-ucb", {"policy": "nonsense", "positions": 6}, "/policy"),
        ("cascade-kl-ucb", {"policy": BY_FEATURES}, "/policy"),
        (BY_FEATURES, {"policy": "cascade-kl-ucb", "seed": 3}, "/policy"),
    ],
)
def test_a_refused_change_points_at_what_is_wrong_with_it(
    policy: str, change: dict[str, Any], pointer: str, tmp_path: Path
) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            person = [0.5, 0.5] if policy == BY_FEATURES else None
            await front(service, policy, steps=1000, person=len(person or ()))
            await shown(service, person=person)
            with pytest.raises(Refused) as refused:
                await service.rankings.change("front", RankingChange(**change))
            assert refused.value.field == pointer

    run(play())
