"""A draw by weights from very many arms in logarithmic time: a binary tree whose nodes are sums of weights.

Weights are given by their logarithms. In the tree they are relative to the largest one, rounded to a multiple of STEP,
so that they hardly ever overflow or vanish and seldom have to be computed again. Every node is the sum of the two below
it, so the tree, and with it every probability, depends on the present weights alone and not on how they came about.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from toplist.core.beliefs import BLOCK, block_count
from toplist.core.compiling import helper, routine
from toplist.core.problem import Problem
from toplist.core.slate import Floats, Ints

STEP = 128.0  # exp(STEP) times the number of arms is no overflow
TINY = 1e-200  # a smaller sum of weights has lost digits


class SumTree(NamedTuple):
    """The sums, and what they were computed from."""

    sums: Floats  # node i is the sum of 2i and 2i + 1; the second half has a leaf per arm
    logarithm: Floats  # per arm, that of its weight
    scale: Floats  # two elements: the largest logarithm, and that of a leaf of 1
    known: Ints  # per block of arms, its touch count when it was read; -1 for never


def empty_tree(problem: Problem) -> SumTree:
    """Nothing is read yet; the arrays are empty below MANY arms."""
    blocks = block_count(problem)
    arms = problem.items if blocks > 0 else 0
    leaves = 1 << max(arms - 1, 0).bit_length() if blocks > 0 else 0
    return SumTree(np.zeros(2 * leaves), np.full(arms, -np.inf), np.full(2, -np.inf), np.full(blocks, -1))


@routine
def follow_weights(tree: SumTree, logarithm: Floats, touched: Ints) -> None:
    """Update the tree for the weights of touched blocks."""
    again, shrunk = False, False
    for block in range(len(touched)):
        if tree.known[block] == touched[block]:
            continue
        tree.known[block] = touched[block]
        for arm in range(block * BLOCK, min((block + 1) * BLOCK, len(logarithm))):
            before, now = tree.logarithm[arm], logarithm[arm]
            if now != before:
                tree.logarithm[arm] = now
                shrunk = shrunk or (before == tree.scale[0] and now < before)
                if now > tree.scale[0]:
                    tree.scale[0] = now
                    again = again or now >= tree.scale[1] + STEP
                if not again:
                    set_leaf(tree.sums, arm, math.exp(now - tree.scale[1]))
    if shrunk or again:
        tree.scale[0] = -np.inf
        for arm in range(len(logarithm)):
            tree.scale[0] = max(tree.scale[0], logarithm[arm])
        base = STEP * math.floor(tree.scale[0] / STEP)
        if base != tree.scale[1]:
            tree.scale[1] = base
            build_tree(tree)


@routine
def build_tree(tree: SumTree) -> None:
    """Compute all sums."""
    leaves = len(tree.sums) // 2
    before, weight = -np.inf, 0.0
    for arm in range(len(tree.logarithm)):
        if tree.logarithm[arm] != before:  # most are equal: those never clicked
            before = tree.logarithm[arm]
            weight = math.exp(before - tree.scale[1])
        tree.sums[leaves + arm] = weight
    for node in range(leaves - 1, 0, -1):
        tree.sums[node] = tree.sums[2 * node] + tree.sums[2 * node + 1]


@helper
def set_leaf(sums: Floats, arm: int, weight: float) -> None:
    """Change the weight of an arm."""
    node = len(sums) // 2 + arm
    sums[node] = weight
    while node > 1:
        weight += sums[node ^ 1]
        node >>= 1
        sums[node] = weight


@routine
def sum_of_range(sums: Floats, first: int, end: int) -> float:
    """The sum of the weights of contiguous arms, of which there must be some."""
    low, high, total = len(sums) // 2 + first, len(sums) // 2 + end, 0.0
    while low < high:
        if low & 1:
            total += sums[low]
            low += 1
        if high & 1:
            high -= 1
            total += sums[high]
        low >>= 1
        high >>= 1
    return total


@routine
def arm_at(sums: Floats, first: int, end: int, target: float) -> int:
    """The arm of a range at which the sum of weights, in the order of `sum_of_range`, exceeds a target."""
    leaves = len(sums) // 2
    low, high, node = leaves + first, leaves + end, 0
    while low < high:
        if low & 1:
            if sums[low] > 0.0:  # the last such node, if rounding leads beyond all
                node = low
                if target < sums[node]:
                    break
                target -= sums[node]
            low += 1
        if high & 1:
            high -= 1
            if sums[high] > 0.0:
                node = high
                if target < sums[node]:
                    break
                target -= sums[node]
        low >>= 1
        high >>= 1
    while node < leaves:
        node *= 2
        if target >= sums[node] and sums[node + 1] > 0.0:
            target -= sums[node]
            node += 1
    return node - leaves
