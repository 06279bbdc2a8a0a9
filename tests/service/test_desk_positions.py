"""More and fewer positions, and whatever else learners are made from, of a ranking that is served."""

import asyncio
import random
from pathlib import Path
from typing import Any

import pytest
from desks import BY_FEATURES, ELIMINATION, at_work, front, items, learned, run, shown, told

from toplist.service.errors import Refused
from toplist.service.live.learners import HotLearner
from toplist.service.live.ranking import Setting
from toplist.service.live.service import Desk
from toplist.service.log import replay, training
from toplist.service.log.events import RankingBody
from toplist.service.log.verify import differences
from toplist.service.wire import ListReply, RankingChange, RankingSpec


async def some_lists(desk: Desk, draw: random.Random, open_ones: list[ListReply], expected: int) -> None:
    """Lists of two keys, reported in no order, and some of them left open."""
    for number in range(8):
        reply = await shown(desk, key=str(number % 2))
        assert len(reply.items) == expected
        open_ones.append(reply)
    draw.shuffle(open_ones)
    for _ in range(6):
        reply = open_ones.pop()
        places = list(range(1, len(reply.items) + 1))
        assert (await told(desk, reply, *draw.sample(places, draw.randint(0, 2)), final=True)).counted


def only_learner(desk: Desk) -> HotLearner:
    assert desk._memory is not None
    (learner,) = desk._memory.learners
    return learner


@pytest.mark.parametrize("policy", ["cascade-kl-ucb", BY_FEATURES])
@pytest.mark.parametrize("hot", [1 << 30, 0])
def test_positions_go_up_and_down_between_lists_and_the_log_says_the_same(
    policy: str, hot: int, tmp_path: Path
) -> None:
    draw, waiting = random.Random(3), list[ListReply]()

    async def play() -> None:
        for round_, positions in enumerate((2, 5, 1, 4, 6, 3)):
            async with at_work(tmp_path / "db", hot_bytes=hot) as desk:
                if round_ == 0:
                    await front(desk, policy, count=9, positions=3)
                    await some_lists(desk, draw, waiting, 3)
                before = await learned(desk, "0")
                changed = await desk.change_ranking("front", RankingChange(positions=positions))
                assert changed.positions == positions
                assert await learned(desk, "0") == before  # nothing is forgotten
                await some_lists(desk, draw, waiting, positions)
                assert [one.position for one in (await desk.next_list("front", "0")).positions][-1] == positions
                assert len((await shown(desk, key="1", positions=1)).items) == 1
                with pytest.raises(Refused, match=f"at most {positions}, the ranking's own") as refused:
                    await shown(desk, key="1", positions=positions + 1)
                assert refused.value.field == "/positions"
                if hot:
                    assert differences(tmp_path / "db", desk.states()) == []
            assert differences(tmp_path / "db") == []
        async with at_work(tmp_path / "db") as desk:
            assert (await desk.ranking("front")).positions == 3
            assert await learned(desk, "0") + await learned(desk, "1") == 7 * 6
            for reply in waiting:
                assert (await told(desk, reply, len(reply.items), final=True)).counted
            assert await learned(desk, "0") + await learned(desk, "1") == 7 * 8
            assert differences(tmp_path / "db", desk.states()) == []

    run(play())


def test_learners_are_made_anew_only_for_more_places_than_they_have(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as desk:
            await front(desk, positions=3)
            await told(desk, await shown(desk), 1, final=True)
            places, since = [], []
            for positions in (2, 3, 5, 4, 5, 1):
                await desk.change_ranking("front", RankingChange(positions=positions))
                await shown(desk)
                learner = only_learner(desk)
                places.append(learner.ranker.positions)
                since.append(learner.ranking.setting.policy)
            assert places == [3, 3, 5, 5, 5, 5]
            assert len(set(since)) == 2
            # What starts anew has no more places than it needs, and what came before is of no use any more.
            await desk.change_ranking("front", RankingChange(policy="cascade-kl-ucb", train=False))
            await told(desk, await shown(desk), 1, final=True)
            learner = only_learner(desk)
            assert (learner.ranker.positions, await learned(desk)) == (1, 1)
            await desk.change_ranking("front", RankingChange(seed=8))
            assert await learned(desk) == 1
            assert differences(tmp_path / "db", desk.states()) == []

    run(play())


@pytest.mark.parametrize("restart", [False, True])
def test_places_that_no_list_had_are_given_back(restart: bool, tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as desk:
            await front(desk, positions=3)
            waiting = [await shown(desk) for _ in range(4)]
            await told(desk, waiting.pop(), 3, final=True)
            await desk.change_ranking("front", RankingChange(positions=50))
            await shown(desk, positions=2)
            assert only_learner(desk).ranker.positions == 50
            if restart:
                await desk.stop()
                await desk.start()
            await desk.change_ranking("front", RankingChange(positions=2))
            await told(desk, waiting.pop(), 3, final=True)
            assert len((await shown(desk)).items) == 2
            assert only_learner(desk).ranker.positions == 3
            assert await learned(desk) == 2
            assert differences(tmp_path / "db", desk.states()) == []
            await desk.change_ranking("front", RankingChange(positions=7))
            long = await shown(desk)
            if restart:
                await desk.stop()
                await desk.start()
            await desk.change_ranking("front", RankingChange(positions=1))
            await desk.change_ranking("front", RankingChange(seed=8))
            await told(desk, long, 7, final=True)
            await told(desk, waiting.pop(), 1, final=True)
            assert (await learned(desk), only_learner(desk).ranker.positions) == (4, 7)
            assert differences(tmp_path / "db", desk.states()) == []
        assert differences(tmp_path / "db") == []

    run(play())


def test_longer_lists_that_are_made_meanwhile_find_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as desk:
            await front(desk, positions=3)
            await shown(desk)
            await desk.change_ranking("front", RankingChange(positions=6))
            trained, loop = training.trained, asyncio.get_running_loop()
            rounds, made = [], list[ListReply]()

            def slowly(*given: Any) -> Any:
                rounds.append(given[2].places)
                result = trained(*given)
                if len(rounds) == 1:
                    made.append(asyncio.run_coroutine_threadsafe(shown(desk), loop).result())
                return result

            monkeypatch.setattr(training, "trained", slowly)
            await desk.change_ranking("front", RankingChange(positions=2))
            assert rounds == [3, 6]
            await told(desk, made[0], 6, final=True)
            assert (len((await shown(desk)).items), await learned(desk)) == (2, 1)
            assert differences(tmp_path / "db", desk.states()) == []

    run(play())


def test_a_policy_that_cannot_be_trained_keeps_its_places_and_what_it_knows(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as desk:
            await front(desk, ELIMINATION, positions=6)
            await told(desk, await shown(desk, positions=2), 1, final=True)
            await desk.change_ranking("front", RankingChange(positions=2))
            assert (await learned(desk), only_learner(desk).ranker.positions) == (1, 6)
            await desk.change_ranking("front", RankingChange(policy=ELIMINATION, train=False))
            await shown(desk)
            assert only_learner(desk).ranker.positions == 2
            assert differences(tmp_path / "db", desk.states()) == []

    run(play())


def test_before_the_first_list_positions_are_what_they_are_changed_to(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as desk:
            await front(desk, "batch-rank", count=5, positions=10, steps=1000)
            for positions in (8, 3):
                await desk.change_ranking("front", RankingChange(positions=positions))
            await told(desk, await shown(desk), 1, final=True)
            assert only_learner(desk).ranker.positions == 3
            assert differences(tmp_path / "db", desk.states()) == []

    run(play())


@pytest.mark.parametrize(
    "change", [{"seed": 8}, {"steps": 1000}, {"prior_mean": 0.3, "prior_strength": 2.0}, {"new_per_list": 1}]
)
def test_what_learners_are_made_from_trains_them_from_the_log(change: dict[str, Any], tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as desk:
            await front(desk)
            for number in range(10):
                await told(desk, await shown(desk), 1 + number % 3, final=True)
            before = desk.states()
            ranking = await desk.change_ranking("front", RankingChange(**change))
            assert {name: getattr(ranking, name) for name in change} == change
            assert await learned(desk) == 10
            assert desk.states() != before
            seq = (await desk.ranking("front")).created, list(await desk.events("front"))[-1].seq
            await desk.change_ranking("front", RankingChange(**change))  # the same again changes nothing
            assert await learned(desk) == 10
            assert list(await desk.events("front"))[-1].seq == seq[1] + 1
            assert desk._ranking("front").setting.policy == seq[1]
            await told(desk, await shown(desk), 2, final=True)
            assert differences(tmp_path / "db", desk.states()) == []
        assert differences(tmp_path / "db") == []

    run(play())


@pytest.mark.parametrize("hot", [1 << 30, 0])
@pytest.mark.parametrize("change", [{"positions": 4}, {"seed": 8}, {"policy": "dcm-kl-ucb"}])
def test_what_was_given_up_is_not_learned_by_anybody_later(change: dict[str, Any], hot: int, tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db", hot_bytes=hot) as desk:
            await front(desk)
            for key in ("a", "b"):
                for number in range(5):
                    await told(desk, await shown(desk, key=key), 1 + number % 3, final=True)
            old = await shown(desk, key="a")
            await desk.put_items("front", items(1, first=50))
            await desk.change_ranking("front", RankingChange(policy="cascade-kl-ucb", train=False))
            await desk.put_items("front", items(1, first=60))
            await told(desk, await shown(desk, key="a"), 1, final=True)
            await desk.change_ranking("front", RankingChange(**change))
            assert (await learned(desk, "a"), await learned(desk, "b")) == (1, 0)
            assert (await told(desk, old, 1, final=True)).counted
            await told(desk, await shown(desk, key="b"), 2, final=True)
            await told(desk, await shown(desk, key="c"), 2, final=True)
            assert differences(tmp_path / "db", desk.states()) == []
        async with at_work(tmp_path / "db", hot_bytes=hot) as desk:
            await desk.change_ranking("front", RankingChange(seed=9))
            assert [await learned(desk, key) for key in "abc"] == [1, 1, 1]
            assert differences(tmp_path / "db", desk.states()) == []

    run(play())


@pytest.mark.parametrize("trained", [True, False])
def test_older_logs_say_nothing_of_what_was_given_up(trained: bool) -> None:
    body = RankingBody(RankingSpec(name="front", positions=3), trained, policy=17)
    assert replay.first_event(Setting.of(body, 17), 5) == (5 if trained else 17)


@pytest.mark.parametrize("change", [{"positions": 4}, {"seed": 8}])
def test_a_policy_that_learns_from_its_own_lists_only_cannot_be_trained_again(
    change: dict[str, Any], tmp_path: Path
) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as desk:
            await front(desk, ELIMINATION)
            await desk.change_ranking("front", RankingChange(**change))  # there is nothing to learn yet
            await desk.change_ranking("front", RankingChange(positions=3, seed=7))
            old = await shown(desk)
            await told(desk, await shown(desk), 1, final=True)
            before = desk.states()
            more = change | ({"positions": 5} if "positions" in change else {})
            with pytest.raises(Refused, match="cannot learn from lists that others made; say train: false") as refused:
                await desk.change_ranking("front", RankingChange(**more))
            assert refused.value.field == f"/{next(iter(change))}"
            assert desk.states() == before
            assert (await desk.ranking("front")).positions == 3
            await desk.change_ranking("front", RankingChange(positions=2))
            assert len((await shown(desk)).items) == 2
            assert await learned(desk) == 1
            await desk.change_ranking("front", RankingChange(**more, train=False))
            assert await learned(desk) == 0
            assert (await told(desk, old, 1, final=True)).counted
            assert await learned(desk) == 0
            assert differences(tmp_path / "db", desk.states()) == []

    run(play())


def test_what_items_and_lists_were_made_with_stays(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as desk:
            await front(desk, BY_FEATURES)
            wrong: dict[str, Any] = {"features": 5, "person": 1, "join": "outer"}
            for field, value in wrong.items():
                with pytest.raises(Refused, match="make a new ranking") as refused:
                    await desk.change_ranking("front", RankingChange(click_window=1.0, **{field: value}))
                assert refused.value.field == f"/{field}"
            assert (await desk.ranking("front")).click_window == 60.0
            same = RankingChange(features=4, person=0, join="concatenate", click_window=1.0)
            assert (await desk.change_ranking("front", same)).click_window == 1.0

    run(play())


def test_a_ranking_with_fewer_items_than_places_is_refused_where_the_policy_shows_them_all(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as desk:
            await front(desk, "batch-rank", count=4, steps=1000)
            await shown(desk)
            with pytest.raises(Refused, match="needs items for all of its 5 positions") as refused:
                await desk.change_ranking("front", RankingChange(positions=5, train=False))
            assert refused.value.field == "/positions"
            assert len((await shown(desk)).items) == 3

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
        async with at_work(tmp_path / "db") as desk:
            person = [0.5, 0.5] if policy == BY_FEATURES else None
            await front(desk, policy, steps=1000, person=len(person or ()))
            await shown(desk, person=person)
            with pytest.raises(Refused) as refused:
                await desk.change_ranking("front", RankingChange(**change))
            assert refused.value.field == pointer

    run(play())
