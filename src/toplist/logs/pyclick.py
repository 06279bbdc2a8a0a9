"""Reads click models that PyClick has saved.

PyClick's `to_json` gives an object of containers, each again a text of JSON: of a parameter per query and result, per
rank, per pair of ranks, or of one. A parameter is a pair of expected heads and tosses. The model is not named; it
follows from the names of the containers and their shapes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from toplist.core.problem import InvalidInput
from toplist.logs.fitted import FittedModel
from toplist.logs.model_file import read_object
from toplist.logs.models import (
    CascadeModel,
    CCMModel,
    ClickModel,
    DBNModel,
    DCMModel,
    GlobalRate,
    ItemRate,
    PBMModel,
    PositionRate,
    SimplifiedDBNModel,
    UBMModel,
)
from toplist.support.files import AnyPath

CONTINUATIONS = ("cont_noclick", "cont_click_nonrel", "cont_click_rel")
RANKS = 10  # PyClick's longest list


def read_pyclick(path: AnyPath) -> FittedModel:
    """Read a click model of PyClick: the text of its `to_json` in a file.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    FittedModel
        The model without errors, for lists of up to ten positions; queries and items are texts. DCM and SDBN are called
        "dcm-counts" and "sdbn-counts", since PyClick fits them by counts.

    Raises
    ------
    InvalidInput
        If the file is missing, damaged, or not of CM, PBM, UBM, DCM, SDBN, DBN, CCM, GCTR, RCTR or DCTR.

    Notes
    -----
    UBM's examination without a click above is in the column of the last rank, which is right for lists of ten only:
    PyClick uses column M - 1 for lists of M results.
    """
    given = {name: _container(path, name, value) for name, value in read_object(path, "PyClick's file").items()}
    try:
        return _model(path, given)
    except (KeyError, TypeError, AttributeError, IndexError, ZeroDivisionError) as problem:
        raise InvalidInput(
            f"The parameters in {path} are not as PyClick writes them ({problem!r}); copy it again."
        ) from None


def _model(path: AnyPath, given: Mapping[str, Any]) -> FittedModel:
    """The model of the containers of a file."""
    names = frozenset(given)
    if names == {"ctr"}:
        return _rates(path, given["ctr"])
    if "attr" not in names:
        raise _unknown(path, names)
    model: ClickModel
    own, shared = [given["attr"]], []
    match sorted(names - {"attr"}):
        case []:
            model = CascadeModel(positions=RANKS)
        case ["exam"] if isinstance(given["exam"], list) and given["exam"] and isinstance(given["exam"][0], list):
            table = given["exam"]
            model = UBMModel(positions=len(table))
            shared = [_value(row[last]) for place, row in enumerate(table) for last in (-1, *range(place))]
        case ["exam"]:
            model, shared = PBMModel(positions=len(given["exam"])), list(map(_value, given["exam"]))
        case ["cont"]:
            model = DCMModel(exact=False, positions=len(given["cont"]))
            shared = [1.0 - _value(each) for each in given["cont"]]
        case ["sat"]:
            model, own = SimplifiedDBNModel(exact=False, positions=RANKS), [*own, given["sat"]]
        case ["cont", "sat"]:
            model, own, shared = DBNModel(positions=RANKS), [*own, given["sat"]], [_value(given["cont"])]
        case found if found == sorted(CONTINUATIONS):
            model, shared = CCMModel(positions=RANKS), [_value(given[name]) for name in CONTINUATIONS]
        case _:
            raise _unknown(path, names)
    return FittedModel.from_values(model, _pairs(own), shared)


def _container(path: AnyPath, name: str, value: Any) -> Any:
    """A container, which is a text of JSON, or JSON itself."""
    try:
        return json.loads(value) if isinstance(value, str) else value
    except ValueError as problem:
        raise InvalidInput(f"{name!r} of {path} is truncated or not JSON ({problem}); copy it again.") from None


def _unknown(path: AnyPath, names: frozenset[str]) -> InvalidInput:
    return InvalidInput(
        f"{path} has the parameters {', '.join(sorted(names)) or 'none'}, but a model of PyClick has 'ctr', or 'attr' "
        "with those of PBM, UBM, DCM, SDBN, DBN or CCM; give the text of its to_json()."
    )


def _rates(path: AnyPath, rates: Any) -> FittedModel:
    """GCTR, RCTR or DCTR, by the shape of their only container."""
    if isinstance(rates, list):
        return FittedModel.from_values(PositionRate(positions=len(rates)), {}, list(map(_value, rates)))
    if isinstance(rates, Mapping) and "_numerator" in rates:
        return FittedModel.from_values(GlobalRate(positions=RANKS), {}, [_value(rates)])
    if isinstance(rates, Mapping):
        return FittedModel.from_values(ItemRate(positions=RANKS), _pairs([rates]))
    raise _unknown(path, frozenset({"ctr"}))


def _pairs(containers: Sequence[Any]) -> dict[str, dict[str, list[float]]]:
    """By query and item, the values of several containers."""
    first = containers[0]
    return {
        query: {item: [_value(each[query][item]) for each in containers] for item in results}
        for query, results in first.items()
    }


def _value(parameter: Mapping[str, float]) -> float:
    """The probability of a parameter."""
    return float(parameter["_numerator"]) / float(parameter["_denominator"])
