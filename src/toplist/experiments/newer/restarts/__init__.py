"""Wang, Zhou, Li, Varshney and Zhao 2021: restarts on users who change at once."""

from __future__ import annotations

import numpy as np

from toplist.clicks import Cascade
from toplist.experiments.newer.contests import Contest, Less, contest_experiment
from toplist.worlds import piecewise

LABEL, CHANGES, EPOCH = "10 items on 3 positions", 4, 10_000
VALUES = [0.3, 0.25, 0.2, *[0.05] * 7]
DEALT = np.random.default_rng(0)
EPOCHS = [[VALUES[at] for at in DEALT.permutation(10)] for _ in range(CHANGES + 1)]
RESTARTING = {
    "GLRT-CascadeUCB": f"glrt-cascade-ucb(changes={CHANGES})",
    "GLRT-CascadeKL-UCB": f"glrt-cascade-kl-ucb(changes={CHANGES})",
}
FORGETTING = {"the windowed": "cascade-swucb", "the discounted": "cascade-ducb"}

EXPERIMENT = contest_experiment(
    title="Wang, Zhou, Li, Varshney and Zhao, ICASSP 2021: restarts against windows and discounts",
    setting="10 items on 3 positions whose attractions, 0.3, 0.25, 0.2 and seven times 0.05, are dealt anew every "
    "10,000 of 50,000 lists; cascade users.",
    contests=[
        Contest(
            LABEL, piecewise(EPOCHS, 3, range(EPOCH, (CHANGES + 1) * EPOCH, EPOCH)), Cascade(),
            (*FORGETTING.values(), *RESTARTING.values(), "cascade-kl-ucb-resetting"),
        )
    ],
    claims=[
        Less(f"{name} loses less than {other} CascadeUCB1", (LABEL, policy), (LABEL, rival))
        for name, policy in RESTARTING.items() for other, rival in FORGETTING.items()
    ],
    steps=(CHANGES + 1) * EPOCH,
    deviations=["The share of forced lists of the paper's figures is unknown; it is that of its bound."],
)  # fmt: skip
