"""Builds claims from answers: as printed, with scaled exploration, and with the bound of a theorem."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from toplist.bounds import vacuous
from toplist.engine.statistics import Difference, Ratio
from toplist.experiments.experiment import Claim, Findings
from toplist.experiments.verdicts import is_below, undecided_if_short

MOST_NAMED = 3  # intervals of an undecided claim


class Answer(NamedTuple):
    """Whether a claim holds, and the number that decides."""

    holds: bool | None  # None: undecided
    number: str
    doubt: str = ""  # why it is undecided, for a remark


class ScaledAnswer(NamedTuple):
    """The answer with scaled exploration."""

    answer: Answer
    factor: str  # of the exploration, in words, for a remark


def claim(
    found: Findings, text: str, answer: Answer, steps: int, remark: str = "", scaled: ScaledAnswer | None = None
) -> Claim:
    """A claim of the paper about `steps` steps; undecided if fewer were played.

    If it does not hold as printed but with scaled exploration, the claim gives both numbers. The remark on a claim that
    is undecided after enough steps says why.
    """
    remarks, number = [remark] if remark else [], answer.number
    holds, by_scaling, open_answers = answer.holds, False, {"": answer}
    if scaled is not None and holds is not True:
        number = f"{scaled.answer.number}; as printed: {answer.number}"
        open_answers = {"": scaled.answer, "as printed ": answer}
        remarks.insert(0, f"the first number is with {scaled.factor}")
        by_scaling = scaled.answer.holds is True
        if scaled.answer.holds is not False:
            holds = scaled.answer.holds
    holds = undecided_if_short(holds, found.size.steps, steps)
    if found.size.steps < steps:
        remarks.insert(0, f"the claim is about {steps:,} steps, and {found.size.steps:,} were played")
    doubts = [f"{which}{each.doubt}" for which, each in open_answers.items() if each.holds is None and each.doubt]
    if doubts and holds is None and found.size.steps >= steps:
        remarks.append(f"neither met nor not met can be said, because {'; '.join(doubts)}")
    if by_scaling and found.data is not None and found.data.substitute:
        remarks.append(f"on substitute data: {found.data.substitute}")
    return Claim(text, found.outcome(holds, by_scaling), number, "; ".join(remarks))


def doubt_text(each: Mapping[str, Difference | Ratio], *limits: float, form: str = ".2f") -> str:
    """The limits that lie within intervals, as text; empty if none does.

    >>> doubt_text({"K = 4": Ratio(0.46, 0.44, 0.48), "K = 8": Ratio(0.5, 0.49, 0.51)}, 0.45, form=".1%")
    '45% lies within [44.0%, 48.0%] for K = 4'
    >>> doubt_text({"": Difference(0.7, -4.4, 5.9, 0.5)}, 0.0, form="+.1f")
    '0 lies within [-4.4, +5.9]'
    """
    texts = []
    for name, found in each.items():
        for limit in limits:
            if found.low <= found.high and is_below(found, limit) is None:  # not for those without a number
                limit_text = format(limit, ".0%" if form.endswith("%") else "g")
                about = f" for {name}" if name else ""
                texts.append(f"{limit_text} lies within [{found.low:{form}}, {found.high:{form}}]{about}")
    more = [f"{len(texts) - MOST_NAMED} more alike"] if len(texts) > MOST_NAMED else []
    return ", ".join(texts[:MOST_NAMED] + more)


def bound_text(theorem: str, bound: float, steps: int) -> str:
    """The bound of a theorem on the regret of a number of steps, as text.

    >>> bound_text("Theorem 1", 66928.0, 10_000), bound_text("Theorem 1", 123.4, 10_000)
    ('Theorem 1 gives 66,928, vacuous here', 'Theorem 1 gives 123')
    """
    return f"{theorem} gives {bound:,.0f}{', vacuous here' if vacuous(bound, steps) else ''}"


def interval_text(difference: Difference, digits: int = 0) -> str:
    """A paired difference with its interval, as text.

    >>> interval_text(Difference(-2.04, -3.0, -1.0, 0.5), 1)
    '-2.0 [-3.0, -1.0]'
    """
    mean, low, high = (format(value, f"+z,.{digits}f") for value in difference[:3])
    return f"{mean} [{low}, {high}]"


def count_text(answers: list[bool | None], of: str) -> str:
    """How often a claim holds, is undecided, and does not hold, as text.

    >>> count_text([True, True, None], "panels"), count_text([True, True], "panels")
    ('in 2 of 3 panels, undecided in 1, not in 0', 'in all 2 panels')
    """
    held, open_ = sum(answer is True for answer in answers), sum(answer is None for answer in answers)
    if held == len(answers):
        return f"in all {held} {of}"
    return f"in {held} of {len(answers)} {of}, undecided in {open_}, not in {len(answers) - held - open_}"


def range_text(numbers: Iterable[float], form: str = ".2f") -> str:
    """The least and the largest of several numbers, as text; one number if they are equal.

    >>> range_text([0.5, 0.75, 0.25]), range_text([0.5])
    ('0.25 to 0.75', '0.50')
    """
    several = sorted(numbers)
    low, high = format(several[0], form), format(several[-1], form)
    return low if low == high else f"{low} to {high}"
