"""The ids of queries, items or visitors, numbered in the order of their first appearance."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from toplist.core.problem import nearest, refuse

Id = str | int
Codes = NDArray[np.int32]


class IdTable:
    """Ids and their codes, 0, 1, 2, ...; the text "7" and the number 7 are different ids.

    Parameters
    ----------
    ids : iterable of str or int, default ()
        The first ids.

    Examples
    --------
    >>> table = IdTable(["red", "green"])
    >>> table.encode(["green", "blue", "green"])
    array([1, 2, 1], dtype=int32)
    >>> table[2], len(table), "red" in table
    ('blue', 3, True)
    """

    def __init__(self, ids: Iterable[Id] = ()) -> None:
        self._ids: list[Id] = []
        self._codes: dict[Id, int] = {}
        self.encode(list(ids))

    def encode(self, ids: Sequence[Id]) -> Codes:
        """The codes of ids; new ids are added.

        Parameters
        ----------
        ids : sequence of str or int
            The ids; for many rows pass the distinct ones, and index the result.

        Returns
        -------
        ndarray of int32
            Their codes.
        """
        codes, known = self._codes, self._ids
        found = list(map(codes.get, ids))
        if None in found:
            for place, each in enumerate(ids):
                if found[place] is None:
                    code = codes.setdefault(each, len(known))
                    if code == len(known):
                        known.append(each)
                    found[place] = code
        return np.array(found, dtype=np.int32)

    def code(self, of: Id) -> int:
        """The code of a known id.

        Parameters
        ----------
        of : str or int
            The id.

        Returns
        -------
        int
            Its code.

        Raises
        ------
        InvalidInput
            If the id is unknown.
        """
        if of not in self._codes:
            examples = ", ".join(repr(each) for each in self._ids[:3])
            advice = nearest(str(of), map(str, self._ids), "see that texts are texts and numbers are numbers")
            raise refuse("The id", of, f"one of {len(self):,}, such as {examples}", advice)
        return self._codes[of]

    def __getitem__(self, code: int) -> Id:
        """The id of a code."""
        return self._ids[code]

    def __len__(self) -> int:
        """Number of ids."""
        return len(self._ids)

    def __iter__(self) -> Iterator[Id]:
        """The ids in the order of their codes."""
        return iter(self._ids)

    def __contains__(self, each: object) -> bool:
        """Whether an id is known."""
        return each in self._codes
