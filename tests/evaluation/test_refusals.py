"""What a log cannot tell is refused with the reason, and doubtful answers are warned of."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import small_worlds as small
from small_worlds import mixture

from toplist import Ranker
from toplist.evaluation import evaluate
from toplist.logs import ClickLog

USERS, LOGGED = small.position_users(1), small.some_policy(2)
LOG = small.population(LOGGED, USERS)
TARGET = mixture(small.some_policy(3))


def test_without_propensities_only_a_model_answers() -> None:
    found = evaluate(replace(LOG, propensity=None, marginal=None), TARGET)
    assert list(found.estimates) == ["direct"]
    assert "has no propensities of items given those above" in found.refused["ips"]
    assert "say so if they were uniform" in found.refused["replay"]
    with pytest.raises(ValueError, match="rips cannot tell: the log has no propensities"):
        found["rips"]
    with pytest.raises(ValueError, match="one of direct"):
        found["ipz"]


def test_marginals_alone_do_not_tell_about_lists() -> None:
    found = evaluate(replace(LOG, propensity=None), TARGET)
    assert {"iips", "sniips", "clipped-iips", "direct"} == set(found.estimates)
    assert "only those of each item at its position" in found.refused["ips"]


def test_propensities_alone_do_not_tell_about_positions() -> None:
    found = evaluate(replace(LOG, marginal=None), TARGET)
    assert "no marginal probabilities" in found.refused["iips"]
    assert {"ips", "rips", "doubly-robust"} <= set(found.estimates)


def test_uniform_propensities_say_the_marginals_as_well() -> None:
    log = replace(small.population(small.uniform(), USERS), marginal=None)
    assert evaluate(log, TARGET, "iips")["iips"].value == pytest.approx(small.true_value(small.some_policy(3), USERS))


def test_some_unknown_propensities_are_refused() -> None:
    assert LOG.propensity is not None
    holes = LOG.propensity.copy()
    holes[:4] = np.nan
    found = evaluate(replace(LOG, propensity=holes), TARGET, "ips")
    assert "2 of 192 lists lack a propensity" in found.refused["ips"]


def test_a_mean_weight_that_is_not_1_is_refused() -> None:
    assert LOG.propensity is not None
    halved = evaluate(replace(LOG, propensity=LOG.propensity / 2), TARGET, ["ips", "rips", "clipped-ips"])
    assert "is 8, and its 99.9% interval" in halved.refused["ips"]
    assert "propensities of the log or of the policy are wrong" in halved.refused["clipped-ips"]
    assert "of position 1 is 2" in halved.refused["rips"]


def test_a_target_outside_of_the_log_is_refused_and_clipping_gives_a_lower_bound() -> None:
    """The log shows lists that begin with items 0 to 2; the target also others."""
    part = {shown: float(shown[0] != 3) for shown in small.LISTS}
    total = sum(part.values())
    log = small.population({shown: chance / total for shown, chance in part.items() if chance}, USERS)
    found = evaluate(log, mixture(small.uniform()), ["ips", "snips", "clipped-ips"])
    assert "the log hardly shows what the policy would" in found.refused["ips"]
    assert "the log hardly shows what the policy would" in found.refused["snips"]
    assert found["clipped-ips"].value < small.true_value(small.uniform(), USERS)
    assert found["clipped-ips"].notes == ("of the value with clipped weights, at most the true one",)


def test_a_small_effective_sample_is_warned_of() -> None:
    log = ClickLog.from_lists(
        ["q"] * 100, [["a", "b"], ["b", "a"]] * 50, [[1], []] * 50, propensities=[[0.5, 1.0]] * 100
    )
    same = evaluate(log, lambda log: log.propensity, "ips")["ips"]
    assert same.effective == pytest.approx(100)
    assert same.value == pytest.approx(0.5)
    assert same.difference == pytest.approx(0.0)
    assert "an effective sample below 200 lists" in same.notes[0]


def test_lists_that_the_policy_never_shows_are_counted() -> None:
    log = small.population(small.uniform(), USERS)
    found = evaluate(log, mixture(small.certain((0, 1, 2))), ["ips", "iips"])
    assert found["ips"].unsupported == pytest.approx(23 / 24)
    assert found["iips"].unsupported == pytest.approx(3 / 4)
    assert found["ips"].mean_weight == pytest.approx(1.0)
    assert found["ips"].effective == pytest.approx(found.lists / 24)


def test_a_list_has_an_item_once() -> None:
    log = ClickLog.from_lists(["q"] * 2, [["a", "a"]] * 2, [[]] * 2, propensities=[[0.5, 1.0]] * 2)
    with pytest.raises(ValueError, match="2 lists with an item twice, list 1 for one"):
        evaluate(log, TARGET, "ips")


def test_a_policy_of_other_items_is_refused() -> None:
    ranker = Ranker(["other", "another", "third"], positions=3, policy="cascade-ucb1", compiled=False)
    found = evaluate(LOG, ranker, ["ips", "iips", "direct"])
    assert not found.estimates
    assert "no list of the log is one that the policy would show" in found.refused["ips"]
    assert "no list of the log is one that the policy would show" in found.refused["iips"]
    assert "never shows an item that the policy would" in found.refused["direct"]


def test_an_empty_log_is_refused() -> None:
    with pytest.raises(ValueError, match="The log has no lists"):
        evaluate(LOG.take(np.zeros(0, dtype=np.int64)), TARGET)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"learning": "no"}, "learning is 'no', but must be True or False"),
        ({"uniform": 1}, "uniform is 1, but must be True or False"),
        ({"clip": "much"}, "clip is 'much', but must be a number"),
        ({"estimators": ["ipps"]}, "perhaps you mean 'ips'"),
        ({"clip": 0.0}, "a number above 0"),
        ({"interval": "exact"}, "one of normal, bootstrap, bernstein"),
        ({"folds": 1}, "at least 2"),
        ({"seed": -1}, "seed"),
    ],
)
def test_wrong_arguments_are_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        evaluate(LOG, TARGET, **arguments)  # type: ignore[arg-type]


def test_the_result_prints_and_is_plain_data() -> None:
    found = evaluate(LOG, TARGET, ["ips", "pseudoinverse"])
    text = str(found)
    assert "the log itself" in text
    assert "refused pseudoinverse: the pseudoinverse needs" in text
    data = found.to_dict()
    assert data["estimates"][0]["estimator"] == "ips"
    assert data["refused"][0]["estimator"] == "pseudoinverse"
    assert data["logged"]["value"] == pytest.approx(small.true_value(LOGGED, USERS))


def test_a_single_list_is_refused() -> None:
    """Its interval would have no length, and the mean weight look wrong."""
    log = ClickLog.from_lists(["q"], [["a"]], [[1]], propensities=[[1.0]])
    with pytest.raises(ValueError, match="has 1 list, but an interval needs at least 2"):
        evaluate(log, lambda log: log.propensity, "ips")


def test_an_evaluation_says_why_no_list_can_be_used(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text('{"items": ["a", "b"], "clicked": [1], "propensity": [0, 1]}\n' * 3)
    with pytest.raises(ValueError, match=r"no lists that can be used, .* 3 skipped: a propensity .* correct these"):
        evaluate(path, lambda log: log.propensity)


def test_only_a_ranker_goes_on_learning() -> None:
    with pytest.raises(ValueError, match="to go on learning"):
        evaluate(LOG, TARGET, learning=True)
