"""Makes the files in tests/evaluation/obp_values with Open Bandit Pipeline 0.5.7, in an environment of its own.

obp 0.5.7 is declared for Python 3.10 or older; its slate estimators also run on 3.11:

    python3.11 -m venv obp-env
    obp-env/bin/pip install torch scikit-learn pandas matplotlib tqdm scipy PyYAML seaborn pingouin
    obp-env/bin/pip install --ignore-requires-python --no-deps pyieoe obp==0.5.7
    obp-env/bin/python tools/make_obp_values.py
"""

import json
from pathlib import Path

import numpy as np
import pandas
from obp import __version__  # type: ignore[import-not-found]
from obp.dataset import (  # type: ignore[import-not-found]
    SyntheticSlateBanditDataset,
    linear_behavior_policy_logit,
    logistic_reward_function,
)
from obp.ope import (  # type: ignore[import-not-found]
    SelfNormalizedSlateIndependentIPS,
    SelfNormalizedSlateRewardInteractionIPS,
    SelfNormalizedSlateStandardIPS,
    SlateCascadeDoublyRobust,
    SlateIndependentIPS,
    SlateRegressionModel,
    SlateRewardInteractionIPS,
    SlateStandardIPS,
)
from sklearn.linear_model import Ridge  # type: ignore[import-not-found]

HERE = Path(__file__).parent.parent / "tests" / "evaluation" / "obp_values"
SLATES, ACTIONS, PLACES = 80, 5, 3


def main() -> None:
    """Make the three files."""
    dataset = SyntheticSlateBanditDataset(
        n_unique_action=ACTIONS, len_list=PLACES, dim_context=3, reward_type="binary",
        reward_structure="cascade_additive", base_reward_function=logistic_reward_function,
        behavior_policy_function=linear_behavior_policy_logit, random_state=7,
    )  # fmt: skip
    logged = dataset.obtain_batch_bandit_feedback(n_rounds=SLATES, return_pscore_item_position=True)
    logit = np.random.default_rng(3).normal(size=(SLATES, ACTIONS))
    whole, at_place, cascade = dataset.obtain_pscore_given_evaluation_policy_logit(
        action=logged["action"], evaluation_policy_logit_=logit, return_pscore_item_position=True
    )
    distribution = dataset.calc_evaluation_policy_action_dist(action=logged["action"], evaluation_policy_logit_=logit)
    columns = {
        "slate_id": logged["slate_id"],
        "position": logged["position"],
        "action": logged["action"],
        "reward": logged["reward"].astype(int),
        "pscore": logged["pscore"],
        "pscore_cascade": logged["pscore_cascade"],
        "pscore_item_position": logged["pscore_item_position"],
        "evaluation_policy_pscore": whole,
        "evaluation_policy_pscore_cascade": cascade,
        "evaluation_policy_pscore_item_position": at_place,
    }
    frame = pandas.DataFrame(columns)
    frame.to_csv(HERE / "slates.csv", index=False)
    frame = pandas.read_csv(HERE / "slates.csv")
    given = {name: frame[name].to_numpy() for name in columns}
    regression = SlateRegressionModel(base_model=Ridge(alpha=1.0), len_list=PLACES, n_unique_action=ACTIONS)
    predicted = regression.fit_predict(
        context=logged["context"], action=given["action"], reward=given["reward"],
        pscore_cascade=given["pscore_cascade"],
        evaluation_policy_pscore_cascade=given["evaluation_policy_pscore_cascade"],
        evaluation_policy_action_dist=distribution,
    )  # fmt: skip
    np.savez_compressed(HERE / "predictions.npz", predicted=predicted, distribution=distribution)
    estimators = {
        "ips": SlateStandardIPS,
        "iips": SlateIndependentIPS,
        "rips": SlateRewardInteractionIPS,
        "snips": SelfNormalizedSlateStandardIPS,
        "sniips": SelfNormalizedSlateIndependentIPS,
        "snrips": SelfNormalizedSlateRewardInteractionIPS,
    }
    values = {name: float(make(len_list=PLACES).estimate_policy_value(**given)) for name, make in estimators.items()}
    robust = SlateCascadeDoublyRobust(len_list=PLACES, n_unique_action=ACTIONS)
    values["doubly-robust"] = float(
        robust.estimate_policy_value(**given, q_hat=predicted, evaluation_policy_action_dist=distribution)
    )
    text = {"obp": __version__, "slates": SLATES, "items": ACTIONS, "positions": PLACES, "values": values}
    (HERE / "values.json").write_text(json.dumps(text, indent=2) + "\n")


if __name__ == "__main__":
    main()
