"""A policy that begins with priors of its items, as a `Ranker` with priors does, in a simulation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from toplist.core.prior import Prior
from toplist.core.problem import Problem
from toplist.core.protocols import Capabilities
from toplist.core.slate import Page, Request, Slate
from toplist.ranker.priors import capped_priors


class WarmPolicy(NamedTuple):
    """A policy whose items count as examined before the first list.

    Parameters
    ----------
    policy : policy
        The policy.
    mean, strength : tuple of float
        The prior of each item, as far as it counts.
    """

    policy: Any
    mean: tuple[float, ...]
    strength: tuple[float, ...]

    @classmethod
    def of(cls, policy: Any, priors: Sequence[Prior], positions: int, capped: bool = True) -> Self:
        """The policy with these priors, one per item, cut to what counts unless `capped` is False.

        >>> import toplist
        >>> policy = WarmPolicy.of(toplist.make("dcm-ts"), [Prior(0.0, 100.0), Prior(0.2, 100.0)], positions=1)
        >>> [round(strength) for strength in policy.strength]
        [7, 100]
        """
        none = np.zeros(0)
        counted = capped_priors(priors, none, none, positions) if capped else priors
        return cls(policy, tuple(prior.mean for prior in counted), tuple(prior.strength for prior in counted))

    def prepare(self, problem: Problem) -> Self:
        """Prepare the policy."""
        return self._replace(policy=self.policy.prepare(problem))

    def begin(self, problem: Problem) -> Any:
        """The policy's belief with the priors."""
        belief, slate = self.policy.begin(problem), self.policy.slate(problem)
        for item, (mean, strength) in enumerate(zip(self.mean, self.strength, strict=True)):
            if strength > 0.0:
                self.policy.sample(belief, item, 0, strength, mean, slate)
        return belief

    def scratch(self, problem: Problem) -> Any:
        """The policy's scratch space."""
        return self.policy.scratch(problem)

    def slate(self, problem: Problem) -> Slate:
        """The policy's slate."""
        slate: Slate = self.policy.slate(problem)
        return slate

    def capabilities(self) -> Capabilities:
        """The policy's capabilities."""
        able: Capabilities = self.policy.capabilities()
        return able

    def rank(self, belief: Any, cache: Any, request: Request, slate: Slate) -> None:
        """Rank as the policy does."""
        self.policy.rank(belief, cache, request, slate)

    def learn(self, belief: Any, slate: Slate, page: Page) -> None:
        """Learn as the policy does."""
        self.policy.learn(belief, slate, page)

    def sample(self, belief: Any, item: int, place: int, weight: float, value: float, slate: Slate) -> None:
        """Learn free samples as the policy does."""
        self.policy.sample(belief, item, place, weight, value, slate)
