"""Problems of click models that were learned from a search log: queries whose users are those of the log."""

from __future__ import annotations

from typing import Any

import numpy as np

from toplist.datasets import click_models
from toplist.leaderboard.suite import SuiteProblem
from toplist.support.catalogue import REQUIRED
from toplist.support.files import AnyPath

QUERIES, POSITIONS = 2, 5
KINDS = {"CM": "cascade", "PBM": "pbm", "DCM": "dcm", "DBN": "dbn", "CCM": "ccm", "UBM": "ubm"}


def learned_problems(path: AnyPath, queries: int = QUERIES, positions: int = POSITIONS) -> list[SuiteProblem]:
    """A problem per click model of a file, and per query.

    Parameters
    ----------
    path : path
        A JSON file of click models, or its folder, as `toplist.datasets.click_models.read` takes it.
    queries : int, default 2
        Number of queries, the first of the file.
    positions : int, default 5
        Length of the page.

    Returns
    -------
    list of SuiteProblem
        Problems of the kinds that the suite has already, so that tuned parameters hold for them.

    Raises
    ------
    InvalidInput
        If the file cannot be read.
    """
    found = click_models.read(path)
    problems = []
    for model in found.models:
        kind = KINDS[model]
        for query, (world, users) in list(found.people(model, positions).items())[:queries]:
            text = f"fixed(attraction={_text(world.attraction)}, positions={positions})"
            problems.append(SuiteProblem(f"learned-{kind}-{query}", kind, text, _call(kind, users)))
    return problems


def _call(name: str, users: Any) -> str:
    """Users as the command line names them."""
    given = {
        field: value for field, value in users._asdict().items()
        if repr(value) != repr(users._field_defaults.get(field, REQUIRED))
    }  # fmt: skip
    return f"{name}({', '.join(f'{field}={_text(value)}' for field, value in given.items())})"


def _text(value: Any) -> str:
    return repr(np.asarray(value).tolist())
