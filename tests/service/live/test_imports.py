"""A saved ranker taken in by the service: it goes on from there, and rebuilds from the log agree to the last bit."""

import random
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from running import BY_FEATURES, ELIMINATION, ITEM_WISE, at_work, check, events, front, killed, row, run, shown
from running import told as tell

from toplist import Ranker
from toplist.core.beliefs import array_bytes
from toplist.ranker import LoggedRanker
from toplist.ranker.learned_state import read_learned
from toplist.ranker.logged_ranker import NO_LIMIT
from toplist.service.errors import Conflict, Refused
from toplist.service.live.service import Service
from toplist.service.log.events import ImportedEvent
from toplist.service.wire import Item, RankingChange

NAMES = [f"item-{n}" for n in range(8)]


def saved(path: Path, policy: str = ITEM_WISE, names: list[Any] = NAMES, lists: int = 40, **more: Any) -> bytes:
    """The file of a ranker that has learned some lists."""
    features = {name: row(n) for n, name in enumerate(names)} if policy == BY_FEATURES else None
    options = {"positions": 3, "features": features, "compiled": False} | more
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("warnings.warn", lambda *_, **__: None)  # of features with a norm above 1
        ranker = Ranker(names, policy=policy, **options)
    chance = random.Random(2)
    for _ in range(lists):
        ranker.learn(ranker.rank(), chance.sample([1, 2], chance.randrange(3)))
    ranker.save(path / "ranker.npz")
    return (path / "ranker.npz").read_bytes()


async def belief_of(service: Service, segment: str | None = None) -> bytes:
    return (await service.beliefs())["front", segment]


@pytest.mark.parametrize("policy", [ITEM_WISE, BY_FEATURES, ELIMINATION, "cascade-swucb(tau=20)"])
def test_it_goes_on_from_there_and_rebuilds_agree(policy: str, tmp_path: Path) -> None:
    async def go() -> None:
        content = saved(tmp_path, policy)
        async with at_work(tmp_path / "store.db") as service:
            await front(service, policy, count=0)
            reply = await service.imports.take("front", None, content, by="editor")
            assert (reply.learned, reply.items, reply.policy) == (40, 8, policy)
            assert (await service.queries.estimates("front", None)).learned == 40
            own = Ranker.load(tmp_path / "ranker.npz", compiled=False)
            found = {each.item: each.mean for each in (await service.queries.estimates("front", None)).items}
            assert found == {each["item"]: each["mean"] for each in own.estimates().rows()}
            for number in range(12):
                await tell(service, await shown(service), *([1] if number % 3 else []), final=True)
            assert check(tmp_path / "store.db", await service.beliefs()) == []
            before = await belief_of(service)
            (event,) = [one for one in await events(service) if one.kind == "imported"]
            assert msgspec.json.decode(event.body)["by"] == "editor"
            await killed(service)
        async with at_work(tmp_path / "store.db") as service:
            await service.queries.estimates("front", None)
            assert await belief_of(service) == before
            assert check(tmp_path / "store.db", await service.beliefs()) == []

    run(go())


def test_the_belief_is_that_of_the_ranker(tmp_path: Path) -> None:
    learned = read_learned(saved(tmp_path), 1 << 20)
    again = type(learned).unpacked(learned.packed())
    assert again.packed() == learned.packed()
    own = Ranker.load(tmp_path / "ranker.npz", compiled=False)
    logged = LoggedRanker([*NAMES, "one more"], 3, ITEM_WISE, open_slates=NO_LIMIT, compiled=False)
    logged.begin_from(again)
    belief = logged.belief._replace(examined=logged.belief.examined[:8], clicked=logged.belief.clicked[:8])
    assert array_bytes(belief) == array_bytes(own.belief)
    assert logged.state().arrays["examined"].tolist() == list(range(8))
    assert (logged.learned, again.names) == (40, NAMES)
    assert logged.estimates()["one more"]["examined"] == 0


def test_more_items_may_follow_and_segments_are_separate(tmp_path: Path) -> None:
    async def go() -> None:
        content = saved(tmp_path)
        async with at_work(tmp_path / "store.db", most_segments=1) as service:
            await front(service, count=10)
            assert (await service.imports.take("front", "a", content)).items == 0
            assert (await service.queries.estimates("front", "a")).learned == 40
            assert (await shown(service)).items
            assert (await service.queries.estimates("front", None)).learned == 0
            with pytest.raises(Refused, match="1 are the most"):
                await service.imports.take("front", "b", content)
            assert check(tmp_path / "store.db", await service.beliefs()) == []

    run(go())


def test_what_does_not_fit_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    async def go() -> None:
        async with at_work(tmp_path / "store.db") as service:
            await front(service)
            before = len(await events(service))
            for content, message in (
                (b"nonsense", "not the content of a file"),
                (saved(tmp_path, "cascade-ucb1"), "learned with policy"),
                (saved(tmp_path, positions=2), "learned with positions 2"),
                (saved(tmp_path, steps=99), "learned with steps 99"),
                (saved(tmp_path, names=NAMES[::-1]), "in the same order"),
                (saved(tmp_path)[:-40], "not the content of a file"),
            ):
                with pytest.raises(Refused, match=message) as refused:
                    await service.imports.take("front", None, content)
                assert refused.value.field == "/ranker"
            assert len(await events(service)) == before
            await shown(service)
            with pytest.raises(Conflict, match="has a learner already"):
                await service.imports.take("front", None, saved(tmp_path))
            with pytest.raises(Refused, match="no ranking"):
                await service.imports.take("nowhere", None, saved(tmp_path))

    run(go())


def test_a_file_that_is_too_large_is_not_unpacked(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="1,000 are the most"):
        read_learned(saved(tmp_path), 1000)


def test_other_features_are_refused(tmp_path: Path) -> None:
    async def go() -> None:
        async with at_work(tmp_path / "store.db") as service:
            await front(service, BY_FEATURES)
            await service.items.put("front", [Item(id="item-0", features=[0.3, 0.3, 0.3, 0.3])])
            with pytest.raises(Refused, match="other features"):
                await service.imports.take("front", None, saved(tmp_path, BY_FEATURES))

    run(go())


def test_another_policy_begins_without_it_and_the_same_one_with_it(tmp_path: Path) -> None:
    """A change of the policy makes new learners from the log: a belief of another policy is of no use to them."""

    async def go() -> None:
        async with at_work(tmp_path / "store.db") as service:
            await front(service, count=0)
            await service.imports.take("front", None, saved(tmp_path))
            for _ in range(5):
                await tell(service, await shown(service), 1, final=True)
            await service.rankings.change("front", RankingChange(seed=9))
            assert (await service.queries.estimates("front", None)).learned == 45
            assert check(tmp_path / "store.db", await service.beliefs()) == []
            await service.rankings.change("front", RankingChange(policy="cascade-ucb1"))
            assert (await service.queries.estimates("front", None)).learned == 5
            assert check(tmp_path / "store.db", await service.beliefs()) == []
            await service.rankings.change("front", RankingChange(policy=ITEM_WISE, train=False))
            assert (await service.queries.estimates("front", None)).learned == 0
            assert check(tmp_path / "store.db", await service.beliefs()) == []

    run(go())


def test_a_damaged_belief_is_noticed(tmp_path: Path) -> None:
    event = ImportedEvent.of(read_learned(saved(tmp_path), 1 << 20), "")
    flipped = bytes([event.belief[0] ^ 1]) + event.belief[1:]
    with pytest.raises(ValueError, match="damaged"):
        ImportedEvent(flipped, event.digest, event.learned).state()
    assert np.array_equal(event.state().arrays["examined"], np.arange(8))
