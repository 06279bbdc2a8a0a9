"""Replay of policies that go on learning, against a loop written out, and of frozen ones."""

import numpy as np
import pytest

from toplist import Ranker
from toplist.evaluation import evaluate
from toplist.evaluation.logged_lists import LoggedLists
from toplist.evaluation.replay import replay_learning
from toplist.logs import ClickLog

NAMES = ["a", "b", "c"]
ATTRACTION = {"a": 0.1, "b": 0.7, "c": 0.3}


def uniform_log(lists: int, seed: int, propensities: bool = True) -> ClickLog:
    rng = np.random.default_rng(seed)
    shown = [[NAMES[item] for item in rng.permutation(3)[:2]] for _ in range(lists)]
    clicked = [[place + 1 for place, item in enumerate(row) if rng.random() < ATTRACTION[item]] for row in shown]
    given = [[1 / 3, 1 / 2]] * lists if propensities else None
    return ClickLog.from_lists(["q"] * lists, shown, clicked, propensities=given, time=rng.permutation(lists).tolist())


def fresh() -> Ranker:
    return Ranker(NAMES, positions=2, policy="cascade-kl-ucb", compiled=False, name="one")


def test_a_learning_policy_learns_from_lists_that_match_in_the_order_of_time() -> None:
    log = uniform_log(300, 1)
    slow, earned = fresh(), []
    assert log.time is not None
    for row in np.argsort(log.time):
        begin, end = log.start[row], log.start[row + 1]
        shown = slow.rank()
        if list(shown.items) == [log.items[code] for code in log.item[begin:end]]:
            slow.learn(shown, clicks=(np.flatnonzero(log.click[begin:end]) + 1).tolist())
            earned.append(int(log.click[begin:end].sum()))
    found = replay_learning(fresh(), LoggedLists.of(log))
    assert found.learned == len(earned) > 20
    assert found.estimate.value == pytest.approx(np.mean(earned))
    answer = evaluate(log, fresh(), learning=True)
    assert answer["replay"].value == pytest.approx(np.mean(earned))
    assert answer["replay"].notes[0] == f"over the first {len(earned)} lists that it learned from"
    assert answer.refused["ips"] == "a policy that goes on learning can be judged by replay only"


def test_prefixes_match_more_lists() -> None:
    log = uniform_log(300, 2)
    whole, upper = replay_learning(fresh(), LoggedLists.of(log)), replay_learning(fresh(), LoggedLists.of(log), True)
    assert upper.learned > 1.5 * whole.learned
    assert upper.match[:, 0].sum() == upper.learned
    assert (upper.match[:, 1] <= upper.match[:, 0]).all()
    lists = LoggedLists.of(log)
    by_place = (upper.match * lists.click).sum(axis=0) / upper.match.sum(axis=0)
    assert upper.estimate.value == pytest.approx(by_place.sum())


def test_the_ranker_that_was_given_stays_as_it_is() -> None:
    given = fresh()
    evaluate(uniform_log(100, 3), given, learning=True)
    assert given.learned == 0


def test_a_frozen_policy_is_replayed_by_its_probabilities() -> None:
    log = uniform_log(400, 4)
    ranker = fresh()
    for _ in range(20):
        ranker.learn(ranker.adopt(["a", "b"]), clicks=["b"])
        ranker.learn(ranker.adopt(["c", "a"]), clicks=[])
        ranker.learn(ranker.adopt(["c", "a"]), clicks=["c"])
    lists = LoggedLists.of(log)
    rows = [[log.items[code] for code in row] == list(ranker.rank().items) for row in lists.item]
    found = evaluate(log, ranker, ["replay", "snips"])
    assert found["replay"].value == pytest.approx(lists.click[rows].sum(axis=1).mean())
    assert found["replay"].value == pytest.approx(found["snips"].value)
    assert found["replay"].effective == pytest.approx(sum(rows))


def test_a_log_must_be_uniform_or_be_said_to_be() -> None:
    log = uniform_log(200, 5, propensities=False)
    assert "has no propensities; say so if they were uniform" in evaluate(log, fresh(), "replay").refused["replay"]
    assert evaluate(log, fresh(), "replay", uniform=True)["replay"].value > 0
    assert "uniform" in evaluate(log, fresh(), "replay", learning=True).refused["replay"]
    assert evaluate(log, fresh(), "replay", learning=True, uniform=True)["replay"].value > 0


def test_nothing_that_matches_is_said() -> None:
    log = ClickLog.from_lists(["q"] * 3, [["x", "y"]] * 3, [[1]] * 3, propensities=[[0.5, 1.0]] * 3)
    found = evaluate(log, fresh(), ["replay", "replay-prefix"])
    assert "no list of the log is one that the policy would have shown" in found.refused["replay"]
    assert "down to its last position" in found.refused["replay-prefix"]


def test_policies_that_learn_from_their_own_lists_only_match_whole_lists() -> None:
    ranker = Ranker(NAMES, positions=2, policy="top-rank", steps=100, compiled=False)
    found = evaluate(uniform_log(200, 6), ranker, ["replay", "replay-prefix"], learning=True)
    assert "replay" in found.estimates
    assert "lists of its own only" in found.refused["replay-prefix"]
