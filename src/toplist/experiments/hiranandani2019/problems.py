"""The two synthetic problems of hiranandani2019: figure 1 and figure 6(a)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from toplist.worlds import TopicCoverage

UNWANTED = 50  # items of a topic with preference 0, which make learning harder


def figure1() -> TopicCoverage:
    """Section 8.3: two items of the first topic and one of the second; the best list has one of each.

    >>> len(figure1().topics), figure1().positions
    (53, 2)
    """
    return _by_hand([2, 1], [0.6, 0.4], positions=2)


def figure6a() -> TopicCoverage:
    """Appendix C.4: three items of each of three topics and two of a fourth; the best list has two of each, in turns.

    >>> len(figure6a().topics), figure6a().positions
    (61, 8)
    """
    return _by_hand([3, 3, 3, 2], [0.3, 0.275, 0.225, 0.2], positions=8)


def _by_hand(counts: Sequence[int], preferences: Sequence[float], positions: int) -> TopicCoverage:
    """`counts` items cover each topic by a half, and fifty cover one more topic, of preference 0, entirely."""
    wanted = np.repeat(np.eye(len(counts) + 1)[: len(counts)] / 2, counts, axis=0)
    unwanted = np.tile(np.eye(len(counts) + 1)[-1], (UNWANTED, 1))
    return TopicCoverage(np.vstack([wanted, unwanted]), [*preferences, 0.0], positions)
