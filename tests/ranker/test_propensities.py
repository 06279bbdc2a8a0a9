"""Probabilities of a ranker's lists."""

from __future__ import annotations

import numpy as np
import pytest

from toplist import Ranker


def trained(policy: str, **options: object) -> Ranker:
    ranker = Ranker([f"item-{n}" for n in range(6)], 3, policy, seed=4, compiled=False, **options)  # type: ignore[arg-type]
    for number in range(40):
        shown = ranker.rank()
        ranker.learn(shown, clicks=[1 + number % 3] if number % 2 else [])
    return ranker


@pytest.mark.parametrize("policy", ["dcm-ts", "cascade-ucb1", "random", "exploring(policy='cascade-ucb1', share=0.5)"])
def test_they_are_those_of_repeated_lists(policy: str) -> None:
    """Shares of 1,500 lists, within 4.5 standard errors."""
    ranker = trained(policy)
    shown = ranker.rank(propensities=True, exclude=["item-5"], pins={2: "item-4"})
    assert shown.propensities is not None
    assert shown.propensities.conditional[1] == 1.0
    whole = float(np.prod(shown.propensities.conditional))
    again = [ranker.rank(exclude=["item-5"], pins={2: "item-4"}).items for _ in range(1500)]
    share = np.mean([items == shown.items for items in again])
    assert abs(share - whole) <= 4.5 * np.sqrt(whole * (1.0 - whole) / 1500) + 1e-9
    for position in range(3):
        chance = float(shown.propensities.marginal[position])
        stands = np.mean([items[position] == shown.items[position] for items in again])
        assert abs(stands - chance) <= 4.5 * np.sqrt(chance * (1.0 - chance) / 1500) + 1e-9


def test_without_a_closed_form_they_have_errors() -> None:
    rows = {f"item-{n}": [0.5, n / 12.0] for n in range(6)}
    ranker = trained("cascade-lin-ts", features=rows)
    found = ranker.rank(propensities=True).propensities
    assert found is not None
    assert np.all(found.conditional > 0.0)
    assert np.all((found.conditional_error > 0.0) | (found.conditional == 1.0))


def test_a_limited_number_of_new_items_is_drawn_before_the_policy_ranks() -> None:
    """Of six items never seen, two are candidates of a list beside the four others, each equally likely."""
    ranker = Ranker([f"item-{n}" for n in range(6)], 2, "random", compiled=False, new_per_list=2)
    found = ranker.rank(propensities=True).propensities
    assert found is not None
    assert found.marginal == pytest.approx([1 / 6, 1 / 6], abs=4.5 * np.sqrt(5 / 36 / 1000) + 1e-3)
    assert np.all(found.marginal_error > 0.0)


def test_they_are_computed_on_demand_and_change_no_list() -> None:
    one, other = trained("dcm-ts"), trained("dcm-ts")
    assert one.rank().propensities is None
    assert len(one.rank().items) == len(other.rank(propensities=True).items) == 3
    other.rank()
    assert one.rank().items == other.rank().items


def test_a_list_without_items_has_none() -> None:
    assert Ranker([], 2, "random", compiled=False).rank(propensities=True).propensities is None


def test_lists_are_weighed_without_making_any() -> None:
    ranker = trained("dcm-ts")
    ranker.hide("item-5")
    shown = ranker.rank(propensities=True)
    assert shown.propensities is not None
    lists = [list(shown.items), ["item-5", *shown.items[1:]], [shown.items[0], "wine", shown.items[2]]]
    found = ranker.weigh(lists)
    assert found is not None
    assert found.conditional[0] == pytest.approx(shown.propensities.conditional, abs=1e-12)
    assert found.marginal[0] == pytest.approx(shown.propensities.marginal, abs=1e-12)
    assert found.conditional[1].tolist() == [0.0, 0.0, 0.0], "a hidden item"
    assert found.conditional[2, 0] == pytest.approx(found.conditional[0, 0])
    assert found.conditional[2, 1:].tolist() == [0.0, 0.0], "an unknown item"
    assert ranker.rank().number == shown.number + 1
    too_long = ranker.weigh([[*shown.items, "item-5"]])
    assert too_long is not None
    assert not too_long.conditional.any()
    with pytest.raises(ValueError, match="lists of one length"):
        ranker.weigh([["item-0"], ["item-0", "item-1"]])


def test_lists_without_a_closed_form_are_not_weighed() -> None:
    rows = {f"item-{n}": [0.5, n / 12.0] for n in range(6)}
    assert trained("cascade-lin-ts", features=rows).weigh([["item-0", "item-1", "item-2"]]) is None
    assert trained("dcm-ts", new_per_list=1).weigh([["item-0", "item-1", "item-2"]]) is None
