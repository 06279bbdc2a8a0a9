"""Gauthier, Gaudel and Fromont 2022: ranking whatever the clicks."""

from __future__ import annotations

from toplist.experiments.newer.contests import Contest, Less, contest_experiment
from toplist.experiments.newer.spread import POSITION_BASED, SETTING, SPREAD

PBM, CASCADE = "position-based users", "cascade users"
POLICIES = ("uni-rank", "top-rank", "bubble-rank")

EXPERIMENT = contest_experiment(
    title="Gauthier, Gaudel and Fromont, ICML 2022: UniRank against other policies for any clicks",
    setting=f"{SETTING} position-based users; and the same items for cascade users.",
    contests=[Contest(PBM, SPREAD, POSITION_BASED, POLICIES), Contest(CASCADE, SPREAD, "cascade", POLICIES)],
    claims=[
        Less(f"UniRank loses less than {name} on {users}", (users, "uni-rank"), (users, rival))
        for users in (PBM, CASCADE)
        for name, rival in (("TopRank", "top-rank"), ("BubbleRank", "bubble-rank"))
    ],
    deviations=["BubbleRank begins with an order at random."],
)
