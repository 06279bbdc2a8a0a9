"""Expectations of estimates over all lists and clicks are the true value, on the users that an estimator assumes.

On other users they are not, or the test would say nothing.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
import small_worlds as small
from small_worlds import mixture

from toplist.evaluation import GivenProbabilities, ShownLists, evaluate
from toplist.evaluation.estimators import clipped_clicks, weighted_clicks
from toplist.evaluation.logged_lists import LoggedLists
from toplist.evaluation.pseudoinverse import general_weights, pseudoinverse_clicks, uniform_weights
from toplist.evaluation.targets import place_table
from toplist.evaluation.units import units_of
from toplist.evaluation.weights import list_weights
from toplist.logs import ClickLog

LOGGED = small.some_policy(1)
TARGETS = {"random": small.some_policy(2), "certain": small.certain((2, 0, 3))}
EXACT = 1e-9


def value(name: str, log: ClickLog, target: small.Chances) -> float:
    return evaluate(log, mixture(target), name, clip=1e9)[name].value


def off(names: Sequence[str], users: small.Users, target: small.Chances, logged: small.Chances = LOGGED) -> list[float]:
    """Errors of the expectations."""
    log, truth = small.population(logged, users), small.true_value(target, users)
    return [abs(value(name, log, target) - truth) for name in names]


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_weights_of_lists_are_right_for_any_users(target: small.Chances) -> None:
    names = ("ips", "snips", "clipped-ips")
    assert off(names, small.any_users(3), target) == pytest.approx([0, 0, 0], abs=EXACT)


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_weights_of_positions_are_right_for_clicks_by_item_and_position(target: small.Chances) -> None:
    names = ("iips", "sniips", "clipped-iips")
    assert off(names, small.position_users(4), target) == pytest.approx([0, 0, 0], abs=EXACT)
    assert min(off(names, small.cascade_users(4), target)) > 0.001
    assert min(off(names, small.any_users(4), target)) > 0.001


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_weights_of_prefixes_are_right_for_users_who_go_down_the_list(target: small.Chances) -> None:
    names = ("rips", "snrips", "clipped-rips")
    assert off(names, small.cascade_users(5), target) == pytest.approx([0, 0, 0], abs=EXACT)
    assert off(names, small.position_users(5), target) == pytest.approx([0, 0, 0], abs=EXACT)
    assert min(off(names, small.any_users(5), target)) > 0.001


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_the_pseudoinverse_is_right_for_clicks_that_add_up(target: small.Chances) -> None:
    names = ("pseudoinverse",)
    assert off(names, small.position_users(6), target, small.uniform()) == pytest.approx([0], abs=EXACT)
    assert off(names, small.any_users(6), target, small.uniform())[0] > 0.001


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_the_pseudoinverse_of_any_policy_is_right_for_clicks_that_add_up(target: small.Chances) -> None:
    users = small.position_users(7)
    log = small.population(LOGGED, users)
    lists = LoggedLists.of(log)
    shown = np.array(small.LISTS)
    wanted = place_table(mixture(target).by_length[small.PLACES], small.ITEMS)
    weights = general_weights(shown, np.array(list(LOGGED.values())), wanted, small.ITEMS)
    number = {each: place for place, each in enumerate(small.LISTS)}
    of_rows = weights[[number[tuple(row)] for row in lists.item.tolist()]]
    found = pseudoinverse_clicks(of_rows, lists.click, lists.weight).value
    assert found == pytest.approx(small.true_value(target, users), abs=EXACT)


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_the_policy_of_the_log_gives_what_the_log_lacks(target: small.Chances) -> None:
    users = small.position_users(13)
    log = replace(small.population(LOGGED, users), propensity=None, marginal=None)
    names = ["ips", "sniips", "rips", "pseudoinverse"]
    found = evaluate(log, mixture(target), names, logged_by=mixture(LOGGED))
    truth = small.true_value(target, users)
    assert [found[name].value for name in names] == pytest.approx([truth] * 4, abs=EXACT)
    with pytest.raises(ValueError, match="logged_by would not show"):
        evaluate(log, mixture(target), names, logged_by=mixture(small.certain((0, 1, 2))))


@pytest.mark.parametrize(("items", "places"), [(4, 3), (3, 3), (6, 2), (5, 1)])
def test_the_closed_form_of_the_pseudoinverse_is_that_of_the_matrix(items: int, places: int) -> None:
    shown = np.array(list(permutations(range(items), places)))
    chance = np.random.default_rng(8).dirichlet(np.ones(len(shown)))
    table = place_table(ShownLists(shown, chance), items)
    slow = general_weights(shown, np.full(len(shown), 1.0 / len(shown)), table, items)
    many = np.full(len(shown), items), np.full(len(shown), places)
    fast = uniform_weights(table[shown, np.arange(places)], table.sum(axis=1)[shown], *many)
    assert fast == pytest.approx(slow, abs=1e-9)


def test_replay_is_right_on_uniform_lists() -> None:
    target = TARGETS["certain"]
    assert off(("replay",), small.any_users(9), target, small.uniform()) == pytest.approx([0], abs=EXACT)
    assert off(("replay-prefix",), small.cascade_users(9), target, small.uniform()) == pytest.approx([0], abs=EXACT)
    assert off(("replay-prefix",), small.any_users(9), target, small.uniform())[0] > 0.001


def test_wrong_propensities_give_a_wrong_value() -> None:
    """The log says that lists were uniform, but they were not."""
    users, target = small.any_users(10), TARGETS["random"]
    log, wrong = small.population(LOGGED, users), small.uniform()
    lists = LoggedLists.of(log)
    said = np.array([small.given(wrong, tuple(row)) for row in lists.item.tolist()])
    weights = list_weights(mixture(target).given(lists), said, units_of(log))
    found = weighted_clicks(weights.value, lists.click, lists.weight).value
    assert abs(found - small.true_value(target, users)) > 0.01


def test_a_clipped_estimate_is_the_clipped_value() -> None:
    users, target, clip = small.any_users(11), TARGETS["random"], 1.5
    log = small.population(LOGGED, users)
    lists = LoggedLists.of(log)
    weights = list_weights(mixture(target).given(lists), lists.known_propensity(), units_of(log))
    expected = sum(
        LOGGED[shown] * min(target[shown] / LOGGED[shown], clip) * small.click_rates(users, shown).sum()
        for shown in small.LISTS
    )
    found = clipped_clicks(weights.value, lists.click, lists.weight, clip).value
    assert found == pytest.approx(expected, abs=EXACT)
    assert found < small.true_value(target, users)


def test_arrays_and_lists_name_the_same_target() -> None:
    users, target = small.cascade_users(12), TARGETS["random"]
    log = small.population(LOGGED, users)
    rows = [tuple(row) for row in LoggedLists.of(log).item.tolist()]
    arrays = GivenProbabilities(
        log, [each for row in rows for each in small.given(target, row)],
        [each for row in rows for each in small.marginal(target, row)],
    )  # fmt: skip
    names = ["ips", "sniips", "rips"]
    by_arrays, by_lists = evaluate(log, arrays, names), evaluate(log, mixture(target), names)
    for name in names:
        assert by_arrays[name].value == pytest.approx(by_lists[name].value, abs=EXACT)
