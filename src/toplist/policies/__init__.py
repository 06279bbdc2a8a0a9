"""The algorithms, by name and by class."""

from toplist.policies.batchrank import BatchRank
from toplist.policies.bubblerank import BubbleRank
from toplist.policies.by_name import Entry, catalogue, entry, make
from toplist.policies.composed import Policy
from toplist.policies.exploring import Exploring
from toplist.policies.fixed_list import ShowList
from toplist.policies.grab import GRAB
from toplist.policies.pb_mhb import PBMHB
from toplist.policies.pmed import PMED
from toplist.policies.ranked import Ranked
from toplist.policies.recurrank import RecurRank
from toplist.policies.toprank import TopRank
from toplist.policies.unirank import UniRank

__all__ = [
    "GRAB",
    "PBMHB",
    "PMED",
    "BatchRank",
    "BubbleRank",
    "Entry",
    "Exploring",
    "Policy",
    "Ranked",
    "RecurRank",
    "ShowList",
    "TopRank",
    "UniRank",
    "catalogue",
    "entry",
    "make",
]
