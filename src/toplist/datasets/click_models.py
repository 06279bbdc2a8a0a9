"""Click models fitted to a search log: reads one JSON file of them, query by query.

The file, which may be compressed by gzip, is `{query: {model: {parameter: numbers}}}`, with documents in the order of
the log. The models are CM (cascade), PBM, DCM, DBN, CCM and UBM; PARAMETERS has the parameters of each.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from toplist.core.problem import InvalidInput, nearest, refuse
from toplist.core.slate import Floats
from toplist.datasets.sources import DataFile
from toplist.logs.fitted import FittedModel
from toplist.logs.models import CascadeModel, CCMModel, DBNModel, DCMModel, PBMModel, UBMModel
from toplist.support.files import AnyPath
from toplist.support.tables import count_text
from toplist.worlds import Fixed

# Per model and parameter: 0 for one number, 1 for one per document, 2 for one per pair of ranks.
PARAMETERS: dict[str, dict[str, int]] = {
    "CM": {"attr": 1},
    "PBM": {"attr": 1, "exam": 1},
    "DCM": {"attr": 1, "stop": 1},  # stop: probability of leaving after a click at a position
    "DBN": {"attr": 1, "sat": 1, "abandon": 0},  # abandon: probability of leaving unsatisfied
    "CCM": {"attr": 1, "cont_noclick": 0, "cont_click_nonrel": 0, "cont_click_rel": 0},
    "UBM": {"attr": 1, "exam": 2},  # exam[rank][rank of the previous click]; last column: no click before
}
AGAIN = "copy the data again"


def _triangle(examination: Floats) -> list[float]:
    """The examinations of a UBM as `UBMModel` has them: per position, no click above first."""
    return [float(row[last]) for place, row in enumerate(examination) for last in (-1, *range(place))]


# Per model of the file, the model of a fit and its shared parameters.
FITTED: dict[str, tuple[Any, Callable[[dict[str, Floats]], Sequence[float]]]] = {
    "CM": (CascadeModel(), lambda _: []),
    "PBM": (PBMModel(), lambda found: found["exam"].tolist()),
    "DCM": (DCMModel(), lambda found: found["stop"].tolist()),
    "DBN": (DBNModel(), lambda found: [1.0 - float(found["abandon"])]),
    "CCM": (CCMModel(), lambda found: [float(found[f"cont_{at}"]) for at in ("noclick", "click_nonrel", "click_rel")]),
    "UBM": (UBMModel(), lambda found: _triangle(found["exam"])),
}


class ClickModels(NamedTuple):
    """The click models of a file; it prints as a line of counts.

    Parameters
    ----------
    path : Path
        The file.
    documents : int
        Number of documents of each query.
    queries : dict
        Arrays of probabilities by query, model and parameter.
    """

    path: Path
    documents: int
    queries: dict[str, dict[str, dict[str, Floats]]]

    @property
    def models(self) -> tuple[str, ...]:
        """The models of which all queries have parameters."""
        return tuple(model for model in PARAMETERS if all(model in found for found in self.queries.values()))

    def attraction(self, model: str = "CM") -> dict[str, Floats]:
        """The attraction of each document, as a model estimates it.

        Parameters
        ----------
        model : str, default "CM"
            One of `models`.

        Returns
        -------
        dict of str to ndarray
            Attraction of the documents by query.

        Raises
        ------
        InvalidInput
            If some query lacks the model.
        """
        return {query: found["attr"] for query, found in self._parameters(model).items()}

    def people(self, model: str, positions: int) -> dict[str, tuple[Fixed, Any]]:
        """Make a world and users of each query.

        Parameters
        ----------
        model : str
            One of `models`.
        positions : int
            Length of the page; parameters per position are those of the first positions.

        Returns
        -------
        dict of str to tuple
            By query, the documents as a `Fixed` world, and the users of the click model.

        Raises
        ------
        InvalidInput
            If some query lacks the model, or has fewer documents than `positions`.
        """
        found = self.fitted(model)
        return {query: (found.world(query, positions), found.users(query, positions)) for query in self.queries}

    def fitted(self, model: str) -> FittedModel:
        """A model of the file as a fit to a log has it, without errors.

        Parameters
        ----------
        model : str
            One of `models`.

        Returns
        -------
        FittedModel
            The model with parameters of its own for each query; documents are numbered from 1.

        Raises
        ------
        InvalidInput
            If some query lacks the model.

        Notes
        -----
        DBN's `abandon` is read as 1 - persistence, where persistence is that of kveton2015: the probability of going on
        unsatisfied, with or without a click. It cannot be the persistence itself, since its estimate is almost 0 in
        logs with clicks all over the page.
        """
        parameters = self._parameters(model)
        kind, shared_of = FITTED[model]
        pairs = {
            query: dict(
                enumerate(zip(found["attr"], *([found["sat"]] if "sat" in found else []), strict=True), start=1)
            )
            for query, found in parameters.items()
        }
        shared = {query: shared_of(found) for query, found in parameters.items()}
        return FittedModel.from_values(kind._replace(positions=self.documents), pairs, shared)

    def _parameters(self, model: str) -> dict[str, dict[str, Floats]]:
        """The parameters of a model by query."""
        if model not in self.models:
            accepted = f"one that all queries of {self.path} have: {', '.join(self.models)}"
            raise refuse("The model", model, accepted, nearest(model, self.models, "choose one of them"))
        return {query: found[model] for query, found in self.queries.items()}

    def __str__(self) -> str:
        """A line of counts."""
        size = f"{len(self.queries)} queries of {count_text(self.documents, 'document')}"
        return f"{self.path}: {size} each, models {', '.join(self.models)}"


def read(path: AnyPath) -> ClickModels:
    """Read the click models in a file.

    Parameters
    ----------
    path : str or path-like
        The file, or a folder with one JSON file.

    Returns
    -------
    ClickModels
        All models of the file.

    Raises
    ------
    InvalidInput
        If the file is missing, damaged or malformed, or queries have different numbers of documents.
    """
    file = _find_file(path)
    try:
        everything = json.loads("\n".join(DataFile(file).lines(ended=False)))
    except InvalidInput:  # a ValueError that already says what is wrong
        raise
    except ValueError as problem:
        raise InvalidInput(f"{file} is truncated or not JSON ({problem}); {AGAIN}.") from None
    if not isinstance(everything, Mapping) or not everything:
        form = "{query: {model: {parameter: numbers}}}"
        raise InvalidInput(f"{file} holds no queries, but must be {form}; {AGAIN}.")
    queries = {query: _query(file, query, models) for query, models in everything.items()}
    sizes = {len(found["attr"]): query for query, models in queries.items() for found in models.values()}
    if len(sizes) > 1:
        (one, first), (other, second) = list(sizes.items())[:2]
        raise InvalidInput(
            f"{file} has {one} documents for query {first!r} and {other} for {second!r}, but all queries must have the "
            f"same number; leave the others out."
        )
    return ClickModels(file, next(iter(sizes)), queries)


def _find_file(path: AnyPath) -> Path:
    """The file itself, or the only JSON file of a folder."""
    accepted = "a JSON file of click models, or a folder that holds one"
    if not isinstance(path, str | os.PathLike) or not os.path.exists(path):
        raise refuse("The click models", str(path), accepted, "give a file that exists")
    file = Path(path)
    if not file.is_dir():
        return file
    inside = sorted([*file.glob("*.json"), *file.glob("*.json.gz")])
    if len(inside) != 1:
        raise refuse("The click models", str(file), accepted, f"this folder holds {len(inside)}; give the file itself")
    return inside[0]


def _query(file: Path, query: str, models: Any) -> dict[str, dict[str, Floats]]:
    """The supported models of a query, checked to be complete and probabilities."""
    known = [model for model in PARAMETERS if isinstance(models, Mapping) and model in models]
    if not known:
        raise InvalidInput(f"Query {query!r} of {file} has none of the models {', '.join(PARAMETERS)}; {AGAIN}.")
    found: dict[str, dict[str, Floats]] = {}
    for model in known:
        given = models[model] if isinstance(models[model], Mapping) else {}
        documents = len(given["attr"]) if isinstance(given.get("attr"), list) else 0
        for parameter, dimensions in PARAMETERS[model].items():
            what = f"{parameter} of the {model} of query {query!r} in {file}"
            if parameter not in given:
                raise InvalidInput(f"The {what} is missing; {AGAIN}.")
            try:
                numbers = np.array(given[parameter], dtype=np.float64)
            except (TypeError, ValueError):
                numbers = np.empty(0)
            inside = (numbers >= 0) & (numbers <= 1)  # false for NaN
            if documents == 0 or numbers.shape != (documents,) * dimensions or not inside.all():
                size = " x ".join([str(max(documents, 1))] * dimensions) or "one"
                raise refuse(f"The {what}", given[parameter], f"{size} numbers in [0, 1]", AGAIN)
            found.setdefault(model, {})[parameter] = numbers
    return found
