"""Integrals on [0, 1] of products of densities, each concave on a logarithmic scale and as narrow as it may be.

The interval is cut into panels, each about as wide as one standard deviation of the narrowest density there, and every
function is known by its values at eight Gauss-Legendre nodes of each panel. Smooth functions are integrated to about
ten digits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.polynomial import legendre

from toplist.core.slate import Floats

NODES_PER_PANEL = 8
DEPTH = 11  # standard deviations of a normal density to each side; beyond them its logarithm has fallen by 60
BISECTIONS = 50  # for an edge
GOLDEN_STEPS = 75  # for a mode; they leave an interval of 1e-15, as the bisections do
GOLDEN = 0.5 * (5.0**0.5 - 1.0)
SPARSEST = 16  # panels where no density needs narrower ones
CLOSEST = 0.6  # edges that are closer than that, in panels of the narrowest density, are merged

NODES, WEIGHTS = legendre.leggauss(NODES_PER_PANEL)


def _integrals_above() -> Floats:
    """Per pair of nodes (i, j) the integral from node i to 1 of the Lagrange polynomial of node j."""
    above = np.zeros((NODES_PER_PANEL, NODES_PER_PANEL))
    for j in range(NODES_PER_PANEL):
        values = np.zeros(NODES_PER_PANEL)
        values[j] = 1.0
        integral = legendre.legint(legendre.legfit(NODES, values, NODES_PER_PANEL - 1))
        above[:, j] = legendre.legval(1.0, integral) - legendre.legval(NODES, integral)
    return above


INTEGRALS_ABOVE = _integrals_above()

LogDensity = Callable[[Floats], Floats]  # of values in the shape (densities, any number)


class Panels(NamedTuple):
    """Panels of an interval.

    Parameters
    ----------
    nodes : ndarray of float, shape (panels times nodes,)
        Where functions are known, ascending.
    half : ndarray of float
        Half of the width of each panel.
    """

    nodes: Floats
    half: Floats

    def integral(self, values: Floats) -> Floats:
        """The integral over the interval, of one function or of several along the first axis."""
        by_panel = values.reshape(*values.shape[:-1], len(self.half), NODES_PER_PANEL)
        whole: Floats = (by_panel @ WEIGHTS * self.half).sum(axis=-1)
        return whole

    def integral_above(self, values: Floats) -> Floats:
        """Per node the integral from there to the end of the interval."""
        by_panel = values.reshape(*values.shape[:-1], len(self.half), NODES_PER_PANEL)
        whole = by_panel @ WEIGHTS * self.half
        after = np.flip(np.cumsum(np.flip(whole, axis=-1), axis=-1), axis=-1) - whole
        found = by_panel @ INTEGRALS_ABOVE.T * self.half[:, None] + after[..., None]
        return found.reshape(values.shape)


def edges_of(log_density: LogDensity, count: int) -> Floats:
    """Per density the edges of panels of its own: where it has fallen by 1/2, 2, 9/2 and so on from its mode.

    Parameters
    ----------
    log_density : callable
        Logarithms of the densities, each concave.
    count : int
        Number of densities.

    Returns
    -------
    ndarray of float, shape (densities, 2 DEPTH + 1)
        The edges, ascending; the mode is the middle one.
    """
    mode = _modes_of(log_density, count)
    steps = np.arange(1, DEPTH + 1)
    fallen = log_density(mode) - 0.5 * np.concatenate([steps[::-1], steps]) ** 2
    inner = np.repeat(mode, 2 * DEPTH, axis=1)
    outer = np.repeat([[0.0, 1.0]], count, axis=0).repeat(DEPTH, axis=1)  # both sides at once: each call has its price
    for _ in range(BISECTIONS):
        middle = 0.5 * (inner + outer)
        is_inside = log_density(middle) > fallen
        inner, outer = np.where(is_inside, middle, inner), np.where(is_inside, outer, middle)
    return np.concatenate([outer[:, :DEPTH], mode, outer[:, DEPTH:]], axis=1)


def _modes_of(log_density: LogDensity, count: int) -> Floats:
    """The modes by golden sections: a logarithm rises up to the mode, and falls behind it."""
    low, high = np.zeros((count, 1)), np.ones((count, 1))
    left, right = high - GOLDEN, low + GOLDEN
    at_left, at_right = log_density(left), log_density(right)
    for _ in range(GOLDEN_STEPS):
        rises = at_left < at_right
        low, high = np.where(rises, left, low), np.where(rises, high, right)
        new = np.where(rises, low + GOLDEN * (high - low), high - GOLDEN * (high - low))
        at_new = log_density(new)
        left, right = np.where(rises, right, new), np.where(rises, new, left)
        at_left, at_right = np.where(rises, at_right, at_new), np.where(rises, at_new, at_left)
    return 0.5 * (low + high)


def panels_for(edges: Floats, begin: float) -> Panels:
    """Panels from `begin` to 1 that suit all densities.

    Parameters
    ----------
    edges : ndarray of float
        From `edges_of`.
    begin : float
        Where the interval begins.

    Returns
    -------
    Panels
        The panels.
    """
    spread = np.linspace(begin, 1.0, SPARSEST + 1)
    wanted = np.unique(np.concatenate([spread, edges[(edges > begin) & (edges < 1.0)]]))
    narrowest = np.full(len(wanted), np.inf)
    for own in edges:
        at = np.clip(np.searchsorted(own, wanted) - 1, 0, len(own) - 2)
        width = np.where((wanted >= own[0]) & (wanted <= own[-1]), np.diff(own)[at], np.inf)
        narrowest = np.minimum(narrowest, np.where(width > 0.0, width, np.inf))
    kept = [begin]
    for edge, width in zip(wanted[1:-1].tolist(), narrowest[1:-1].tolist(), strict=True):
        if edge - kept[-1] >= CLOSEST * min(width, 1.0 / SPARSEST):
            kept.append(edge)
    kept.append(1.0)
    ends = np.array(kept)
    half = 0.5 * np.diff(ends)
    nodes = (0.5 * (ends[1:] + ends[:-1]))[:, None] + half[:, None] * NODES
    return Panels(nodes.ravel(), half)
