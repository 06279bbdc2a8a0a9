"""The values of Open Bandit Pipeline's slate estimators on the same data; `tools/make_obp_values.py` made them."""

import json
from pathlib import Path

import numpy as np
import pytest

from toplist.evaluation import cascade_doubly_robust, evaluate
from toplist.evaluation.logged_lists import LoggedLists
from toplist.evaluation.targets import target_of_columns
from toplist.evaluation.units import units_of
from toplist.evaluation.weights import prefix_weights
from toplist.logs import ClickLog, read_log

FIXTURE = Path(__file__).parent / "obp_values"
EXPECTED = json.loads((FIXTURE / "values.json").read_text())
SAME = 1e-9
NAMES = ("ips", "iips", "rips", "snips", "sniips", "snrips")


@pytest.fixture(scope="module")
def log() -> ClickLog:
    return read_log(FIXTURE / "slates.csv", strict=True)


@pytest.mark.parametrize("name", NAMES)
def test_estimates_by_weights_are_those_of_obp(name: str, log: ClickLog) -> None:
    assert evaluate(log, "log", name)[name].value == pytest.approx(EXPECTED["values"][name], abs=SAME, rel=0)


def test_cascade_doubly_robust_is_that_of_obp_with_the_same_regression(log: ClickLog) -> None:
    lists = LoggedLists.of(log)
    shape = len(lists), EXPECTED["positions"], EXPECTED["items"]
    with np.load(FIXTURE / "predictions.npz") as arrays:
        predicted, distribution = (arrays[name].reshape(shape) for name in ("predicted", "distribution"))
    weights = prefix_weights(target_of_columns(log).given(lists), lists.known_propensity(), units_of(log))
    action = np.array([int(log.items[code]) for code in lists.item.ravel().tolist()]).reshape(lists.item.shape)
    of_logged = np.take_along_axis(predicted, action[:, :, None], axis=2)[:, :, 0]
    expected = (distribution * predicted).sum(axis=2)
    found = cascade_doubly_robust(weights.value, lists.click, of_logged, expected, lists.weight)
    assert found.value == pytest.approx(EXPECTED["values"]["doubly-robust"], abs=SAME, rel=0)


def test_what_a_file_of_probabilities_cannot_tell_is_refused(log: ClickLog) -> None:
    found = evaluate(log, "log")
    assert set(NAMES) <= set(found.estimates)
    assert "the lists that the policy would show are not known" in found.refused["direct"]
    assert "not uniformly random" in found.refused["replay"]
