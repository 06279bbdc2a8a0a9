"""Li, Lattimore and Szepesvari 2019: ranking with features, whatever the clicks."""

from __future__ import annotations

from toplist.experiments.newer.contests import Contest, Less, contest_experiment

WORLD = "contextual(items=50, positions=4, dimension=5, length=2.0, fresh=False)"
CASCADE, PBM = "cascade users", "position-based users"
POLICIES = ("recur-rank", "top-rank", "cascade-lin-ucb")

EXPERIMENT = contest_experiment(
    title="Li, Lattimore and Szepesvari, ICML 2019: RecurRank against TopRank and CascadeLinUCB",
    setting="50 items on 4 positions with 5 features that stay the same; cascade users, and position-based users who "
    "examine positions with 1, 0.6, 0.36 and 0.216.",
    contests=[
        Contest(CASCADE, WORLD, "cascade", POLICIES),
        Contest(PBM, WORLD, "pbm(examination=[1.0, 0.6, 0.36, 0.216])", POLICIES),
    ],
    claims=[
        Less("RecurRank loses less than TopRank on cascade users", (CASCADE, "recur-rank"), (CASCADE, "top-rank")),
        Less("RecurRank loses less than TopRank on position-based users", (PBM, "recur-rank"), (PBM, "top-rank")),
        Less(
            "RecurRank loses less than CascadeLinUCB on position-based users",
            (PBM, "recur-rank"), (PBM, "cascade-lin-ucb"),
        ),
    ],
    seconds=60.0,
)  # fmt: skip
