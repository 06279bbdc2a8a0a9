"""The candidates of a list: slots, with or without gaps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from toplist.core.slate import Bools, Ints


class Candidates(NamedTuple):
    """The eligible slots of a list, as the fields of a `Request` say them."""

    slots: Ints  # ascending
    present: Bools  # empty: all of them
    exceptions: Ints  # ascending
    total: int  # number of eligible slots
    # Later changes of `present` come after the first `known`: slots, and whether they were present until then.
    changes: Sequence[tuple[int, bool]] = ()
    known: int = 0

    def eligible(self) -> Ints:
        """The eligible slots alone, ascending."""
        if len(self.present) == 0:
            return np.setdiff1d(self.slots, self.exceptions, assume_unique=True) if len(self.exceptions) else self.slots
        present = self.present.copy()
        for slot, before in reversed(self.changes[self.known :]):
            present[slot] = before
        chosen = np.zeros(len(present), dtype=bool)
        chosen[self.slots] = present[self.slots]
        chosen[self.exceptions] ^= True
        return np.flatnonzero(chosen)
