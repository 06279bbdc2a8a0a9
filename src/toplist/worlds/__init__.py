"""Worlds: where attraction comes from in a simulation."""

from toplist.worlds.changing import Changing, Epochs, Jumps, Walk, b_l, drifting, jumping, piecewise
from toplist.worlds.contextual import Contextual
from toplist.worlds.fixed import Fixed, b_lb, b_top_k
from toplist.worlds.passing import Stays, coming_and_going
from toplist.worlds.topics import TopicCoverage, exact_best, greedy_best

__all__ = [
    "Changing",
    "Contextual",
    "Epochs",
    "Fixed",
    "Jumps",
    "Stays",
    "TopicCoverage",
    "Walk",
    "b_l",
    "b_lb",
    "b_top_k",
    "coming_and_going",
    "drifting",
    "exact_best",
    "greedy_best",
    "jumping",
    "piecewise",
]
