"""The protocol of readings: what clicks say about the positions of a list."""

from __future__ import annotations

from typing import Protocol

from toplist.core.compiling import protocol
from toplist.core.protocols.prepared import Prepared
from toplist.core.slate import Page


@protocol
class HotReading(Protocol):
    """Which positions were examined, and the value observed at each (hot)."""

    def read(self, page: Page, size: int) -> None:
        """Fill `page.weight` and `page.value`.

        Parameters
        ----------
        page : Page
            Page with the clicks; weight 0 stands for not examined.
        size : int
            Number of positions of the list.
        """


class Reading(Prepared, HotReading, Protocol):
    """A reading of the clicks."""
