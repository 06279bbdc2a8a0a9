"""Queries of a log as worlds and users."""

from pathlib import Path

import numpy as np
import pytest

from toplist.core.problem import InvalidInput
from toplist.datasets import generated
from toplist.experiments import required_data
from toplist.experiments.logged_queries import LoggedQueries, frequent_queries, lists_of
from toplist.logs import ClickLog


def small_log() -> ClickLog:
    rng = np.random.default_rng(0)
    queries = ["rare", *["often"] * 60, *["less"] * 30]
    shown = [rng.permutation(4)[:3].tolist() for _ in queries]
    return ClickLog.from_lists(queries, shown, [(np.flatnonzero(rng.random(3) < 0.4) + 1).tolist() for _ in queries])


def test_frequent_queries_come_first() -> None:
    log = small_log()
    assert frequent_queries(log, 3) == ["often", "less", "rare"]
    assert len(lists_of(log, ["less", "rare"])) == 31
    with pytest.raises(InvalidInput, match="The number of queries is 4, but must be at most 3"):
        frequent_queries(log, 4)


@pytest.mark.parametrize("model", ["CM", "PBM", "DCM", "exact DCM"])
def test_a_query_has_the_items_that_it_shows_most(model: str) -> None:
    content = LoggedQueries(small_log(), documents=4)
    people = content.people(model, 2)
    assert list(people) == ["often", "less"]  # the other has too few items
    world, users = people["often"]
    assert world.positions == 2
    assert np.array_equal(world.attraction, content.attraction(model)["often"])
    assert users.prepare(world.checked().problem()) is not None


def test_experiments_on_click_models_start_from_a_log(tmp_path: Path) -> None:
    generated.write("search-log", tmp_path)
    found = required_data.read_data("click models", tmp_path)
    assert found is not None
    assert isinstance(found.content, LoggedQueries)
    assert found.substitute == "a sample of the Yandex log for all of it"
    assert found.name.startswith("click models fitted to a log of 500 lists")
