"""How claims are put together: an answer with its number, as printed and with less exploration, and a theorem's."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from toplist.bounds import vacuous
from toplist.engine.statistics import Difference
from toplist.experiments.experiment import Claim, Found
from toplist.experiments.verdicts import settled


class Answer(NamedTuple):
    """Whether something holds, None where nobody can tell, and the number that decides."""

    holds: bool | None
    number: str


class Scaled(NamedTuple):
    """What came out with the exploration scaled, and by which factor."""

    answer: Answer
    factor: str  # in words, for a remark


def claim(found: Found, text: str, answer: Answer, steps: int, remark: str = "", scaled: Scaled | None = None) -> Claim:
    """What a paper says of so many steps, as it comes out; with fewer nobody can tell.

    Where it does not hold as printed but does with the exploration scaled, that is told, with both numbers.
    """
    remarks, number = [remark] if remark else [], answer.number
    holds, by_scaling = answer.holds, False
    if scaled is not None and holds is not True:
        number = f"{scaled.answer.number}; as printed: {answer.number}"
        remarks.insert(0, f"the first number with {scaled.factor}")
        by_scaling = scaled.answer.holds is True
        if scaled.answer.holds is not False:
            holds = scaled.answer.holds
    holds = settled(holds, found.size.steps, steps)
    if found.size.steps < steps:
        remarks.insert(0, f"the paper says it of {steps:,} steps, and {found.size.steps:,} were played")
    if by_scaling and found.data is not None and found.data.substitute:
        remarks.append(f"on substitute data: {found.data.substitute}")
    return Claim(text, found.outcome(holds, by_scaling), number, "; ".join(remarks))


def promise(theorem: str, bound: float, steps: int) -> str:
    """What a theorem says of the regret of so many steps.

    >>> promise("Theorem 1", 66928.0, 10_000), promise("Theorem 1", 123.4, 10_000)
    ('Theorem 1 has 66,928, vacuous here', 'Theorem 1 has 123')
    """
    return f"{theorem} has {bound:,.0f}{', vacuous here' if vacuous(bound, steps) else ''}"


def interval(difference: Difference, digits: int = 0) -> str:
    """A paired difference with its interval.

    >>> interval(Difference(-2.04, -3.0, -1.0, 0.5), 1)
    '-2.0 [-3.0, -1.0]'
    """
    mean, low, high = (format(value, f"+z,.{digits}f") for value in difference[:3])
    return f"{mean} [{low}, {high}]"


def counts(answers: list[bool | None], of: str) -> str:
    """In how many of several it holds, in how many nobody can tell, and in how many it does not.

    >>> counts([True, True, None], "panels"), counts([True, True], "panels")
    ('in 2 of 3 panels, undecided in 1, not in 0', 'in all 2 panels')
    """
    held, open_ = sum(answer is True for answer in answers), sum(answer is None for answer in answers)
    if held == len(answers):
        return f"in all {held} {of}"
    return f"in {held} of {len(answers)} {of}, undecided in {open_}, not in {len(answers) - held - open_}"


def span(numbers: Iterable[float], form: str = ".2f") -> str:
    """The least and the largest of several numbers, or the only one.

    >>> span([0.5, 0.75, 0.25]), span([0.5])
    ('0.25 to 0.75', '0.50')
    """
    several = sorted(numbers)
    low, high = format(several[0], form), format(several[-1], form)
    return low if low == high else f"{low} to {high}"
