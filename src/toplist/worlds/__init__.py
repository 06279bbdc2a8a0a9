"""Worlds: where attraction comes from in a simulation."""

from toplist.worlds.changing import Changing
from toplist.worlds.contextual import Contextual
from toplist.worlds.epochs import Epochs, b_l, piecewise
from toplist.worlds.fixed import Fixed, b_lb, b_top_k
from toplist.worlds.jumps import Jumps, jumping
from toplist.worlds.passing import Stays, coming_and_going
from toplist.worlds.topics import TopicCoverage, exact_best, greedy_best
from toplist.worlds.walk import Walk, drifting

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
