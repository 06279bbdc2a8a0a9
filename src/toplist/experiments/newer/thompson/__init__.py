"""Zhong, Cheung and Tan 2021: Thompson sampling and UCB algorithms on cascade users."""

from __future__ import annotations

from toplist.clicks import Cascade
from toplist.experiments.newer.contests import Contest, Less, contest_experiment
from toplist.worlds import Fixed

LABEL = "64 items on 2 positions"
ATTRACTION = [0.2] * 2 + [0.1] * 2 + [0.05] * 60

EXPERIMENT = contest_experiment(
    title="Zhong, Cheung and Tan, JMLR 2021: TS-Cascade and Beta TS against UCB algorithms",
    setting="64 items on 2 positions: two with attraction 0.2, two with 0.1, the others 0.05; cascade users.",
    contests=[
        Contest(LABEL, Fixed(ATTRACTION, 2), Cascade(), ("cascade-ucb1", "cascade-kl-ucb", "ts-cascade", "cascade-ts"))
    ],
    claims=[
        Less("TS-Cascade loses less than CascadeUCB1", (LABEL, "ts-cascade"), (LABEL, "cascade-ucb1")),
        Less("TS-Cascade loses less than CascadeKL-UCB", (LABEL, "ts-cascade"), (LABEL, "cascade-kl-ucb")),
        Less("Beta TS loses less than TS-Cascade", (LABEL, "cascade-ts"), (LABEL, "ts-cascade")),
    ],
    deviations=["Attractions are those of the authors' code, with fewer items."],
)
