"""Which assumptions of a policy do not hold on a problem: clicks, positions, attraction, change and features."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from toplist.leaderboard import Contender, SuiteProblem, field_of, read_suite, read_tuned
from toplist.leaderboard.assumptions import (
    DESCENDING,
    FIRST,
    assumptions_of,
    attraction_alone,
    facts_of,
    kind_of_attraction,
)
from toplist.policies import make
from toplist.worlds import Fixed

ROOT = Path(__file__).resolve().parents[2]
SUITE = {problem.name: problem for problem in read_suite().problems}
OUT_OF_ORDER, OTHERS = "positions out of order", "other examination probabilities"


def violated(policy: str, problem: SuiteProblem) -> tuple[str, ...]:
    return Contender(policy, {"": make(policy)}).violated(problem)


@pytest.mark.parametrize(
    ("policy", "problem", "wanted"),
    [
        ("cascade-ucb1", "cascade-16", ()),
        ("cascade-ucb1", "dcm-16", ("dcm clicks",)),
        ("dcm-kl-ucb", "dcm-16", ()),
        ("dcm-kl-ucb", "dcm-jumping", ("change",)),
        ("dcm-kl-ucb-resetting", "dcm-jumping", ()),
        # Restarts, windows and discounts are for tastes that break; no policy is for a drift of each item.
        ("dcm-kl-ucb-resetting", "cascade-drifting", ("drift",)),
        ("glrt-cascade-ucb", "cascade-drifting", ("drift",)),
        ("glrt-cascade-kl-ucb", "pbm-drifting", ("pbm clicks", "drift")),
        ("cascade-swucb", "cascade-drifting", ("drift",)),
        ("cascade-ducb", "cascade-drifting", ("drift",)),
        ("cascade-swucb", "cascade-breaking", ()),
        ("cascade-ucb1", "cascade-drifting", ("change",)),
        ("cascade-ts", "contextual-20-dcm", ("dcm clicks", "features")),
        ("random", "cascade-jumping", ()),
        ("grab", "pbm-32", ()),
        ("grab", "cascade-16", ("cascade clicks",)),
        ("top-rank", "ubm-16-spread", ()),
        # The middle position is the most examined; only GRAB and one bandit per position do not mind.
        ("grab", "pbm-16-middle", ()),
        ("ranked-kl-ucb", "pbm-16-middle", ()),
        ("pb-mhb", "pbm-16-middle", (OUT_OF_ORDER,)),
        ("pmed", "pbm-16-middle", (OUT_OF_ORDER,)),
        ("top-rank", "pbm-16-middle", (OUT_OF_ORDER,)),
        ("batch-rank", "pbm-16-middle", (OUT_OF_ORDER,)),
        ("bubble-rank", "pbm-16-middle", (OUT_OF_ORDER,)),
        ("uni-rank", "pbm-16-middle", (OUT_OF_ORDER,)),
        ("pb-mhb", "pbm-16-spread", ()),
        ("pmed", "pbm-16-spread", ()),
        # Told 1, 1/2, 1/3 and so on, which is right up to the digits of the suite, or wrong.
        ("pbm-ts", "pbm-16-spread", ()),
        ("pbm-ts", "pbm-16-middle", (OTHERS,)),
        ("pbm-ts", "pbm-32", (OTHERS,)),
        ("pbm-pie", "pbm-32", (OTHERS,)),
        ("pbm-ucb", "pbm-32", (OTHERS,)),
        ("pbm-ts(examination=[1.0, 0.6, 0.36, 0.216])", "pbm-32", ()),
        ("pbm-pie(examination=[1.0, 0.6, 0.36, 0.216])", "pbm-32", ()),
        ("pbm-ts", "dcm-16", ("dcm clicks",)),
        ("uni-rank", "cascade-16", ("equal attractions",)),
        ("uni-rank", "cascade-16-spread", ()),
        # What attraction is made of.
        ("recur-rank", "contextual-50-fixed", ("logistic attraction",)),
        ("recur-rank", "topics-12", ("topic attraction",)),
        ("cascade-lin-ucb", "contextual-20", ("logistic attraction",)),
        ("c3-ucb", "contextual-20", ("logistic attraction",)),
        ("lin-ts-cascade", "topics-12", ("topic attraction",)),
        ("cascade-lin-ucb", "topics-12", ("topic attraction",)),
        ("c3-ucb", "topics-12-dcm", ("dcm clicks", "topic attraction")),
        ("gl-cdcm", "contextual-20", ()),
        ("lr-sgd", "contextual-20-dcm", ()),
        ("gl-cdcm", "topics-12", ("topic attraction",)),
        ("cascade-lsb", "contextual-20", ("logistic attraction",)),
        ("cascade-hybrid", "contextual-20", ("logistic attraction",)),
        ("cascade-lsb", "topics-12", ()),
        ("cascade-hybrid", "topics-12", ()),
        ("dcm-lsb", "topics-12-dcm", ()),
        ("lsb-greedy", "topics-12", ("cascade clicks",)),
    ],
)  # fmt: skip
def test_violated_assumptions_are_named(policy: str, problem: str, wanted: tuple[str, ...]) -> None:
    assert violated(policy, SUITE[problem]) == wanted


def test_the_facts_of_a_problem_are_those_of_its_world_and_users() -> None:
    middle = facts_of(SUITE["pbm-16-middle"])
    assert (middle.positions, middle.examination, middle.distinct) == ((), (0.6, 1.0, 0.8, 0.3), True)
    world = "fixed(attraction=[0.3, 0.2, 0.1, 0.2], positions=3)"
    later = facts_of(SuiteProblem("later", "pbm", world, "pbm(examination=[1.0, 0.2, 0.5])"))
    assert (later.positions, later.distinct) == ((FIRST,), False)
    last = facts_of(SuiteProblem("last", "dcm", world, "dcm(termination=[0.2, 0.5, 1.0])"))
    assert last.positions == ()
    assert violated("dcm-ts", SuiteProblem("last", "dcm", world, "dcm(termination=[0.2, 0.5, 1.0])")) == (OUT_OF_ORDER,)
    assert facts_of(SUITE["contextual-20-dcm"]).positions == (FIRST, DESCENDING)  # policies are told the order


@pytest.mark.parametrize("title", ["on every problem", "on problems with features"])
def test_the_published_board_counts_the_problems_that_violate(title: str) -> None:
    """The tables of docs/leaderboard.md: how many policies are ranked, and on how many problems each is violated."""
    suite = read_suite()
    problems = [problem for problem in suite.problems if problem.features or title == "on every problem"]
    policies = {each.label: each for each in field_of(read_tuned(None, suite).policies, {}, [])}
    ranked = [each for each in policies.values() if all(map(each.plays, problems))]
    text = (ROOT / "docs" / "leaderboard.md").read_text().partition("<!-- end of the result -->")[0]
    first, there, table = re.search(rf"The first (\d+) of (\d+) {title}:\n\n(.*?)\n\n", text, re.DOTALL).groups()  # type: ignore[union-attr]
    assert int(there) == len(ranked)
    rows = re.findall(r"\| `([^`]+)` \|.*\| (\d+) of (\d+) \|", table)
    assert len(rows) == int(first)
    for label, violating, all_of_them in rows:
        assert int(all_of_them) == len(problems)
        assert int(violating) == sum(bool(policies[label].violated(problem)) for problem in problems), label


def test_weights_of_features_may_drift() -> None:
    """D-LinUCB, whose memory `cascade-lsb-discounted` has, assumes no breaks."""
    assert not assumptions_of(make("cascade-lsb-discounted"), 2).breaks
    assert assumptions_of(make("cascade-kl-ucb-cusum"), 2).breaks
    assert not assumptions_of(make("cascade-kl-ucb"), 2).breaks


def test_attraction_on_a_line_in_given_features_is_linear() -> None:
    known = [[1.0, 0.0], [0.5, 0.5], [0.0, 1.0], [0.2, 0.4]]

    def kind(attraction: list[float], features: Any = known) -> str:
        world = Fixed(attraction, 2, features).checked()
        return kind_of_attraction(world, world.begin(), attraction_alone(world, world.begin(), 4))

    assert kind([0.4, 0.3, 0.2, 0.16]) == "linear"
    assert kind([0.4, 0.1, 0.2, 0.16]) == kind([0.4, 0.3, 0.2, 0.16], ()) == "item"
    assert assumptions_of(make("cascade-lin-ucb"), 2).attraction == "linear"
    assert assumptions_of(make("recur-rank"), 2).attraction == "linear"


def test_a_policy_of_a_class_of_its_own_is_not_accused_of_what_is_unknown() -> None:
    class Mine:
        def capabilities(self) -> Any:
            return make("gl-cdcm").capabilities()

    assert Contender("mine", {"": Mine()}, own=True).violated(SUITE["topics-12"]) == ()
