"""Open Bandit Pipeline's layouts: slates with probabilities of prefixes, and rows with marginal ones only."""

from pathlib import Path

import numpy as np
import pytest

from toplist.logs import ClickLog, read_log
from toplist.logs.arrow import arrow
from toplist.logs.readers.open_bandit_slate import conditional

SLATES = {
    "slate_id": [0, 0, 1, 1],
    "position": [0, 1, 0, 1],
    "action": [3, 1, 2, 3],
    "reward": [1, 0, 0, 1],
    "pscore": [0.1, 0.1, 0.2, 0.2],
    "pscore_cascade": [0.5, 0.1, 0.4, 0.2],
    "pscore_item_position": [0.5, 0.3, 0.4, 0.6],
}


def test_prefix_probabilities_of_slates_become_conditional_ones() -> None:
    log = read_log(arrow.lib.table(SLATES))
    assert log.propensity is not None
    assert log.marginal is not None
    assert log.propensity.tolist() == pytest.approx([0.5, 0.2, 0.4, 0.5])
    assert log.marginal.tolist() == [0.5, 0.3, 0.4, 0.6]
    assert [log.items[code] for code in log.item] == [3, 1, 2, 3]
    assert log.click.tolist() == [1, 0, 0, 1]
    assert log.target_propensity is None
    assert log.report is not None
    assert log.report.layout == "open-bandit-slate"


def test_evaluation_policy_columns_are_the_target() -> None:
    target = {
        "evaluation_policy_pscore_cascade": [0.25, 0.0, 0.4, 0.4],
        "evaluation_policy_pscore_item_position": [0.25, 0.1, 0.4, 1.0],
    }
    log = read_log(arrow.lib.table(SLATES | target))
    assert log.target_propensity is not None
    assert log.target_marginal is not None
    assert log.target_propensity.tolist() == pytest.approx([0.25, 0.0, 0.4, 1.0])
    assert log.target_marginal.tolist() == [0.25, 0.1, 0.4, 1.0]


def test_a_slate_whose_prefix_probability_grows_is_skipped() -> None:
    log = read_log(arrow.lib.table(SLATES | {"pscore_cascade": [0.5, 0.6, 0.4, 0.2]}))
    assert len(log) == 1
    assert log.report is not None
    assert "a propensity is not in (0, 1]" in str(log.report)


def test_rounding_does_not_make_a_probability_above_one() -> None:
    found = conditional(np.array([1 / 3, 1 / 3 * (1 + 1e-12)]), np.array([0, 2]))
    assert found.tolist() == [1 / 3, 1.0]


def test_the_open_bandit_data_set_has_marginal_probabilities_only(tmp_path: Path) -> None:
    path = tmp_path / "all.csv"
    path.write_text(
        ",timestamp,item_id,position,click,propensity_score,user_feature_0\n"
        "0,2019-11-24 00:00:13.004101+00:00,79,2,0,0.0125,x\n"
        "1,2019-11-24 00:00:13.025964+00:00,14,3,1,0.5,y\n"
        "2,2019-11-24 00:00:14.025964+00:00,14,3,1,0.0,y\n"
    )
    log = read_log(path)
    assert log.propensity is None
    assert log.marginal is not None
    assert log.marginal.tolist() == [0.0125, 0.5]
    assert [log.queries[code] for code in log.query] == [2, 3]
    assert log.lengths.tolist() == [1, 1]
    assert log.time is not None
    assert log.report is not None
    assert "a marginal probability is not in (0, 1]" in str(log.report)


def test_marginals_can_be_given_with_lists() -> None:
    log = ClickLog.from_lists(["q"], [["a", "b"]], [[1]], propensities=[[0.5, 1.0]], marginals=[[0.5, 0.5]])
    assert log.propensity is not None
    assert log.propensity.tolist() == [0.5, 1.0]
    cut = log.take(np.array([0, 0]))
    assert cut.marginal is not None
    assert cut.marginal.tolist() == [0.5, 0.5, 0.5, 0.5]
    with pytest.raises(ValueError, match=r"A value of marginals is 0\.0"):
        ClickLog.from_lists(["q"], [["a"]], [[]], marginals=[[0.0]])
    with pytest.raises(ValueError, match="The number of propensities of list 1 is 1"):
        ClickLog.from_lists(["q"], [["a", "b"]], [[]], propensities=[[0.5]])
