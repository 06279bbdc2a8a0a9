"""The list that would be made next: explained before it is made, and nothing comes of that."""

import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from running import BY_FEATURES, ELIMINATION, ITEM_WISE, at_work, check, events, front, run, shown, told

from toplist.ranker import LoggedRanker
from toplist.service.errors import NotFound, Refused
from toplist.service.wire import Item, RankingChange, RankingSpec


@pytest.mark.parametrize("policy", [ITEM_WISE, BY_FEATURES, ELIMINATION, "cascade-ts"])
def test_what_is_explained_is_what_comes_next(policy: str, tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service, policy)
            with pytest.raises(NotFound, match="no list was made for the segment 'k' yet"):
                await service.queries.next_list("front", "k")
            for number in range(12):
                await told(service, await shown(service, segment="k"), 1 + number % 3, final=True)
                before, count = await service.beliefs(), len(list(await events(service)))
                said = await service.queries.next_list("front", "k")
                assert await service.queries.next_list("front", "k") == said
                assert await service.beliefs() == before
                assert len(list(await events(service))) == count
                assert (said.policy, said.learned, said.segment) == (policy, number + 1, "k")
                reply = await shown(service, segment="k")
                assert [reason.item for reason in said.positions] == reply.items
                assert [reason.position for reason in said.positions] == [1, 2, 3]
                then = (await service.queries.explanation(reply.impression)).positions
                assert [(one.mean, one.index) for one in said.positions] == [(one.mean, one.index) for one in then]
                assert all(reason.why for reason in said.positions)
            assert check(tmp_path / "db", await service.beliefs()) == []

    run(play())


def test_it_is_in_the_eyes_of_a_person_and_without_what_is_hidden(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service, BY_FEATURES, person=2)
            person = [0.5, 0.5]
            for _ in range(5):
                await told(service, await shown(service, person=person), 1, final=True)
            given: Any
            for given in (None, [1.0]):
                with pytest.raises(Refused) as refused:
                    await service.queries.next_list("front", person=given)
                assert refused.value.field == "/person"
            said = await service.queries.next_list("front", person=person)
            assert [reason.item for reason in said.positions] == (await shown(service, person=person)).items
            await service.items.remove("front", [said.positions[0].item])
            again = await service.queries.next_list("front", person=person)
            assert said.positions[0].item not in [reason.item for reason in again.positions]

    run(play())


def test_what_takes_long_is_asked_of_a_copy_in_another_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service)
            reply = await shown(service)
            await told(service, await shown(service), 1, final=True)
            assert service.transactions.loaded_state is not None
            (learner,) = service.transactions.loaded_state.learners
            asked: list[tuple[LoggedRanker, threading.Thread]] = []

            def noting(work: Callable[..., Any]) -> Callable[..., Any]:
                def noted(ranker: LoggedRanker, *given: Any) -> Any:
                    asked.append((ranker, threading.current_thread()))
                    return work(ranker, *given)

                return noted

            for method in ("estimates", "explain"):
                monkeypatch.setattr(LoggedRanker, method, noting(getattr(LoggedRanker, method)))
            before = await service.beliefs()
            assert len((await service.queries.estimates("front", limit=2)).items) == 2
            assert len((await service.queries.explanation(reply.impression)).positions) == 3
            await service.queries.next_list("front")
            assert len(asked) == 3
            for ranker, thread in asked:
                assert ranker is not learner.ranker
                assert thread is not threading.main_thread()
            assert await service.beliefs() == before

    run(play())


def test_nobody_is_warned_that_features_are_scaled(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await service.rankings.create(
                RankingSpec(name="front", positions=2, policy=BY_FEATURES, features=1, person=2)
            )
            await service.items.put("front", [Item(id=id, features=[5.0]) for id in "abc"])
            person = [3.0, 4.0]
            reply = await shown(service, person=person)
            await service.queries.next_list("front", person=person)
            await service.queries.estimates("front", person=person)
            await told(service, reply, 1, final=True)
        async with at_work(tmp_path / "db") as service:
            await shown(service, person=person)
            await service.rankings.change("front", RankingChange(seed=8))
            await shown(service, person=person)
            assert check(tmp_path / "db", await service.beliefs()) == []

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(play())
