"""Zhong, Cheung and Tan 2021: linear Thompson sampling."""

from __future__ import annotations

from toplist.experiments.newer.contests import Contest, Less, contest_experiment

LABEL = "50 items on 4 positions"

EXPERIMENT = contest_experiment(
    title="Zhong, Cheung and Tan, JMLR 2021: LinTS-Cascade against CascadeLinUCB",
    setting="50 items on 4 positions with 5 features that stay the same; cascade users.",
    contests=[
        Contest(
            LABEL, "contextual(items=50, positions=4, dimension=5, length=2.0, fresh=False)", "cascade",
            ("lin-ts-cascade", "cascade-lin-ucb", "cascade-lin-ts"),
        )
    ],
    claims=[
        Less("LinTS-Cascade loses less than CascadeLinUCB", (LABEL, "lin-ts-cascade"), (LABEL, "cascade-lin-ucb"))
    ],
    deviations=["The paper takes features from clicks of the past, and scales the radii of both by a search."],
)  # fmt: skip
