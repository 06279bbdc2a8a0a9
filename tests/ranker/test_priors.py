"""Priors of single items and of weights: what they set, how far they count, and who refuses them."""

import math
import pickle
from typing import Any

import numpy as np
import pytest
from scipy import optimize

import toplist
from toplist import InvalidInput, Prior, Ranker
from toplist.core.beliefs import array_bytes
from toplist.parts.memory import Logistic
from toplist.ranker.priors import capped_priors

ITEMS = ["tea", "coffee", "milk", "water", "wine"]
ROWS = {"tea": [0.6, 0.0], "coffee": [0.0, 0.6], "milk": [0.3, 0.3], "water": [0.1, 0.0], "wine": [0.0, 0.1]}
NONE = np.zeros(0)


def plain_ranker(items: Any = ITEMS, policy: Any = "cascade-ucb1", positions: int = 2, **more: Any) -> Ranker:
    return Ranker(items, positions, policy, compiled=False, **more)


def counted(ranker: Ranker, item: str) -> tuple[float, Any]:
    """Examinations and clicks of an item, as the policy counts them."""
    row = ranker.estimates()[item]
    return row["examined"], pytest.approx(row["examined"] * (row["mean"] or 0.0))


def test_items_begin_with_their_priors_and_the_others_with_the_rankers() -> None:
    ranker = plain_ranker(priors={"tea": (0.5, 10), "milk": Prior(0.4, 5)}, prior_mean=0.25, prior_strength=8)
    assert counted(ranker, "tea") == (10.0, 5.0)
    assert counted(ranker, "milk") == (5.0, 2.0)
    assert counted(ranker, "water") == (8.0, 2.0)
    same = plain_ranker([])
    for item in ITEMS:
        prior = {"tea": (0.5, 10), "milk": (0.4, 5)}.get(item, (0.25, 8))
        same.add(item, *prior)
    assert array_bytes(ranker.belief)[:40] == array_bytes(same.belief)[:40]


@pytest.mark.parametrize("policy", ["dcm-ts", "dcm-kl-ucb", "cascade-swucb(tau=50)", "ranked-ucb1"])
def test_a_prior_is_as_good_as_what_it_says(policy: str) -> None:
    ranker = plain_ranker(policy=policy, priors={item: (0.8 if item == "milk" else 0.1, 60) for item in ITEMS})
    first = [ranker.rank().items[0] for _ in range(20)]
    assert first.count("milk") == 20
    assert ranker.learned == 0


def test_priors_of_added_items_compare_with_what_was_learned() -> None:
    ranker = plain_ranker(positions=1)
    for _ in range(98):
        ranker.learn(ranker.adopt(["tea"]), clicks=["tea"])
    ranker.add(["beer", "rum"], priors={"beer": (0.0, 100), "rum": (1.0, 500)})
    assert counted(ranker, "beer")[0] == pytest.approx(math.log(5) / -math.log(1 - 101 / 102))
    assert counted(ranker, "rum") == (100.0, 100.0)  # above tea, with 99 / 100
    ranker.add(["gin", "sake"], priors={"gin": (0.98, 3)}, prior_mean=0.5, prior_strength=7)
    assert counted(ranker, "gin") == (3.0, 2.94)
    assert counted(ranker, "sake") == (7.0, 3.5)


def test_integer_items_have_priors_of_their_own() -> None:
    ranker = plain_ranker([7, "7"], positions=1, priors={7: (0.5, 10), "7": (0.25, 4)})
    table = {row["item"]: row["examined"] for row in ranker.estimates().rows()}
    assert table == {7: 10.0, "7": 4.0}


def test_strengths_are_cut_to_what_counts() -> None:
    sure = [Prior(0.3, 1000.0)] * 3
    assert capped_priors(sure, NONE, NONE, 2) == [Prior(0.3, 100.0)] * 3
    bad = capped_priors([Prior(0.0, 100.0)], np.full(4, 100.0), np.full(4, 40.0), 2)[0]
    level = 41 / 102
    assert bad.strength == pytest.approx(math.log(5) / -math.log(1 - level))
    # The chance of such a prior that the item is as good as the level: 1 in 5, but for the uniform part of the prior.
    assert (1 - level) ** bad.strength == pytest.approx(0.2)
    some = capped_priors([Prior(0.2, 100.0)], np.full(4, 100.0), np.full(4, 40.0), 2)[0]
    kl = 0.2 * math.log(0.2 / level) + 0.8 * math.log(0.8 / (1 - level))
    assert some.strength == pytest.approx(min(100.0, math.log(5) / kl))
    assert bad.strength < some.strength
    unknown = capped_priors([Prior(0.0, 100.0)], np.zeros(4), np.zeros(4), 2)[0]
    assert unknown.strength == pytest.approx(math.log(5) / math.log(2))  # items without a prior count as 1/2
    all_shown = capped_priors([Prior(0.0, 100.0)], np.zeros(1), np.zeros(1), 2)[0]
    assert all_shown.strength == 100.0


@pytest.mark.parametrize(
    ("priors", "message"),
    [
        ([0.2], "priors is .* a mapping from items"),
        ({"beer": (0.2, 1)}, "An item of priors is 'beer', but must be one of the items"),
        ({True: (0.2, 1)}, "An item of priors is True"),
        ({"tea": 0.2}, r"priors\['tea'\] is 0.2, but must be a pair"),
        ({"tea": (2, 1)}, r"The mean of priors\['tea'\] is 2"),
        ({"tea": (0.2, -1)}, r"The strength of priors\['tea'\] is -1"),
        ({"tea": (0.2, math.nan)}, r"The strength of priors\['tea'\] is nan"),
    ],
)
def test_wrong_priors_are_refused(priors: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        plain_ranker(priors=priors)
    ranker = plain_ranker(["a", "b"])
    with pytest.raises(InvalidInput, match=message):
        ranker.add(ITEMS, priors=priors)
    assert len(ranker) == 2


def test_policies_without_priors_say_so() -> None:
    for policy in ("ranked-exp3(exploration=0.1)", "top-rank(delta=0.1)"):
        with pytest.raises(InvalidInput, match="takes no prior; leave priors out"):
            plain_ranker(policy=policy, priors={"tea": (0.2, 1)})
    with pytest.raises(InvalidInput, match="takes no prior; leave priors out; of weights, it may take prior_weights"):
        plain_ranker(policy="gl-cdcm", features=ROWS, priors={"tea": (0.2, 1)})
    ranker = plain_ranker(policy="cascade-lin-ucb", features=ROWS)
    with pytest.raises(InvalidInput, match="takes no prior; leave priors out; of weights"):
        ranker.add("rum", features=[0.1] * len(ROWS["tea"]), priors={"rum": (0.2, 1)})
    with pytest.raises(InvalidInput, match=r"learns about each item separately.*give priors="):
        plain_ranker(prior_weights=([0.0], 1.0))


def test_a_prior_survives_files_and_pickles() -> None:
    ranker = plain_ranker(policy="dcm-ts", priors={"tea": (0.5, 10), "milk": (0.1, 50)})
    again = pickle.loads(pickle.dumps(ranker))
    assert array_bytes(again.belief) == array_bytes(ranker.belief)
    assert again.rank().items == ranker.rank().items


# Weights of features --------------------------------------------------------------------------------------------------


def seen(ranker: Ranker, lists: int, seed: int = 3) -> tuple[Any, Any]:
    """Teach a ranker, and return the rows and values that were examined: every position of every list."""
    rng = np.random.default_rng(seed)
    rows, values = [], []
    for _ in range(lists):
        shown = ranker.rank()
        clicks = [item for item in shown if rng.uniform() < 0.1 + ROWS[item][0]]
        ranker.learn(shown, clicks)
        rows += [ROWS[item] for item in shown]
        values += [float(item in clicks) for item in shown]
    return np.array(rows), np.array(values)


@pytest.mark.parametrize("scale", [1.0, 5.0])
def test_ridge_begins_with_a_prior_of_the_weights(scale: float) -> None:
    mean, precision = np.array([0.5, -0.25]), np.array([[40.0, 10.0], [10.0, 30.0]])
    features = {item: (scale * np.array(row)).tolist() for item, row in ROWS.items()}
    policy = toplist.make("lsb-greedy")._replace(arrangement=toplist.arrange.TopK())  # learns from every position
    weights = (mean / scale, precision * scale**2)
    if scale > 2.0:
        with pytest.warns(UserWarning, match="divided by 3"):
            ranker = plain_ranker(policy=policy, features=features, prior_weights=weights)
    else:
        ranker = plain_ranker(policy=policy, features=features, prior_weights=weights)
    expected = {item: row @ mean for item, row in ((item, np.array(row)) for item, row in ROWS.items())}
    assert {row["item"]: row["mean"] for row in ranker.estimates().rows()} == pytest.approx(expected)
    rows, values = seen(ranker, 150)
    gram = precision + rows.T @ rows / 0.01
    theta = np.linalg.solve(gram, precision @ mean + rows.T @ values / 0.01)
    found = {row["item"]: row["mean"] for row in ranker.estimates().rows()}
    assert found == pytest.approx({item: np.array(row) @ theta for item, row in ROWS.items()}, rel=1e-9)


def test_logistic_regression_begins_with_a_prior_of_the_weights() -> None:
    mean, precision = np.array([1.0, -2.0]), np.array([[8.0, 2.0], [2.0, 5.0]])
    policy = toplist.make("gl-cdcm(none='everything')")._replace(reading=toplist.feedback.EveryPlace())
    ranker = plain_ranker(policy=policy, features=ROWS, prior_weights=(mean, precision))
    expected = {item: 1 / (1 + math.exp(-float(np.array(row) @ mean))) for item, row in ROWS.items()}
    assert {row["item"]: row["mean"] for row in ranker.estimates().rows()} == pytest.approx(expected)
    deviation = {row["feature"]: row["deviation"] for row in ranker.preferences().rows()}
    ridge = policy.memory.prepare(toplist.Problem(5, 2, 2)).ridge
    covariance = np.linalg.inv(precision + ridge / 4 * np.eye(2))  # lambda I counts as lambda / 4 at probability 1/2
    assert list(deviation.values()) == pytest.approx(np.sqrt(np.diag(covariance)).tolist())
    rows, values = seen(ranker, 60)

    def loss(theta: Any) -> float:
        total = rows @ theta
        off = theta - mean
        return float(np.logaddexp(0.0, total).sum() - values @ total + 0.5 * off @ precision @ off)

    best = optimize.minimize(loss, mean, method="BFGS", options={"gtol": 1e-9}).x
    found = [row["weight"] for row in ranker.preferences().rows()]
    assert found == pytest.approx(best.tolist(), abs=1e-5)


def test_a_prior_of_weights_pays_where_it_is_right() -> None:
    good, none = (
        plain_ranker(policy="cascade-lin-ts", features=ROWS, positions=1, prior_weights=prior)
        for prior in (([0.8, 0.0], 200.0), None)
    )
    first = [[ranker.rank().items[0] for _ in range(50)].count("tea") for ranker in (good, none)]
    assert first[0] == 50
    assert first[1] < 40


def test_joined_features_have_weights_in_the_callers_units() -> None:
    weights = [0.3, 0.7, -0.2]
    ranker = plain_ranker(
        policy="cascade-lin-ucb", features=ROWS, person=1, prior_weights=(weights, [1.0, 2.0, 3.0])
    )  # fmt: skip
    means = {row["item"]: row["mean"] for row in ranker.estimates(person=[0.5]).rows()}
    assert means == pytest.approx({item: 0.5 * 0.3 + 0.7 * row[0] - 0.2 * row[1] for item, row in ROWS.items()})
    outer = plain_ranker(
        policy="cascade-lin-ucb", features=ROWS, person=2, join="outer", prior_weights=([1.0, 2.0, 3.0, 4.0], 1.0)
    )  # fmt: skip
    means = {row["item"]: row["mean"] for row in outer.estimates(person=[0.5, 0.25]).rows()}
    assert means == pytest.approx({item: row[0] * 1.0 + row[1] * 2.5 for item, row in ROWS.items()})


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (3, "prior_weights is 3, but must be a pair"),
        (([0.1], 1.0), "The mean of prior_weights is .* must be 2 finite numbers"),
        ((["x", 1], 1.0), "The mean of prior_weights"),
        (([0.1, math.inf], 1.0), "one of them is not finite"),
        (([0.1, 0.2], 0.0), "The precision of prior_weights is 0"),
        (([0.1, 0.2], [1.0, -1.0]), "The precision of prior_weights"),
        (([0.1, 0.2], [[1.0, 2.0], [0.0, 1.0]]), "symmetric 2 x 2 matrix"),
        (([0.1, 0.2], [[1.0, 2.0], [2.0, 1.0]]), "positive eigenvalues"),
        (([0.1, 0.2], [1.0, 1.0, 1.0]), "symmetric 2 x 2 matrix"),
    ],
)
def test_wrong_priors_of_weights_are_refused(weights: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        plain_ranker(policy="cascade-lin-ucb", features=ROWS, prior_weights=weights)


@pytest.mark.parametrize(
    ("policy", "reason"),
    [
        ("gl-cdcm-sgd", "LogisticSGD takes no prior of its weights: its steps have a fixed size"),
        ("cascade-lsb-discounted(gamma=0.9)", "DiscountedRidge takes no prior of its weights: it renews"),
        ("cascade-lsb-windowed(tau=5)", "WindowedRidge takes no prior of its weights: it renews"),
    ],
)
def test_memories_that_keep_no_prior_of_weights_say_why(policy: str, reason: str) -> None:
    with pytest.raises(InvalidInput, match=reason):
        plain_ranker(policy=policy, features=ROWS, prior_weights=([0.0, 0.0], 1.0))


def test_a_memory_without_the_method_says_so() -> None:
    class Own(Logistic):
        begin_from = property()

    policy = toplist.make("gl-cdcm")._replace(memory=Own())
    with pytest.raises(InvalidInput, match=r"Own takes no prior of its weights: it has no begin_from\(\)"):
        plain_ranker(policy=policy, features=ROWS, prior_weights=([0.0, 0.0], 1.0))


def test_priors_of_items_are_a_prior_of_the_weights_of_their_features() -> None:
    """Against ridge regression on the imagined looks; five items share two weights, so that they count 2 / 5."""
    priors = {"tea": (0.5, 20.0), "coffee": (0.2, 20.0), "milk": (0.4, 20.0), "water": (0.1, 20.0), "wine": (0.1, 20.0)}
    ranker = plain_ranker(policy="cascade-lin-ucb(sigma=0.5)", positions=5, features=ROWS, priors=priors)
    rows, means = np.array(list(ROWS.values())), np.array([mean for mean, _ in priors.values()])
    gram = np.eye(2) + 0.4 * 20.0 * rows.T @ rows / 0.25
    theta = np.linalg.solve(gram, 0.4 * 20.0 * rows.T @ means / 0.25)
    found = {row["item"]: row["mean"] for row in ranker.estimates().rows()}
    assert found == pytest.approx(dict(zip(ROWS, (rows @ theta).tolist(), strict=True)))
    assert ranker.belief.inverse == pytest.approx(np.linalg.inv(gram))
    with pytest.raises(InvalidInput, match="takes no prior; leave priors out"):
        plain_ranker(policy="cascade-lin-ucb", features=ROWS, person=1, priors=priors)
