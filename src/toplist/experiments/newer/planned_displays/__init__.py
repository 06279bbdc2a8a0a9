"""Komiyama, Honda and Takeda 2017: regret that grows like log n, for unknown examination of positions."""

from __future__ import annotations

from toplist.experiments.newer.contests import Contest, Flattens, contest_experiment
from toplist.experiments.newer.spread import POSITION_BASED, SETTING, SPREAD

LABEL = "16 items on 4 positions"

EXPERIMENT = contest_experiment(
    title="Komiyama, Honda and Takeda, NIPS 2017: PMED",
    setting=f"{SETTING} position-based users.",
    contests=[Contest(LABEL, SPREAD, POSITION_BASED, ("pmed", "top-rank", "grab"))],
    claims=[Flattens("The regret of PMED grows like log n", (LABEL, "pmed"))],
    deviations=["Of the paper only the abstract could be read; its figures compare with policies that are not here."],
)
