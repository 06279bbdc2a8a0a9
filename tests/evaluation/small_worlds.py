"""Small worlds whose lists and clicks can all be written out, so that an expectation is a sum.

A log with one row for every list and every pattern of clicks, weighted by its probability, is the whole population: an
estimate from it is the expectation of the estimate, or what a self-normalised one converges to.
"""

from collections.abc import Callable, Mapping
from itertools import permutations, product

import numpy as np

from toplist.core.slate import Floats
from toplist.evaluation import ListMixture, ShownLists
from toplist.logs import ClickLog

ITEMS, PLACES = 4, 3
List = tuple[int, ...]
Chances = Mapping[List, float]  # of lists
Users = Callable[[List], Mapping[List, float]]  # chances of patterns of clicks on a list

LISTS: list[List] = list(permutations(range(ITEMS), PLACES))
PATTERNS: list[List] = list(product((0, 1), repeat=PLACES))


def uniform() -> Chances:
    return dict.fromkeys(LISTS, 1.0 / len(LISTS))


def some_policy(seed: int) -> Chances:
    """Every list has a chance of its own."""
    chance = np.random.default_rng(seed).dirichlet(np.ones(len(LISTS)))
    return dict(zip(LISTS, chance.tolist(), strict=True))


def certain(shown: List) -> Chances:
    return {each: float(each == shown) for each in LISTS}


def any_users(seed: int) -> Users:
    """The pattern of clicks depends on the whole list in no particular way."""
    rng = np.random.default_rng(seed)
    table = {each: dict(zip(PATTERNS, rng.dirichlet(np.ones(len(PATTERNS))).tolist(), strict=True)) for each in LISTS}
    return lambda shown: table[shown]


def independent(chance: Callable[[List, int], float]) -> Users:
    """Clicks are independent, and that at a place has a chance that depends on the list."""

    def users(shown: List) -> Mapping[List, float]:
        rates = [chance(shown, place) for place in range(PLACES)]
        return {
            pattern: float(np.prod([rate if click else 1 - rate for rate, click in zip(rates, pattern, strict=True)]))
            for pattern in PATTERNS
        }

    return users


def position_users(seed: int) -> Users:
    """A click depends on the item and its place alone."""
    rates = np.random.default_rng(seed).uniform(0.05, 0.9, size=(ITEMS, PLACES))
    return independent(lambda shown, place: float(rates[shown[place], place]))


def cascade_users(seed: int) -> Users:
    """A click depends on the item and those above: they leave after a click, with a chance of the place."""
    rng = np.random.default_rng(seed)
    attraction, leave = rng.uniform(0.1, 0.9, size=ITEMS), rng.uniform(0.2, 0.8, size=PLACES)

    def users(shown: List) -> Mapping[List, float]:
        found = {}
        for pattern in PATTERNS:
            here, gone = 1.0, 0.0  # chances of the clicks so far with the user still there, and gone
            for place, click in enumerate(pattern):
                likes = attraction[shown[place]]
                if click:
                    here, gone = here * likes * (1 - leave[place]), here * likes * leave[place]
                else:
                    here = here * (1 - likes)
            found[pattern] = here + gone
        return found

    return users


def click_rates(users: Users, shown: List) -> Floats:
    """The chance of a click at each place."""
    chances = users(shown)
    return np.array([sum(chance * pattern[place] for pattern, chance in chances.items()) for place in range(PLACES)])


def true_value(policy: Chances, users: Users) -> float:
    return float(sum(chance * click_rates(users, shown).sum() for shown, chance in policy.items()))


def prefix_chance(policy: Chances, prefix: List) -> float:
    return sum(chance for shown, chance in policy.items() if shown[: len(prefix)] == prefix)


def given(policy: Chances, shown: List) -> list[float]:
    """The chance of each item given those above."""
    chances = [prefix_chance(policy, shown[: place + 1]) for place in range(PLACES)]
    above = [1.0, *chances[:-1]]
    return [chance / before if before > 0 else 0.0 for chance, before in zip(chances, above, strict=True)]


def marginal(policy: Chances, shown: List) -> list[float]:
    """The chance of each item at its place."""
    return [sum(chance for other, chance in policy.items() if other[place] == shown[place]) for place in range(PLACES)]


def population(policy: Chances, users: Users) -> ClickLog:
    """Every list with every pattern of clicks, weighted by its probability; item 0 has code 0, and so on."""
    rows = [
        (shown, pattern, chance * of_clicks)
        for shown, chance in policy.items()
        for pattern, of_clicks in users(shown).items()
        if chance * of_clicks > 0
    ]
    log = ClickLog.from_lists(
        ["q"] * len(rows),
        [[f"item {item}" for item in shown] for shown, _, _ in rows],
        [[place + 1 for place, click in enumerate(pattern) if click] for _, pattern, _ in rows],
        weights=[1e9 * weight for _, _, weight in rows],
        propensities=[given(policy, shown) for shown, _, _ in rows],
        marginals=[marginal(policy, shown) for shown, _, _ in rows],
    )
    assert [log.items.code(f"item {item}") for item in range(ITEMS)] == list(range(ITEMS))
    return log


def mixture(policy: Chances) -> ListMixture:
    """A policy as a target."""
    shown = np.array(list(policy), dtype=np.int64)
    return ListMixture({PLACES: ShownLists(shown, np.array(list(policy.values())))}, ITEMS)
