"""Who plays: the whole catalogue with published and tuned parameters, and policies of one's own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from toplist.core.problem import InvalidInput
from toplist.leaderboard.assumptions import violations
from toplist.leaderboard.suite import SuiteProblem
from toplist.policies import BubbleRank, RecurRank, catalogue, make
from toplist.support.catalogue import REQUIRED, part_text

YARDSTICK = "random"
TUNED = ", tuned"  # the end of the label of a policy with tuned parameters


class Contender(NamedTuple):
    """A policy on the leaderboard.

    Parameters
    ----------
    label : str
        Its name on the board.
    policies : mapping of str to policy
        The policy for each kind of problem; "" for all other kinds.
    own : bool
        Whether it is not of the catalogue.
    """

    label: str
    policies: Mapping[str, Any]
    own: bool = False

    def policy(self, problem: SuiteProblem) -> Any:
        """The policy that plays a problem.

        BubbleRank improves a given list. In some worlds the best items are the first, so the order of the items would
        be a gift; it begins with an order that has nothing to do with them.
        """
        policy = self.policies.get(problem.kind, self.policies[""])
        if isinstance(policy, BubbleRank) and len(policy.ranking) == 0:
            policy = policy._replace(ranking=np.random.default_rng(problem.items).permutation(problem.items).tolist())
        return policy

    def plays(self, problem: SuiteProblem) -> bool:
        """Whether it can play a problem: policies over features need some, and RecurRank the same ones all the time."""
        policy = self.policy(problem)
        if isinstance(policy, RecurRank) and problem.has_new_features:
            return False
        return problem.features or not policy.capabilities().needs_features

    def violated(self, problem: SuiteProblem) -> tuple[str, ...]:
        """The assumptions of the policy that do not hold on a problem."""
        return violations(self.policy(problem), problem)


def field_of(tuned: Mapping[str, Mapping[str, str]], own: Mapping[str, Any], names: list[str]) -> list[Contender]:
    """The policies that play: published, tuned and one's own.

    Parameters
    ----------
    tuned : mapping
        Per kind of problem, and per name of a policy, the text of the policy with tuned parameters.
    own : mapping of str to policy
        Further policies by label.
    names : list of str
        Names of the catalogue to be played; all for an empty list. Random lists, the yardstick, always play.

    Returns
    -------
    list of Contender
        The contenders, those of the catalogue first. Of two names for the same parts, the first plays.

    Raises
    ------
    InvalidInput
        If a name is not in the catalogue, or a label of one's own is.
    """
    if unknown := set(names) - set(catalogue()):
        raise InvalidInput(f"There is no policy {sorted(unknown)[0]!r} in the catalogue; `toplist policies` lists all.")
    if taken := set(own) & {*catalogue(), *(name + TUNED for name in catalogue())}:
        raise InvalidInput(
            f"{sorted(taken)[0]!r} is a policy of the catalogue; give yours a label, as ours=mine.py:Mine."
        )
    known: dict[str, str] = {}
    for name, entry in catalogue().items():
        if REQUIRED in entry.parameters.values() or (names and name not in (*names, YARDSTICK)):
            continue
        policy = entry.make()
        if not policy.capabilities().needs_simulator and name != "exploring":  # which plays another policy
            known.setdefault(part_text(policy), name)
    found = [Contender(name, {"": make(name)}) for name in known.values()]
    for name in known.values():
        texts = {kind: policies[name] for kind, policies in tuned.items() if name in policies}
        if any(text != name for text in texts.values()):
            found.append(Contender(name + TUNED, {"": make(name)} | {kind: make(text) for kind, text in texts.items()}))
    return found + [Contender(label, {"": policy}, own=True) for label, policy in own.items()]
