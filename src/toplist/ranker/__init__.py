"""A policy at work on your own items: makes lists, learns from clicks, explains itself, and is saved to files."""

from toplist.ranker.learned_state import LearnedState
from toplist.ranker.logged_lists import Record, WeighedList
from toplist.ranker.logged_ranker import LoggedRanker
from toplist.ranker.open_lists import AlreadyLearned, ForeignSlate, SlateRefused, TooManyOpen
from toplist.ranker.ranker import Ranker
from toplist.ranker.rankers import Rankers
from toplist.ranker.shown import Shown
from toplist.ranker.snapshot import State

__all__ = [
    "AlreadyLearned", "ForeignSlate", "LearnedState", "LoggedRanker", "Ranker", "Rankers", "Record", "Shown",
    "SlateRefused", "State", "TooManyOpen", "WeighedList",
]  # fmt: skip
