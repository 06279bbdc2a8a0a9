"""A small linear program with more and more constraints: the dual simplex method on a dense tableau.

Minimise cost'x over x >= 0 with a'x >= b for every constraint, and with a bound on the sum of x, which makes the first
tableau dual feasible. A constraint that is added later is expressed in the variables of the last solution, so that few
pivots lead to the next one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from toplist.core.compiling import helper, routine
from toplist.core.slate import Floats, Ints

TINY = 1e-9  # a number of this size is taken for 0
NEAR = 1e-6  # below 0, for a variable that is taken for 0; constraints are scaled so that this is little
MOST_PIVOTS = 4000


class Tableau(NamedTuple):
    """Each basic variable as `value - row of the free ones`, and the price of each free variable.

    Variables are numbered; those from the number of columns on are slacks, one per row.
    """

    row: Floats  # (rows, columns)
    value: Floats  # (rows,)
    price: Floats  # (columns,)
    basic: Ints  # (rows,)
    free: Ints  # (columns,)
    used: Ints  # one element: rows in use


def empty_tableau(columns: int, rows: int) -> Tableau:
    """A tableau with room for a number of constraints; one row more is for the bound on the sum."""
    return Tableau(
        row=np.zeros((rows + 1, columns)),
        value=np.zeros(rows + 1),
        price=np.zeros(columns),
        basic=np.zeros(rows + 1, dtype=np.int64),
        free=np.zeros(columns, dtype=np.int64),
        used=np.zeros(1, dtype=np.int64),
    )


@routine
def begin_program(table: Tableau, cost: Floats, most: float) -> None:
    """Begin with no constraint but the bound on the sum; afterwards, no price is below 0."""
    columns = len(table.price)
    table.used[0], table.value[0], table.basic[0] = 1, most, columns
    least = 0
    for j in range(columns):
        table.row[0, j], table.price[j], table.free[j] = 1.0, cost[j], j
        if cost[j] < cost[least]:
            least = j
    if cost[least] < 0.0:
        pivot(table, 0, least)


@routine
def add_constraint(table: Tableau, weight: Floats, least: float) -> None:
    """Add weight'x >= least, whose slack becomes basic; the solution may be infeasible until `solve_program`."""
    columns, at = len(table.price), table.used[0]
    line = table.row[at]
    table.value[at], table.basic[at] = -least, columns + at
    for j in range(columns):
        line[j] = -weight[table.free[j]] if table.free[j] < columns else 0.0
    for i in range(at):
        if table.basic[i] < columns and weight[table.basic[i]] != 0.0:
            factor, other = weight[table.basic[i]], table.row[i]
            table.value[at] += factor * table.value[i]
            for j in range(columns):
                line[j] += factor * other[j]
    table.used[0] += 1


@routine
def pivot(table: Tableau, at: int, column: int) -> None:
    """Exchange a basic and a free variable."""
    line, columns = table.row[at], len(table.price)
    inverse = 1.0 / line[column]
    for j in range(columns):
        line[j] *= inverse
    line[column] = inverse
    table.value[at] *= inverse
    for i in range(table.used[0]):
        other = table.row[i]
        factor = other[column]
        if i != at and factor != 0.0:
            for j in range(columns):
                other[j] -= factor * line[j]
            other[column] = -factor * inverse
            table.value[i] -= factor * table.value[at]
    factor = table.price[column]
    for j in range(columns):
        table.price[j] = max(table.price[j] - factor * line[j], 0.0) if j != column else max(-factor * inverse, 0.0)
    table.basic[at], table.free[column] = table.free[column], table.basic[at]


@routine
def solve_program(table: Tableau) -> bool:
    """Pivot until no variable is negative; False if that cannot be."""
    for _ in range(MOST_PIVOTS):
        at = 0
        for i in range(table.used[0]):
            if table.value[i] < table.value[at]:
                at = i
        if table.value[at] >= -NEAR:
            return True
        column, least = -1, np.inf
        for j in range(len(table.price)):
            slope = -table.row[at, j]
            if slope > TINY and table.price[j] < least * slope:
                column, least = j, table.price[j] / slope
        if column < 0:
            return False
        pivot(table, at, column)
    return False


@helper
def fill_solution(table: Tableau, solution: Floats) -> None:
    """The variables of the last solution, in their order."""
    for j in range(len(solution)):
        solution[j] = 0.0
    for i in range(table.used[0]):
        if table.basic[i] < len(solution):
            solution[table.basic[i]] = max(table.value[i], 0.0)
