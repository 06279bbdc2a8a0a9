"""Topic coverage: how far a list covers each topic, and what one more item adds.

An item covers topic j to a degree between 0 and 1. A list covers it by 1 - prod(1 - degree), as if items were
independent, or by the largest degree of its items. Either way, the gain of an item is a vector per topic, and it can
only shrink as the list grows (hiranandani2019, section 2.2).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from toplist.core.compiling import helper
from toplist.core.problem import refuse
from toplist.core.slate import Floats

AS_IS, PROBABILISTIC, MAXIMUM = 0, 1, 2  # features unchanged; the two kinds of coverage
COVERAGE_KINDS = {"probabilistic": PROBABILISTIC, "maximum": MAXIMUM}


@helper
def gain(degree: float, covered: float, kind: int) -> float:
    """What an item adds to a topic that is already covered to the degree `covered`."""
    if kind == PROBABILISTIC:
        return degree * (1.0 - covered)
    if kind == MAXIMUM:
        return max(degree - covered, 0.0)
    return degree


def coverage_kind(what: str, given: Any) -> int:
    """The number of a kind of coverage in compiled code; numbers are accepted as already resolved."""
    if isinstance(given, str) and given in COVERAGE_KINDS:
        return COVERAGE_KINDS[given]
    if given in (PROBABILISTIC, MAXIMUM) and not isinstance(given, bool | str):
        return int(given)
    raise refuse(what, given, " or ".join(map(repr, COVERAGE_KINDS)), "choose how items cover a topic together")


def gains(degrees: Any, kind: str = "probabilistic") -> Floats:
    """What each item of a list, from the top, adds to each topic.

    Parameters
    ----------
    degrees : array_like of float, shape (positions, topics)
        Degrees in [0, 1] to which the items of the list cover the topics, from the top.
    kind : {"probabilistic", "maximum"}, default "probabilistic"
        How items cover a topic together: 1 - prod(1 - degree), or the largest degree.

    Returns
    -------
    ndarray of float, shape (positions, topics)
        The gain of each item over those above it.

    Raises
    ------
    InvalidInput
        If `kind` is unknown.

    Examples
    --------
    >>> gains([[0.5, 0.0], [0.5, 0.2]]).tolist()
    [[0.5, 0.0], [0.25, 0.2]]
    >>> gains([[0.5, 0.0], [0.6, 0.2]], "maximum").round(9).tolist()
    [[0.5, 0.0], [0.1, 0.2]]
    """
    number = coverage_kind("The kind of coverage", kind)
    rows = np.array(degrees, dtype=np.float64)
    covered = np.zeros(rows.shape[1])
    for row in rows:
        for topic in range(len(row)):
            row[topic] = gain(float(row[topic]), float(covered[topic]), number)
        covered += row
    return rows


def coverage(degrees: Any, kind: str = "probabilistic") -> Floats:
    """How far a list covers each topic.

    Parameters
    ----------
    degrees : array_like of float, shape (positions, topics)
        Degrees in [0, 1] to which the items of the list cover the topics.
    kind : {"probabilistic", "maximum"}, default "probabilistic"
        How items cover a topic together.

    Returns
    -------
    ndarray of float, shape (topics,)
        The sum of the gains.

    Raises
    ------
    InvalidInput
        If `kind` is unknown.

    Examples
    --------
    >>> coverage([[0.5, 0.0], [0.5, 0.2]]).tolist()
    [0.75, 0.2]
    """
    return np.asarray(gains(degrees, kind).sum(axis=0), dtype=np.float64)
