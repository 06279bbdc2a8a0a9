"""Click models against enumeration: click patterns, rewards and best lists."""

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toplist.clicks import DBN, DCM, Cascade
from toplist.core.problem import Problem
from toplist.core.randomness import branch
from toplist.core.slate import empty_page

ATTRACTION = [0.7, 0.2, 0.5, 0.9]
USERS: dict[str, Any] = {
    "cascade": Cascade(),
    "cascade that gives up": Cascade(depth=2),
    "DCM": DCM([0.3, 0.8, 0.5, 0.1]),
    "DBN": DBN([0.6, 0.9, 0.2, 0.5], 0.75),
}


def patterns(
    name: str, users: Any, items: list[int], attraction: list[float]
) -> Iterator[tuple[float, Any, int, bool]]:
    """(probability, clicks, last position examined, satisfied) for every course a visit can take, item after item."""

    def visit(place: int, clicks: tuple[int, ...], chance: float) -> Iterator[tuple[float, Any, int, bool]]:
        rest = (0,) * (len(items) - place - 1)
        last = place + 1 == len(items) or (name == "cascade that gives up" and place + 1 == users.depth)
        for attracted in (True, False):
            here = chance * (attraction[place] if attracted else 1 - attraction[place])
            if name.startswith("cascade"):
                leaving = 1.0 if attracted else 0.0
            elif name == "DCM":
                leaving = users.termination[place] if attracted else 0.0
            else:
                leaving = users.satisfaction[items[place]] if attracted else 0.0
            now = (*clicks, int(attracted))
            if here * leaving > 0:
                yield here * leaving, now + rest, place + 1, True
            going = here * (1 - leaving)
            persistence = users.persistence if name == "DBN" else 1.0
            if last:
                yield going, now + rest, place + 1, False
            else:
                if going * (1 - persistence) > 0:
                    yield going * (1 - persistence), now + rest, place + 1, False
                yield from visit(place + 1, now, going * persistence)

    yield from visit(0, (), 1.0)


@pytest.mark.parametrize("name", USERS)
def test_clicks_and_departures_have_their_probabilities(name: str) -> None:
    items = np.array([2, 0, 3, 1])
    attraction = np.array(ATTRACTION)[items]
    users = USERS[name].prepare(Problem(4, 4))
    page, labels, draws = empty_page(4), np.arange(4), 40_000
    seen: Counter[Any] = Counter()
    for visitor in range(draws):
        number = users.click(None, items, attraction, labels, branch(5, visitor), page)
        assert number == page.clicks.sum()
        seen[tuple(page.clicks.tolist()), int(page.left[0])] += 1
    wanted: dict[Any, float] = defaultdict(float)
    for chance, clicks, left, _ in patterns(name, users, items.tolist(), attraction.tolist()):
        wanted[clicks, left] += chance
    assert sum(wanted.values()) == pytest.approx(1.0)
    assert set(seen) <= set(wanted)
    for course, chance in wanted.items():
        tolerance = 4.5 * np.sqrt(chance * (1 - chance) / draws) + 1e-9  # about 30 courses in all
        assert abs(seen[course] / draws - chance) < tolerance, course


chances = st.floats(0, 1, allow_nan=False)


@st.composite
def problems(draw: st.DrawFn) -> tuple[str, Any, np.ndarray[Any, Any], int]:
    items = draw(st.integers(1, 5))
    positions = draw(st.integers(1, min(items, 4)))
    attraction = np.array(draw(st.lists(chances, min_size=items, max_size=items)))
    name = draw(st.sampled_from(["cascade", "DCM", "DBN"]))
    users: Any = Cascade()
    if name == "DCM":
        users = DCM(draw(st.lists(chances, min_size=positions, max_size=positions)))
    elif name == "DBN":
        users = DBN(draw(st.lists(chances, min_size=items, max_size=items)), draw(chances))
    return name, users.prepare(Problem(items, positions)), attraction, positions


@given(problems())
@settings(max_examples=150, deadline=None)
def test_reward_and_best_list_match_exhaustive_search(problem: Any) -> None:
    name, users, attraction, positions = problem
    rewards = {}
    for items in itertools.permutations(range(len(attraction)), positions):
        shown = np.array(items)
        reward = users.reward(None, shown, attraction[shown])
        outcomes = patterns(name, users, list(items), attraction[shown].tolist())
        by_enumeration = sum(chance for chance, _, _, satisfied in outcomes if satisfied)
        assert reward == pytest.approx(by_enumeration, abs=1e-12)
        rewards[items] = reward
    best = np.full(positions, -1)
    users.best(None, attraction, best)
    assert len(set(best.tolist())) == positions
    assert rewards[tuple(best.tolist())] == pytest.approx(max(rewards.values()), abs=1e-12)


@pytest.mark.parametrize("users", [Cascade(), DCM([0.3, 0.8, 0.5, 0.1, 0.0]), DBN([0.6, 0.9, 0.2, 0.5, 0.3], 1.0)])
def test_simulated_reward_is_the_closed_form(users: Any) -> None:
    """A last item that attracts nobody shows who left before it, satisfied; 4 standard errors of 40,000 visitors."""
    users = users.prepare(Problem(5, 5))
    items, attraction, page, draws = np.arange(5), np.array([*ATTRACTION, 0.0]), empty_page(5), 40_000
    satisfied = 0
    for visitor in range(draws):
        users.click(None, items, attraction, items, branch(6, visitor), page)
        satisfied += page.left[0] < 5
    wanted = users.reward(None, items, attraction)
    assert abs(satisfied / draws - wanted) < 4 * np.sqrt(wanted * (1 - wanted) / draws)


def test_closed_forms_by_hand() -> None:
    shown, attraction = np.array([0, 1]), np.array([0.5, 0.2])
    assert Cascade().prepare(Problem(2, 2)).reward(None, shown, attraction) == pytest.approx(1 - 0.5 * 0.8)
    assert DCM([0.5, 1.0]).prepare(Problem(2, 2)).reward(None, shown, attraction) == pytest.approx(1 - 0.75 * 0.8)
    # w = (.4, .1), persistence .7: .4 + .7 * .1 * .6
    assert DBN([0.8, 0.5], 0.7).prepare(Problem(2, 2)).reward(None, shown, attraction) == pytest.approx(0.442)


def test_an_item_attracts_a_visitor_wherever_it_stands() -> None:
    """Visitors are the same for every policy: the coin belongs to the item, not to the position."""
    users, page, labels = DCM(0.0).prepare(Problem(4, 4)), empty_page(4), np.arange(4)
    for visitor in range(200):
        attracted = []
        for items in (np.array([0, 1, 2, 3]), np.array([3, 1, 0, 2])):
            users.click(None, items, np.array(ATTRACTION)[items], labels, branch(1, visitor), page)
            attracted.append({int(item) for item, click in zip(items, page.clicks, strict=True) if click})
        assert attracted[0] == attracted[1]
