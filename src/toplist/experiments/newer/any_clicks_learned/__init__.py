"""Gauthier, Gaudel and Fromont 2022, on click models of a search log: ranking whatever the clicks."""

from __future__ import annotations

from toplist.experiments.newer.contests import Less
from toplist.experiments.newer.learned import LearnedContest, learned_experiment

PBM, CASCADE = "position-based users", "cascade users"
POLICIES = ("uni-rank", "top-rank", "bubble-rank")

EXPERIMENT = learned_experiment(
    title="Gauthier, Gaudel and Fromont, ICML 2022: UniRank on click models of a search log",
    setting="position-based users, and cascade users.",
    contests=[LearnedContest(PBM, "PBM", POLICIES), LearnedContest(CASCADE, "CM", POLICIES)],
    claims=[
        Less(f"UniRank loses less than {name} on {users}", (users, "uni-rank"), (users, rival))
        for users in (PBM, CASCADE)
        for name, rival in (("TopRank", "top-rank"), ("BubbleRank", "bubble-rank"))
    ],
    deviations=["BubbleRank begins with the order of the log."],
)
