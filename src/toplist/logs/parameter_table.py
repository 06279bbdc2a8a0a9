"""The parameters of a fitted click model as a table, a data frame and a few lines of text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from toplist.core.problem import nearest, refuse
from toplist.core.slate import Floats
from toplist.logs.fitting.errors import STATUS
from toplist.logs.parameters import Parameters
from toplist.support.files import import_optional
from toplist.support.tables import Table, count_text

if TYPE_CHECKING:
    from toplist.logs.fitted import FittedModel

COLUMNS = ("kind", "query", "item", "label", "estimate", "error", "low", "high", "status", "tosses")
AT = " at "  # between the kind and the position of a parameter that an item has at each position
FRAMES = ("pandas", "polars")
FEW = 12  # shared parameters that a printed model shows
SOURCES = {
    "information": "errors from the observed information",
    "sandwich": "errors robust to a wrong model (sandwich)",
    "bootstrap": "errors by bootstrap",
    "none": "no errors",
}


def parameter_columns(fitted: FittedModel) -> dict[str, list[Any]]:
    """The parameters column by column, the shared ones first; None where there is nothing to say."""
    coins = fitted.model.coins()
    queries = [None] if not fitted.per_query else [fitted.queries[code] for code in fitted.query_codes]
    kinds, labels = [kind for kind, _ in coins.shared], [label or None for _, label in coins.shared]
    pair_queries, pair_items = ([table[code] for code in codes] for table, codes in _pair_codes(fitted))
    width = len(coins.own)
    found: dict[str, list[Any]] = {
        "kind": kinds * len(queries) + [each.partition(AT)[0] for each in coins.own] * len(pair_items),
        "query": [each for each in queries for _ in kinds] + [each for each in pair_queries for _ in range(width)],
        "item": [None] * (len(queries) * len(kinds)) + [each for each in pair_items for _ in range(width)],
        "label": labels * len(queries) + [each.partition(AT)[2] or None for each in coins.own] * len(pair_items),
    }
    shared, own = _numbers(fitted.shared), _numbers(fitted.own)
    return found | {name: shared[name] + own[name] for name in shared}


def _pair_codes(fitted: FittedModel) -> tuple[Any, Any]:
    """The tables of ids and the codes of all pairs."""
    return (fitted.queries, fitted.pair_query), (fitted.items, fitted.pair_item)


def _numbers(parameters: Parameters) -> dict[str, list[Any]]:
    """Estimates with errors, limits, status and tosses, as flat lists."""
    low, high = parameters.interval()
    return {
        "estimate": _known(parameters.value),
        "error": _known(parameters.error),
        "low": _known(low),
        "high": _known(high),
        "status": [STATUS[each] for each in parameters.status.ravel()],
        "tosses": _known(parameters.tosses),
    }


def _known(values: Floats) -> list[float | None]:
    """Plain numbers, None for NaN."""
    return [None if np.isnan(each) else float(each) for each in values.ravel()]


def interval_name(fitted: FittedModel) -> str:
    """What the intervals are: with a prior and errors from the information, those of the posterior distribution."""
    shrunk = any(prior.strength > 0 for prior in fitted.priors.values())
    if fitted.errors == "information" and shrunk:
        return "95% posterior intervals"
    return "95% confidence intervals" + (" of shrunk estimates" if shrunk else "")


def parameter_table(fitted: FittedModel) -> Table:
    """All parameters as a table."""
    columns = parameter_columns(fitted)
    title = f"{fitted.name}: {'no errors' if fitted.errors == 'none' else interval_name(fitted)}"
    return Table(title, COLUMNS, list(zip(*(columns[name] for name in COLUMNS), strict=True)))


def parameter_frame(fitted: FittedModel, library: str) -> Any:
    """All parameters as a data frame."""
    if library not in FRAMES:
        raise refuse("The library", library, f"one of {', '.join(FRAMES)}", nearest(library, FRAMES, "choose one"))
    columns = parameter_columns(fitted)
    for name in ("query", "item"):
        if len({type(each) for each in columns[name]} - {type(None)}) > 1:
            columns[name] = [None if each is None else str(each) for each in columns[name]]
    return import_optional(library, "frames").DataFrame(columns)


def describe(fitted: FittedModel) -> str:
    """A model in a few lines: where it comes from, and its shared parameters if they are few."""
    size = f"{len(fitted.query_codes):,} {'query' if len(fitted.query_codes) == 1 else 'queries'}"
    lines = [f"{fitted.name} for {size} with {count_text(len(fitted.pair_item), '(query, item) pair')}"]
    if fitted.lists:
        steps = count_text(len(fitted.history), "iteration")
        how = f"converged after {steps}" if fitted.history else "closed form"
        lines[0] += f", fitted to {fitted.lists:,.0f} lists of up to {count_text(fitted.positions, 'position')}"
        lines.append(
            f"log-likelihood {fitted.log_likelihood:,.2f}, {how if fitted.converged else f'not converged in {steps}'}; "
            f"{SOURCES[fitted.errors]}{f' ({fitted.no_errors})' if fitted.no_errors else ''}"
        )
    coins = fitted.model.coins()
    if coins.shared and not fitted.per_query and len(coins.shared) <= FEW:
        numbers = _numbers(fitted.shared)
        rows = [
            (f"{kind} {label}".strip(), *(numbers[name][i] for name in ("estimate", "low", "high", "status")))
            for i, (kind, label) in enumerate(coins.shared)
        ]
        heading = "" if fitted.errors == "none" else interval_name(fitted)
        lines.append(str(Table(heading, ("parameter", "estimate", "low", "high", "status"), rows)).strip())
    lines.append("table() has all parameters, attraction(query) the items of a query.")
    return "\n".join(lines)
