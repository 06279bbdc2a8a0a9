"""A ranker with a log: lists reopened from it, and equal bytes for equal states."""

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from ranker_cases import ONE_OF_A_KIND, features_for

from toplist import InvalidInput
from toplist.core.beliefs import array_bytes
from toplist.ranker import AlreadyLearned, LoggedRanker, Record
from toplist.ranker.logged_ranker import NO_LIMIT

ITEMS = [f"item {n}" for n in range(6)]


def fresh(policy: Any) -> LoggedRanker:
    features = features_for(policy, ITEMS)
    return LoggedRanker(ITEMS, 3, policy, 5, open_slates=NO_LIMIT, name="here", compiled=False, **features)


def play(ranker: LoggedRanker, log: list[Any], lists: int) -> None:
    """Make lists, learn most of them late, and change the items if the policy can."""
    waiting: list[Any] = []
    for number in range(lists):
        items, record = ranker.make()
        log.append(("list", items, record))
        waiting.append(record)
        if number % 3 == 2:
            for late in reversed(waiting[:2]):
                ranker.settle(late, clicks=[1 + number % 3])
                log.append(("learn", late, [1 + number % 3]))
            ranker.drop(waiting[2].number)
            log.append(("drop", waiting[2].number))
            waiting.clear()
        if number == 7 and ranker.capabilities.adds_items:
            ranker.remove("item 2")
            ranker.add("item 9", **features_for(ranker.policy, ["item 9"]))
            ranker.hide("item 1")
            log.append(("items",))


def replay(ranker: LoggedRanker, log: list[Any]) -> None:
    for kind, *what in log:
        if kind == "list":
            ranker.recall(*what)
        elif kind == "learn":
            ranker.settle(what[0], clicks=what[1])
        elif kind == "drop":
            ranker.drop(what[0])
        else:
            ranker.remove("item 2")
            ranker.add("item 9", **features_for(ranker.policy, ["item 9"]))
            ranker.hide("item 1")


@pytest.mark.parametrize("policy", ONE_OF_A_KIND)
def test_a_replayed_log_gives_the_same_ranker_to_the_last_bit(policy: str) -> None:
    ours, again = fresh(policy), fresh(policy)
    log: list[Any] = []
    play(ours, log, 20)
    replay(again, log)
    assert again.to_bytes() == ours.to_bytes()
    assert again.rank().items == ours.rank().items


@pytest.mark.parametrize("policy", ONE_OF_A_KIND)
def test_a_ranker_restored_from_bytes_is_the_same(policy: str) -> None:
    ours = fresh(policy)
    log: list[Any] = []
    play(ours, log, 11)
    again = LoggedRanker.from_bytes(ours.to_bytes(), policy, "here", compiled=False)
    assert again.to_bytes() == ours.to_bytes()
    for number in range(8):
        here, there = ours.rank(), again.rank()
        assert here.items == there.items
        ours.learn(here, clicks=[1 + number % 3])
        again.learn(there, clicks=[1 + number % 3])
    opened = log[-1] if log[-1][0] == "list" else log[-2]
    for ranker in (ours, again):  # an earlier list, which only the log has
        ranker.learn(ranker.recall(*opened[1:]), clicks=[2])
        with pytest.raises(AlreadyLearned):
            ranker.learn(ranker.recall(*opened[1:]), clicks=[2])
    assert again.to_bytes() == ours.to_bytes()


def test_lists_of_another_policy_are_learned_as_adopted_ones() -> None:
    old, new, same = fresh("cascade-ucb1"), fresh("cascade-kl-ucb"), fresh("cascade-kl-ucb")
    for number in (0, 1, 4):  # a log may lack some
        shown = old.rank()
        new.learn(new.take_over(shown.items, number), clicks=[1])
        same.learn(same.adopt(shown.items), clicks=[1])
    assert array_bytes(new.belief) == array_bytes(same.belief)
    assert new.rank().number == 5
    with pytest.raises(InvalidInput, match="learns from its own lists only"):
        fresh("top-rank(delta=0.1)").take_over(ITEMS[:3], 0)


def test_bytes_are_small_and_damage_is_noticed() -> None:
    many = LoggedRanker([f"article-{n}" for n in range(1000)], 10, "cascade-kl-ucb", compiled=False)
    kept = many.to_bytes()
    assert len(kept) < 10_000
    for damaged in (b"", b"nonsense", kept[:100], kept[:-1] + b"x"):
        with pytest.raises(InvalidInput, match="use an older copy"):
            LoggedRanker.from_bytes(damaged, "cascade-kl-ucb", "here")


def test_a_record_has_the_features_that_the_list_was_made_with() -> None:
    ours = fresh("cascade-lin-ucb")
    items, record = ours.make()
    assert isinstance(record, Record)
    rows = np.frombuffer(record.rows).reshape(3, -1)
    assert rows.shape == (3, 12)
    ours.change(items[0], features=[0.5] * 12)
    assert (ours.recall(items, record).slate.rows == rows).all()


@pytest.mark.parametrize("policy", ONE_OF_A_KIND)
def test_one_slate_for_all_lists_gives_the_same_as_one_for_each(policy: str) -> None:
    """Lists, records and beliefs equal those of a ranker that makes a new slate and page each time."""
    ours, theirs = fresh(policy), fresh(policy)
    subsets = ours.capabilities.takes_subsets
    for number in range(30):
        asked: dict[str, Any] = {"positions": 1 + number % 3} if subsets else {}
        items, record = ours.make(**asked)
        shown = theirs.rank(**asked)
        assert tuple(items) == shown.items
        assert (theirs.recall(items, record).slate.memo == shown.slate.memo).all()
        page: dict[str, Any] = {"clicks": [len(items)] if number % 4 else []}
        if number % 5 == 0:
            page["left"] = len(items)
        if number % 7 == 0:
            page["seen"] = {1: 0.5}
        ours.settle(record, **page)
        theirs.learn(shown, **page)
    assert ours.to_bytes() == theirs.to_bytes()


@pytest.mark.parametrize(
    "wrong", [{"slots": (0, 1, 6)}, {"slots": (0, 1, -1)}, {"slots": (0, 1, 2, 3)}, {"memo": b"x"}]
)
def test_a_foreign_record_is_refused_before_anything_is_written(wrong: dict[str, Any]) -> None:
    ours = fresh("cascade-kl-ucb")
    _, record = ours.make()
    before = ours.to_bytes()
    with pytest.raises(InvalidInput, match="List 0 of the log was not made by here"):
        ours.settle(record._replace(**wrong), clicks=[1])
    assert ours.to_bytes() == before


def test_a_pickled_or_copied_ranker_has_the_same_bytes() -> None:
    ranker = fresh("cascade-ucb1")
    play(ranker, [], 20)
    for again in (pickle.loads(pickle.dumps(ranker)), copy.deepcopy(ranker)):
        assert type(again) is LoggedRanker
        assert again.to_bytes() == ranker.to_bytes()
    assert again.make() == ranker.make()


@pytest.mark.parametrize("policy", [policy for policy in ONE_OF_A_KIND if fresh(policy).capabilities.adds_items])
@pytest.mark.parametrize("own_counts", [False, True])
def test_items_changed_together_or_one_by_one_give_equal_bytes(policy: Any, own_counts: bool) -> None:
    def changed(step: int) -> bytes:
        """Items that take the places of others, and make it grow; `step` of them at a time."""
        ranker = fresh(policy)
        if own_counts:
            ranker.keep_own_counts()
        for turn in range(3):
            _, record = ranker.make()
            ranker.settle(record, clicks=[1])
            _, open_record = ranker.make()
            names = [f"new {turn} {n}" for n in range(12)]
            groups = [names[n : n + step] for n in range(0, len(names), step)]
            for some in groups:
                ranker.add(some, **features_for(policy, some))
            for some in groups[: len(groups) // 2]:
                ranker.hide(some)
            for some in groups:
                ranker.remove(some)
            ranker.settle(open_record, clicks=[2])
        return ranker.to_bytes()

    assert changed(1) == changed(4) == changed(12)


def test_plain_lists_follow_every_change_of_the_items() -> None:
    def made() -> LoggedRanker:
        rows = {name: [float(n == place) for place in range(3)] for n, name in enumerate("abc")}
        return LoggedRanker(
            list("abc"), 2, "cascade-lin-ucb", seed=3, features=rows, open_slates=NO_LIMIT, compiled=False
        )

    plain, asked = made(), made()  # the second is asked in a way that remembers nothing of the last list
    changes: list[Callable[[LoggedRanker], object]] = [
        lambda ranker: ranker.hide("a"),
        lambda ranker: ranker.add(
            ["d", "e"], features={"d": [0.0, 0.0, 1.0], "e": [1.0, 0.0, 0.0]}
        ),  # more than there was room for
        lambda ranker: ranker.remove("b"),
        lambda ranker: ranker.unhide("a"),
        lambda ranker: ranker.change("d", [0.5, 0.5, 0.0]),
    ]
    for change in (lambda _: None, *changes):
        change(plain)
        change(asked)
        for positions in (1, 2, None):
            lists = [plain.make(positions=positions), asked.make(positions=positions, exclude=())]
            assert lists[0] == lists[1]
            for ranker, (_, record) in zip((plain, asked), lists, strict=True):
                ranker.settle(record, clicks=[1])
