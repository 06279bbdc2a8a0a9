"""Click models that somebody has learned from a search log: reads one JSON file of them, query by query.

The file, which may be packed by gzip, is `{query: {model: {parameter: numbers}}}`, with documents in the order in which
the log had them. The models are CM (cascade), PBM, DCM, DBN, CCM and UBM, and PARAMETERS says what each has.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from toplist.clicks import CCM, DBN, DCM, PBM, UBM, Cascade
from toplist.core.problem import InvalidInput, nearest, refuse, whole
from toplist.core.slate import Floats
from toplist.datasets.sources import File
from toplist.support.files import AnyPath
from toplist.support.tables import count_text
from toplist.worlds import Fixed

# Per model and parameter: 0 for one number, 1 for one per document, 2 for one per pair of ranks.
PARAMETERS: dict[str, dict[str, int]] = {
    "CM": {"attr": 1},
    "PBM": {"attr": 1, "exam": 1},
    "DCM": {"attr": 1, "stop": 1},  # stop: of leaving after a click at a position
    "DBN": {"attr": 1, "sat": 1, "abandon": 0},  # abandon: of giving up after not having been satisfied
    "CCM": {"attr": 1, "cont_noclick": 0, "cont_click_nonrel": 0, "cont_click_rel": 0},
    "UBM": {"attr": 1, "exam": 2},  # exam[rank][rank of the previous click], the last column for none
}
AGAIN = "copy the data again"


class ClickModels(NamedTuple):
    """What was found in a file: per query, model and parameter an array of probabilities."""

    path: Path
    documents: int  # of each query
    queries: dict[str, dict[str, dict[str, Floats]]]

    @property
    def models(self) -> tuple[str, ...]:
        """The models that all queries have."""
        return tuple(model for model in PARAMETERS if all(model in found for found in self.queries.values()))

    def attraction(self, model: str = "CM") -> dict[str, Floats]:
        """Per query, how much each document attracts, in the eyes of a model."""
        return {query: found["attr"] for query, found in self._learned(model).items()}

    def people(self, model: str, positions: int) -> dict[str, tuple[Fixed, Any]]:
        """Per query, the documents as a world and the people of a model, on a page of so many positions.

        What a model knows per position is that of the first ones. DBN's `abandon` is taken for 1 - persistence, where
        persistence is that of kveton2015: of going on after not having been satisfied, whether something was clicked or
        not. It cannot be the persistence itself, since from logs with clicks all over the page it comes out next to 0.
        """
        places = whole("The number of positions", positions, 1, "give the length of the list")
        if places > self.documents:
            accepted = f"at most {self.documents}, the number of documents of a query"
            raise refuse("The number of positions", places, accepted, "show fewer")
        learned = self._learned(model)
        return {query: (Fixed(own["attr"], places), _users(model, own, places)) for query, own in learned.items()}

    def _learned(self, model: str) -> dict[str, dict[str, Floats]]:
        """Per query, the parameters of a model that all have."""
        if model not in self.models:
            accepted = f"one that all queries of {self.path} have: {', '.join(self.models)}"
            raise refuse("The model", model, accepted, nearest(model, self.models, "choose one of them"))
        return {query: found[model] for query, found in self.queries.items()}

    def __str__(self) -> str:
        """What it is, in a line."""
        size = f"{len(self.queries)} queries of {count_text(self.documents, 'document')}"
        return f"{self.path}: {size} each, models {', '.join(self.models)}"


def read(path: AnyPath) -> ClickModels:
    """The click models in a file, or in the one JSON file of a folder."""
    file = _file(path)
    try:
        everything = json.loads("\n".join(File(file).lines(ended=False)))
    except InvalidInput:  # which is a ValueError, and has said already what is wrong
        raise
    except ValueError as problem:
        raise InvalidInput(f"{file} is cut off or no JSON ({problem}); {AGAIN}.") from None
    if not isinstance(everything, Mapping) or not everything:
        form = "{query: {model: {parameter: numbers}}}"
        raise InvalidInput(f"{file} holds no queries, but must be {form}; {AGAIN}.")
    queries = {query: _query(file, query, models) for query, models in everything.items()}
    sizes = {len(found["attr"]): query for query, models in queries.items() for found in models.values()}
    if len(sizes) > 1:
        (one, first), (other, second) = list(sizes.items())[:2]
        raise InvalidInput(
            f"{file} has {one} documents for query {first!r} and {other} for {second!r}, but all queries need as many; "
            f"leave the others out."
        )
    return ClickModels(file, next(iter(sizes)), queries)


def _users(model: str, own: dict[str, Floats], places: int) -> Any:
    """The people of a model with its parameters for one query."""
    if model == "PBM":
        return PBM(own["exam"][:places])
    if model == "DCM":
        return DCM(own["stop"][:places])
    if model == "DBN":
        return DBN(own["sat"], 1.0 - float(own["abandon"]))
    if model == "CCM":
        return CCM(*(float(own[name]) for name in ("cont_noclick", "cont_click_nonrel", "cont_click_rel")))
    if model == "UBM":
        return UBM(np.column_stack([own["exam"][:places, : places - 1], own["exam"][:places, -1]]))
    return Cascade()


def _file(path: AnyPath) -> Path:
    """The file itself, or the only JSON file of a folder."""
    accepted = "a JSON file of click models, or a folder that holds one"
    if not isinstance(path, str | os.PathLike) or not os.path.exists(path):
        raise refuse("The click models", str(path), accepted, "name a file that exists")
    file = Path(path)
    if not file.is_dir():
        return file
    inside = sorted([*file.glob("*.json"), *file.glob("*.json.gz")])
    if len(inside) != 1:
        raise refuse("The click models", str(file), accepted, f"this folder holds {len(inside)}; name the file itself")
    return inside[0]


def _query(file: Path, query: str, models: Any) -> dict[str, dict[str, Floats]]:
    """The models of a query that are known here, complete and of probabilities."""
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
                raise InvalidInput(f"There is no {what}; {AGAIN}.")
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
