"""Training from a log: what a policy learns is what it would have learned from the same lists on the page."""

from __future__ import annotations

import random
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from toplist import Ranker, train
from toplist.core.beliefs import array_bytes
from toplist.logs import ClickLog, read_log
from toplist.support.progress import Progress
from toplist.training import list_columns, query_lists

ITEMS = [f"item {number}" for number in range(7)]
RATES = dict(zip(ITEMS, (0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.05), strict=True))
ROWS = {item: [0.5, number / 10.0] for number, item in enumerate(ITEMS)}


def clicks_on(items: Any, chance: random.Random) -> list[int]:
    return [place for place, item in enumerate(items, 1) if chance.random() < RATES[item]]


def random_log(lists: int = 300, queries: int = 3, seed: int = 1) -> ClickLog:
    chance = random.Random(seed)
    shown = [chance.sample(ITEMS, chance.choice([2, 3, 4])) for _ in range(lists)]
    return ClickLog.from_lists(
        [f"q{chance.randrange(queries)}" for _ in range(lists)], shown, [clicks_on(each, chance) for each in shown],
        time=[chance.random() for _ in range(lists)],
    )  # fmt: skip


@pytest.mark.parametrize(
    "policy",
    [
        "dcm-ts", "cascade-kl-ucb", "cascade-swucb(tau=20)", "cascade-ducb(gamma=0.9)", "pbm-ts", "last-click",
        "cascade-kl-ucb-resetting", "cascade-lin-ts", "cascade-lsb", "exploring(policy='dcm-ts', share=0.3)",
    ],
)  # fmt: skip
def test_a_policy_learns_from_its_own_log_what_it_learned_on_the_page(policy: str) -> None:
    """To the last bit, and the next list is the same."""
    chance = random.Random(4)
    features = ROWS if policy in ("cascade-lin-ts", "cascade-lsb") else None
    lived = Ranker(ITEMS, 3, policy, seed=5, features=features, steps=500, compiled=False)
    shown, clicked = [], []
    for number in range(150):
        made = lived.rank(positions=3 if number % 4 else 2)
        clicks = clicks_on(made.items, chance)
        lived.learn(made, clicks)
        shown.append(list(made.items))
        clicked.append(clicks)
    log = ClickLog.from_lists(["q"] * 150, shown, clicked, time=list(range(150)))
    trained = train(log, policy, items=ITEMS, features=features, steps=500, seed=5, compiled=False).ranker
    assert array_bytes(trained.belief) == array_bytes(lived.belief)
    assert trained.learned == lived.learned
    assert trained.rank().items == lived.rank().items
    if trained.capabilities.detects:
        assert trained.changes().rows() == lived.changes().rows()


def test_compiled_code_learns_the_same() -> None:
    log = random_log()
    for policy in ("dcm-ts", "cascade-kl-ucb"):
        quick, plain = (train(log, policy, compiled=compiled) for compiled in (True, False))
        for query in plain:
            assert array_bytes(quick[query].belief) == array_bytes(plain[query].belief)


def test_counts_of_cascade_and_dcm_are_plain_counts() -> None:
    """Examined down to the first click, or to the last, or everything without a click; counted one by one."""
    log = random_log()
    for policy, reads_to in (("cascade-kl-ucb", min), ("dcm-kl-ucb", max)):
        examined: dict[Any, float] = defaultdict(float)
        clicked: dict[Any, float] = defaultdict(float)
        for row in range(len(log)):
            begin, end = int(log.start[row]), int(log.start[row + 1])
            places = np.flatnonzero(log.click[begin:end]).tolist()
            last = reads_to(places) + 1 if places else end - begin
            for place in range(last):
                pair = log.queries[int(log.query[row])], log.items[int(log.item[begin + place])]
                examined[pair] += 1
                clicked[pair] += int(log.click[begin + place])
        found = train(log, policy)
        assert found.lists == len(log)
        for query, ranker in found.items():
            for known in ranker.estimates().rows():
                assert known["examined"] == examined[query, known["item"]]
                if known["examined"]:
                    assert known["mean"] == pytest.approx(clicked[query, known["item"]] / known["examined"], abs=1e-12)


def test_lists_are_learned_in_the_order_of_their_times() -> None:
    """A window of 40 lists holds the latest ones, wherever they stand in the log."""
    log = random_log(120, queries=1)
    ranker = train(log, "cascade-swucb(tau=40)", items=ITEMS).ranker
    assert log.time is not None
    latest = log.take(np.argsort(log.time, kind="stable")[-40:])
    again = train(latest, "cascade-kl-ucb", items=ITEMS).ranker
    assert {row["item"]: row["examined"] for row in ranker.estimates().rows()} == {
        row["item"]: row["examined"] for row in again.estimates().rows()
    }


@pytest.mark.parametrize(
    ("policy", "reason"),
    [
        ("top-rank", "learns from its own lists only"), ("batch-rank", "learns from its own lists only"),
        ("bubble-rank", "learns from its own lists only"), ("ranked-exp3", "learns from its own lists only"),
        ("ranked-kl-ucb", "learns from its own lists only"), ("random", "does not learn from clicks"),
        ("cascade-lin-ts", "learns from features"),
    ],
)  # fmt: skip
def test_others_refuse_with_the_reason(policy: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        train(random_log(5), policy)


def test_lists_are_cut_left_out_and_repeated() -> None:
    log = ClickLog.from_lists(
        ["q", "q", "r"], [["a", "b", "c"], ["a", "d"], ["a", "b"]], [[3], [1], [2]], weights=[2.0, 1.0, 1.0]
    )
    found = train(log, "cascade-ucb1", positions=2, items=["a", "b", "c"])
    assert (found.lists, found.cut, found.skipped) == (3, 1, 1)
    assert found["q"].learned == 2
    assert found["q"].estimates()["a"]["examined"] == 2
    assert found["q"].estimates()["c"]["examined"] == 0, "below the second position"
    assert "1 list cut" in str(found)
    assert "1 list left out" in str(found)
    rare = train(log, "cascade-ucb1", min_lists=2)
    assert (list(rare), rare.rare) == (["q"], 1)
    with pytest.raises(ValueError, match="parts of a list"):
        train(ClickLog.from_lists(["q"], [["a"]], [[]], weights=[0.5]), "cascade-ucb1")


def test_one_query_or_all_together() -> None:
    log = random_log()
    each = train(log, "dcm-kl-ucb")
    one = train(log, "dcm-kl-ucb", query="q1")
    assert list(one) == ["q1"]
    assert array_bytes(one.ranker.belief) == array_bytes(each["q1"].belief)
    together = train(log, "dcm-kl-ucb", together=True).ranker
    assert together.learned == sum(ranker.learned for ranker in each.values())
    with pytest.raises(ValueError, match="3 rankers, one per query"):
        each.ranker.rank()
    with pytest.raises(ValueError, match="no lists of the query 'x'"):
        train(log, "dcm-ts", query="x")
    with pytest.raises(ValueError, match="query and together"):
        train(log, "dcm-ts", query="q1", together=True)
    with pytest.raises(ValueError, match="together is 'false', but must be True or False"):
        train(log, "dcm-ts", together="false")  # type: ignore[arg-type]


def test_why_no_list_can_be_learned_from(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text('{"items": ["a", "a"], "clicked": [1]}\n' * 2)
    reason = r"no lists that can be used, .* 2 skipped: an item is twice in the list .* correct these lines"
    with pytest.raises(ValueError, match=reason):
        train(path)
    with pytest.raises(ValueError, match=reason):
        train(read_log(path))


def test_what_was_in_view_and_where_the_visitor_left_count() -> None:
    log = ClickLog.from_lists(["q"] * 3, [["a", "b", "c"]] * 3, [[1], [], []])
    view = np.array([1.0, 1.0, 0.0, 1.0, 0.5, 0.0, np.nan, 1.0, 1.0])
    log = ClickLog(log.queries, log.items, log.query, log.start, log.item, log.click, seen=view)
    ranker = train(log, "dcm-kl-ucb").ranker
    by_hand = Ranker(["a", "b", "c"], 3, "dcm-kl-ucb", compiled=False)
    by_hand.learn(by_hand.adopt(["a", "b", "c"]), [1], seen=[1, 2])
    by_hand.learn(by_hand.adopt(["a", "b", "c"]), [], seen={1: 1.0, 2: 0.5})
    by_hand.learn(by_hand.adopt(["a", "b", "c"]), [])
    assert array_bytes(ranker.belief) == array_bytes(by_hand.belief)


def test_a_large_log_is_kept_in_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A log in parts, some of them on disk, teaches the same; the files are gone afterwards."""
    log, places = random_log(), []
    parts = [log.take(np.arange(begin, min(begin + 40, len(log)))) for begin in range(0, len(log), 40)]
    monkeypatch.setattr(list_columns, "IN_MEMORY", 200)
    monkeypatch.setattr(query_lists, "PART", 16)
    with list_columns.ListColumns(parts, folder=tmp_path) as kept:
        places = list(tmp_path.iterdir())
        assert isinstance(kept.log.item, np.memmap)
        assert len(places) == 1
        found = train(kept.log, "cascade-swucb(tau=20)")
    assert not places[0].exists()
    again = train(log, "cascade-swucb(tau=20)")
    assert list(found) == list(again)
    for query in again:
        assert array_bytes(found[query].belief) == array_bytes(again[query].belief)


def test_an_interrupted_training_goes_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Interrupted in the middle of a query, and between two; the rankers are the same, and nothing is learned twice."""
    log, seen = random_log(), []
    monkeypatch.setattr(query_lists, "PART", 16)

    def interrupt(progress: Progress) -> None:
        seen.append(progress.done)
        if len(seen) in (3, 12):
            raise KeyboardInterrupt

    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            train(log, "dcm-ts", folder=tmp_path / "out", progress=interrupt)
    found = train(log, "dcm-ts", folder=tmp_path / "out", progress=interrupt)
    assert seen[-1] == len(log)
    assert seen[3] > seen[2], "it goes on behind what it had"
    whole = train(log, "dcm-ts")
    assert found.lists == whole.lists == len(log)
    for query in whole:
        assert array_bytes(found[query].belief) == array_bytes(whole[query].belief)
        assert found[query].learned == whole[query].learned
    names = ["q0.npz", "q1.npz", "q2.npz", "rankers.jsonl", "train.json"]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == names
    with pytest.raises(ValueError, match="rankers of another training: its positions is 4"):
        train(log, "dcm-ts", positions=2, folder=tmp_path / "out")


def test_a_list_of_the_log_is_checked_before_anything_is_learned() -> None:
    ranker = Ranker(["a", "b", "c"], 2, "dcm-ts", compiled=False)
    for wrong, message in (
        ({"start": [0, 3], "item": [0, 1, 2], "click": [0, 0, 0]}, "at most 2 items"),
        ({"start": [0, 2], "item": [0, 0], "click": [0, 0]}, "an item twice"),
        ({"start": [0, 2], "item": [0, 3], "click": [0, 0]}, "numbers from 0 to 2"),
        ({"start": [0, 2], "item": [0, 1], "click": [0, 2]}, "0 or 1"),
        ({"start": [0, 1], "item": [0, 1], "click": [0, 0]}, "up to 2"),
        ({"start": [0, 2], "item": [0, 1], "click": [0, 0], "left": [3]}, "a position of each list"),
        ({"start": [0, 2], "item": [0, 1], "click": [0, 0], "seen": [0.5, 2.0]}, "between 0 and 1"),
    ):
        with pytest.raises(ValueError, match=message):
            ranker.learn_log(["a", "b", "c"], **wrong)
    assert ranker.learned == 0
    with pytest.raises(ValueError, match="own lists only"):
        Ranker(["a", "b"], 2, "top-rank", steps=10, compiled=False).learn_log(["a"], [0, 1], [0], [0])
