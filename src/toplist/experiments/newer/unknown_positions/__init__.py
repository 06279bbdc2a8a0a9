"""Gauthier, Gaudel, Fromont and Lompo 2021: unknown examination of positions."""

from __future__ import annotations

from toplist.experiments.newer.contests import Contest, Less, contest_experiment
from toplist.experiments.newer.spread import POSITION_BASED, SETTING, SPREAD

LABEL = "16 items on 4 positions"

EXPERIMENT = contest_experiment(
    title="Gauthier et al., IDA 2021 and ICML 2021: PB-MHB and GRAB against TopRank",
    setting=f"{SETTING} position-based users.",
    contests=[Contest(LABEL, SPREAD, POSITION_BASED, ("top-rank", "grab", "pb-mhb"))],
    claims=[
        Less("PB-MHB loses less than TopRank", (LABEL, "pb-mhb"), (LABEL, "top-rank")),
        Less("GRAB loses less than TopRank", (LABEL, "grab"), (LABEL, "top-rank")),
        Less("PB-MHB loses less than GRAB", (LABEL, "pb-mhb"), (LABEL, "grab")),
    ],
    deviations=["The papers' problems are click models of a search log and simulated ones of other sizes."],
)
