"""Li, Wang, Zhang and Chen 2016: contexts make a difference."""

from __future__ import annotations

from toplist.experiments.newer.contests import Contest, Less, contest_experiment

LABEL = "50 items on 4 positions"

EXPERIMENT = contest_experiment(
    title="Li, Wang, Zhang and Chen, ICML 2016: C3-UCB against a policy without contexts",
    setting="50 items on 4 positions with 5 features, new for every visitor; cascade users.",
    contests=[
        Contest(
            LABEL, "contextual(items=50, positions=4, dimension=5, length=2.0)", "cascade",
            ("c3-ucb", "cascade-kl-ucb", "cascade-lin-ucb"),
        )
    ],
    claims=[Less("C3-UCB loses less than CascadeKL-UCB", (LABEL, "c3-ucb"), (LABEL, "cascade-kl-ucb"))],
    steps=10_000,
    deviations=["All positions count alike: the position discounts are 1."],
)  # fmt: skip
