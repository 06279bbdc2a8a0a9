"""A sweep of a policy's parameters: all settings meet the same visitors, and the best is tried again on fresh ones."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from os import PathLike
from typing import Any, NamedTuple

from toplist.core.problem import InvalidInput, number, refuse, whole
from toplist.core.randomness import branch, uniform
from toplist.engine.result import Result
from toplist.engine.resume_file import FILE_LABEL
from toplist.engine.simulate import ONE_SAMPLE, Progress, simulate
from toplist.engine.tuning import Tuning
from toplist.support.catalogue import POLICIES, Entry, call_text
from toplist.support.files import check_writable

__all__ = ["Span", "Tuning", "tune"]

MOST_SETTINGS = 10_000  # more are a mistake, or want random tries
DRAWS = -3  # the branch of the seed that settings are drawn from; runs have the branches from 0
FIGURES = 4  # of a number drawn: what is printed is what was played


class Span(NamedTuple):
    """A range that a parameter is drawn from: evenly, or with `log` evenly on a logarithmic scale."""

    low: float
    high: float
    log: bool = False


def tune(
    policy: str | Callable[..., Any],
    parameters: Mapping[str, Sequence[Any] | Span],
    world: Any,
    users: Any,
    steps: int,
    runs: int = 20,
    seed: int = 0,
    *,
    tries: int = 20,
    start: Any = ONE_SAMPLE,
    threads: int | None = None,
    progress: Callable[[Progress], None] | None = None,
    resume: str | PathLike[str] | None = None,
) -> Tuning:
    """Play a policy with many settings of its parameters, and tell which one lost least.

    `policy` is a name of the catalogue, with or without parameters, or a function that makes a policy, or a `partial`
    of one; as it is given, it is the default that the others are compared with. `parameters` says what to try:
    sequences of values, of which every combination is played; or spans, from which `tries` settings are drawn, and
    then a sequence too is drawn from.

    All settings meet the same visitors. The best of many looks better than it is, so it and the default are played
    again on fresh visitors, those of the next seed. `resume` keeps what was played, as in `simulate`; what is played
    again is kept in a file beside it, whose name ends in -again.npz.

    >>> from toplist import tune, worlds
    >>> found = tune("cascade-ucb1", {"scale": [0.1, 0.5]}, *worlds.b_lb(), steps=1000, runs=4, threads=1)
    >>> found.best, found.default
    ('cascade-ucb1(scale=0.1)', 'cascade-ucb1')
    >>> found.confirmed.high < 0
    True
    """
    named, given = _builder(policy)
    spread = _checked(named, given, parameters)
    drawn = any(isinstance(values, Span) for values in spread.values())
    chosen = _drawn(named, spread, tries, seed) if drawn else _combined(spread)
    usual = {name: given.get(name, named.parameters[name]) for name in spread}
    settings = {call_text(named.name, given): usual}
    known = {_key(usual)}
    for setting in chosen:
        if _key(setting) not in known:
            known.add(_key(setting))
            settings[call_text(named.name, given | setting)] = setting
    again = None
    if resume is not None:
        again = check_writable(resume, FILE_LABEL, suffixes=(".npz",)).with_suffix("")
        again = again.with_name(f"{again.name}-again.npz")
        check_writable(again, FILE_LABEL)

    def play(labels: Iterable[str], seed: int, kept: str | PathLike[str] | None) -> Result:
        made = {label: named.make(**(given | settings[label])) for label in labels}
        return simulate(
            made, world, users, steps, runs, seed, start=start, checkpoints=1, threads=threads, progress=progress,
            resume=kept,
        )  # fmt: skip

    found = Tuning(settings, play(settings, seed, resume))
    if found.best == found.default:
        return found
    return replace(found, again=play((found.best, found.default), (seed + 1) % 2**63, again))


def _builder(policy: Any) -> tuple[Entry, dict[str, Any]]:
    """What makes the policy, and the parameters that it was given."""
    if isinstance(policy, str):
        return POLICIES.find(policy)
    if not callable(policy):
        accepted = "a name of the catalogue, or a function that makes one"
        raise refuse("The policy", policy, accepted, "one that is made already has no settings to try")
    build, given = (policy.func, policy.keywords) if isinstance(policy, partial) else (policy, {})
    name = getattr(policy, "__name__", getattr(build, "__name__", type(build).__name__))
    return Entry(name, name, "", build), dict(given)


def _checked(named: Entry, given: dict[str, Any], parameters: Any) -> dict[str, Any]:
    """What to try of each parameter: a span, or a list of values."""
    named.make(**given)  # refuses what it was given, if need be
    if not isinstance(parameters, Mapping) or not parameters:
        known = ", ".join(named.parameters) or "none"
        raise InvalidInput(f"There is nothing to tune; name a parameter of {named.name}, which has {known}.")
    named.check_known(parameters)
    spread: dict[str, Any] = {}
    for name in filter(parameters.__contains__, named.parameters):  # in the policy's order, whatever the caller's is
        values = parameters[name]
        if isinstance(values, Span):
            spread[name] = _checked_span(name, values)
        elif isinstance(values, str) or not isinstance(values, Iterable) or not (several := list(values)):
            raise refuse(f"What to try of {name}", values, "some values, or a Span", "give a list, as [0.5, 1.0]")
        else:
            spread[name] = several
    return spread


def _checked_span(name: str, span: Span) -> Span:
    low = number(f"The low end of {name}", span.low, -1e300, 1e300, "give the smallest value to try")
    high = number(f"The high end of {name}", span.high, -1e300, 1e300, "give the largest value to try")
    if not low < high:
        accepted = f"above the low end, {span.low}"
        raise refuse(f"The high end of {name}", span.high, accepted, "give the smaller one first")
    if span.log and low <= 0:
        raise refuse(f"The low end of {name}", span.low, "above 0 on a logarithmic scale", "or draw it evenly")
    return Span(low, high, bool(span.log))


def _combined(spread: dict[str, Any]) -> list[dict[str, Any]]:
    """Every combination of the values."""
    count = math.prod(len(values) for values in spread.values())
    if count > MOST_SETTINGS:
        raise refuse(
            "The number of settings", count, f"at most {MOST_SETTINGS}", "try fewer values, or draw some at random"
        )
    return [dict(zip(spread, values, strict=True)) for values in itertools.product(*spread.values())]


def _key(setting: dict[str, Any]) -> str:
    """Equal for equal settings, whether a number is written 1 or 1.0."""
    return repr([float(value) if type(value) is int else value for value in setting.values()])


def _drawn(named: Entry, spread: dict[str, Any], tries: int, seed: int) -> list[dict[str, Any]]:
    """Settings at random: the first of many tries are those of fewer, and each parameter has draws of its own."""
    tries = whole("The number of tries", tries, 1, "give how many settings are drawn")
    if tries > MOST_SETTINGS:
        raise refuse("The number of tries", tries, f"at most {MOST_SETTINGS}", "draw fewer")
    seed = whole("The seed", seed, 0, "give any whole number")
    key = branch(seed % 2**63, DRAWS)
    return [
        {
            name: _draw(spread[name], uniform(branch(key, attempt), place), type(default) is int)
            for place, (name, default) in enumerate(named.parameters.items())
            if name in spread
        }
        for attempt in range(tries)
    ]


def _draw(values: Any, share: float, counts: bool) -> Any:
    """The value that lies so far into a span or a list; a whole number where the parameter counts something."""
    if not isinstance(values, Span):
        return values[int(share * len(values))]
    if values.log:
        value = math.exp(math.log(values.low) + share * (math.log(values.high) - math.log(values.low)))
    else:
        value = values.low + share * (values.high - values.low)
    if counts:
        return min(max(round(value), math.ceil(values.low)), math.floor(values.high))
    return min(max(float(f"{value:.{FIGURES}g}"), values.low), values.high)
