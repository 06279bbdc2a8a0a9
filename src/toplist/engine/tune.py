"""`tune`: a parameter sweep in which all settings meet the same visitors, and the best is confirmed on fresh ones."""

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
from toplist.engine.simulate import ONE_SAMPLE, simulate
from toplist.engine.tuning import Tuning
from toplist.support.catalogue import POLICIES, Entry, call_text
from toplist.support.files import check_writable
from toplist.support.progress import Progress

__all__ = ["Span", "Tuning", "tune"]

MOST_SETTINGS = 10_000  # more are a mistake, or need random tries
DRAWS = -3  # the branch of the seed that settings are drawn from; runs have the branches from 0
FIGURES = 4  # significant digits of a number drawn, so that the printed value is the one played


class Span(NamedTuple):
    """A range from which `tune` draws a parameter.

    Parameters
    ----------
    low : float
        Smallest value.
    high : float
        Largest value, above `low`.
    log : bool, default False
        Draw uniformly on a logarithmic scale instead of a linear one; `low` must then be above 0.
    """

    low: float
    high: float
    log: bool = False


def tune(
    policy: str | Callable[..., Any],
    parameters: Mapping[str, Sequence[Any] | Span],
    world: Any,
    users: Any = None,
    steps: int = 10_000,
    runs: int = 20,
    seed: int = 0,
    *,
    tries: int = 20,
    start: Any = ONE_SAMPLE,
    threads: int | None = None,
    progress: Callable[[Progress], None] | None = None,
    resume: str | PathLike[str] | None = None,
    engine: str = "cpu",
) -> Tuning:
    """Play a policy with many settings of its parameters and return the one with the least regret.

    All settings meet the same visitors. The best of many looks better than it is, so it and the default are played
    again on fresh visitors, those of the next seed.

    Parameters
    ----------
    policy : str or callable
        A name of the catalogue, with or without parameters, a function that makes a policy, or a `partial` of one.
        As given, it is the default to which the other settings are compared.
    parameters : mapping of str to sequence or Span
        Values to try, by name of the parameter. Sequences alone are combined: every combination is played. With at
        least one `Span`, `tries` settings are drawn at random, from the sequences too.
    world : world or str
        Attraction of the items, as for `simulate`.
    users : click model, str or None, default None
        Turns attraction into clicks, as for `simulate`.
    steps : int, default 10,000
        Number of lists that each run shows.
    runs : int, default 20
        Number of independent runs of each setting.
    seed : int, default 0
        Seed of all random numbers, the drawn settings included.
    tries : int, default 20
        Number of settings to draw where `parameters` has a `Span`.
    start : start or str, default OneSample()
        How a policy first sees the items, as for `simulate`.
    threads : int or None, default None
        Number of threads; None uses all cores. It is not for `engine="gpu"`.
    progress : callable or None, default None
        Called with a `Progress` about ten times a second, first for the sweep and then for the confirmation.
    resume : path or None, default None
        An .npz file that stores what was played, as for `simulate`. The confirmation has a file beside it, whose
        name ends in -again.npz.
    engine : {"cpu", "gpu"}, default "cpu"
        Where to play, as for `simulate`.

    Returns
    -------
    Tuning
        Every setting with its regret, and the comparison of the best with the default on fresh visitors.

    Raises
    ------
    InvalidInput
        If the policy has no such parameter, a value cannot be used, there are more than 10,000 settings, or `resume`
        holds another simulation.

    Examples
    --------
    >>> from toplist import tune, worlds
    >>> found = tune("cascade-ucb1", {"scale": [0.1, 0.5]}, *worlds.b_lb(), steps=1000, runs=4, threads=1)
    >>> found.best, found.default
    ('cascade-ucb1(scale=0.1)', 'cascade-ucb1')
    >>> found.confirmed.high < 0
    True
    """
    entry, given = _entry_of(policy)
    choices = _checked_choices(entry, given, parameters)
    at_random = any(isinstance(values, Span) for values in choices.values())
    chosen = _random_settings(entry, choices, tries, seed) if at_random else _all_combinations(choices)
    default = {name: given.get(name, entry.parameters[name]) for name in choices}
    settings = {call_text(entry.name, given): default}
    known = {_identity(default)}
    for setting in chosen:
        if _identity(setting) not in known:
            known.add(_identity(setting))
            settings[call_text(entry.name, given | setting)] = setting
    again = None
    if resume is not None:
        again = check_writable(resume, FILE_LABEL, suffixes=(".npz",)).with_suffix("")
        again = again.with_name(f"{again.name}-again.npz")
        check_writable(again, FILE_LABEL)

    def play(labels: Iterable[str], seed: int, file: str | PathLike[str] | None) -> Result:
        policies = {label: entry.make(**(given | settings[label])) for label in labels}
        return simulate(
            policies, world, users, steps, runs, seed, start=start, checkpoints=1, threads=threads, progress=progress,
            resume=file, engine=engine,
        )  # fmt: skip

    found = Tuning(settings, play(settings, seed, resume))
    if found.best == found.default:
        return found
    return replace(found, again=play((found.best, found.default), (seed + 1) % 2**63, again))


def _entry_of(policy: Any) -> tuple[Entry, dict[str, Any]]:
    """The entry that makes the policy, and the parameters it was given."""
    if isinstance(policy, str):
        return POLICIES.find(policy)
    if not callable(policy):
        accepted = "a name of the catalogue, or a function that makes one"
        raise refuse("The policy", policy, accepted, "a finished policy has no parameters to set")
    build, given = (policy.func, policy.keywords) if isinstance(policy, partial) else (policy, {})
    name = getattr(policy, "__name__", getattr(build, "__name__", type(build).__name__))
    return Entry(name, name, "", build), dict(given)


def _checked_choices(entry: Entry, given: dict[str, Any], parameters: Any) -> dict[str, Any]:
    """The choices of each parameter: a span, or a list of values."""
    entry.make(**given)  # refuses invalid parameters
    if not isinstance(parameters, Mapping) or not parameters:
        known = ", ".join(entry.parameters) or "none"
        raise InvalidInput(f"There is nothing to tune; name a parameter of {entry.name}, which has {known}.")
    entry.check_known(parameters)
    choices: dict[str, Any] = {}
    for name in filter(parameters.__contains__, entry.parameters):  # in the policy's order, not the caller's
        values = parameters[name]
        if isinstance(values, Span):
            choices[name] = _checked_span(name, values)
        elif isinstance(values, str) or not isinstance(values, Iterable) or not (several := list(values)):
            raise refuse(f"The search space of {name}", values, "values or a Span", "give a list, as [0.5, 1.0]")
        else:
            choices[name] = several
    return choices


def _checked_span(name: str, span: Span) -> Span:
    low = number(f"The low end of {name}", span.low, -1e300, 1e300, "give the smallest value to try")
    high = number(f"The high end of {name}", span.high, -1e300, 1e300, "give the largest value to try")
    if not low < high:
        accepted = f"above the low end, {span.low}"
        raise refuse(f"The high end of {name}", span.high, accepted, "give the smaller one first")
    if span.log and low <= 0:
        raise refuse(f"The low end of {name}", span.low, "above 0 on a logarithmic scale", "or draw it evenly")
    return Span(low, high, bool(span.log))


def _all_combinations(choices: dict[str, Any]) -> list[dict[str, Any]]:
    """Every combination of the values."""
    count = math.prod(len(values) for values in choices.values())
    if count > MOST_SETTINGS:
        raise refuse(
            "The number of settings", count, f"at most {MOST_SETTINGS}", "try fewer values, or draw some at random"
        )
    return [dict(zip(choices, values, strict=True)) for values in itertools.product(*choices.values())]


def _identity(setting: dict[str, Any]) -> str:
    """A text that is equal for equal settings, whether a number is written 1 or 1.0."""
    return repr([float(value) if type(value) is int else value for value in setting.values()])


def _random_settings(entry: Entry, choices: dict[str, Any], tries: int, seed: int) -> list[dict[str, Any]]:
    """Settings drawn at random; fewer tries give the first of them, and each parameter has draws of its own."""
    tries = whole("The number of tries", tries, 1, "give the number of settings to draw")
    if tries > MOST_SETTINGS:
        raise refuse("The number of tries", tries, f"at most {MOST_SETTINGS}", "draw fewer")
    seed = whole("The seed", seed, 0, "give any whole number")
    key = branch(seed % 2**63, DRAWS)
    return [
        {
            name: draw_value(choices[name], uniform(branch(key, attempt), index), type(default) is int)
            for index, (name, default) in enumerate(entry.parameters.items())
            if name in choices
        }
        for attempt in range(tries)
    ]


def draw_value(values: Any, share: float, is_count: bool) -> Any:
    """The value at a share, in [0, 1), of a span or list; a whole number if the parameter is a count."""
    if not isinstance(values, Span):
        return values[int(share * len(values))]
    if values.log:
        value = math.exp(math.log(values.low) + share * (math.log(values.high) - math.log(values.low)))
    else:
        value = values.low + share * (values.high - values.low)
    if is_count:
        return min(max(round(value), math.ceil(values.low)), math.floor(values.high))
    return min(max(float(f"{value:.{FIGURES}g}"), values.low), values.high)
