"""Gauthier, Gaudel, Fromont and Lompo 2021, on click models of a search log: unknown examination of positions."""

from __future__ import annotations

from toplist.experiments.newer.contests import Less
from toplist.experiments.newer.learned import LearnedContest, learned_experiment

USERS = "position-based users"

EXPERIMENT = learned_experiment(
    title="Gauthier et al., IDA 2021 and ICML 2021: PB-MHB and GRAB on click models of a search log",
    setting="position-based users.",
    contests=[LearnedContest(USERS, "PBM", ("top-rank", "grab", "pb-mhb"))],
    claims=[
        Less("PB-MHB loses less than TopRank", (USERS, "pb-mhb"), (USERS, "top-rank")),
        Less("GRAB loses less than TopRank", (USERS, "grab"), (USERS, "top-rank")),
        Less("PB-MHB loses less than GRAB", (USERS, "pb-mhb"), (USERS, "grab")),
    ],
)
