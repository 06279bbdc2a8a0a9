"""Vial, Sanghavi, Shakkottai and Srikant 2022: indices that follow the variance where few click."""

from __future__ import annotations

from toplist.clicks import Cascade
from toplist.experiments.newer.contests import Contest, Less, contest_experiment
from toplist.worlds import Fixed

LABEL = "32 items on 8 positions"
ATTRACTION = [0.06] * 8 + [0.02] * 24

EXPERIMENT = contest_experiment(
    title="Vial, Sanghavi, Shakkottai and Srikant, NeurIPS 2022: indices that follow the variance",
    setting="32 items on 8 positions: eight with attraction 0.06, the others 0.02; cascade users.",
    contests=[
        Contest(
            LABEL, Fixed(ATTRACTION, 8), Cascade(),
            ("cascade-ucb1", "cascade-ucb-v", "cascade-moss", "cascade-kl-ucb", "cascade-kl-ucb-plus-plus"),
        )
    ],
    claims=[
        Less("CascadeUCB-V loses less than CascadeUCB1", (LABEL, "cascade-ucb-v"), (LABEL, "cascade-ucb1")),
        Less("CascadeKL-UCB loses less than CascadeUCB1", (LABEL, "cascade-kl-ucb"), (LABEL, "cascade-ucb1")),
    ],
    deviations=["MOSS and KL-UCB++ are of no paper about lists; they are played beside the others."],
)  # fmt: skip
