"""What a policy supports."""

from __future__ import annotations

from typing import NamedTuple


class Capabilities(NamedTuple):
    """What a policy supports, as data, so that callers can refuse unsupported calls with a clear message."""

    learns: bool = True  # its lists depend on clicks
    adds_items: bool = True  # items may be added later
    takes_subsets: bool = True  # any subset of the items may be eligible in a call
    takes_pins: bool = True  # single positions may be pinned in a call
    learns_from_any_list: bool = True  # it also learns from lists that it did not make
    samples: str = "item"  # unit of the one sample before step 1: "item", "item and place" (position), or "nothing"
    grows: bool = False  # its belief grows with the number of lists learned
    needs_simulator: bool = False  # it needs data that only a simulator has
    needs_features: bool = False  # it learns from features and cannot work without them
    covers_topics: bool = False  # its features are degrees in [0, 1] to which items cover topics
    detects: bool = False  # it detects and reports changes
    takes_gaps: bool = False  # it reads which of its candidates are present, and the exceptions, from the request
    forgets: bool = False  # old observations count less, or not at all: it is for users who change
