"""Cascade-like models at the edge of their parameters."""

import numpy as np

from toplist.logs import ClickLog, fit_model


def test_a_certain_termination_leaves_the_errors_of_the_others() -> None:
    """All visitors leave after a click: terminations are 1, on the boundary, and attraction still has errors."""
    clicked: list[list[int]] = [[1], [2], [3], [], [1]] * 20
    log = ClickLog.from_lists(
        ["q"] * 100, [["a", "b", "c"], ["b", "c", "a"], ["c", "a", "b"], ["b", "a", "c"]] * 25, clicked
    )
    fitted = fit_model(log, "dcm", priors={})
    assert (fitted.shared.value[0, :2] == 1.0).all()
    assert np.isfinite(fitted.own.error).all()
