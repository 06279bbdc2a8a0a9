"""Tunes the catalogue once, on problems that are not ranked; the result is stored as data."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from toplist import __version__
from toplist.core.problem import InvalidInput
from toplist.engine.tune import tune
from toplist.leaderboard.contenders import Contender, field_of
from toplist.leaderboard.suite import Suite
from toplist.policies import catalogue
from toplist.support.catalogue import Entry
from toplist.support.files import slug
from toplist.support.progress import Progress

FORMAT = {"format": "toplist.tuned", "format_version": 1}
FACTORS = (0.1, 0.3, 3.0)  # of a default, for parameters that are a factor of the radius, or of a step
SCALED = ("scale", "eps", "slack", "period")
INSTEAD = ("noise", "penalty", "rate")  # scaled where there is no scale
LEAST = {"period": 2.0}  # in every list, the best known one would be shown
VALUES: dict[str, list[float]] = {
    "loglog": [0.0, 1.0],
    "alpha": [0.1, 0.3, 1.0, 3.0],
    "changes": [4.0, 16.0, 64.0],
    "delta": [0.01, 0.1],
    "exploration": [0.03, 0.1, 0.3],
}


def choices(entry: Entry) -> dict[str, list[Any]]:
    """The values to try of each parameter that says how much a policy explores, or how much it forgets.

    Of several parameters, all combinations are tried, also with defaults.

    >>> from toplist.policies import catalogue
    >>> choices(catalogue()["cascade-ucb1"]), choices(catalogue()["cascade-ts"])
    ({'scale': [0.15, 0.45, 4.5]}, {})
    """
    found: dict[str, list[Any]] = {name: VALUES[name] for name in entry.parameters if name in VALUES}
    for name in SCALED if "scale" in entry.parameters else SCALED + INSTEAD:
        default = entry.parameters.get(name)
        if isinstance(default, float) and default > 0.0:
            found[name] = [number for factor in FACTORS if (number := round(factor * default, 6)) >= LEAST.get(name, 0)]
    if len(found) > 1:
        found = {name: [entry.parameters[name], *values] for name, values in found.items()}
    return found


def tune_suite(
    suite: Suite,
    names: list[str],
    steps: int,
    runs: int,
    seed: int,
    threads: int | None = None,
    folder: Path | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> dict[str, Any]:
    """Tune every policy on the tuning problem of every kind; what fresh visitors do not confirm is not taken.

    Parameters
    ----------
    suite : Suite
        The suite, whose tuning problems are played.
    names : list of str
        Names of the catalogue to tune; all for an empty list.
    steps, runs, seed, threads
        As for `toplist.tune`.
    folder : path, optional
        Where to keep what was played.
    progress : callable, optional
        As for `toplist.tune`.

    Returns
    -------
    dict
        What `read_tuned` reads: per kind and policy its text with the best parameters, and how they were found.
    """
    tuned: dict[str, dict[str, str]] = {}
    entries = {contender.label: catalogue()[contender.label] for contender in field_of({}, {}, names)}
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    for problem in suite.tuning:
        made = problem.made()
        for name, entry in entries.items():
            tried = choices(entry)
            if not tried or not Contender(name, {"": entry.make()}).plays(problem):
                continue
            found = tune(
                name, tried, made.world, made.users, steps, runs, seed, start=made.start, threads=threads,
                progress=progress, resume=None if folder is None else folder / f"{problem.kind}-{slug(name)}.npz",
            )  # fmt: skip
            better = found.confirmed is not None and found.confirmed.high < 0.0
            tuned.setdefault(problem.kind, {})[name] = found.best if better else name
    about: dict[str, Any] = {
        "suite": suite.version,
        "tuning": suite.tuning_digest,
        "steps": steps,
        "runs": runs,
        "seed": seed,
        "version": __version__,
    }
    about["policies"] = sorted({name for policies in tuned.values() for name in policies})
    return {**FORMAT, "settings": about, "tuned": tuned}


class Tuned(NamedTuple):
    """Tuned parameters, and how they were found.

    Parameters
    ----------
    policies : dict
        Per kind of problem and per policy, its text.
    settings : dict
        Version of the suite, digest of its problems to tune on, steps, runs, seed and version of toplist.
    """

    policies: dict[str, dict[str, str]]
    settings: dict[str, Any]


def read_tuned(text: str | None = None, suite: Suite | None = None) -> Tuned:
    """Tuned parameters from a text; without one, those that toplist has.

    Parameters
    ----------
    text : str, optional
        What `toplist leaderboard --tune` wrote.
    suite : Suite, optional
        The suite that they are for: one with the same problems to tune on, whatever is ranked.

    Returns
    -------
    Tuned
        The parameters.

    Raises
    ------
    InvalidInput
        If the text was not written by `toplist leaderboard --tune`, or for other problems to tune on.

    Examples
    --------
    >>> from toplist.leaderboard import read_suite
    >>> read_tuned(suite=read_suite()).settings["steps"]
    10000
    """
    if text is None:
        text = files("toplist.leaderboard").joinpath("tuned.json").read_text()
    try:
        found = json.loads(text)
        known = {key: found[key] for key in FORMAT}
        tuned = Tuned(found["tuned"], found["settings"])
        there = int(tuned.settings["suite"]), tuned.settings.get("tuning"), tuned.settings.get("digest")
    except (KeyError, TypeError, ValueError, AttributeError):
        known = {}
    if known != FORMAT:
        raise InvalidInput("Tuned parameters are a file of `toplist leaderboard --tune`; make one.")
    if suite is not None and not _fit(suite, *there):
        raise InvalidInput(
            f"These parameters were tuned on other problems (digest {there[1] or there[2]}, of version {there[0]} of a "
            f"suite) than those of version {suite.version} (digest {suite.tuning_digest}); tune again with --tune, or "
            "give --tuned none."
        )
    return tuned


def _fit(suite: Suite, version: int, tuning: str | None, digest: str | None) -> bool:
    """Whether parameters fit a suite; files of before had one digest, of the ranked problems and those to tune on."""
    if tuning is not None:
        return tuning == suite.tuning_digest
    before = suite.of_version(version)
    return bool(before.tuning) and before.tuning == suite.tuning and digest in (None, before.digest)
