"""Lagree, Vernade and Cappe 2016: known examination of positions."""

from __future__ import annotations

from toplist.experiments.newer.contests import Contest, Less, contest_experiment
from toplist.experiments.newer.spread import POSITION_BASED, SETTING, SPREAD

LABEL = "16 items on 4 positions"

EXPERIMENT = contest_experiment(
    title="Lagree, Vernade and Cappe, NIPS 2016: PBM-PIE against PBM-UCB",
    setting=f"{SETTING} position-based users; both policies know the examination.",
    contests=[Contest(LABEL, SPREAD, POSITION_BASED, ("pbm-pie", "pbm-ucb", "pbm-ts"))],
    claims=[Less("PBM-PIE loses less than PBM-UCB", (LABEL, "pbm-pie"), (LABEL, "pbm-ucb"))],
)
