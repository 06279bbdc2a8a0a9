"""Parameter sweeps: every combination, the same visitors, and a confirmation of the best."""

import csv
import io
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import toplist
from toplist.engine.tune import draw_value
from toplist.worlds import b_lb

WORLD, USERS = b_lb()


def tune(policy: Any = "cascade-ucb1", parameters: Any = None, **changes: Any) -> toplist.Tuning:
    arguments: dict[str, Any] = {"steps": 1000, "runs": 4, "seed": 2, **changes}
    return toplist.tune(policy, parameters or {"scale": [0.1, 0.5]}, WORLD, USERS, **arguments)


@pytest.fixture(scope="module")
def found() -> toplist.Tuning:
    return tune(parameters={"scale": [0.1, 1.5, 3], "order": ["first", "last"]})


def test_every_combination_is_played_once_beside_the_default(found: toplist.Tuning) -> None:
    tried = [tuple(setting.values()) for setting in found.settings.values()]
    assert tried[0] == (1.5, "first")  # the default, which is in the grid too
    assert sorted(tried, key=repr) == sorted(
        [(scale, order) for scale in (0.1, 1.5, 3) for order in ("first", "last")], key=repr
    )
    assert found.parameters == ("scale", "order")
    assert found.default == "cascade-ucb1"
    assert found.order[0] == found.best == "cascade-ucb1(scale=0.1, order='last')"


def test_settings_meet_the_visitors_of_a_simulation(found: toplist.Tuning) -> None:
    alone = toplist.simulate(found.best, WORLD, USERS, steps=1000, runs=4, seed=2)
    assert alone.regret[found.best][:, -1].tobytes() == found.sweep.regret[found.best][:, -1].tobytes()


def test_the_best_is_confirmed_on_fresh_visitors(found: toplist.Tuning) -> None:
    again = toplist.simulate([found.best, found.default], WORLD, USERS, steps=1000, runs=4, seed=3)
    assert found.again is not None
    assert found.again.settings["seed"] == 3
    assert found.confirmed == again.difference(found.best, found.default)
    assert found.confirmed.high < 0
    assert f"There {found.best} is clearly better, with {found.confirmed.ratio:.2f} of the regret." in str(found)


def test_nothing_is_played_again_if_the_default_is_best() -> None:
    found = tune(parameters={"scale": [9.0, 1.5, 1.5]})
    assert list(found.settings) == ["cascade-ucb1", "cascade-ucb1(scale=9.0)"]
    assert (found.best, found.again, found.confirmed) == ("cascade-ucb1", None, None)
    assert str(found).endswith("No setting lost less than the default.")


def test_the_policy_as_given_is_the_default() -> None:
    found = tune("cascade-ucb1(order=last, scale=0.5)")
    assert list(found.settings) == [
        "cascade-ucb1(order='last', scale=0.5)",
        "cascade-ucb1(order='last', scale=0.1)",
    ]


def mine(scale: float = 0.5) -> toplist.Policy:
    return toplist.make("cascade-ucb1")._replace(scoring=toplist.index.UCB1(scale))  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("policy", "default"),
    [(mine, "mine"), (partial(mine, scale=0.7), "mine(scale=0.7)"), (lambda scale=0.5: mine(scale), "<lambda>")],
)
def test_a_function_is_tuned_like_a_name(policy: Callable[..., Any], default: str) -> None:
    found = tune(policy, {"scale": [0.1]})
    assert found.default == default
    assert found.regret(found.best) == tune(parameters={"scale": [0.1]}).regret("cascade-ucb1(scale=0.1)")


def test_draws_are_seeded_and_the_first_of_many_are_those_of_fewer() -> None:
    span = {"scale": toplist.Span(0.01, 10, log=True), "order": ["first", "last"]}
    few, many = tune(parameters=span, tries=4, runs=1), tune(parameters=span, tries=7, runs=1)
    assert list(few.settings) == list(many.settings)[:5]
    turned = tune(parameters=dict(reversed(span.items())), tries=4, runs=1)
    assert turned.json_text() == few.json_text()  # independent of the order of the parameters
    assert list(few.settings) != list(tune(parameters=span, tries=4, runs=1, seed=3).settings)
    scales = np.array([setting["scale"] for setting in list(many.settings.values())[1:]])
    assert np.all((scales >= 0.01) & (scales <= 10))
    assert {setting["order"] for setting in many.settings.values()} == {"first", "last"}


def test_draws_cover_their_range() -> None:
    shares = np.linspace(0.0, 0.999, 1000)
    even = [draw_value(toplist.Span(1.0, 3.0), share, False) for share in shares]
    assert (min(even), max(even)) == (1.0, pytest.approx(3.0, abs=0.01))
    assert np.mean(even) == pytest.approx(2.0, abs=0.01)
    log = [draw_value(toplist.Span(0.01, 100.0, True), share, False) for share in shares]
    assert np.median(log) == pytest.approx(1.0, rel=0.02)
    whole = [draw_value(toplist.Span(0.5, 4.5), share, True) for share in shares]
    assert set(whole) == {1, 2, 3, 4}
    assert all(type(value) is int for value in whole)
    assert {draw_value(["a", "b"], share, False) for share in shares} == {"a", "b"}


def test_rows_csv_and_json_say_the_same(found: toplist.Tuning, tmp_path: Path) -> None:
    rows = found.rows()
    assert [row["setting"] for row in rows] == found.order
    assert rows[0]["against_best"] == {"mean": 0.0, "low": 0.0, "high": 0.0, "ratio": 1.0}
    lost = found.sweep.difference(found.order[1], found.default)
    assert rows[1]["against_default"] == lost._asdict()
    found.to_csv(tmp_path / "a.csv")
    read = list(csv.DictReader(io.StringIO((tmp_path / "a.csv").read_text())))
    assert [float(row["regret"]) for row in read] == [row["regret"] for row in rows]
    assert [(float(row["scale"]), row["order"]) for row in read] == [
        tuple(found.settings[label].values()) for label in found.order
    ]
    assert float(read[1]["against_default_low"]) == lost.low
    found.to_json(tmp_path / "a.json")
    everything = json.loads((tmp_path / "a.json").read_text())
    assert everything["tried"] == rows
    assert (everything["best"], everything["default"]) == (found.best, found.default)
    assert everything["confirmed"]["seed"] == 3


def test_one_run_has_no_intervals_and_is_still_json() -> None:
    found = tune(runs=1, steps=100)
    everything = json.loads(found.json_text())
    assert everything["tried"][1]["against_best"]["low"] is None
    assert "± n/a" in found.table()
    assert found.plot().axes  # no bars to draw


def test_a_long_table_is_cut_but_keeps_the_default() -> None:
    found = tune(parameters={"scale": [round(0.05 * place, 2) for place in range(1, 26)]}, steps=50, runs=2)
    lines = found.table(most=6).splitlines()
    assert len(lines) == 2 + 6 + 1
    assert lines[-1] == "... and 20 settings more"
    assert sum(line.endswith("default") for line in lines[2:]) == 1
    assert len(found.table(most=26).splitlines()) == 2 + 26


def test_the_plot_has_a_panel_per_parameter(found: toplist.Tuning, tmp_path: Path) -> None:
    figure = found.plot(tmp_path / "tuning.png")
    assert (tmp_path / "tuning.png").read_bytes().startswith(b"\x89PNG")
    assert [axes.get_xlabel() for axes in figure.axes] == ["scale", "order"]
    assert [text.get_text() for text in figure.axes[1].get_xticklabels()] == ["first", "last"]
    legend = figure.axes[0].get_legend()
    assert legend is not None
    assert {text.get_text() for text in legend.get_texts()} == {"default", "best", "others"}
    assert figure.axes[0].get_ylabel() == f"regret (reward lost) after {found.sweep.steps:,} steps"


def test_a_long_title_is_whole_and_inside_the_picture() -> None:
    name = "somebody/elses/own_parts.py:a_policy_with_a_long_name(scale=0.5, examination=[0.9, 0.5, 0.2])"
    curves = {name: np.array([[1.0]]), "other": np.array([[2.0]])}
    sweep = toplist.Result(np.array([10]), curves, curves)
    figure = toplist.Tuning({name: {"scale": 0.5}, "other": {"scale": 1.0}}, sweep).plot()
    figure.canvas.draw()
    (title,) = figure.texts
    assert "".join(title.get_text().split()) == f"{name}: 2 settings, 10 steps, 1 run".replace(" ", "")
    box = title.get_window_extent()
    assert figure.bbox.x0 <= box.x0 < box.x1 <= figure.bbox.x1
    assert figure.bbox.y0 <= box.y0 < box.y1 <= figure.bbox.y1


def test_sweep_and_confirmation_are_saved_and_resumed(tmp_path: Path) -> None:
    file = tmp_path / "kept.npz"
    first = tune(resume=file)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kept-again.npz", "kept.npz"]
    seen: list[toplist.Progress] = []
    second = tune(resume=file, progress=seen.append)
    assert second.json_text() == first.json_text()
    assert all(report.done == report.total for report in seen)  # nothing was left to play
    with pytest.raises(toplist.InvalidInput, match=r"ends in \.npz"):
        tune(resume=tmp_path / "kept.txt")


@pytest.mark.parametrize(
    ("policy", "parameters", "changes", "message"),
    [
        ("cascade-ucb1", {"scal": [1]}, {}, "has no parameter 'scal', but has scale, order; perhaps you mean 'scale'"),
        ("cascade-ucb1", {"scale": []}, {}, r"The search space of scale is \[\], but must be values or a Span"),
        ("cascade-ucb1", {"scale": "0.5"}, {}, "The search space of scale is '0.5', but must be values or a Span"),
        ("cascade-ucb1", {"scale": [-1]}, {}, "UCB1's scale is -1"),
        (
            "cascade-ucb1",
            {"scale": range(200), "order": [[1]] * 51},
            {},
            "The number of settings is 10200, but must be",
        ),
        (
            "cascade-ucb1",
            {"scale": toplist.Span(2, 1)},
            {},
            "The high end of scale is 1, but must be above the low end, 2",
        ),
        ("cascade-ucb1", {"scale": toplist.Span(0, 1, True)}, {}, "The low end of scale is 0, but must be above 0"),
        ("cascade-ucb1", {"scale": toplist.Span(0, 1)}, {"tries": 0}, "The number of tries is 0"),
        ("cascade-ucb1", {"scale": toplist.Span(0, 1)}, {"tries": 10**6}, "The number of tries is 1000000"),
        ("cascade-ucb1(scale", {"scale": [1]}, {}, "The policy is 'cascade-ucb1"),
        ("nothing", {"scale": [1]}, {}, "There is no policy 'nothing'"),
        (3, {"scale": [1]}, {}, "The policy is 3, but must be a name of the catalogue, or a function"),
    ],
)
def test_invalid_arguments_are_refused(policy: Any, parameters: Any, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(toplist.InvalidInput, match=message):
        tune(policy, parameters, **changes)


def test_nothing_to_tune_is_refused() -> None:
    with pytest.raises(
        toplist.InvalidInput, match="There is nothing to tune; name a parameter of cascade-ucb1, which has"
    ):
        toplist.tune("cascade-ucb1", {}, WORLD, USERS, steps=10)
