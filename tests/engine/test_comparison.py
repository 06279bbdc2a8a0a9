"""Comparisons on several kinds of users: the numbers of simulations, relative to the best and to random lists."""

import csv
import io
import json
import math
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

import toplist
from toplist import Comparison
from toplist.clicks import CCM, DBN, DCM, UBM, Cascade, mix
from toplist.core.problem import Problem
from toplist.engine.compare import file_name
from toplist.engine.shared_users import with_shared_type
from toplist.engine.statistics import t_quantile
from toplist.worlds import Fixed

WORLD = Fixed([0.6, 0.5, 0.3, 0.2, 0.1], 2)
COLUMNS: dict[str, Any] = {
    "cascade": (WORLD, Cascade()),
    "several": [(WORLD, DCM([0.8, 0.3])), (Fixed([0.1, 0.2, 0.3, 0.4, 0.9], 2), DCM(0.5))],
    "dcm": (WORLD, DCM([0.8, 0.3])),
}
SIZE: dict[str, Any] = {"steps": 400, "runs": 3, "seed": 5}


def compare(policies: Any = ("cascade-ucb1",), columns: Any = None, **changes: Any) -> Comparison:
    return toplist.compare(list(policies), columns or COLUMNS, **(SIZE | changes))


@pytest.fixture(scope="module")
def found() -> Comparison:
    return compare()


# Playing


def test_the_numbers_are_those_of_a_simulation(found: Comparison) -> None:
    """Although all users have a shared type here."""
    assert found.policies == ("cascade-ucb1", "random")
    assert found.columns == ("cascade", "several", "dcm")
    for column in ("cascade", "dcm"):
        alone = toplist.simulate(list(found.policies), *COLUMNS[column], **SIZE)
        for policy in found.policies:
            assert found.of(policy, column).tobytes() == alone.regret[policy][:, -1].tobytes()


def test_several_pairs_are_the_runs_of_one_column(found: Comparison) -> None:
    runs = found.of("cascade-ucb1", "several")
    assert (found.runs("cascade"), found.runs("several")) == (3, 6)
    assert runs[:3].tobytes() == found.of("cascade-ucb1", "dcm").tobytes()
    alone = toplist.simulate("cascade-ucb1", *COLUMNS["several"][1], **SIZE)
    assert runs[3:].tobytes() != alone.regret["cascade-ucb1"][:, -1].tobytes()  # visitors of their own
    assert found.settings["columns"]["several"] == {"pairs": 2, "items": 5, "positions": 2}


def test_random_lists_are_the_baseline_under_any_label() -> None:
    chance = toplist.make("random")
    mine = toplist.compare({"by chance": chance}, {"a": COLUMNS["cascade"]}, **SIZE)
    assert (mine.policies, mine.baseline) == (("by chance",), "by chance")
    assert compare(["random"], {"a": COLUMNS["cascade"]}).policies == ("random",)
    with pytest.raises(toplist.InvalidInput, match="choose another label"):
        toplist.compare({"random": "best"}, {"a": COLUMNS["cascade"]}, **SIZE)


def test_progress_is_that_of_all_columns() -> None:
    reports: list[toplist.Progress] = []
    compare(progress=reports.append, threads=1)
    assert {now.total for now in reports} == {2 * 4 * 3 * 400}
    assert [now.done for now in reports] == sorted(now.done for now in reports)
    assert reports[-1].done == reports[-1].total


def test_an_interrupted_comparison_continues(tmp_path: Path, found: Comparison) -> None:
    folder = tmp_path / "kept"

    def stop(now: toplist.Progress) -> None:
        if now.done > now.total / 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compare(progress=stop, resume=folder, threads=1)
    kept = {file.name for file in folder.iterdir()}
    assert file_name("cascade", 0) in kept
    assert file_name("dcm", 0) not in kept
    reports: list[toplist.Progress] = []
    assert compare(progress=reports.append, resume=folder) == found
    assert reports[0].earlier > reports[0].total / 2 - 400
    assert compare(progress=reports.append, resume=folder) == found
    assert reports[-1].earlier == reports[-1].total  # a finished one returns at once


def test_a_saved_column_does_not_depend_on_the_others(tmp_path: Path) -> None:
    """A resume file does not depend on the users of other columns."""
    one = compare(["random"], {"dcm": COLUMNS["dcm"]}, resume=tmp_path)
    reports: list[toplist.Progress] = []
    both = compare(["random"], COLUMNS, resume=tmp_path, progress=reports.append)
    assert reports[0].earlier == 3 * 400
    assert both.of("random", "dcm").tobytes() == one.of("random", "dcm").tobytes()
    with pytest.raises(toplist.InvalidInput, match="holds a simulation with seed 5"):
        compare(["random"], COLUMNS, resume=tmp_path, seed=6)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"columns": [WORLD]}, "must be a dict from labels to pairs"),
        ({"columns": {1: COLUMNS["cascade"]}}, "A column's label is 1"),
        ({"columns": {"a": WORLD}}, "The column 'a' is .* must be a pair of a world and its users"),
        ({"columns": {"a": []}}, r"The column 'a' is \[\]"),
        ({"columns": {"a": (WORLD, 5)}}, r"The column 'a' is .*; write \(world, users\)"),
        ({"columns": {"a": (WORLD, "cascad")}}, "There is no click model 'cascad', but .*; perhaps you mean 'cascade'"),
        ({"resume": ""}, "The folder to resume from is ''"),
        ({"resume": __file__}, "must be a folder, not a file"),
        ({"resume": "no/such/folder"}, "must be a folder that can be written to"),
        ({"progress": 5}, "progress is 5"),
        ({"steps": 0}, "The number of steps is 0"),
    ],
)
def test_invalid_arguments_are_refused(changes: dict[str, Any], message: str) -> None:
    columns = changes.pop("columns", COLUMNS)
    with pytest.raises(toplist.InvalidInput, match=message):
        compare(["best"], columns, **changes)


# Users of a shared type


def test_users_get_a_shared_type() -> None:
    problem = Problem(5, 2)
    crowd = mix([Cascade(), DCM(0.3)], [0.5, 0.5])
    users = [kind.prepare(problem) for kind in (UBM(0.5), DBN(), CCM(), DCM(0.2), crowd, DCM(0.9))]
    made = with_shared_type(users)
    assert len({numba.typeof(one) for one in made}) == 1  # type: ignore[no-untyped-call]
    attraction, items = np.array([0.5, 0.2]), np.array([3, 1])
    for given, one in zip(users, made, strict=True):
        assert one.reward(None, items, attraction) == given.reward(None, items, attraction)
    same = [DCM(0.3).prepare(problem), DCM(0.4).prepare(problem)]
    assert all(one is given for one, given in zip(with_shared_type(same), same, strict=True))


# Results

REGRET: dict[str, dict[str, Any]] = {
    "x": {"c": [30.0, 32.0, 37.0], "a": [10.0, 14.0, 12.0], "b": [11.0, 13.0, 15.0], "random": [100.0, 90.0, 110.0]},
    "y": {"c": [1.0, 2.5, 1.0], "a": [9.0, 8.0, 7.0], "b": [2.0, 3.0, 1.0], "random": [20.0, 40.0, 30.0]},
    "z": {"c": [5.0, 6.0, 7.0], "a": [4.0, 4.0, 4.0], "b": [2.0, 3.0, 1.0], "random": [9.0, 10.0, 11.0]},
}


@pytest.fixture
def known() -> Comparison:
    return Comparison(REGRET, "random", {"steps": 100, "seed": 3})


def test_ratios_and_differences_by_hand(known: Comparison) -> None:
    assert (known.best("x"), known.best("y")) == ("a", "c")
    assert known.mean("b", "x") == 13.0
    t = t_quantile(2, 0.95)
    for value, other, policy in ((known.relative("b", "x"), "random", "b"), (known.over_best("c", "x"), "a", "c")):
        a, b = np.array(REGRET["x"][policy]), np.array(REGRET["x"][other])
        rest = a - a.mean() / b.mean() * b
        half = t * rest.std(ddof=1) / math.sqrt(3) / b.mean()
        assert value == pytest.approx((a.mean() / b.mean(), a.mean() / b.mean() - half, a.mean() / b.mean() + half))
    apart = known.against_best("b", "x")
    assert (apart.mean, apart.high - apart.mean) == pytest.approx((1.0, t * math.sqrt(4 / 3)))  # 1, -1, 3
    assert known.against_random("a", "x").mean == -88.0
    assert known.over_best("a", "x") == (1.0, 1.0, 1.0)
    assert known.over_best("random", "y", 0.5).low > known.over_best("random", "y", 0.95).low


def test_marks_and_order(known: Comparison) -> None:
    assert [known.mark(name, "x") for name in "abc"] == ["*", "~", ""]
    assert [known.mark(name, "y") for name in "abc"] == ["", "~", "*"]
    assert known.order == ["b", "a", "c", "random"]  # mean ranks: 4/3, 5/3, 2


def test_the_table(known: Comparison) -> None:
    assert str(known).splitlines() == [
        "Regret in % of that of random: 100 steps, 3 runs, seed 3",
        "policy      x       y       z",
        "b        13.0~    6.7~   20.0*",
        "a        12.0*   26.7    40.0~",
        "c        33.0     5.0*   60.0~",
        "random  100.0   100.0   100.0",
        "* least of its column; ~ not clearly more (95% paired)",
        "",
        "Regret over the least of the column",
        "policy     x      y     z",
        "b       1.08   1.33  1.00",
        "a       1.00   5.33  2.00",
        "c       2.75   1.00  3.00",
        "random  8.33  20.00  5.00",
    ]
    assert repr(known) == "<Comparison of 4 policies on x, y, z: 100 steps, 3 runs, seed 3>"


def test_the_ratio_is_nan_if_the_best_has_no_regret() -> None:
    regret: Any = {"x": {"best": [0.0, 0.0], "random": [8.0, 9.0]}}
    found = Comparison(regret, "random")
    assert math.isnan(found.over_best("random", "x").value)
    assert found.relative("best", "x") == (0.0, 0.0, 0.0)
    assert " n/a" in found.table()
    row = next(row for row in found.rows() if row["policy"] == "random")
    assert row["over_best"] is None
    assert found.plot().axes


def test_one_run_has_no_intervals() -> None:
    regret: Any = {"x": {"a": [2.0], "random": [8.0]}}
    one = Comparison(regret, "random")
    assert one.relative("a", "x") == (0.25, -math.inf, math.inf)
    assert one.mark("random", "x") == "~"
    assert one.rows()[0]["relative_low"] is None


def test_json_gives_it_back(known: Comparison, tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    known.to_json(file)
    again = Comparison.from_json(file)
    assert again == known
    assert again != Comparison(REGRET, "a", known.settings)
    assert json.loads(file.read_text())["rows"] == known.rows()
    former: Any = Comparison
    assert former(REGRET, yardstick=known.baseline, settings=known.settings) == known
    content = json.loads(file.read_text())
    assert known.yardstick == known.baseline == content["yardstick"] == content.pop("baseline")
    file.write_text(json.dumps(content))  # as it was written before
    assert Comparison.from_json(file) == known
    del content["yardstick"]
    file.write_text(json.dumps(content))
    with pytest.raises(toplist.InvalidInput, match="The baseline is None, but must be one of"):
        Comparison.from_json(file)
    (tmp_path / "b.json").write_text('{"format": "toplist.Result"}')
    with pytest.raises(toplist.InvalidInput, match=r"a file that Comparison\.to_json wrote; it begins with"):
        Comparison.from_json(tmp_path / "b.json")


def test_csv_has_a_row_per_cell(known: Comparison, tmp_path: Path) -> None:
    known.to_csv(tmp_path / "a.csv")
    rows = list(csv.DictReader(io.StringIO((tmp_path / "a.csv").read_text())))
    assert [(row["column"], row["policy"]) for row in rows] == [(c, p) for c in "xyz" for p in known.order]
    assert float(rows[0]["relative"]) == known.relative(known.order[0], "x").value


@pytest.mark.parametrize(("name", "head"), [("a.png", b"\x89PNG"), ("a.svg", b"<?xml"), ("a.pdf", b"%PDF")])
def test_pictures(known: Comparison, tmp_path: Path, name: str, head: bytes) -> None:
    figure = known.plot(tmp_path / name)
    assert (tmp_path / name).read_bytes().startswith(head)
    texts = [text.get_text() for text in figure.axes[0].texts]
    assert texts[: len(known.columns)] == ["13~", "6.7~", "20*"]
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == known.order


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (2, 5), (30, 8)])
def test_long_labels_are_whole_and_inside_the_picture(rows: int, columns: int) -> None:
    names = [*(f"policy {row}, labelled by somebody with much to say" for row in range(rows)), "random"]
    labels = [f"visitors {column} with pbm(examination=[0.9, 0.5, 0.2])" for column in range(columns)]
    regret = {label: {name: np.array([1.0, 2.0]) + row for row, name in enumerate(names)} for label in labels}
    figure = Comparison(regret, "random", {"steps": 1000, "runs": 2, "seed": 0}).plot()
    figure.canvas.draw()
    axes, bar = figure.axes
    shown = {" ".join(tick.get_text().split()) for tick in (*axes.get_xticklabels(), *axes.get_yticklabels())}
    assert shown == {*names, *labels}
    texts = [*axes.get_xticklabels(), *axes.get_yticklabels(), *figure.texts, bar.yaxis.label]
    assert len(figure.texts) == 2
    for text in texts:
        box = text.get_window_extent()
        assert figure.bbox.x0 <= box.x0 < box.x1 <= figure.bbox.x1, text
        assert figure.bbox.y0 <= box.y0 < box.y1 <= figure.bbox.y1, text


@pytest.mark.parametrize(
    ("regret", "baseline", "message"),
    [
        ({}, "a", "regret is {}"),
        ({"x": [1.0]}, "a", "must be a dict of columns"),
        ({"x": {"a": []}}, "a", r"regret\['x'\]\['a'\] is \[\]"),
        ({"x": {"a": [math.nan]}}, "a", "one finite number per run"),
        ({"x": {"a": [1.0], "b": [1.0, 2.0]}}, "a", "of as many runs for every policy"),
        ({"x": {"a": [1.0]}, "y": {"b": [1.0]}}, "a", r"regret\['y'\] is \['b'\]"),
        ({"x": {"a": [1.0]}}, "random", "The baseline is 'random'"),
    ],
)
def test_inconsistent_regret_is_refused(regret: Any, baseline: str, message: str) -> None:
    with pytest.raises(toplist.InvalidInput, match=message):
        Comparison(regret, baseline)


def test_unknown_names_are_refused(known: Comparison) -> None:
    with pytest.raises(toplist.InvalidInput, match="The column is 'w'"):
        known.best("w")
    with pytest.raises(toplist.InvalidInput, match="The policy is 'd'"):
        known.relative("d", "x")
