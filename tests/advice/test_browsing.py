"""The users of the advice click as the fitted models say, and their reward is the expected number of clicks."""

from itertools import permutations

import numpy as np
import pytest

from toplist.advice.browsing import browsing_users, list_values
from toplist.advice.known_visitors import VISITORS, known_visitors
from toplist.clicks import Mixture
from toplist.core.problem import InvalidInput, Problem
from toplist.core.randomness import branch
from toplist.core.slate import empty_page
from toplist.logs import ClickLog, FittedModel

ITEMS, POSITIONS, DRAWN = 5, 4, 4000


def visitors(model: str) -> FittedModel:
    attraction = np.random.default_rng(3).uniform(0.1, 0.9, (1, ITEMS))
    return known_visitors(model, attraction, POSITIONS, seed=2)


@pytest.mark.parametrize("model", VISITORS)
def test_the_reward_is_the_number_of_clicks_that_the_model_predicts(model: str) -> None:
    fitted = visitors(model)
    attraction = np.asarray(fitted.world("q0", POSITIONS).attraction)
    users = browsing_users(fitted.users("q0", POSITIONS), attraction, POSITIONS).prepare(Problem(ITEMS, POSITIONS))
    lists = np.array(list(permutations(range(ITEMS), POSITIONS)))
    names = fitted.items_of("q0")
    log = ClickLog.from_lists(
        ["q0"] * len(lists), [[names[item] for item in shown] for shown in lists], [[]] * len(lists)
    )
    predicted = np.add.reduceat(fitted.predict(log).marginal, log.start[:-1])
    found = list_values(users, attraction, lists)
    assert found.lists == pytest.approx(predicted)
    assert found.best == pytest.approx(predicted.max(), rel=0.01)  # the search is an approximation
    assert found.best <= predicted.max() + 1e-12


@pytest.mark.parametrize("model", VISITORS)
def test_they_click_as_often_as_the_reward_says(model: str) -> None:
    """4,000 visitors, 4.5 standard errors; each position is compared as well."""
    fitted = visitors(model)
    attraction = np.asarray(fitted.world("q0", POSITIONS).attraction)
    users = browsing_users(fitted.users("q0", POSITIONS), attraction, POSITIONS).prepare(Problem(ITEMS, POSITIONS))
    shown, page, counts = np.array([4, 1, 0, 3]), empty_page(POSITIONS), np.zeros((DRAWN, POSITIONS))
    for visitor in range(DRAWN):
        total = users.click(None, shown, attraction[shown], np.arange(ITEMS), branch(7, visitor), page)
        counts[visitor] = page.clicks
        assert total == page.clicks.sum()
    names = fitted.items_of("q0")
    log = ClickLog.from_lists(["q0"], [[names[item] for item in shown]], [[]])
    marginal = fitted.predict(log).marginal
    assert np.all(np.abs(counts.mean(axis=0) - marginal) <= 4.5 * np.sqrt(marginal * (1 - marginal) / DRAWN) + 1e-9)
    error = 4.5 * counts.sum(axis=1).std() / np.sqrt(DRAWN)
    assert abs(counts.sum() / DRAWN - users.reward(None, shown, attraction[shown])) <= error


def test_a_short_list_has_empty_positions() -> None:
    fitted = visitors("dbn")
    attraction = np.asarray(fitted.world("q0", POSITIONS).attraction)
    users = browsing_users(fitted.users("q0", POSITIONS), attraction, POSITIONS).prepare(Problem(ITEMS, POSITIONS))
    short = list_values(users, attraction, np.array([[2, -1, -1, -1]])).lists
    assert short == pytest.approx([attraction[2]])


def test_other_users_are_refused() -> None:
    with pytest.raises(InvalidInput, match="Mixture users cannot be played; fit a model"):
        browsing_users(Mixture("cascade", "dcm"), np.full(3, 0.5), 2)
