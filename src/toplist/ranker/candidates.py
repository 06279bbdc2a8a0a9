"""The candidates of a list: slots, with or without gaps."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from toplist.core.slate import Bools, Ints


class Candidates(NamedTuple):
    """The eligible slots of a list, as the fields of a `Request` say them."""

    slots: Ints  # ascending
    present: Bools  # empty: all of them
    exceptions: Ints  # ascending
    total: int  # number of eligible slots

    def eligible(self) -> Ints:
        """The eligible slots alone, ascending."""
        if len(self.present) == 0:
            return np.setdiff1d(self.slots, self.exceptions, assume_unique=True) if len(self.exceptions) else self.slots
        chosen = np.zeros(len(self.present), dtype=bool)
        chosen[self.slots] = self.present[self.slots]
        chosen[self.exceptions] ^= True
        return np.flatnonzero(chosen)
