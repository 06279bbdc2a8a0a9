"""Which assumptions of a policy do not hold on a problem: clicks, positions, attraction, change and features."""

from __future__ import annotations

from typing import Any

import pytest

from toplist.leaderboard import Contender, SuiteProblem, read_suite
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
