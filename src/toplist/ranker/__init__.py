"""A policy at work on your own items: makes lists, learns from clicks, explains itself, and is saved to files."""

from toplist.ranker.learned_state import LearnedState
from toplist.ranker.logged_ranker import LoggedRanker, Record
from toplist.ranker.open_lists import AlreadyLearned, ForeignSlate, SlateRefused, TooManyOpen
from toplist.ranker.ranker import Ranker
from toplist.ranker.shown import Shown
from toplist.ranker.snapshot import State

__all__ = [
    "AlreadyLearned", "ForeignSlate", "LearnedState", "LoggedRanker", "Ranker", "Record", "Shown", "SlateRefused",
    "State", "TooManyOpen",
]  # fmt: skip
