"""`toplist.fit`: fits click models to some lists of a log, and compares them on the others."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from toplist.core.problem import InvalidInput, checked_seed, nearest, number, refuse, several
from toplist.logs.click_log import ClickLog
from toplist.logs.columns import PROBABILITIES
from toplist.logs.comparison.folder import FitFolder
from toplist.logs.comparison.holdout import SPLITS
from toplist.logs.comparison.result import ModelComparison
from toplist.logs.comparison.sources import LogParts, MemoryParts, RayParts, StreamedParts
from toplist.logs.fit_model import find_model, fit_model
from toplist.logs.fitted import FittedModel
from toplist.logs.fitting.maximise import FitSettings, Iteration
from toplist.logs.fitting.prior import Prior
from toplist.logs.models import MODELS, ClickModel
from toplist.logs.read import read_log
from toplist.support.files import AnyPath

ENGINES = ("local", "disk", "ray")
NO_OPTIONS: Mapping[str, Any] = {}


class FitProgress(NamedTuple):
    """Where a comparison of models is.

    Parameters
    ----------
    model : str
        The model being fitted.
    split : str
        The split that it is fitted for.
    done : int
        Fits finished.
    total : int
        All fits.
    iteration : int
        Iterations of this fit so far.
    per_list : float
        Penalised log-likelihood per list before this iteration; NaN at the beginning.
    """

    model: str
    split: str
    done: int
    total: int
    iteration: int = 0
    per_list: float = float("nan")


def fit(
    log: Any,
    models: str | Sequence[str | ClickModel] = "all",
    *,
    holdout: float = 0.25,
    split: str = "random",
    drift: bool = True,
    seed: int = 0,
    priors: Mapping[str, Prior] | None = None,
    per_query: bool = False,
    errors: str = "information",
    settings: FitSettings = FitSettings(),  # noqa: B008 - immutable
    engine: str = "local",
    address: str | None = None,
    reading: Mapping[str, Any] = NO_OPTIONS,
    folder: AnyPath | None = None,
    progress: Callable[[FitProgress], object] | None = None,
) -> ModelComparison:
    """Fit click models to some lists of a log, and compare them on the lists held out.

    Parameters
    ----------
    log : ClickLog, str, path-like or table
        The log, or what `toplist.logs.read_log` reads: a file, a folder of files or a frame.
    models : str or sequence, default "all"
        Names of `toplist.logs.models.MODELS`, "all" of them, or models of your own.
    holdout : float, default 0.25
        Share of lists to hold out; 0 fits and scores all lists, which flatters models with many parameters.
    split : str, default "random"
        "random": hold out lists drawn by their content, whatever the order of the log. "time": the latest lists.
    drift : bool, default True
        With a random split of a log with times, fit and score a split by time besides, to see drift.
    seed : int, default 0
        Seed of the random split.
    priors : mapping of str to Prior, optional
        As for `toplist.logs.fit_model`, for the models that have parameters of that kind.
    per_query : bool, default False
        Fit examination, termination and continuation for each query separately.
    errors : str, default "information"
        Where standard errors come from, as for `toplist.logs.fit_model`; "none" for none.
    settings : FitSettings, optional
        How long to iterate.
    engine : str, default "local"
        Where the lists are: "local" in memory; "disk" for a log that is larger, read part by part; "ray" on a Ray
        cluster whose workers read the files of a folder. The parameters are the same. Only "local" has a split by
        time, and differences paired by visitor.
    address : str, optional
        Address of a running Ray cluster, such as "auto"; by default one is started on this machine.
    reading : mapping of str to object, optional
        Options of `toplist.logs.read_log` for a log that is not read yet, as {"strict": True}.
    folder : str or path-like, optional
        Keep each model here as soon as it is fitted. An interrupted call that is made again fits the missing ones.
    progress : callable, optional
        Receives a `FitProgress` at the beginning of each fit and at each iteration.

    Returns
    -------
    ModelComparison
        Tables, differences with intervals and the fitted models. Only its seconds differ between equal calls.

    Raises
    ------
    InvalidInput
        If an argument cannot be used, or the log is too small to split.

    Examples
    --------
    >>> log = ClickLog.from_lists(["q"] * 40, [["a", "b"], ["b", "a"]] * 20, clicked=[[1], [2], [1], []] * 10)
    >>> found = fit(log, ["global-ctr", "item-ctr"], seed=1)
    >>> found.best, found.main.held_lists
    ('item-ctr', 13.0)
    """
    chosen = choose_models(models)
    per_model = split_priors(chosen, priors)
    share = number("The holdout", holdout, 0.0, 1.0, "give the share of lists to hold out, as 0.25")
    seed = checked_seed(seed)
    for what, given, accepted in (("The split", split, SPLITS), ("The engine", engine, ENGINES)):
        if given not in accepted:
            raise refuse(what, given, f"one of {', '.join(accepted)}", nearest(given, accepted, "choose one"))
    source = open_source(log, reading, engine, address, split, share, seed, drift)
    total, results = len(source.splits()) * len(chosen), {}
    facts: dict[str, Any] = {}
    for place, name in enumerate(source.splits()):
        with source.training(name) as data:
            facts = {
                "log": source.facts().fingerprint, "holdout": share, "seed": seed, "per_query": bool(per_query),
                "errors": errors, "settings": settings._asdict(),
                "priors": None if priors is None else {kind: list(prior) for kind, prior in sorted(priors.items())},
            }  # fmt: skip
            kept = FitFolder(folder, facts)
            lists = sum(part.lists for part in data.summaries())
            fitted: dict[str, tuple[FittedModel, float]] = {}
            for label, model in chosen.items():
                teller = Teller(progress, FitProgress(label, name, place * len(chosen) + len(fitted), total), lists)
                found = kept.find(name, model)
                if found is None:
                    begin = time.perf_counter()
                    new = fit_model(
                        data, model, priors=per_model[label], per_query=per_query, errors=errors, settings=settings,
                        progress=teller,
                    )  # fmt: skip
                    found = new, time.perf_counter() - begin
                    kept.keep(name, label, *found)
                fitted[label] = found
            results[name] = source.score(name, lists, fitted)
    comparison = ModelComparison(source.facts().line, source.facts().report, facts, results)
    kept.write_figures(comparison.json_text())
    return comparison


def choose_models(models: str | Sequence[str | ClickModel]) -> dict[str, Any]:
    """The models by name, in the order given."""
    if isinstance(models, str):
        given: list[Any] = list(MODELS) if models == "all" else [models]
    else:
        given = several("The models", models, "names or models")
    if not given:
        raise refuse("The models", [], f"at least one of {', '.join(MODELS)}", "or write 'all'")
    found = {}
    for each in given:
        model = find_model(each)
        if model.name in found:
            raise InvalidInput(f"The model {model.name} is given twice; leave one out.")
        found[model.name] = model
    return found


def split_priors(models: Mapping[str, Any], priors: Mapping[str, Prior] | None) -> dict[str, dict[str, Prior] | None]:
    """Per model the priors of its kinds; None for the default ones."""
    if priors is None:
        return dict.fromkeys(models)
    kinds = {name: parameter_kinds(model) for name, model in models.items()}
    known = sorted({kind for several_kinds in kinds.values() for kind in several_kinds})
    checked = {}
    for kind, prior in priors.items():
        if kind not in known:
            raise refuse("The kind of a prior", kind, f"one of {', '.join(known)}", nearest(kind, known, "correct it"))
        checked[kind] = Prior(*prior).checked(kind)
    return {name: {kind: prior for kind, prior in checked.items() if kind in kinds[name]} for name in models}


def parameter_kinds(model: Any) -> set[str]:
    """The kinds of parameters of a model, as priors name them."""
    coins = model._replace(positions=2).coins()
    return {kind.partition(" at ")[0] for kind in coins.own} | {kind for kind, _ in coins.shared}


def open_source(
    log: Any,
    reading: Mapping[str, Any],
    engine: str,
    address: str | None,
    split: str,
    holdout: float,
    seed: int,
    drift: bool,
) -> LogParts:
    """The lists of a comparison, where the engine wants them."""
    if engine == "local":
        return MemoryParts(open_log(log, reading), split, holdout, seed, drift)
    if split != "random":
        advice = "split at random, or use the engine 'local'"
        raise refuse("The split", split, f"'random' with the engine {engine!r}", advice)
    if not isinstance(log, str | os.PathLike):
        raise refuse("The log", type(log).__name__, f"a file or folder for the engine {engine!r}", "give its path")
    if engine == "disk":
        return StreamedParts(log, reading, holdout, seed)
    return RayParts(log, reading, holdout, seed, address)


def open_log(log: Any, reading: Mapping[str, Any]) -> ClickLog:
    """The log itself, or what a file, a folder or a frame has, without the columns that no model needs."""
    if isinstance(log, ClickLog):
        return log
    options = dict(reading)
    columns = dict.fromkeys((*PROBABILITIES, "left")) | dict(options.pop("columns", {}))
    return read_log(log, columns=columns, **options)


class Teller:
    """Passes the iterations of one fit on as progress of the whole comparison."""

    def __init__(self, tell: Callable[[FitProgress], object] | None, start: FitProgress, lists: float) -> None:
        self._tell, self._now, self._lists = tell, start, max(lists, 1.0)
        if tell is not None:
            tell(start)

    def __call__(self, iteration: Iteration) -> None:
        """One iteration."""
        if self._tell is not None:
            self._now = self._now._replace(
                iteration=self._now.iteration + 1, per_list=iteration.objective / self._lists
            )
            self._tell(self._now)
