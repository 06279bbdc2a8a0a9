"""Which algorithms there are."""

from toplist.policies.composed import Policy
from toplist.policies.entries import Entry, catalogue, entry, make
from toplist.policies.ranked import Ranked
from toplist.policies.yardsticks import ShowList

__all__ = ["Entry", "Policy", "Ranked", "ShowList", "catalogue", "entry", "make"]
