"""Target policies: exact probabilities against frequencies of lists that the rankers make, and against enumeration."""

from typing import Any

import numpy as np
import pytest
import small_worlds as small
from small_worlds import mixture

from toplist import Ranker
from toplist.core.slate import Floats
from toplist.evaluation import CannotEstimate, PerQuery, RankedGroups, evaluate, make_target, sample_ranker
from toplist.evaluation.logged_lists import LoggedLists
from toplist.evaluation.sampled_ranker import SampledRanker
from toplist.evaluation.targets import GivenProbabilities, ShownLists, TargetPolicy, target_of_columns
from toplist.evaluation.weighed_ranker import WeighedRanker
from toplist.logs import ClickLog

NAMES = [f"item {item}" for item in range(small.ITEMS)]
LOG = small.population(small.uniform(), small.position_users(1))
LISTS = LoggedLists.of(LOG)
ROWS = [tuple(row) for row in LISTS.item.tolist()]


def ranker(policy: Any, **options: Any) -> Ranker:
    return Ranker(NAMES, positions=small.PLACES, policy=policy, compiled=False, **options)


def prefixes(target: TargetPolicy, lists: LoggedLists = LISTS) -> Floats:
    """Probabilities of the items down to each position."""
    return np.cumprod(target.given(lists), axis=1, dtype=np.float64)


def same(one: TargetPolicy, other: TargetPolicy, tolerance: float) -> None:
    """Two targets agree on all that estimators ask."""
    assert prefixes(one) == pytest.approx(prefixes(other), abs=tolerance)
    assert one.at_place(LISTS) == pytest.approx(other.at_place(LISTS), abs=tolerance)
    assert one.included(LISTS) == pytest.approx(other.included(LISTS), abs=tolerance)


def test_a_mixture_has_the_probabilities_of_its_lists() -> None:
    policy = small.some_policy(2)
    target = mixture(policy)
    assert target.given(LISTS) == pytest.approx(np.array([small.given(policy, row) for row in ROWS]))
    assert target.at_place(LISTS) == pytest.approx(np.array([small.marginal(policy, row) for row in ROWS]))
    anywhere = [[sum(chance for shown, chance in policy.items() if item in shown) for item in row] for row in ROWS]
    assert target.included(LISTS) == pytest.approx(np.array(anywhere))


@pytest.mark.parametrize(
    "groups", [[[2], [0], [3], [1]], [[1, 3], [0, 2]], [[0, 1, 2, 3]], [[3], [0, 1, 2]], [[0, 1, 2]]]
)
def test_groups_of_ties_are_the_mixture_of_their_orders(groups: list[list[int]]) -> None:
    target = RankedGroups(groups, small.ITEMS)
    ((_, shown),) = target.shown(LISTS)
    assert shown.probability.sum() == pytest.approx(1.0)
    chances = dict.fromkeys(small.LISTS, 0.0)
    for row, chance in zip(shown.item.tolist(), shown.probability.tolist(), strict=True):
        chances[tuple(row)] += chance
    same(target, mixture(chances), 1e-12)


def test_short_lists_and_long_ones() -> None:
    log = ClickLog.from_lists(["q"] * 4, [["a"], ["a", "b"], ["a", "b", "c"], ["b", "a"]], [[]] * 4)
    lists = LoggedLists.of(log)
    target = RankedGroups([[0], [1], [2]], 3, positions=2)
    assert prefixes(target, lists)[:, -1].tolist() == [1.0, 1.0, 0.0, 0.0]
    assert target.included(lists)[3].tolist() == [1.0, 1.0, 1.0]
    assert target.included(lists)[2].tolist() == [1.0, 1.0, 0.0]


def test_a_ranker_with_an_index_is_certain_up_to_ties() -> None:
    found = ranker("cascade-kl-ucb")
    for _ in range(30):
        found.learn(found.adopt(["item 3", "item 1", "item 0"]), clicks=["item 0"])
    target = make_target(found, LOG)
    assert isinstance(target, RankedGroups)  # item 2 is new, item 0 was clicked, 1 and 3 are equal
    same(target, RankedGroups([[2], [0], [1, 3]], small.ITEMS), 1e-12)
    assert found.rank().number == 30, "the ranker itself made no list"


@pytest.mark.parametrize("policy", ["cascade-kl-ucb", "random", "dcm-kl-ucb", "cascade-ducb"])
def test_exact_probabilities_are_the_frequencies_of_lists(policy: str) -> None:
    found = ranker(policy, steps=100)
    for clicks in (["item 0"], [], ["item 1"], []):
        found.learn(found.adopt(["item 0", "item 1", "item 2"]), clicks=clicks)
    target = make_target(found, LOG)
    assert isinstance(target, RankedGroups)
    same(target, sample_ranker(found, LOG, 2000), 0.05)


def trained(policy: str, lists: int = 30, **options: Any) -> Ranker:
    """A ranker after some lists of its own."""
    found = ranker(policy, steps=1000, **options)
    for number in range(lists):
        shown = found.rank()
        clicks = ["item 2"] if number % 3 and "item 2" in shown.items else []
        found.learn(shown, clicks=clicks or ([1] if number % 2 else []))
    return found


def chances_of(shown: ShownLists) -> dict[tuple[int, ...], float]:
    found = dict.fromkeys(small.LISTS, 0.0)
    for row, chance in zip(shown.item.tolist(), shown.probability.tolist(), strict=True):
        found[tuple(row)] += chance
    return found


@pytest.mark.parametrize(
    "policy",
    [
        "dcm-ts", "cascade-ts", "top-rank", "bubble-rank", "batch-rank", "cascade-ucb1(order='last')", "ranked-exp3",
        "exploring(policy='dcm-ts', share=0.3)", "exploring(policy='top-rank', share=0.3)",
    ],
)  # fmt: skip
def test_a_policy_that_knows_its_probabilities_is_asked_for_them(policy: str) -> None:
    """Its probabilities are those of the lists that it shows, written out, and of lists that it makes."""
    found = trained(policy)
    target = make_target(found, LOG)
    assert isinstance(target, WeighedRanker)
    ((_, shown),) = target.shown(LISTS)
    same(target, mixture(chances_of(shown)), 1e-9)
    same(target, sample_ranker(found, LOG, 2000), 0.05)
    assert target.batches() == []
    made = found.rank(propensities=True)
    row = ROWS.index(tuple(NAMES.index(str(name)) for name in made.items))
    assert made.propensities is not None
    assert target.given(LISTS)[row] == pytest.approx(made.propensities.conditional, abs=1e-9)


def test_exact_probabilities_have_no_error_of_sampling() -> None:
    """A log of all lists has the value of the policy, to the precision of its quadrature."""
    found, users = trained("dcm-ts"), small.position_users(1)
    target = make_target(found, LOG)
    ((_, shown),) = target.shown(LISTS)
    value = small.true_value(chances_of(shown), users)
    answers = evaluate(LOG, found, ["ips", "iips", "rips", "snips", "pseudoinverse"])
    for answer in answers.estimates.values():
        assert answer.value == pytest.approx(value, abs=1e-8)
        assert answer.sampling_error == 0.0
    assert len(answers.estimates) == 5


def test_lists_that_are_too_many_to_write_out_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights stay exact; the direct method then has the error of the draws."""
    monkeypatch.setattr("toplist.evaluation.weighed_ranker.MOST_LISTS", 5)
    found = trained("dcm-ts", 5)
    answers = evaluate(LOG, found, ["ips", "direct"], model="pbm", draws=400)
    assert answers["ips"].sampling_error == 0.0
    assert 0.0 < answers["direct"].sampling_error < 0.1
    target = make_target(found, LOG, draws=400)
    ((rows, shown),) = target.shown(LISTS)
    assert len(rows) == len(LISTS)
    assert shown.probability.sum() == pytest.approx(1.0)
    assert len(target.batches()) == 10  # type: ignore[attr-defined]


def test_exact_probabilities_of_short_lists_and_strange_items() -> None:
    log = ClickLog.from_lists(["q"] * 4, [["item 1"], ["item 1", "x"], NAMES[:3], NAMES], [[]] * 4)
    lists = LoggedLists.of(log)
    target = make_target(trained("dcm-ts"), log)
    chance = prefixes(target, lists)
    assert 0.0 < chance[0, 0] < 1.0
    assert chance[1, 0] == pytest.approx(chance[0, 0], abs=1e-9)
    assert chance[1, 1] == 0.0
    assert 0.0 < chance[2, -1] < chance[2, 0]
    assert chance[3, 0] == 0.0, "the ranker shows three items"
    assert target.at_place(lists)[1, 1] == 0.0
    assert target.included(lists)[2, 0] > target.at_place(lists)[2, 0]


def test_other_rankers_are_sampled_with_the_error_of_that() -> None:
    found = ranker("dcm-ts", new_per_list=2)
    found.learn(found.adopt(["item 0", "item 1", "item 2"]), clicks=["item 0"])
    target = make_target(found, LOG, draws=400)
    assert isinstance(target, SampledRanker)
    assert target.draws == 400
    assert not target.is_certain
    assert prefixes(target)[:, -1].reshape(-1)[[ROWS.index(row) for row in small.LISTS]].sum() == pytest.approx(1.0)
    answer = evaluate(LOG, found, "snips", draws=400)["snips"]
    assert 0.002 < answer.sampling_error < 0.1
    finer = evaluate(LOG, found, "snips", draws=4000)["snips"]
    assert finer.sampling_error < answer.sampling_error
    assert answer.interval.high - answer.value == pytest.approx(1.96 * answer.sampling_error, rel=0.01)


def test_a_list_from_the_bottom_up_is_weighed_right() -> None:
    found = ranker("cascade-ucb1(order='last')")
    for _ in range(9):
        found.learn(found.adopt(["item 0", "item 1", "item 2"]), clicks=["item 2"])
        found.learn(found.adopt(["item 3", "item 1", "item 0"]), clicks=["item 0"])
    target = make_target(found, LOG, draws=50)
    shown = found.rank().items
    row = ROWS.index(tuple(NAMES.index(str(name)) for name in shown))
    assert isinstance(target, WeighedRanker)
    assert prefixes(target)[row, -1] == 1.0


def test_a_saved_ranker_is_a_policy(tmp_path: Any) -> None:
    found = ranker("cascade-kl-ucb")
    found.learn(found.adopt(["item 0", "item 1", "item 2"]), clicks=["item 0"])
    found.save(tmp_path / "ranker.npz")
    same(make_target(str(tmp_path / "ranker.npz"), LOG), make_target(found, LOG), 1e-12)


def test_items_that_the_log_has_not_take_places() -> None:
    found = Ranker([*NAMES, "new"], positions=3, policy="random", compiled=False)
    target = make_target(found, LOG)
    assert target.at_place(LISTS)[0, 0] == pytest.approx(1 / 5)
    assert evaluate(LOG, found, "ips").refused["ips"].startswith("the mean weight is 0.4")


def test_each_query_has_its_own_policy() -> None:
    log = ClickLog.from_lists(["x", "y"] * 2, [["a", "b"], ["a", "b"], ["b", "a"], ["b", "a"]], [[1]] * 4)
    policies = {"x": Ranker(["a"], 1, policy="random"), "z": Ranker(["a"], 1, policy="random")}
    with pytest.raises(ValueError, match="no policy for the query 'y'"):
        make_target(policies, log).given(LoggedLists.of(log))
    both = PerQuery({0: RankedGroups([[0], [1]], 2), 1: RankedGroups([[1], [0]], 2)})
    assert np.prod(both.given(LoggedLists.of(log)), axis=1).tolist() == [1.0, 0.0, 0.0, 1.0]
    assert sum(len(rows) for rows, _ in both.shown(LoggedLists.of(log))) == 4


def test_sampled_policies_of_queries_have_the_error_of_sampling() -> None:
    found = ranker("dcm-ts", new_per_list=2)
    by_query = evaluate(LOG, {"q": found}, "snips", draws=400)["snips"]
    alone = evaluate(LOG, found, "snips", draws=400)["snips"]
    assert by_query.value == pytest.approx(alone.value)
    assert by_query.sampling_error == pytest.approx(alone.sampling_error)
    assert evaluate(LOG, {"q": ranker("random")}, "snips")["snips"].sampling_error == 0.0
    with pytest.raises(ValueError, match="one function for the whole log"):
        make_target({"q": lambda log: log.propensity}, LOG)


def test_probabilities_come_from_a_function_or_from_columns() -> None:
    certain = make_target(lambda log: np.ones(len(log.item)), LOG)
    assert certain.given(LISTS).min() == 1.0
    with pytest.raises(CannotEstimate, match="marginal probabilities"):
        certain.at_place(LISTS)
    pair = make_target(lambda log: (None, np.ones(len(log.item))), LOG)
    assert pair.at_place(LISTS).min() == 1.0
    with pytest.raises(ValueError, match="no column target_propensity"):
        target_of_columns(LOG)
    with pytest.raises(ValueError, match="one per position of the log"):
        GivenProbabilities(LOG, [0.5])
    with pytest.raises(ValueError, match="between 0 and 1"):
        GivenProbabilities(LOG, np.full(len(LOG.item), 1.5))
    with pytest.raises(ValueError, match="The policy is 7"):
        make_target(7, LOG)


def test_too_many_orders_are_not_written_out() -> None:
    found = Ranker(range(50), positions=3, policy="random", compiled=False)
    log = ClickLog.from_lists(["q"], [[1, 2, 3]], [[]])
    with pytest.raises(CannotEstimate, match="a tie of 50 items"):
        make_target(found, log).shown(LoggedLists.of(log))
