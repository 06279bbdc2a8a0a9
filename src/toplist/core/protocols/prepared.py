"""The protocol of every part."""

from __future__ import annotations

from typing import Protocol, Self

from toplist.core.problem import Problem


class Prepared(Protocol):
    """The protocol of every part: parameters are checked once, and resolved for the size of the problem."""

    def prepare(self, problem: Problem) -> Self:
        """Validate, coerce and resolve the parameters.

        Parameters
        ----------
        problem : Problem
            Size of the problem.

        Returns
        -------
        Self
            A copy with the resolved parameters; preparing it again changes nothing.

        Raises
        ------
        InvalidInput
            If a parameter cannot be used.
        """
        ...
