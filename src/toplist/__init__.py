"""toplist learns which K of L items to show on a page, and in which order, from clicks.

Simulate and compare algorithms:
    `simulate` plays policies against simulated visitors and returns a `Result`; `Progress` is reported meanwhile.
    `compare` plays them on several kinds of users and returns a `Comparison`.
    `tune` sweeps the parameters of one policy, values or a `Span` each, and returns a `Tuning`.
    `Difference` and `Ratio` are confidence intervals between two policies, paired by run.
    `worlds` (where attraction comes from), `clicks` (click models) and `starts` (the first look at the items) are
    what a simulation is made of.

Rank a page of your own:
    `Ranker` runs a policy on your items; each list it ranks is a `Shown`, with which clicks are reported. A `Prior`
    says what is known of an item before. `Rankers` are several, one per segment, that learn from each other.
    `ranker` is their module.

Find out how visitors read a list:
    `fit` fits click models to a click log, and compares them on lists held out; `logs` is their module.

Find out what another ranking would have earned:
    `evaluate` estimates it from a click log with propensities; `evaluation` is its module.

Let a policy learn from a log before it ranks:
    `train` makes rankers that have learned the lists of another system; `training` is its module.

Choose a policy by a click log:
    `advise` plays policies on the visitors of a log, and says which to take; `advice` is its module.

Choose or build an algorithm:
    `catalogue` lists all policies by name, and `make` makes one; `policies` is their module.
    `Policy` combines four parts: `feedback`, `memory`, `index` and `arrange` (all in `parts`, with
    `detectors` of changes).
    `checks` tests a policy of your own, and `bounds` has the papers' regret bounds.
    `Problem` (in `problem`) is the size of a problem, and `InvalidInput` the error for arguments that cannot be used.

Examples
--------
>>> import toplist
>>> world, users = toplist.worlds.b_lb(items=16, positions=4, attraction=0.2, gap=0.15, termination=0.5)
>>> result = toplist.simulate(["dcm-kl-ucb", "random"], world, users, steps=2000, runs=4, seed=1)
>>> result.difference("dcm-kl-ucb", "random").high < 0
True
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from toplist import advice, bounds, checks, clicks, evaluation, logs, parts, policies, ranker, training, worlds
    from toplist.advice.advise import advise
    from toplist.core import problem
    from toplist.core.prior import Prior
    from toplist.core.problem import InvalidInput, Problem
    from toplist.engine import starts
    from toplist.engine.compare import compare
    from toplist.engine.comparison import Comparison
    from toplist.engine.result import Difference, Result
    from toplist.engine.simulate import simulate
    from toplist.engine.statistics import Ratio
    from toplist.engine.tune import Span, tune
    from toplist.engine.tuning import Tuning
    from toplist.evaluation.evaluate import evaluate
    from toplist.logs.compare_models import fit
    from toplist.parts import arrange, detectors, feedback, index, memory
    from toplist.policies import Policy, catalogue, make
    from toplist.ranker import Ranker, Rankers, Shown
    from toplist.support.progress import Progress
    from toplist.training.train import train

__version__ = "0.1.0"

# Names are imported on first use: `import toplist` must be fast, and numba is slow to import.
_MODULES = {
    "advice": "toplist.advice",
    "arrange": "toplist.parts.arrange",
    "bounds": "toplist.bounds",
    "checks": "toplist.checks",
    "clicks": "toplist.clicks",
    "detectors": "toplist.parts.detectors",
    "evaluation": "toplist.evaluation",
    "feedback": "toplist.parts.feedback",
    "index": "toplist.parts.index",
    "logs": "toplist.logs",
    "memory": "toplist.parts.memory",
    "parts": "toplist.parts",
    "policies": "toplist.policies",
    "problem": "toplist.core.problem",
    "ranker": "toplist.ranker",
    "starts": "toplist.engine.starts",
    "training": "toplist.training",
    "worlds": "toplist.worlds",
}
_NAMES = {
    "Comparison": "toplist.engine.comparison",
    "Difference": "toplist.engine.result",
    "InvalidInput": "toplist.core.problem",
    "Policy": "toplist.policies",
    "Prior": "toplist.core.prior",
    "Problem": "toplist.core.problem",
    "Progress": "toplist.support.progress",
    "Ranker": "toplist.ranker",
    "Rankers": "toplist.ranker",
    "Ratio": "toplist.engine.statistics",
    "Result": "toplist.engine.result",
    "Shown": "toplist.ranker",
    "Span": "toplist.engine.tune",
    "Tuning": "toplist.engine.tuning",
    "advise": "toplist.advice.advise",
    "catalogue": "toplist.policies",
    "compare": "toplist.engine.compare",
    "evaluate": "toplist.evaluation.evaluate",
    "fit": "toplist.logs.compare_models",
    "make": "toplist.policies",
    "simulate": "toplist.engine.simulate",
    "train": "toplist.training.train",
    "tune": "toplist.engine.tune",
}

__all__ = [
    "Comparison",
    "Difference",
    "InvalidInput",
    "Policy",
    "Prior",
    "Problem",
    "Progress",
    "Ranker",
    "Rankers",
    "Ratio",
    "Result",
    "Shown",
    "Span",
    "Tuning",
    "advice",
    "advise",
    "arrange",
    "bounds",
    "catalogue",
    "checks",
    "clicks",
    "compare",
    "detectors",
    "evaluate",
    "evaluation",
    "feedback",
    "fit",
    "index",
    "logs",
    "make",
    "memory",
    "parts",
    "policies",
    "problem",
    "ranker",
    "simulate",
    "starts",
    "train",
    "training",
    "tune",
    "worlds",
]


def __getattr__(name: str) -> Any:
    """Import a public name on first use."""
    if name in _MODULES:
        return importlib.import_module(_MODULES[name])
    if name in _NAMES:
        return getattr(importlib.import_module(_NAMES[name]), name)
    raise AttributeError(f"module 'toplist' has no attribute {name!r}")


def __dir__() -> list[str]:
    """All names, including those not imported yet."""
    return sorted([*globals(), *__all__])
