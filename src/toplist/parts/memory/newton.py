"""Newton's method for logistic regression: rows of the history, and a fit that goes on from that of the last list."""

from __future__ import annotations

from toplist.core.compiling import helper, routine
from toplist.core.slate import Floats
from toplist.parts.memory.logit import Logit, click_probability
from toplist.parts.memory.symmetric import add_rows, add_square, dot, invert, mirror, multiply, shrink_inverse

LEAST_STALE, MOST_STALE = 0.01, 0.15  # see `stale_share`
CLOSE = 1e-8  # error of the weights at which a fit ends
MOST_STEPS = 100
FARTHEST = 60.0  # from 0 that theta'x is distinguished: a click probability of 1e-26


@routine
def history_row(belief: Logit, item: int, features: Floats) -> int:
    """The row that counts observations of these features: the item's latest one, or a new one."""
    row = belief.newest[item]
    if row >= 0:
        same = True
        for i in range(len(features)):
            same = same and belief.history[i, row] == features[i]
        if same:
            return int(row)
    row = belief.used[1]
    if belief.used[0] == len(belief.tries):
        fold_row(belief, row)
    else:
        belief.used[0] += 1
    belief.used[1] = (row + 1) % len(belief.tries)
    for i in range(len(features)):
        belief.history[i, row] = features[i]
    belief.tries[row], belief.clicked[row], belief.bent[row] = 0.0, 0.0, 0.0
    belief.owner[row], belief.newest[item] = item, row
    return int(row)


@routine
def fold_row(belief: Logit, row: int) -> None:
    """Replace a row by the quadratic approximation of its log-likelihood at the current estimate."""
    if belief.newest[belief.owner[row]] == row:
        belief.newest[belief.owner[row]] = -1
    copy_features(belief, row)
    features = belief.step
    mean = click_probability(belief.theta, features)
    curvature = belief.tries[row] * mean * (1.0 - mean)
    set_curvature(belief, row, curvature)
    pull = belief.clicked[row] - belief.tries[row] * mean + curvature * dot(belief.theta, features)
    for i in range(len(features)):
        belief.pull[i] += pull * features[i]
    add_square(belief.precision, features, curvature)
    mirror(belief.precision)


@helper
def copy_features(belief: Logit, row: int) -> None:
    """Copy the features of a row to where the next step will be."""
    for i in range(len(belief.step)):
        belief.step[i] = belief.history[i, row]


@routine
def set_curvature(belief: Logit, row: int, curvature: float) -> None:
    """Set the curvature of a row in the stored inverse."""
    copy_features(belief, row)
    shrink_inverse(belief.bend, belief.step, curvature - belief.bent[row], belief.ahead)
    belief.bent[row] = curvature


@routine
def fit(belief: Logit, penalty: float) -> None:
    """Newton's method with an inverse that is kept from list to list; a step that leads uphill is halved.

    The inverse is that of H, which differs from the true Hessian only in the curvatures of the rows. While each is
    within a share s of its value in H, the true Hessian lies between (1 - s) H and (1 + s) H, so close to the solution
    every step leaves at most a share s of the error, in the norm of H. At the last estimate the gradient was almost 0,
    so the gradient of the list is the one that the first step needs.
    """
    share_left = stale_share(belief.used[0], len(belief.theta))
    slope = fill_step(belief)
    error = take_step(belief)  # what steps leave is known only where the gradient of all rows was computed
    for _ in range(MOST_STEPS):
        if error < CLOSE:
            return
        fill_gradient(belief, penalty)
        following = fill_step(belief)
        share = 1.0
        while following > slope and share > 1e-6:
            share *= 0.5
            for i in range(len(belief.theta)):
                belief.theta[i] -= share * belief.step[i]
            fill_gradient(belief, penalty)
            following = fill_step(belief)
        if refresh_inverse(belief, penalty, share_left, following > 0.25 * slope):
            following = fill_step(belief)
        slope = following
        error = share_left * take_step(belief)


@helper
def stale_share(rows: int, d: int) -> float:
    """The share by which the curvature of a row may differ from that in the stored inverse.

    The smaller it is, the fewer steps a fit takes, and the more rows it updates. An update of one row costs about
    d / (d + rows) steps.
    """
    return max(MOST_STALE * d / (d + rows), LEAST_STALE)


@helper
def fill_step(belief: Logit) -> float:
    """Fill the next step from the gradient; returns the squared norm of the gradient, which steps reduce."""
    multiply(belief.bend, belief.total, belief.ahead)
    return dot(belief.total, belief.ahead)


@helper
def take_step(belief: Logit) -> float:
    """Take the step; returns its largest element."""
    largest = 0.0
    for i in range(len(belief.theta)):
        belief.step[i] = belief.ahead[i]
        belief.theta[i] += belief.step[i]
        largest = max(largest, abs(belief.step[i]))
    return largest


@routine
def fill_gradient(belief: Logit, penalty: float) -> None:
    """Fill the gradient, and the surprise and the curvature of each row."""
    rows = belief.used[0]
    surprise, tries, clicked = belief.surprise[:rows], belief.tries[:rows], belief.clicked[:rows]
    curvature = belief.curvature[:rows]
    for row in range(rows):
        surprise[row] = 0.0
    add_rows(belief.theta, belief.history, 0, len(belief.theta), 0, surprise)
    replace_levels(surprise)
    for row in range(rows):
        curvature[row] = tries[row] * surprise[row] * (1.0 - surprise[row])
        surprise[row] = clicked[row] - tries[row] * surprise[row]
    multiply(belief.precision, belief.theta, belief.total)
    for i in range(len(belief.theta)):
        belief.total[i] = belief.pull[i] - penalty * belief.theta[i] - belief.total[i]
        belief.total[i] += dot(surprise, belief.history[i, :rows])


@routine
def replace_levels(levels: Floats) -> None:
    """Replace each theta'x by its `click_probability`, with an error of at most 1e-15, by a loop that is vectorised.

    With x = -theta'x / 128 it takes the power series of exp(x) - 1, and then exp(2 x) - 1 from exp(x) - 1 seven times.
    """
    for i in range(len(levels)):
        x = min(max(levels[i], -FARTHEST), FARTHEST) * (-1.0 / 128.0)
        y = 1.0 / 362880.0 + x * (1.0 / 3628800.0)
        y = 1.0 / 5040.0 + x * (1.0 / 40320.0 + x * y)
        y = 1.0 / 120.0 + x * (1.0 / 720.0 + x * y)
        y = x + x * x * (1.0 / 2.0 + x * (1.0 / 6.0 + x * (1.0 / 24.0 + x * y)))
        y *= 2.0 + y
        y *= 2.0 + y
        y *= 2.0 + y
        y *= 2.0 + y
        y *= 2.0 + y
        y *= 2.0 + y
        y *= 2.0 + y
        levels[i] = 1.0 / (2.0 + y)


@routine
def refresh_inverse(belief: Logit, penalty: float, share: float, slow: bool) -> bool:
    """Update stale rows in the stored inverse; whether anything has changed.

    A row costs 2 d^2 products, and recomputing the inverse d^2 / 2 for each row and as many for each feature. If no row
    is stale but steps are slow, rounding errors have added up.
    """
    rows, d = belief.used[0], len(belief.theta)
    stale = 0
    for row in range(rows):
        stale += 1 if abs(belief.curvature[row] - belief.bent[row]) > share * belief.bent[row] else 0
    if 4 * stale > rows + d or (stale == 0 and slow):
        for i in range(d):
            for j in range(i, d):
                belief.hessian[i, j] = belief.precision[i, j]
            belief.hessian[i, i] += penalty
        for row in range(rows):
            belief.bent[row] = belief.curvature[row]
            copy_features(belief, row)
            add_square(belief.hessian, belief.step, belief.bent[row])
        invert(belief.hessian, belief.factor, belief.bend)
        return True
    if stale > 0:
        for row in range(rows):
            if abs(belief.curvature[row] - belief.bent[row]) > share * belief.bent[row]:
                set_curvature(belief, row, belief.curvature[row])
    return stale > 0
