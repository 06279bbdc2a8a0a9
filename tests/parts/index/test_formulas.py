"""UCB1, the greedy mean, the uniform shuffle and Exp3's draw, against their formulas."""

import math
from collections import Counter
from typing import Any

import numpy as np
import pytest

from toplist.core.problem import Problem
from toplist.core.slate import Request, empty_slate
from toplist.parts.index import UCB1, Chance, ExploringDraw, Greedy
from toplist.parts.memory import Everything, ExponentialWeights

PROBLEM = Problem(6, 3, 0, 1000)
NOTHING = np.zeros(0, dtype=np.int64)


def top(
    index: Any, belief: Any, key: int = 1, candidates: Any = None, wanted: int = 3
) -> tuple[list[int], list[float]]:
    index = index.prepare(PROBLEM)
    some = np.arange(6) if candidates is None else np.array(candidates)
    request = Request(some, wanted, NOTHING, NOTHING, np.zeros((6, 0)), 0, np.arange(6), key)
    chosen, scores = np.full(wanted, -1), np.zeros(wanted)
    index.top(belief, index.scratch(PROBLEM), request, chosen, scores)
    return chosen.tolist(), scores.tolist()


def counts(clock: float = 100.0) -> Any:
    belief = Everything().prepare(PROBLEM).begin(PROBLEM)
    belief.examined[:] = [10, 20, 5, 40, 8, 30]
    belief.clicked[:] = [3, 9, 0, 12, 8, 1]
    belief.clock[0] = clock
    return belief


@pytest.mark.parametrize("candidates", [None, [0, 2, 3, 5], [1, 4, 5]])
def test_ucb1_is_mean_plus_radius(candidates: list[int] | None) -> None:
    belief = counts()
    index = {
        item: belief.clicked[item] / belief.examined[item] + math.sqrt(1.5 * math.log(100) / belief.examined[item])
        for item in candidates or range(6)
    }
    wanted = sorted(index, key=lambda item: -index[item])[:3]
    chosen, scores = top(UCB1(), belief, candidates=candidates)
    assert chosen == wanted
    assert scores == pytest.approx([index[item] for item in wanted])


def test_ucb1_has_no_radius_before_the_second_list() -> None:
    assert top(UCB1(), counts(clock=0.0))[0][0] == 4
    assert top(UCB1(), counts(clock=0.0))[1] == pytest.approx([1.0, 0.45, 0.3])


def test_greedy_is_the_mean_and_never_seen_goes_first() -> None:
    belief = counts()
    assert top(Greedy(), belief)[1] == pytest.approx([1.0, 0.45, 0.3])
    belief.examined[2] = 0.0
    for index in (Greedy(), UCB1()):
        chosen, scores = top(index, belief)
        assert chosen[0] == 2
        assert scores[0] == math.inf


def test_a_prior_counts_like_observations() -> None:
    belief = Everything(prior_mean=0.25, prior_strength=8).prepare(PROBLEM).begin(PROBLEM)
    assert top(Greedy(), belief)[1] == [0.25, 0.25, 0.25]


def test_chance_makes_every_list_equally_often() -> None:
    draws = 12_000
    seen = Counter(tuple(top(Chance(), counts(), key)[0]) for key in range(draws))
    assert len(seen) == 120
    assert all(abs(count / draws - 1 / 120) < 5 * math.sqrt(1 / 120 / draws) for count in seen.values())


def test_exp3_draws_with_its_probabilities() -> None:
    memory = ExponentialWeights(exploration=0.3).prepare(PROBLEM)
    belief = memory.begin(PROBLEM)
    belief.logarithm[:] = [0.0, 1.0, 2.0, 0.5, -1.0, 700.0 - 698.5]
    weights = np.exp(belief.logarithm)
    wanted = 0.7 * weights / weights.sum() + 0.3 / 6
    draws = 20_000
    seen: Counter[int] = Counter()
    for key in range(draws):
        (item,), (probability,) = top(ExploringDraw(), belief, key, wanted=1)
        assert probability == pytest.approx(wanted[item])
        seen[item] += 1
    for item in range(6):
        assert abs(seen[item] / draws - wanted[item]) < 4.5 * math.sqrt(wanted[item] * (1 - wanted[item]) / draws)


def test_exp3_learns_by_its_formula() -> None:
    memory = ExponentialWeights().prepare(PROBLEM)
    gamma = min(1.0, math.sqrt(6 * math.log(6) / ((math.e - 1) * 1000)))
    assert memory.exploration == pytest.approx(gamma)
    belief, slate = memory.begin(PROBLEM), empty_slate(3, memo=3)
    slate.memo[1] = [4, 0.2, 6]
    memory.add(belief, 4, 1.0, 1.0, slate, 1)
    memory.add(belief, 4, 1.0, 0.0, slate, 1)
    assert belief.logarithm.tolist() == pytest.approx([0, 0, 0, 0, gamma / (0.2 * 6), 0])


def test_exp3_without_a_horizon_says_so() -> None:
    with pytest.raises(ValueError, match="number of steps is unknown; give exploration a number"):
        ExponentialWeights().prepare(Problem(6, 3))
