"""Figure 2 of liu2018: shows the printed numbers; it needs the full search log with its users, which has no reader."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toplist.experiments import drawing
from toplist.experiments.experiment import Claim, DataSet, Experiment, Findings, Outcome, Play, Size

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Printed regret after 5,000 steps.
ITEM_FEATURES = {"GL-CDCM": 32.28, "LR": 59.08, "GL-CDCM (SGD)": 81.71, "KL-DCM": 99.09, "LR (SGD)": 114.96}
WITH_USERS = {"GL-CDCM": 28.51, "LR": 46.00}
CLAIMS = (
    *((f"{name} with features of items", f"printed {regret:.2f}") for name, regret in ITEM_FEATURES.items()),
    *((f"{name} with features of items and users", f"printed {regret:.2f}") for name, regret in WITH_USERS.items()),
    ("KL-DCM's regret grows in steps, as the items change", "no number printed"),
    ("The outer product of features is worse than their concatenation", "no number printed"),
)
WHY = "the features need the users of the log, which no sample of it has"


def jobs(_size: Size, _data: DataSet | None) -> list[Play]:
    """None: nothing can be played."""
    return []


def judge(_found: Findings) -> list[Claim]:
    """The printed numbers, all without a verdict."""
    return [Claim(text, Outcome.NEEDS_DATA, number, WHY) for text, number in CLAIMS]


def draw(_found: Findings, figure: Figure) -> None:
    """Draw the printed numbers as bars."""
    for axes, (title, printed) in zip(
        drawing.panels(figure, 1, 2, share_x=False, share_y=True),
        {"features of items": ITEM_FEATURES, "features of items and users": WITH_USERS}.items(),
        strict=True,
    ):
        axes.bar(range(len(printed)), list(printed.values()), color="0.8", edgecolor="0.35", hatch="//", linewidth=0.8)
        drawing.frame(axes, f"As printed, nothing played: {title}", "", "regret")
        axes.set_xticks(range(len(printed)), list(printed), rotation=20)
        axes.set_xlim(-0.6, len(ITEM_FEATURES) - 0.4)


EXPERIMENT = Experiment(
    title="Figure 2: regret on a search log, with features of pages and of users",
    setting="The three most frequent queries of the Yandex log, a DCM for each; features of pages and users from an "
    "SVD of the clicks of users on pages, d = 200, K = 10, L = 100, 5,000 steps.",
    full=Size(5000, 20),
    quick=Size(5000, 2, quick=True),
    jobs=jobs,
    judge=judge,
    draw=draw,
    inches=(9.0, 4.0),
    data="full search log",
    seconds=0,
)
