"""Plays and judges problems of hiranandani2019 with two alphas: as printed, and without 1/sigma as in the figures.

Every problem is played with both, and a claim that holds only with the second is met with the exploration scaled.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from toplist import bounds
from toplist.engine.result import Result
from toplist.experiments import drawing
from toplist.experiments.claims import Answer, ScaledAnswer, bound_text, claim, doubt_text, range_text
from toplist.experiments.experiment import Claim, Findings, Play, Size
from toplist.experiments.verdicts import (
    FLAT,
    LINEAR,
    MUCH_WORSE,
    all_of,
    difference,
    final_regret,
    is_below,
    is_flat,
    is_linear,
    is_much_worse,
    late_share,
    negation,
    percent_text,
    regret_ratio,
)
from toplist.support.plots import PALETTE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STEPS = 20_000
OURS, GREEDY, LINEAR_UCB, KL_UCB = "CascadeLSB", "LSBGreedy", "CascadeLinUCB", "CascadeKL-UCB"
DCM_OURS = "dcmLSB"
NAMES = {OURS: "cascade-lsb", DCM_OURS: "dcm-lsb", GREEDY: "lsb-greedy", LINEAR_UCB: "cascade-lin-ucb"}
ALL = (OURS, GREEDY, LINEAR_UCB, KL_UCB)
PRINTED, SCALED = "alpha as printed", "alpha without 1/sigma"
SIGNED = "+z,.1f"  # of differences of regrets
FORMULAS = {PRINTED: "theory", SCALED: "figures"}
FACTOR = "alpha without its factor 1/sigma = 10, so about a tenth of the exploration"
ALPHA = (
    "The printed alpha does not give the printed figures, so all is played with the alpha of equation (10), and again "
    "without its factor 1/sigma. A claim is met as printed if it holds with the first, and met with the exploration "
    "scaled if it holds only with the second."
)

Question = Callable[[Mapping[str, Result]], Answer]  # a test of the results of all panels


def policies(names: Sequence[str], alpha: str, norm: float = 1.0) -> dict[str, str]:
    """The policies of a problem with one of the two alphas; `norm` is the bound on the length of theta*."""
    formula = f"alpha='{FORMULAS[alpha]}', norm={norm}"
    return {name: "cascade-kl-ucb" if name == KL_UCB else f"{NAMES[name]}({formula})" for name in names}


def plays_with_both(
    size: Size,
    worlds: Mapping[str, Any],
    users: Any,
    names: Sequence[str] = ALL,
    norm: float = 1.0,
    fewer: int = 1,
    watch: Callable[[Any], float] | None = None,
) -> list[Play]:
    """Plays of every world, by name of its panel, with both alphas.

    The printed one has `fewer` times fewer runs, unless their number was given.
    """
    printed = size.runs if size.runs_given else -(-size.runs // fewer)
    return [
        Play(
            f"{panel}, {alpha}" if panel else alpha, policies(names, alpha, norm), world, users, size.steps,
            printed if alpha == PRINTED else size.runs, size.seed, watch=watch,
        )
        for panel, world in worlds.items()
        for alpha in FORMULAS
    ]  # fmt: skip


def results_by_panel(found: Findings, alpha: str) -> dict[str, Result]:
    """The results with one of the alphas, by panel."""
    ending = f", {alpha}"
    return {
        label.removesuffix(alpha).removesuffix(", "): result
        for label, result in found.results.items()
        if label == alpha or label.endswith(ending)
    }


def ask(found: Findings, text: str, question: Question, remark: str = "") -> Claim:
    """A claim of the paper, judged with both alphas."""
    scaled = ScaledAnswer(question(results_by_panel(found, SCALED)), FACTOR)
    return claim(found, text, question(results_by_panel(found, PRINTED)), STEPS, remark, scaled)


def ask_once(found: Findings, text: str, question: Question, remark: str = "") -> Claim:
    """A claim on CascadeKL-UCB alone, which has no alpha: judged on the plays with more runs."""
    return claim(found, text, question(results_by_panel(found, SCALED)), STEPS, remark)


def in_panel(panel: str, question: Question) -> Question:
    """A question about one panel."""
    return lambda results: question({panel: results[panel]})


def less_regret(name: str, other: str) -> Question:
    """Whether a policy has less regret than another in all panels."""

    def question(results: Mapping[str, Result]) -> Answer:
        each = {
            panel: difference(final_regret(result, name), final_regret(result, other))
            for panel, result in results.items()
        }
        return Answer(
            all_of(is_below(one, 0.0) for one in each.values()),
            f"{range_text(one.ratio for one in each.values())} of its regret, under 1 required",
            doubt_text(each, 0.0, form=SIGNED),
        )

    return question


def much_less_regret(name: str, other: str) -> Question:
    """Whether another policy has at least 1.5 times the regret in all panels."""

    def question(results: Mapping[str, Result]) -> Answer:
        several = {
            panel: (final_regret(result, other), final_regret(result, name)) for panel, result in results.items()
        }
        answers = [is_much_worse(*regrets) for regrets in several.values()]
        each = {panel: regret_ratio(*regrets) for panel, regrets in several.items()}
        return Answer(
            all_of(answers),
            f"{other} has {range_text(one.value for one in each.values())} times its regret, {MUCH_WORSE} or more "
            "required",
            doubt_text(each, MUCH_WORSE),
        )

    return question


def linear_in(name: str) -> Question:
    """Whether the regret of a policy is linear in all panels."""

    def question(results: Mapping[str, Result]) -> Answer:
        return _adds(results, name, 0.5, LINEAR, all_of(is_linear(result, name) for result in results.values()))

    return question


def sublinear_in(name: str) -> Question:
    """Whether the regret of a policy is linear in no panel."""

    def question(results: Mapping[str, Result]) -> Answer:
        answers = [negation(is_linear(result, name)) for result in results.values()]
        return _adds(results, name, 0.5, LINEAR, all_of(answers), "under")

    return question


def flat_in(name: str, logarithmic: bool = False) -> Question:
    """Whether the regret of a policy is flat in all panels."""

    def question(results: Mapping[str, Result]) -> Answer:
        answers = [is_flat(result, name, logarithmic) for result in results.values()]
        return _adds(results, name, 0.1, FLAT, all_of(answers), "under")

    return question


def _adds(
    results: Mapping[str, Result], name: str, share: float, limit: float, holds: bool | None, which: str = "at least"
) -> Answer:
    """An answer on the share of the regret that the last steps add."""
    part = {0.5: "half", 0.1: "tenth"}[share]
    each = {panel: late_share(result, name, share) for panel, result in results.items()}
    several = list(each.values())
    number = percent_text(several[0]) if len(several) == 1 else range_text((one.value for one in several), ".0%")
    doubt = doubt_text(each, limit, form=".1%")
    return Answer(holds, f"the last {part} adds {number}, {which} {limit:.0%} required", doubt)


def theorem2_text(features: int, positions: int, steps: int) -> str:
    """The bound of Theorem 2 if the greedy list is the best one, the smallest bound that it can give."""
    return bound_text(
        "Theorem 2 with gamma = 1", bounds.hiranandani2019_theorem2(features, positions, steps, 1.0), steps
    )


def draw_both(found: Findings, figure: Figure) -> None:
    """Draw a panel for each alpha."""
    for axes, alpha in zip(drawing.panels(figure, 1, 2), FORMULAS, strict=True):
        result = results_by_panel(found, alpha)[""]
        drawing.curves(axes, result, title=alpha)
    drawing.legend(figure, 4)


def draw_panel(axes: Axes, found: Findings, panel: str) -> None:
    """Draw one panel with both alphas, the printed one broken; a curve cut at the top has its regret written there."""
    scaled, printed = results_by_panel(found, SCALED)[panel], results_by_panel(found, PRINTED)[panel]
    for place, name in enumerate(scaled.policies):
        for result, more, label in ((scaled, 0, name), (printed, len(PALETTE), f"{name}, {PRINTED}")):
            if name != KL_UCB or result is scaled:
                steps, mean = result.checkpoints.astype(np.float64), result.mean(name)
                drawing.band(axes, steps, mean, result.standard_error(name), label, place + more)
    drawing.frame(axes, panel, "steps", "regret")
    axes.set_xlim(0, scaled.steps)
    axes.set_xticks([0, scaled.steps // 2, scaled.steps])
    drawing.off_scale(axes, scaled, KL_UCB, [printed.mean(name) for name in printed.policies if name != KL_UCB])
