"""The numbers that a ranker is created with, besides its items and its policy."""

from __future__ import annotations

from typing import NamedTuple

from toplist.core.problem import checked_seed, prior, whole


class Options(NamedTuple):
    """The numeric parameters of a `Ranker`, which describes them."""

    positions: int
    seed: int = 0
    steps: int | None = None
    prior_mean: float = 0.5
    prior_strength: float = 0.0
    new_per_list: int | None = None
    open_slates: int = 10_000

    def checked(self) -> Options:
        """The same, validated and coerced."""
        steps, new = self.steps, self.new_per_list
        return Options(
            whole("The number of positions", self.positions, 1, "give the length of the longest list"),
            checked_seed(self.seed),
            None if steps is None else whole("The number of steps", steps, 1, "or leave it out"),
            *prior("", self.prior_mean, self.prior_strength),
            None if new is None else whole("new_per_list", new, 0, "or leave it out for no limit"),
            whole("open_slates", self.open_slates, 1, "give the number of lists that may wait for their clicks"),
        )
