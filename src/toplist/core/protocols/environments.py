"""The protocol of environments: what a policy plays against."""

from __future__ import annotations

from typing import Any, Protocol

from toplist.core.compiling import protocol


@protocol
class HotEnvironment(Protocol):
    """A world with its users, which answers the lists of a run (hot)."""

    def begin_step(self, run: Any, step: int, key: int, ideal: float) -> float:
        """Move the world to a step, and keep `run.best_items` the best list.

        Parameters
        ----------
        run : Run
            State of the run.
        step : int
            The step; the first is 0.
        key : int
            Random key of the world's changes.
        ideal : float
            Reward of the best list at the step before.

        Returns
        -------
        float
            Reward of the best list at this step.
        """
        ...

    def count_present(self, run: Any) -> int:
        """Fill `run.request.candidates` with the items that can be shown at this step.

        Parameters
        ----------
        run : Run
            State of the run.

        Returns
        -------
        int
            Number of these items.
        """
        ...

    def features_revision(self, run: Any) -> int:
        """Version of the features at this step.

        Parameters
        ----------
        run : Run
            State of the run.

        Returns
        -------
        int
            A number that changes whenever the features do; negative for features of one list only.
        """
        ...

    def visit(self, run: Any, visitor: int) -> int:
        """Show `run.slate` to a visitor, and fill `run.page`.

        Parameters
        ----------
        run : Run
            State of the run.
        visitor : int
            Random key of the visitor.

        Returns
        -------
        int
            Number of clicks.
        """
        ...

    def expected_reward(self, run: Any) -> float:
        """Expected reward of the list that was shown last.

        Parameters
        ----------
        run : Run
            State of the run.

        Returns
        -------
        float
            The expected reward.
        """
        ...

    def attraction_alone(self, run: Any, item: int) -> float:
        """Attraction of an item at the first position, with nothing above it; overwrites `run.best_items`.

        Parameters
        ----------
        run : Run
            State of the run.
        item : int
            The item.

        Returns
        -------
        float
            The attraction.
        """
        ...
