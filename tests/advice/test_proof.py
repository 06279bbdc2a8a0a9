"""A small proof: the whole loop on known visitors, and its page."""

import json
from pathlib import Path

import numpy as np
import pytest
from small_logs_of_truth import GAIN, made_log

from toplist.advice.known_visitors import known_visitors, old_lists
from toplist.advice.proof import KnownVisitors, align, prove
from toplist.core.problem import InvalidInput


@pytest.mark.slow
def test_a_small_proof(tmp_path: Path) -> None:
    found = prove(
        "dcm", queries=1, items=5, positions=2, lists=600, live=300, draws=3, runs=3, threads=1, compiled=False
    )
    assert [each.label for each in found.advised] == [*found.advice.three_best, "logged ranking", "best list"]
    truth = {each.label: each.truth or 0.0 for each in found.advised}
    assert truth["best list"] >= truth[found.advice.best]
    assert {each.label for each in found.offline} | set(found.refused) == {
        "ips",
        "snips",
        "rips",
        "doubly-robust",
        "direct",
    }
    assert len({each.truth for each in found.offline}) == 1
    assert f"{found.held} of {len(found.estimates)} intervals hold the truth." in str(found)
    found.to_html(tmp_path / "proof.html", "toplist proof")
    assert (tmp_path / "proof.html").read_text().count("data:image/svg+xml;base64,") == 3
    found.to_json(tmp_path / "proof.json")
    assert json.loads((tmp_path / "proof.json").read_text())["held"] == found.held


def test_known_visitors_click_on_names() -> None:
    _, truth = made_log(GAIN, 40)
    visitors = KnownVisitors(truth, "q0", 3)
    shown = ["q0-5", "q0-4", "q0-0"]
    clicks = [visitors.click(shown, visitor) for visitor in range(400)]
    assert np.mean([len(each) for each in clicks]) == pytest.approx(visitors.value([shown]), rel=0.15)
    assert visitors.value([shown]) == pytest.approx(0.5 + (1 - 0.3) * (0.4 + (1 - 0.24) * 0.05))


def test_visitors_with_the_codes_of_a_log() -> None:
    log, truth = made_log(GAIN[:, ::-1], 60, disorder=3.0)
    known = align(truth, log)
    assert known.queries is log.queries
    assert known.attraction("q0") == truth.attraction("q0")


def test_old_lists() -> None:
    scores = np.array([[3.0, 2.0, 1.0, np.nan], [0.0, 1.0, 2.0, 3.0]])
    lists = old_lists(scores, 4, 50, 0.0, 1)
    by_query = {
        lists.queries[lists.query[row]]: [
            lists.items[code] for code in lists.item[lists.start[row] : lists.start[row + 1]]
        ]
        for row in range(50)
    }
    assert by_query == {"q0": ["q0-0", "q0-1", "q0-2"], "q1": ["q1-3", "q1-2", "q1-1", "q1-0"]}


def test_unknown_visitors_are_refused() -> None:
    with pytest.raises(InvalidInput, match="The visitors is 'dcn', but must be one of"):
        known_visitors("dcn", GAIN, 3, 0)
