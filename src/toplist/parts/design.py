"""Experimental design: how often to look at each item, so that the rates of all are known about equally well."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from toplist.core.compiling import helper, routine
from toplist.core.slate import Floats, Ints
from toplist.parts.memory.symmetric import dot

NEARLY = 1.05  # the largest variance may be larger than that of an optimal design by this factor
ROUNDS = 100  # changes of a design, per feature
SAME = 1e-9  # relative: differences that are rounding
LEAST = 1e-12  # relative: a direction shorter than this, squared, is rounding


class Design(NamedTuple):
    """A design of experiments over some items, and scratch arrays."""

    basis: Floats  # (d, d): rows are orthonormal directions in which the items differ
    place: Floats  # (items, d): coordinates of each item in these directions
    inverse: Floats  # (d, d): inverse of the sum of share x x'
    along: Floats  # (d,): scratch
    share: Floats  # per item


def empty_design(items: int, features: int) -> Design:
    """Arrays for designs of at most so many items."""
    return Design(
        np.zeros((features, features)), np.zeros((items, features)), np.zeros((features, features)),
        np.zeros(features), np.zeros(items),
    )  # fmt: skip


@routine
def find_design(design: Design, features: Floats, members: Ints) -> tuple[int, float]:
    """Fill the shares of a nearly G-optimal design over some items; its number of directions, and largest variance.

    The variance of an item is x'V^-1 x with V the sum of share x x'; for an optimal design, the largest is the number
    of directions. The design begins with items that point in directions as different as possible, and moves share to
    the item with the largest variance, by the step that is best for the determinant of V (Fedorov and Wynn).
    `design.place` and `design.share` are in the order of `members`.
    """
    count = len(members)
    for i in range(count):
        design.share[i] = 0.0
    rank = spread_out(design, features, members)
    if rank == 0:  # no item has a feature
        design.share[0] = 1.0
        return 0, 1.0
    begin_inverse(design, rank, count)
    at, worst = largest_variance(design, rank, count)
    rounds = 0
    while worst > NEARLY * rank and rounds < ROUNDS * rank:
        step = (worst / rank - 1.0) / (worst - 1.0)
        along = design.along[:rank]
        for i in range(rank):
            along[i] = dot(design.inverse[i, :rank], design.place[at, :rank])
        shrink = step / (1.0 - step + step * worst)
        for i in range(rank):
            for j in range(rank):
                design.inverse[i, j] = (design.inverse[i, j] - shrink * along[i] * along[j]) / (1.0 - step)
        for i in range(count):
            design.share[i] *= 1.0 - step
        design.share[at] += step
        at, worst = largest_variance(design, rank, count)
        rounds += 1
    return rank, worst


@helper
def spread_out(design: Design, features: Floats, members: Ints) -> int:
    """Choose items one by one, each the furthest from the span of those before, and share equally among them.

    Fills the basis and the coordinates of all members; the number of directions.
    """
    count, d = len(members), features.shape[1]
    longest = 0.0
    for i in range(count):
        longest = max(longest, dot(features[members[i]], features[members[i]]))
    rank = 0
    while rank < min(d, count):
        far, at = 0.0, -1
        for i in range(count):
            row, own = features[members[i]], design.place[i]
            left = dot(row, row) - dot(own[:rank], own[:rank])
            if left > far * (1.0 + SAME):
                far, at = left, i
        if at < 0 or far <= LEAST * longest:
            break
        direction = design.basis[rank]
        for j in range(d):
            direction[j] = features[members[at], j]
        for _ in range(2):  # twice: the first time leaves rounding errors of nearly parallel items
            for earlier in range(rank):
                component = dot(direction, design.basis[earlier])
                for j in range(d):
                    direction[j] -= component * design.basis[earlier, j]
        length = math.sqrt(dot(direction, direction))
        if length <= 0.0:
            break
        for j in range(d):
            direction[j] /= length
        for i in range(count):
            design.place[i, rank] = dot(direction, features[members[i]])
        design.share[at] = 1.0
        rank += 1
    for i in range(count):
        design.share[i] /= max(rank, 1)
    return rank


@helper
def begin_inverse(design: Design, rank: int, count: int) -> None:
    """Fill the inverse of V for the first shares."""
    inverse = design.inverse
    for i in range(rank):
        for j in range(rank):
            inverse[i, j] = 0.0
    for i in range(count):
        if design.share[i] > 0.0:
            for j in range(rank):
                for k in range(rank):
                    inverse[j, k] += design.share[i] * design.place[i, j] * design.place[i, k]
    for pivot in range(rank):  # Gauss and Jordan in place, without exchanges: the matrix is positive definite
        scale = 1.0 / inverse[pivot, pivot]
        inverse[pivot, pivot] = 1.0
        for k in range(rank):
            inverse[pivot, k] *= scale
        for j in range(rank):
            if j != pivot:
                factor = inverse[j, pivot]
                inverse[j, pivot] = 0.0
                for k in range(rank):
                    inverse[j, k] -= factor * inverse[pivot, k]


@helper
def largest_variance(design: Design, rank: int, count: int) -> tuple[int, float]:
    """The first item whose variance is the largest but for rounding, and that variance."""
    at, worst = 0, 0.0
    for i in range(count):
        own = design.place[i, :rank]
        variance = 0.0
        for j in range(rank):
            variance += own[j] * dot(design.inverse[j, :rank], own)
        if variance > worst * (1.0 + SAME):
            at, worst = i, variance
    return at, worst
