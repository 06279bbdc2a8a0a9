"""Layout "open-bandit-slate": Open Bandit Pipeline's table of slates, one row per position.

Its `pscore_cascade` is the probability of all items down to a position; a log keeps that of each item given those
above, the ratio of two of them. Columns `evaluation_policy_pscore_...` become the target of the log.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from toplist.core.slate import Floats, Ints
from toplist.logs.assemble import ListBatch
from toplist.logs.columns import ReadOptions
from toplist.logs.formats.pieces import LogSource
from toplist.logs.readers import rows

NAME = "open-bandit-slate"
NEEDED = {"slate_id", "position", "action", "reward"}
COLUMNS = {
    "list": "slate_id",
    "item": "action",
    "click": "reward",
    "position": "position",
    "propensity": "pscore_cascade",
    "marginal": "pscore_item_position",
    "target_propensity": "evaluation_policy_pscore_cascade",
    "target_marginal": "evaluation_policy_pscore_item_position",
}
OF_PREFIXES = ("propensity", "target_propensity")
ROUNDING = 1e-9  # by which a ratio of printed probabilities may be above 1


def recognizes(source: LogSource, _: ReadOptions) -> bool:
    """Whether there are the columns of slates."""
    return set(source.columns()) >= NEEDED


def read(sources: Sequence[LogSource], options: ReadOptions) -> Iterator[ListBatch]:
    """The lists of all sources; positions count from 0, unless the options name other columns."""
    for source in sources:
        present = set(source.columns())
        usual: dict[str, Any] = {role: name for role, name in COLUMNS.items() if name in present}
        names = usual | dict(options.columns)
        for batch in rows.read([source], options._replace(columns=names, first_position=0)):
            for role in OF_PREFIXES:
                values = getattr(batch, role)
                if values is not None:
                    setattr(batch, role, conditional(values, batch.start))
            yield batch


def conditional(prefix: Floats, start: Ints) -> Floats:
    """Probabilities of each item given those above, from those of all items down to it; 0 after a 0.

    >>> conditional(np.array([0.5, 0.25, 0.2, 0.0]), np.array([0, 2, 4]))
    array([0.5, 0.5, 0.2, 0. ])
    """
    above = np.concatenate([np.ones(1), prefix[:-1]])[: len(prefix)]
    above[start[:-1][start[:-1] < len(prefix)]] = 1.0
    found = np.where(above == 0.0, prefix, prefix / np.where(above == 0.0, 1.0, above))
    return np.where((found > 1.0) & (found <= 1.0 + ROUNDING), 1.0, found)
