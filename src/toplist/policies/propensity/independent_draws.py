"""Lists by independent draws, one per item: Thompson sampling over items whose posteriors are independent."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from toplist.core.protocols.list_probabilities import ListProbabilities
from toplist.core.slate import Floats, Ints
from toplist.policies.propensity.panels import DEPTH, NODES, WEIGHTS, LogDensity, edges_of, panels_for

CHUNK = 256  # lists that are weighed at once
NEGLIGIBLE = 1e-60  # probability of a prefix below which nothing is asked about what follows it
NEVER = -745.0  # logarithm of a probability that is 0 in floating point; a finite one can be taken off a sum again


class IndependentDraws:
    """Probabilities of lists of the items with the largest draws, the largest first, by quadrature.

    Let F be the distribution functions, f the densities and A_k(x) the probability that the first k draws descend and
    exceed x. The first k items are on top in this order with the probability of A_(k-1)(x) f_k(x) times the product of
    F(x) over all items below, integrated over x, and A_k is the integral of A_(k-1) f_k above x. An item has rank k
    with the probability of f(x) times that of exactly k - 1 others above x.

    Parameters
    ----------
    log_density : callable
        Logarithms of the densities of some items at some values.
    candidates : ndarray of int
        All items that are drawn for, ascending.
    size : int
        Length of the lists.
    """

    def __init__(self, log_density: Callable[[Ints, Floats], Floats], candidates: Ints, size: int) -> None:
        edges = edges_of(lambda values: log_density(candidates, values), len(candidates))
        # As many draws as the list has positions exceed `begin`, so no item below it is shown.
        begin = float(np.sort(edges[:, 0])[-size])
        matters = edges[:, -1] > begin
        drawn, edges = candidates[matters], edges[matters]
        self._drawn, self._size, self._panels = drawn, size, panels_for(edges, begin)
        self._density = _densities(lambda values: log_density(drawn, values), edges, self._panels.nodes)
        self._exceeds = np.minimum(self._panels.integral_above(self._density), 1.0)  # 1 - F
        with np.errstate(divide="ignore"):
            self._log_below = np.maximum(np.log1p(-self._exceeds), NEVER)

    def probabilities(self, lists: Ints) -> ListProbabilities:
        """Probabilities of some lists.

        Parameters
        ----------
        lists : ndarray of int, shape (lists, positions)
            The lists, each from the largest draw down.

        Returns
        -------
        ListProbabilities
            To about ten digits. Items that are on top with a probability below 1e-20 have 0, and so has what follows a
            beginning whose probability is below 1e-60.
        """
        at = np.minimum(np.searchsorted(self._drawn, lists), len(self._drawn) - 1)
        rows = np.where(self._drawn[at] == lists, at, -1)
        conditional = np.zeros(lists.shape)
        order = np.lexsort(rows.T[::-1])  # lists that begin alike come together
        for begin in range(0, len(order), CHUNK):
            some = order[begin : begin + CHUNK]
            conditional[some] = self._conditional(rows[some])
        shown = np.unique(rows[rows >= 0])
        table = np.zeros((len(self._drawn) + 1, self._size))  # the last row is that of other items
        table[shown] = self._by_rank(shown)
        marginal = table[rows, np.arange(self._size)]
        return ListProbabilities.exact(np.minimum(conditional, 1.0), np.minimum(marginal, 1.0))

    def _conditional(self, rows: Ints) -> Floats:
        """Per list and position the probability of its item given those above; each prefix is weighed once."""
        panels, found = self._panels, np.zeros(rows.shape)
        prefix, chance = np.zeros(len(rows), dtype=np.int64), np.ones(1)  # number of the prefix of each list
        above, below = np.ones((1, len(panels.nodes))), self._log_below.sum(axis=0)[None]
        nothing = np.zeros((1, len(panels.nodes)))
        for position in range(rows.shape[1]):
            row = rows[:, position]
            _, first, longer = np.unique(prefix * (len(self._drawn) + 1) + row, return_index=True, return_inverse=True)
            live = (row[first] >= 0) & (chance[prefix[first]] > NEGLIGIBLE)
            parent, row = prefix[first][live], row[first][live]
            descending = self._density[row] * above[parent]
            below = np.concatenate([below[parent] - self._log_below[row], nothing])
            here = panels.integral(descending * np.exp(below[:-1]))
            given = np.zeros(len(live))
            given[live] = here / chance[parent]
            found[:, position] = given[longer]
            above, chance = np.concatenate([panels.integral_above(descending), nothing]), np.append(here, 0.0)
            prefix = np.where(live, np.cumsum(live) - 1, len(row))[longer]  # the last is that of all others
        return found

    def _by_rank(self, rows: Ints) -> Floats:
        """Per item and rank its probability there, shape (items, size); by halves, so that others are added once."""
        found = np.zeros((len(rows), self._size))
        others = np.ones(len(self._drawn), dtype=bool)
        others[rows] = False

        def fill(begin: int, end: int, counted: Floats) -> None:
            if end - begin == 1:
                found[begin] = self._panels.integral(self._density[rows[begin]] * counted)
                return
            middle = (begin + end) // 2
            fill(begin, middle, _numbers_above(self._exceeds[rows[middle:end]], counted))
            fill(middle, end, _numbers_above(self._exceeds[rows[begin:middle]], counted))

        if len(rows):
            none_yet = np.repeat(np.eye(1, self._size)[0][:, None], len(self._panels.nodes), axis=1)
            fill(0, len(rows), _numbers_above(self._exceeds[others], none_yet))
        return found


def _densities(log_density: LogDensity, edges: Floats, values: Floats) -> Floats:
    """The densities at some values, each with integral 1."""
    half = 0.5 * np.diff(edges, axis=1)
    nodes = (0.5 * (edges[:, 1:] + edges[:, :-1]))[..., None] + half[..., None] * NODES
    peak = log_density(edges[:, DEPTH : DEPTH + 1])
    own = np.exp(log_density(nodes.reshape(len(edges), -1)) - peak).reshape(nodes.shape)
    mass = (own @ WEIGHTS * half).sum(axis=1)
    wanted = log_density(np.broadcast_to(values, (len(edges), len(values))))
    density: Floats = np.exp(wanted - peak) / mass[:, None]
    return density


def _numbers_above(exceeds: Floats, counted: Floats) -> Floats:
    """Per number and value the probability that this number of draws exceeds the value; adds the draws of more items.

    `counted` has one row per number, below that of the positions, for the items so far.
    """
    found = counted.copy()
    for chance in exceeds:
        found[1:] = found[1:] * (1.0 - chance) + found[:-1] * chance
        found[0] *= 1.0 - chance
    return found
