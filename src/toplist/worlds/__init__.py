"""Where attraction comes from."""

from toplist.worlds.fixed import Fixed, b_lb, b_top_k

__all__ = ["Fixed", "b_lb", "b_top_k"]
