"""Curves that grow side by side are those of `simulate`, to the last bit."""

import numpy as np
import pytest

import toplist
from toplist.engine.side_by_side import play_side_by_side

POLICIES = ["cascade-ucb1", "dcm-ts", "random"]


@pytest.mark.parametrize(
    "world",
    [
        "fixed(attraction=[0.5, 0.4, 0.3, 0.2, 0.1, 0.05], positions=3)",
        "piecewise(attraction=[[0.5, 0.4, 0.1, 0.1], [0.1, 0.1, 0.4, 0.5]], positions=2, breakpoints=[30])",
    ],
)
def test_the_numbers_are_those_of_simulate(world: str) -> None:
    begun: list[str] = []
    points = list(play_side_by_side(POLICIES, world, "dcm", 120, 3, 5, checkpoints=7, on_policy=begun.append))
    result = toplist.simulate(POLICIES, world, "dcm", steps=120, runs=3, seed=5, checkpoints=7)
    assert begun == POLICIES
    assert [point.step for point in points] == result.checkpoints.tolist()
    for policy in POLICIES:
        regret = np.column_stack([point.curves[policy][:, 0] for point in points])
        clicks = np.column_stack([point.curves[policy][:, 1] for point in points])
        assert regret.tobytes() == np.ascontiguousarray(result.regret[policy]).tobytes()
        assert clicks.tobytes() == np.ascontiguousarray(result.clicks[policy]).tobytes()
