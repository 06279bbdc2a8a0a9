"""An advice end to end on small logs of known visitors: switch, stay, cannot tell, and what it writes."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from small_logs_of_truth import GAIN, made_log

import toplist
from toplist.advice import Advice, read_ready
from toplist.advice.answer import STAY, SWITCH, UNKNOWN
from toplist.advice.candidates import candidate_policies
from toplist.advice.situation import Situation
from toplist.core.problem import InvalidInput
from toplist.logs import ClickLog

POLICIES = ["dcm-ts", "bubble-rank(delta=0.001)"]


def advised(log: ClickLog | Path, **options: object) -> Advice:
    given = {"models": ["dcm", "pbm"], "policies": POLICIES, "draws": 5, "threads": 1, "compiled": False}
    return toplist.advise(log, 3, **(given | options))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def gain() -> Advice:
    return advised(made_log(GAIN, 800)[0])


def test_a_bad_ranking_is_left(gain: Advice) -> None:
    assert gain.verdict == SWITCH
    mean, low, high = gain.outcome.relative_gain(gain.best)
    assert 0.0 < low < mean < high
    assert gain.outcome.best().mean[-1] >= gain.outcome.clicks(gain.best).mean[-1] > gain.outcome.logged().mean[-1]
    assert gain.headline().startswith(f"Switch to {gain.best}: +")


def test_where_nothing_can_be_gained_one_stays() -> None:
    """All items are shown, to visitors who click once at most: the order does not matter."""
    found = advised(made_log(GAIN[:, :3], 300, "cascade")[0], models=["cascade"])
    assert found.verdict == STAY
    assert found.outcome.relative_gain(found.best) == pytest.approx((0.0, 0.0, 0.0), abs=1e-9)
    assert found.headline().startswith("Stay with the ranking of the log")


def test_a_tiny_log_cannot_tell() -> None:
    found = advised(made_log(GAIN / 5, 60)[0], lists=200)
    assert found.verdict == UNKNOWN
    assert "cannot tell from 9 clicks" in found.headline()
    assert "A log with more clicks than these 9: at least 30 are needed." in found.what_would_change_it()
    assert "So few clicks tell nothing for sure: the intervals are too short." in found.warnings


def test_a_log_without_clicks_is_refused() -> None:
    log = made_log(GAIN, 60)[0]
    with pytest.raises(ValueError, match="None of the 60 lists of the log has a click on its first 3 positions"):
        advised(replace(log, click=np.zeros_like(log.click)))


def test_skipped_lines_are_told(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    lines = ['{"items": ["a", "b", "c"], "clicked": [1]}', '{"items": ["b", "a", "c"], "clicked": []}'] * 20
    path.write_text("\n".join([*lines, '{"items": ["a", "a", "c"], "clicked": [1]}']))
    found = advised(path, models=["dcm"], policies=["dcm-ts"], draws=2, lists=20)
    assert any(each.startswith("Of the log, 1 skipped: an item is twice in the list") for each in found.warnings)
    assert "Drift: not looked for, since no item is seen often enough at known times." in str(found)


def test_refits_is_a_boolean() -> None:
    with pytest.raises(ValueError, match="refits is 'no', but must be True or False"):
        advised(made_log(GAIN, 60)[0], refits="no")


def test_a_log_whose_items_hardly_differ_cannot_tell() -> None:
    found = advised(made_log(np.full((1, 6), 0.2) + 0.02 * np.arange(6), 90)[0], lists=400)
    assert found.verdict == UNKNOWN
    assert "cannot tell whether" in found.headline()
    assert any("as many lists" in each for each in found.what_would_change_it())


def test_a_log_too_small_for_anything_is_refused() -> None:
    with pytest.raises(InvalidInput, match="The log has 12 lists, but an advice needs at least 40"):
        advised(made_log(GAIN, 12)[0])


def test_equal_calls_give_equal_advice(gain: Advice) -> None:
    again = advised(made_log(GAIN, 800)[0], threads=2)
    assert again.json_text() == gain.json_text()


def test_the_text_fits_on_a_screen(gain: Advice) -> None:
    text = str(gain)
    assert len(text.splitlines()) <= 40
    for word in ("clicks/list", "pays after", "at worst", "What would change the advice", "Click models", "Drift"):
        assert word in text
    assert [row["policy"] for row in gain.table()] == [*gain.three_best, "logged ranking", "best list"]


def test_rates_over_time_add_up_to_the_whole(gain: Advice) -> None:
    for row in gain.moments().rows():
        parts = list(row.values())[1:]
        whole = np.dot(parts, [0.01, 0.09, 0.15, 0.25, 0.5])
        assert whole == pytest.approx(gain.table()[row["policy"]]["clicks/list"], rel=1e-6)


def test_json_has_everything(gain: Advice, tmp_path: Path) -> None:
    gain.to_json(tmp_path / "advice.json")
    found = json.loads((tmp_path / "advice.json").read_text())
    assert found["verdict"] == SWITCH
    assert set(found["policies"]) == set(POLICIES)
    assert sum(found["models"].values()) == pytest.approx(1.0)
    for name in POLICIES:  # all parameters, as they can be given again
        given = found["policies"][name]["parameters"]
        assert given.startswith(name.partition("(")[0])
        assert toplist.make(given) == toplist.make(name)
    assert found["policies"][gain.best]["worst_loss"] >= found["policies"][gain.best]["loss"] >= 0.0


def test_the_page_is_one_file(gain: Advice, tmp_path: Path) -> None:
    gain.to_html(tmp_path / "advice.html", "toplist advise <log>")
    text = (tmp_path / "advice.html").read_text()
    assert f"{gain.models_text()}.</dd>" in text
    assert f"<dd>{gain.drift_text().capitalize()}.</dd>" in text
    assert gain.best in text
    assert text.count("data:image/svg+xml;base64,") == 3
    assert "toplist advise &lt;log&gt;" in text
    assert 'src="http' not in text


def test_a_ready_ranking(gain: Advice, tmp_path: Path) -> None:
    gain.ready.save(tmp_path / "ready.json")
    found = read_ready(tmp_path / "ready.json")
    assert found == gain.ready
    priors = found.priors["q0"]
    assert next(iter(priors)) in {"q0-4", "q0-5"}  # the best items
    assert all(0.0 < prior.mean < 1.0 and 0.0 <= prior.strength <= 100.0 for prior in priors.values())
    rankers = found.rankers()
    assert len(rankers["q0"].rank().items) == 3
    with pytest.raises(InvalidInput, match="The json file"):
        read_ready(tmp_path / "missing.json")


def test_trust_weakens_the_priors(gain: Advice) -> None:
    half = advised(made_log(GAIN, 800)[0], trust=0.5, draws=2)
    for item, prior in half.ready.priors["q0"].items():
        assert prior.strength == pytest.approx(0.5 * gain.ready.priors["q0"][item].strength)


def test_candidates_fit_the_situation() -> None:
    one_click = Situation(1000.0, 1, 5.0, 3, 0.4, 0.0, None, 1000)
    several = one_click._replace(several_clicks=0.3)
    assert "cascade-ts" not in candidate_policies(one_click, None, 0.0, False)
    assert "cascade-ts" in candidate_policies(several, None, 0.0, False)
    assert "pbm-ts(examination=[1.0, 0.5, 0.25])" in candidate_policies(several, np.array([1.0, 0.5, 0.25]), 0.0, False)
    assert "cascade-kl-ucb-plus-plus" in candidate_policies(one_click, None, 0.0, False)
    assert "cascade-kl-ucb-plus-plus" not in candidate_policies(several, None, 0.0, False)
    assert "pb-mhb" in candidate_policies(several, np.array([1.0, 0.5, 0.25]), 0.0, False)
    assert "pb-mhb" not in candidate_policies(several, None, 0.0, False)
    for looks in ([0.6, 1.0, 0.3], [0.9, 0.5, 1.0]):  # which PB-MHB excludes
        found = candidate_policies(several, np.array(looks), 0.0, False)
        assert "grab" in found
        assert "pb-mhb" not in found
    for looks in ([1.0, 0.5, 0.25], [0.98, 1.0, 0.5]):  # the second may be chance
        assert "grab" not in candidate_policies(several, np.array(looks), 0.0, False)
    assert "dcm-kl-ucb-windowed(changes=2)" in candidate_policies(several, None, 2.2, False)
    assert "cascade-kl-ucb-resetting" in candidate_policies(one_click, None, 1.0, False)
    assert not any("window" in name for name in candidate_policies(several, None, 0.0, False))
    assert "cascade-lin-ucb" in candidate_policies(one_click, None, 0.0, True)
    for name in candidate_policies(several, np.array([1.0, 0.5, 0.25]), 2.0, True):
        assert toplist.make(name).capabilities().learns


def test_wrong_arguments_are_refused() -> None:
    log = made_log(GAIN, 60)[0]
    with pytest.raises(InvalidInput, match="A policy is 'cascade-lin-ucb', but must be one that needs no features"):
        advised(log, policies=["cascade-lin-ucb"])
    with pytest.raises(InvalidInput, match="A policy is 'best'"):
        advised(log, policies=["best"])
    with pytest.raises(InvalidInput, match="has no features"):
        advised(log, features={"q0-1": [1.0]})
    rows = {item: [float("nan")] for item in log.items}
    with pytest.raises(InvalidInput, match=r"A feature of 'q0-\d' is nan, but must be a finite number"):
        advised(log, features=rows)
    with pytest.raises(InvalidInput, match="The trust is 3"):
        advised(log, trust=3.0)


def test_policies_over_features_are_played() -> None:
    log, _ = made_log(GAIN, 300)
    rows = {
        item: [float(attraction), 1.0] for item, attraction in zip([f"q0-{i}" for i in range(6)], GAIN[0], strict=True)
    }
    found = advised(log, features=rows, policies=["cascade-lin-ucb", "dcm-ts"], draws=2, models=["dcm"])
    assert set(found.outcome.policies) == {"cascade-lin-ucb", "dcm-ts"}
    assert found.ready.features["q0-1"] == rows["q0-1"]
    assert np.all(found.outcome.played.clicks[:, :, :, -1] > 0.0)
