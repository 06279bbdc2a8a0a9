"""Lists by independent draws, one per item: Thompson sampling over items whose posteriors are independent."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from toplist.core.protocols.list_probabilities import ListProbabilities
from toplist.core.slate import Floats, Ints
from toplist.policies.propensity.panels import DEPTH, NODES, WEIGHTS, LogDensity, edges_of, panels_for


def probabilities_by_draws(
    log_density: Callable[[Ints, Floats], Floats], candidates: Ints, items: Ints
) -> ListProbabilities:
    """Probabilities of a list of the items with the largest draws, the largest first, by quadrature.

    Let F be the distribution functions, f the densities and A_k(x) the probability that the first k draws descend and
    exceed x. The first k items are on top in this order with the probability of A_(k-1)(x) f_k(x) times the product of
    F(x) over all items below, integrated over x, and A_k is the integral of A_(k-1) f_k above x. An item has rank k
    with the probability of f(x) times that of exactly k - 1 others above x.

    Parameters
    ----------
    log_density : callable
        Logarithms of the densities of some items at some values.
    candidates : ndarray of int
        All items that are drawn for.
    items : ndarray of int
        The list, from the largest draw down.

    Returns
    -------
    ListProbabilities
        To about ten digits. Items that are on top with a probability below 1e-20 have 0.
    """
    edges = edges_of(lambda values: log_density(candidates, values), len(candidates))
    # As many draws as the list has positions exceed `begin`, so no item below it is shown.
    begin = float(np.sort(edges[:, 0])[-len(items)])
    matters = edges[:, -1] > begin
    drawn, edges = candidates[matters], edges[matters]
    panels = panels_for(edges, begin)
    density = _densities(lambda values: log_density(drawn, values), edges, panels.nodes)
    exceeds = np.minimum(panels.integral_above(density), 1.0)  # 1 - F
    row = {int(item): number for number, item in enumerate(drawn)}
    shown = [row.get(int(item), -1) for item in items]
    prefix, marginal = np.zeros(len(items)), np.zeros(len(items))
    others = np.ones(len(drawn), dtype=bool)
    others[[number for number in shown if number >= 0]] = False
    with np.errstate(divide="ignore"):
        log_below = np.log1p(-exceeds)
    background = log_below[others].sum(axis=0)
    above = np.ones(len(panels.nodes))  # A
    for position, number in enumerate(shown):
        if number < 0:
            break
        below = background + sum((log_below[later] for later in shown[position + 1 :] if later >= 0), start=0.0)
        prefix[position] = panels.integral(density[number] * above * np.exp(below))
        above = panels.integral_above(density[number] * above)
    before = np.concatenate([[1.0], prefix[:-1]])
    conditional = np.divide(prefix, before, out=np.zeros(len(items)), where=before > 0.0)
    counted = _numbers_above(exceeds[others], np.eye(1, len(items))[0][:, None])
    for position, number in enumerate(shown):
        if number < 0:
            continue
        rivals = [other for other in shown if other >= 0 and other != number]
        marginal[position] = panels.integral(density[number] * _numbers_above(exceeds[rivals], counted)[position])
    return ListProbabilities.exact(np.minimum(conditional, 1.0), np.minimum(marginal, 1.0))


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
    found = np.broadcast_to(counted, (len(counted), exceeds.shape[1])).copy()
    for chance in exceeds:
        found[1:] = found[1:] * (1.0 - chance) + found[:-1] * chance
        found[0] *= 1.0 - chance
    return found
