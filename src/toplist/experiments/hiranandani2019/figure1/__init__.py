"""Figure 1 of hiranandani2019: a synthetic problem with diversity and position bias."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from toplist.clicks import Cascade
from toplist.core.slate import Floats
from toplist.engine.result import Result
from toplist.experiments.claims import Answer, ScaledAnswer, claim
from toplist.experiments.experiment import Claim, DataSet, Experiment, Findings, Play, Size
from toplist.experiments.hiranandani2019.both_alphas import (
    ALPHA,
    FACTOR,
    GREEDY,
    KL_UCB,
    LINEAR_UCB,
    OURS,
    PRINTED,
    SCALED,
    STEPS,
    ask,
    ask_once,
    draw_both,
    flat_in,
    less_regret,
    linear_in,
    plays_with_both,
    theorem2_text,
)
from toplist.experiments.hiranandani2019.problems import figure1
from toplist.experiments.verdicts import (
    ALWAYS,
    MAGNITUDE,
    OFTEN,
    difference,
    final_regret,
    is_below,
    is_between,
    negation,
    ratio_text,
    regret_ratio,
)

BOTH_OF_TOPIC_1, ONE_OF_EACH, OTHERWISE = 0.0, 1.0, 2.0  # the list shown


def shown_list(player: Any) -> float:
    """The list that a player shows: items 1 and 2, one of these and item 3, or another."""
    items = set(player.run.slate.items.tolist())
    if items == {0, 1}:
        return BOTH_OF_TOPIC_1
    return ONE_OF_EACH if items in ({0, 2}, {1, 2}) else OTHERWISE


def jobs(size: Size, _: DataSet | None) -> list[Play]:
    """The problem with both alphas."""
    world = figure1()
    return plays_with_both(
        size, {"": world}, Cascade(), norm=float(np.linalg.norm(world.preferences)), watch=shown_list
    )


def judge(found: Findings) -> list[Claim]:
    """The claims of section 8.3."""
    promised = theorem2_text(3, 2, found.size.steps)
    return [
        ask(found, f"{OURS} flattens", flat_in(OURS), promised),
        ask(found, f"{GREEDY} grows linearly", linear_in(GREEDY)),
        _list_claim(found, f"{GREEDY} oscillates between items 2 and 3", GREEDY, _oscillates),
        ask(found, f"{LINEAR_UCB} grows linearly", linear_in(LINEAR_UCB)),
        _list_claim(found, f"{LINEAR_UCB} converges to items 1 and 2", LINEAR_UCB, _converges),
        ask(found, f"{OURS} has less regret than {GREEDY}", less_regret(OURS, GREEDY)),
        ask(found, f"{OURS} has less regret than {LINEAR_UCB}", less_regret(OURS, LINEAR_UCB)),
        ask_once(found, f"{KL_UCB} flattens", flat_in(KL_UCB, logarithmic=True)),
        ask(found, f"{KL_UCB} has an order of magnitude more regret than {OURS}", _much_more),
    ]


def _much_more(results: Mapping[str, Result]) -> Answer:
    found = regret_ratio(final_regret(results[""], KL_UCB), final_regret(results[""], OURS))
    return Answer(negation(is_below(found, MAGNITUDE)), f"{ratio_text(found)} times, {MAGNITUDE:g} or more required")


def _list_claim(found: Findings, text: str, name: str, question: Any) -> Claim:
    """A claim on the lists of a policy, with both alphas."""
    printed, scaled = (question(found.watched[alpha][name]) for alpha in (PRINTED, SCALED))
    return claim(found, text, printed, STEPS, scaled=ScaledAnswer(scaled, FACTOR))


def _oscillates(lists: Floats) -> Answer:
    """Whether item 3 is shown in some but not most lists of the last half, judged at the checkpoints."""
    late = lists[:, lists.shape[1] // 2 :]
    share = (late == ONE_OF_EACH).mean(axis=1)
    held = is_between(difference(share, np.zeros(len(share))), *OFTEN)
    asked = "{:.0%} to {:.0%} required".format(*OFTEN)
    return Answer(held, f"item 3 in {share.mean():.0%} of the last half's lists, {asked}")


def _converges(lists: Floats) -> Answer:
    """Whether items 1 and 2 are shown in the last tenth."""
    late = lists[:, -max(1, lists.shape[1] // 10) :]
    share = (late == BOTH_OF_TOPIC_1).mean(axis=1)
    held = negation(is_below(difference(share, np.zeros(len(share))), ALWAYS))
    return Answer(held, f"in {share.mean():.0%} of the last tenth's lists, {ALWAYS:.0%} or more required")


EXPERIMENT = Experiment(
    title="Figure 1: a synthetic problem with diversity and position bias",
    setting="L = 53, d = 3, K = 2, one person with theta* = (0.6, 0.4, 0). Items 1 and 2 cover topic 1 by a half, item "
    "3 topic 2, and 50 items topic 3 entirely. n = 20,000.",
    full=Size(STEPS, 100),
    quick=Size(STEPS, 8, quick=True),
    jobs=jobs,
    judge=judge,
    draw=draw_both,
    inches=(8.5, 4.2),
    deviations=(ALPHA, "The paper does not give the number of runs; there are 100, as in its other experiments."),
    seconds=10,
)
