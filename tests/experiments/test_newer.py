"""Claims of papers beside the five: how they are judged, and that their problems are what they say."""

from __future__ import annotations

import json
from pathlib import Path

import made_up
import numpy as np
import pytest

from toplist.clicks import Cascade
from toplist.datasets import click_models
from toplist.engine.result import Result
from toplist.experiments.experiment import DataSet, Findings, Outcome, Play, Size
from toplist.experiments.library import library
from toplist.experiments.newer import hybrid
from toplist.experiments.newer.contests import Contest, Less, contest_experiment
from toplist.experiments.newer.learned import POSITIONS
from toplist.policies import make
from toplist.worlds import Fixed

ALL = {name: experiment for name, experiment in library().items() if name.startswith("newer/")}
NEWER = {name: experiment for name, experiment in ALL.items() if not experiment.data}
LEARNED = {name: experiment for name, experiment in ALL.items() if experiment.data}
ONE = Contest("one", Fixed([0.5, 0.3, 0.1], 2), Cascade(), ("cascade-ucb1", "cascade-ts"))
CLAIM = Less("Beta TS loses less than CascadeUCB1", ("one", "cascade-ts"), ("one", "cascade-ucb1"))


def found_with(own: list[float], other: list[float], steps: int = 100) -> Findings:
    """Results of the contest: regret per run of cascade-ts and of cascade-ucb1."""
    regret = {"cascade-ts": np.array(own)[:, None], "cascade-ucb1": np.array(other)[:, None]}
    return Findings(Size(steps, len(own)), {"one": Result(np.array([steps]), regret, regret)})


@pytest.mark.parametrize(
    ("own", "other", "outcome"),
    [
        ([1.0, 2.0, 3.0, 4.0], [5.0, 6.1, 7.0, 8.2], Outcome.MET),
        ([5.0, 6.1, 7.0, 8.2], [1.0, 2.0, 3.0, 4.0], Outcome.NOT_MET),
        ([1.0, 9.0, 3.0, 4.0], [5.0, 2.0, 4.0, 4.0], Outcome.UNDECIDED),
    ],
)
def test_a_claim_is_decided_by_paired_differences(own: list[float], other: list[float], outcome: Outcome) -> None:
    experiment = contest_experiment("title", "setting", [ONE], [CLAIM], steps=100)
    (claim,) = experiment.judge(found_with(own, other))
    assert claim.outcome == outcome
    assert f"{np.mean(own) - np.mean(other):+.1f} [" in claim.number
    (short,) = experiment.judge(found_with(own, other, steps=99))
    assert short.outcome == Outcome.UNDECIDED


def test_every_experiment_plays_what_its_claims_compare() -> None:
    """Every claim finds its policies; they can be made; each contest has the same visitors as the others."""
    assert len(NEWER) >= 10
    for name, experiment in NEWER.items():
        plays = experiment.jobs(experiment.full, None)
        results = {}
        for play in plays:
            assert isinstance(play, Play)
            for policy in play.policies.values():
                assert make(policy) is not None
            curves = {label: at + np.arange(4.0)[:, None] for at, label in enumerate(play.policies)}
            results[play.label] = Result(np.array([experiment.full.steps]), curves, curves)
        assert len({play.seed for play in plays if isinstance(play, Play)}) == 1
        claims = experiment.judge(Findings(experiment.full, results))
        assert claims, name


def test_the_hybrid_problem_has_relevance_that_is_linear_in_its_features() -> None:
    """Attraction at the first position is linear in the features that are known, and relevance does not shrink."""
    both = hybrid.world(slice(None)).checked()
    alone = both.topics @ both.preferences.reshape(-1)
    weights, left = np.linalg.lstsq(both.known, alone, rcond=None)[:2]
    assert left.sum() < 1e-20
    assert weights == pytest.approx([0.05] * 4 + [0.048, 0.024, 0.008])
    covered = (both.topics > 0).sum(axis=0)
    assert (covered[hybrid.TOPICS :] == 1).all()  # a topic of each item's own
    assert (covered[: hybrid.TOPICS] > 1).all()
    assert np.array_equal(hybrid.world(slice(hybrid.TOPICS)).checked().known, both.known[:, : hybrid.TOPICS])


@pytest.fixture
def models(tmp_path: Path) -> DataSet:
    """Click models of three made-up queries."""
    rng = np.random.default_rng(3)
    examined = [1.0, 0.9, 0.7, 0.5, 0.4, 0.3, 0.3, 0.2, 0.2, 0.2]
    found = {
        str(query): {
            "CM": {"attr": rng.uniform(0.05, 0.6, 10).tolist()},
            "PBM": {"attr": rng.uniform(0.05, 0.6, 10).tolist(), "exam": examined},
        }
        for query in (11, 22, 33)
    }
    (tmp_path / "models.json").write_text(json.dumps(found))
    return DataSet("click models", "made up", click_models.read(tmp_path), "others of the log")


@pytest.mark.parametrize("name", sorted(LEARNED))
def test_claims_on_learned_models_are_about_all_queries_together(name: str, models: DataSet) -> None:
    """Each query has its own visitors, world and users; ids of queries are not in the results."""
    experiment = LEARNED[name]
    plays = [play for play in experiment.jobs(experiment.quick, models) if isinstance(play, Play)]
    kinds = {play.label.partition(", ")[0] for play in plays}
    assert len(plays) == 3 * len(kinds)
    assert {play.label.partition(", ")[2] for play in plays} == {"query 1", "query 2", "query 3"}
    assert len({play.seed for play in plays}) == 3
    people = models.content.people("PBM", POSITIONS)
    world, users = people["22"]
    of_second = next(play for play in plays if play.label == "position-based users, query 2")
    assert np.array_equal(of_second.world.attraction, world.attraction)
    assert np.array_equal(of_second.users.examination, users.examination)
    results = {}
    for at, play in enumerate(plays):
        curves = {name: 10.0 * order + at + np.arange(2.0)[:, None] for order, name in enumerate(play.policies)}
        results[play.label] = Result(np.array([experiment.full.steps]), curves, curves)
    found = Findings(Size(experiment.full.steps, 2), results, data=models)
    assert len(experiment.judge(found)) == (4 if name == "newer/any_clicks_learned" else 3)
    first = experiment.judge(found)[0]
    means = np.concatenate([results[f"position-based users, query {query}"].regret["top-rank"] for query in (1, 2, 3)])
    assert f"top-rank {means.mean():.1f} ±" in first.number
    assert first.outcome in (Outcome.SUBSTITUTE, Outcome.NOT_MET)
    assert made_up.drawn(experiment, found).axes
