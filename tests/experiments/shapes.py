"""Synthetic curves by shape, and claims by their words."""

from collections.abc import Iterable, Mapping

import made_up
import numpy as np
from made_up import Curve

import toplist
from toplist.core.slate import Floats
from toplist.experiments.experiment import Claim, Outcome, Size


def linear(end: float) -> Curve:
    """A straight line up to a final regret."""
    return lambda steps: end * steps / steps[-1]


def flat(end: float) -> Curve:
    """A curve with all its regret in the first tenth of the steps."""

    def curve(steps: Floats) -> Floats:
        return np.asarray(end * np.minimum(10 * steps / steps[-1], 1.0))

    return curve


def result(curves: Mapping[str, Curve], steps: int, runs: int = 20) -> toplist.Result:
    """Runs that hardly differ."""
    return made_up.result(curves, Size(steps, runs), errors=0.002)


def outcomes(claims: Iterable[Claim]) -> list[Outcome]:
    return [claim.outcome for claim in claims]


def about(claims: Iterable[Claim], words: str) -> Claim:
    """The only claim with these words."""
    (claim,) = [claim for claim in claims if words in claim.text]
    return claim
