"""toplist learns which K of L items to show, and in which order, from clicks.

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
    from toplist import bounds, checks, clicks, parts, policies, ranker, worlds
    from toplist.core import problem
    from toplist.core.problem import InvalidInput, Problem
    from toplist.engine import starts
    from toplist.engine.compare import compare
    from toplist.engine.comparison import Comparison
    from toplist.engine.result import Difference, Result
    from toplist.engine.simulate import Progress, simulate
    from toplist.engine.statistics import Ratio
    from toplist.engine.tune import Span, tune
    from toplist.engine.tuning import Tuning
    from toplist.parts import arrange, detectors, feedback, index, memory
    from toplist.policies import Policy, catalogue, make
    from toplist.ranker import Ranker, Shown

__version__ = "0.1.0"

# Names are imported when they are first used: compiling machinery is heavy, and `import toplist` should not be.
_MODULES = {
    "arrange": "toplist.parts.arrange",
    "bounds": "toplist.bounds",
    "checks": "toplist.checks",
    "clicks": "toplist.clicks",
    "detectors": "toplist.parts.detectors",
    "feedback": "toplist.parts.feedback",
    "index": "toplist.parts.index",
    "memory": "toplist.parts.memory",
    "parts": "toplist.parts",
    "policies": "toplist.policies",
    "problem": "toplist.core.problem",
    "ranker": "toplist.ranker",
    "starts": "toplist.engine.starts",
    "worlds": "toplist.worlds",
}
_NAMES = {
    "Comparison": "toplist.engine.comparison",
    "Difference": "toplist.engine.result",
    "InvalidInput": "toplist.core.problem",
    "Policy": "toplist.policies",
    "Problem": "toplist.core.problem",
    "Progress": "toplist.engine.simulate",
    "Ranker": "toplist.ranker",
    "Ratio": "toplist.engine.statistics",
    "Result": "toplist.engine.result",
    "Shown": "toplist.ranker",
    "Span": "toplist.engine.tune",
    "Tuning": "toplist.engine.tuning",
    "catalogue": "toplist.policies",
    "compare": "toplist.engine.compare",
    "make": "toplist.policies",
    "simulate": "toplist.engine.simulate",
    "tune": "toplist.engine.tune",
}

__all__ = [
    "Comparison",
    "Difference",
    "InvalidInput",
    "Policy",
    "Problem",
    "Progress",
    "Ranker",
    "Ratio",
    "Result",
    "Shown",
    "Span",
    "Tuning",
    "arrange",
    "bounds",
    "catalogue",
    "checks",
    "clicks",
    "compare",
    "detectors",
    "feedback",
    "index",
    "make",
    "memory",
    "parts",
    "policies",
    "problem",
    "ranker",
    "simulate",
    "starts",
    "tune",
    "worlds",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(_MODULES[name])
    if name in _NAMES:
        return getattr(importlib.import_module(_NAMES[name]), name)
    raise AttributeError(f"module 'toplist' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
