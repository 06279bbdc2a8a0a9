"""Leaderboard: which policy is best on which problem?"""

from toplist.leaderboard.board import Leaderboard, settings_of
from toplist.leaderboard.contenders import Contender, field_of
from toplist.leaderboard.learned import learned_problems
from toplist.leaderboard.page import write_page
from toplist.leaderboard.play import Cost, PlayedCell, play_suite
from toplist.leaderboard.ranks import PolicyStanding, standings
from toplist.leaderboard.suite import Suite, SuiteProblem, read_suite
from toplist.leaderboard.tuning import Tuned, read_tuned, tune_suite

__all__ = [
    "Contender",
    "Cost",
    "Leaderboard",
    "PlayedCell",
    "PolicyStanding",
    "Suite",
    "SuiteProblem",
    "Tuned",
    "field_of",
    "learned_problems",
    "play_suite",
    "read_suite",
    "read_tuned",
    "settings_of",
    "standings",
    "tune_suite",
    "write_page",
]
