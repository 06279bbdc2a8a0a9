"""A fitted model is users and a world of the simulator: they click as the model predicts."""

import numpy as np
import pytest

import toplist
from toplist.core.problem import InvalidInput, Problem
from toplist.core.randomness import branch
from toplist.core.slate import empty_page
from toplist.logs import ClickLog, FittedModel
from toplist.logs.models import MODELS

POSITIONS, ITEMS, VISITORS = 3, ("a", "b", "c", 7), 6000
WITH_USERS = [name for name in MODELS if name != "item-position-ctr"]


def drawn(name: str, seed: int = 3) -> FittedModel:
    """A model of two queries with random parameters."""
    rng = np.random.default_rng(seed)
    model = MODELS[name]._replace(positions=POSITIONS)  # type: ignore[attr-defined]
    coins = model.coins()
    own = {query: {item: rng.uniform(0.1, 0.9, len(coins.own)).tolist() for item in ITEMS} for query in ("p", "q")}
    return FittedModel.from_values(
        model, own, {query: rng.uniform(0.1, 0.9, len(coins.shared)).tolist() for query in own}
    )


@pytest.mark.parametrize("name", WITH_USERS)
def test_users_click_as_the_model_predicts(name: str) -> None:
    """All click patterns of a list with their probabilities; 6,000 visitors, 4.5 standard errors."""
    fitted = drawn(name)
    world, users = fitted.world("q", POSITIONS), fitted.users("q", POSITIONS)
    assert fitted.items_of("q") == list(ITEMS)
    shown = np.array([2, 0, 3])
    ready, page = users.prepare(Problem(len(ITEMS), POSITIONS)), empty_page(POSITIONS)
    attraction, labels = np.array(world.attraction)[shown], np.arange(len(ITEMS))
    counts = np.zeros(2**POSITIONS)
    for visitor in range(VISITORS):
        ready.click(None, shown, attraction, labels, branch(5, visitor), page)
        counts[int(page.clicks @ [4, 2, 1])] += 1
    patterns = [[place + 1 for place in range(POSITIONS) if number & 4 >> place] for number in range(2**POSITIONS)]
    log = ClickLog.from_lists(["q"] * len(patterns), [[ITEMS[i] for i in shown]] * len(patterns), patterns)
    given = fitted.predict(log).given.reshape(-1, POSITIONS)
    chance = np.where(log.click.reshape(-1, POSITIONS) > 0, given, 1.0 - given).prod(axis=1)
    assert chance.sum() == pytest.approx(1.0)
    assert np.all(np.abs(counts / VISITORS - chance) <= 4.5 * np.sqrt(chance * (1 - chance) / VISITORS) + 1e-9)


@pytest.mark.parametrize("name", ["dbn", "ubm", "position-ctr"])
def test_users_are_simulated(name: str) -> None:
    fitted = drawn(name)
    for positions in (1, 2, POSITIONS):
        world, users = fitted.world("p", positions), fitted.users("p", positions)
        result = toplist.simulate(["best"], world, users, steps=20, runs=1)
        assert result.mean("best")[-1] == 0.0


def test_what_cannot_be_users_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"item-position-ctr has no users: .*; fit a model that has them"):
        drawn("item-position-ctr").users("q", 2)
    fitted = drawn("dcm")
    with pytest.raises(InvalidInput, match="positions is 4, but must be at most 3, the length of the longest list"):
        fitted.users("q", 4)
    for positions in (0, 1.5):
        with pytest.raises(InvalidInput, match="The number of positions is"):
            fitted.world("q", positions)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="The id is 'x', but must be one of 2, such as 'p', 'q'"):
        fitted.world("x", 2)
    few = FittedModel.from_values(fitted.model, {"q": {"a": [0.5]}}, [0.1, 0.2, 0.3])
    with pytest.raises(InvalidInput, match="positions is 2, but must be at most 1, the number of items of 'q'"):
        few.users("q", 2)


def test_known_parameters_are_checked() -> None:
    model = MODELS["dbn"]
    for own in ([0.5], [0.5, 1.5], [0.5, float("nan")]):
        with pytest.raises(InvalidInput, match=r"parameters of an item .* must be 2 numbers in \[0, 1\]"):
            FittedModel.from_values(model, {"q": {"a": own}}, [0.5])
    with pytest.raises(InvalidInput, match=r"parameters that queries share .* must be 1 numbers"):
        FittedModel.from_values(model, {"q": {"a": [0.5, 0.5]}}, [])
