"""Where attraction comes from."""

from toplist.worlds.contextual import Contextual
from toplist.worlds.fixed import Fixed, b_lb, b_top_k
from toplist.worlds.topics import TopicCoverage, exact_best, greedy_best

__all__ = ["Contextual", "Fixed", "TopicCoverage", "b_lb", "b_top_k", "exact_best", "greedy_best"]
