"""A policy at work on somebody's own items: makes lists, learns from clicks, explains itself, outlives the process."""

from toplist.ranker.logged_ranker import LoggedRanker, Record, State
from toplist.ranker.open_lists import AlreadyLearned, ForeignSlate, SlateRefused, TooManyOpen
from toplist.ranker.ranker import Ranker
from toplist.ranker.shown import Shown

__all__ = [
    "AlreadyLearned", "ForeignSlate", "LoggedRanker", "Ranker", "Record", "Shown", "SlateRefused", "State",
    "TooManyOpen",
]  # fmt: skip
