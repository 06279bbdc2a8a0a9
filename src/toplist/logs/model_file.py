"""Fitted click models as readable JSON: a header, then one line per parameter."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from toplist.core.problem import InvalidInput, refuse
from toplist.core.slate import Floats
from toplist.logs.fitting.errors import STATUS
from toplist.logs.fitting.maximise import Iteration
from toplist.logs.fitting.prior import Prior
from toplist.logs.id_table import IdTable
from toplist.logs.models import MODELS, ClickModel
from toplist.logs.parameter_table import interval_name, parameter_columns
from toplist.logs.parameters import Parameters, result_parameters
from toplist.support.files import AnyPath, replace_file

if TYPE_CHECKING:
    from toplist.logs.fitted import FittedModel

Made = TypeVar("Made")
FORMAT, VERSION = "toplist click model", 1
PLAIN = ("lists", "log_likelihood", "converged", "slope", "errors", "no_errors")  # fields that are saved as they are
PER_PARAMETER = ("kind", "query", "item", "label", "estimate", "error", "status", "tosses")
AGAIN = "fit and save the model again"


def write_model(fitted: FittedModel, path: AnyPath) -> None:
    """Write a model to a file, replacing an old one when the new one is complete."""
    with replace_file(path, "The file of the model") as new, new.open("w", encoding="utf-8") as file:
        file.writelines(_lines(fitted))


def _lines(fitted: FittedModel) -> Iterator[str]:
    """The text of a file: numbers as Python writes them, which reading gives back to the last bit."""
    covariance = fitted.shared_covariance
    header = {
        "format": FORMAT,
        "version": VERSION,
        "model": fitted.name,
        "positions": fitted.positions,
        "per_query": fitted.per_query,
        **{name: _number(getattr(fitted, name)) for name in PLAIN},
        "intervals": None if fitted.errors == "none" else interval_name(fitted),
        "priors": {kind: prior._asdict() for kind, prior in fitted.priors.items()},
        "history": [list(map(_number, each)) for each in fitted.history],
        "shared_covariance": None if covariance is None else [list(map(_number, row)) for row in covariance.tolist()],
    }
    yield "{\n"
    for name, value in header.items():
        yield f"  {json.dumps(name)}: {_json(value)},\n"
    yield f'  "queries": {_json([fitted.queries[code] for code in fitted.query_codes])},\n'
    pairs = zip(fitted.pair_query, fitted.pair_item, strict=True)
    yield f'  "pairs": {_json([[fitted.queries[query], fitted.items[item]] for query, item in pairs])},\n'
    yield '  "parameters": ['
    columns = parameter_columns(fitted)
    before = "\n"
    for row in zip(*(columns[name] for name in PER_PARAMETER), strict=True):
        found = {name: value for name, value in zip(PER_PARAMETER, row, strict=True) if value is not None}
        yield f"{before}    {_json(found)}"
        before = ",\n"
    yield "\n  ]\n}\n"


def _json(value: Any) -> str:
    """A text of JSON; ids may be numbers of NumPy."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, default=lambda each: each.item())


def _number(value: Any) -> Any:
    """A value that JSON has: None for NaN, and infinities as text."""
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value


def _float(value: Any) -> float:
    return math.nan if value is None else float(value)


def read_model(make: Callable[..., Made], path: AnyPath, model: ClickModel | None) -> Made:
    """Read a model from a file."""
    content = read_object(path, "The file of the model")
    if content.get("format") != FORMAT:
        advice = "give a file that `save` has written; `read_pyclick` reads files of PyClick"
        raise refuse("The format of the model", content.get("format"), repr(FORMAT), advice)
    if content.get("version") != VERSION:
        raise refuse("The version of the model", content.get("version"), str(VERSION), "update toplist")
    try:
        return _parse(make, content, model)
    except (KeyError, TypeError, ValueError, IndexError) as problem:
        if isinstance(problem, InvalidInput):
            raise
        raise InvalidInput(f"{path} is not as `save` writes it ({problem!r}); {AGAIN}.") from None


def read_object(path: AnyPath, what: str) -> Mapping[str, Any]:
    """The JSON object in a file."""
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as problem:
        raise refuse(what, str(path), "a file that can be read", f"check the path ({problem.strerror})") from None
    except ValueError as problem:
        raise InvalidInput(f"{path} is truncated or not JSON ({problem}); copy it again.") from None
    if not isinstance(content, Mapping):
        raise InvalidInput(f"{path} has no JSON object, but a model is one; give another file.")
    return content


def _parse(make: Callable[..., Made], content: Mapping[str, Any], model: ClickModel | None) -> Made:
    """The model of the content of a file."""
    if model is None and content["model"] not in MODELS:
        raise refuse(
            "The click model of the file", content["model"], f"one of {', '.join(MODELS)}",
            "pass model= with the click model of your own that was fitted",
        )  # fmt: skip
    chosen: Any = model or MODELS[content["model"]]
    chosen = chosen._replace(positions=int(content["positions"]))
    coins = chosen.coins()
    pairs = content["pairs"]
    queries = IdTable(content["queries"])
    items = IdTable(item for _, item in pairs)
    copies = len(content["queries"]) if content["per_query"] else 1
    shapes = (copies, len(coins.shared)), (len(pairs), len(coins.own))
    rows, first = content["parameters"], copies * len(coins.shared)
    if len(rows) != first + len(pairs) * len(coins.own):
        wanted = first + len(pairs) * len(coins.own)
        raise InvalidInput(f"The file has {len(rows):,} parameters, but must have {wanted:,}; {AGAIN}.")
    shared, own = (_parameters(some, shape) for some, shape in zip((rows[:first], rows[first:]), shapes, strict=True))
    covariance = content["shared_covariance"]
    return make(
        model=chosen, queries=queries, items=items,
        pair_query=queries.encode([query for query, _ in pairs]),
        pair_item=items.encode([item for _, item in pairs]),
        own=own, shared=shared, query_codes=queries.encode(content["queries"]),
        priors={kind: Prior(**prior) for kind, prior in content["priors"].items()},
        history=tuple(Iteration(kind, _float(value), _float(slope)) for kind, value, slope in content["history"]),
        shared_covariance=None if covariance is None else np.array(covariance, dtype=np.float64),
        **{
            name: _float(content[name]) if name in ("lists", "log_likelihood", "slope") else content[name]
            for name in PLAIN
        },
    )  # fmt: skip


def _parameters(rows: list[dict[str, Any]], shape: tuple[int, int]) -> Parameters:
    """Parameters of the lines of a file."""

    def column(name: str) -> Floats:
        return np.array([_float(row.get(name)) for row in rows]).reshape(shape)

    status = np.array([STATUS.index(row["status"]) for row in rows], dtype=np.int8).reshape(shape)
    return result_parameters(column("estimate"), column("error"), status, column("tosses"))
