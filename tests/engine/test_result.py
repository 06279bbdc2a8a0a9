"""Tests of results: numbers against SciPy and by hand, exact round trips, files replaced atomically."""

import csv
import dataclasses
import io
import json
import math
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import scipy.stats
from hypothesis import example as example_of
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from toplist.core.problem import InvalidInput
from toplist.engine.result import PLOT_SUFFIXES, Difference, Result
from toplist.engine.statistics import MANY, t_quantile
from toplist.support.files import check_writable

FINITE = st.floats(-1e12, 1e12)
TEXT = st.text(st.characters(exclude_categories=["Cs"]))  # any; `st.text()` first tries to encode every character
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)


@st.composite
def results(draw: st.DrawFn) -> Result:
    names = draw(st.lists(TEXT, min_size=1, max_size=4, unique=True))
    steps = sorted(draw(st.sets(st.integers(1, 2**62), min_size=1, max_size=4)))
    curves = arrays.arrays(np.float64, (draw(st.integers(1, 4)), len(steps)), elements=FINITE)
    regret, clicks = ({name: draw(curves) for name in names} for _ in range(2))
    return Result(np.array(steps), regret, clicks, draw(st.dictionaries(TEXT, JSON, max_size=3)))


def example(policies: int = 3, runs: int = 12, checkpoints: int = 40, steps: int = 100_000, **settings: Any) -> Result:
    """Policies that share a large noise per run and differ by little else."""
    rng = np.random.default_rng(5)
    kept = np.linspace(steps / checkpoints, steps, checkpoints).astype(np.int64)
    shared = 50 * rng.normal(size=(runs, 1)) * np.sqrt(kept / steps)
    names = [f"policy {number}" for number in range(policies)]
    own = {name: rng.normal(size=(runs, checkpoints)) for name in names}
    regret = {name: 200 + 20 * place + shared + own[name] for place, name in enumerate(names)}
    return Result(kept, regret, {name: 0.7 * kept - regret[name] for name in names}, settings)


def small(**changes: Any) -> Result:
    """Two policies, two runs, two checkpoints."""
    parts: dict[str, Any] = {
        "checkpoints": [10, 1000],
        "regret": {"CascadeUCB1": [[1, 10], [3, 14]], "CascadeKLUCB": [[0, 4], [2, 8]]},
        "clicks": {"CascadeUCB1": [[5, 500], [6, 700]], "CascadeKLUCB": [[7, 800], [8, 900]]},
    }
    return Result(**(parts | changes))


# Student's quantile.


@pytest.mark.parametrize("confidence", [0.01, 0.5, 0.8, 0.9, 0.95, 0.99, 0.999, 0.9999])
def test_t_quantile_is_scipys(confidence: float) -> None:
    freedoms = [*range(1, 51), 60, 99, 100, 200, 999, 1000, MANY - 1, MANY, MANY + 1, 123_456, 10**7]
    ours = [t_quantile(freedom, confidence) for freedom in freedoms]
    assert ours == pytest.approx(scipy.stats.t.ppf((1 + confidence) / 2, freedoms), rel=1e-9, abs=1e-9)


@settings(deadline=None)
@given(st.integers(1, 300), st.floats(0.01, 0.999))
def test_t_quantile_inverts_the_distribution(freedom: int, confidence: float) -> None:
    t = t_quantile(freedom, confidence)
    assert 2 * scipy.stats.t.cdf(t, freedom) - 1 == pytest.approx(confidence, abs=1e-12)


@pytest.mark.parametrize("confidence", [0, 1, 95, -0.1, math.nan, "much", None])
def test_confidence_lies_strictly_between_0_and_1(confidence: Any) -> None:
    with pytest.raises(InvalidInput, match=r"confidence is .* strictly between 0 and 1; give 0\.95"):
        small().difference("CascadeUCB1", "CascadeKLUCB", confidence=confidence)


# Means and differences.


def test_means_and_errors_by_hand() -> None:
    result = small()
    assert result.mean("CascadeUCB1").tolist() == [2, 12]
    assert result.mean("CascadeUCB1", "clicks").tolist() == [5.5, 600]
    assert result.standard_error("CascadeUCB1") == pytest.approx([1, 2])  # half the distance of two values
    assert result.standard_error("CascadeKLUCB", what="clicks") == pytest.approx([0.5, 50])


@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99])
@pytest.mark.parametrize("what", ["regret", "clicks"])
def test_difference_is_the_paired_interval_of_scipy(what: Any, confidence: float) -> None:
    result = example()
    at = int(result.checkpoints[7])
    a, b = (getattr(result, what)[name][:, 7] for name in ("policy 2", "policy 0"))
    interval = scipy.stats.ttest_rel(a, b).confidence_interval(confidence)
    expected = (a.mean() - b.mean(), interval.low, interval.high, a.mean() / b.mean())
    assert result.difference("policy 2", "policy 0", what, at, confidence) == pytest.approx(expected, rel=1e-9)


def test_pairing_removes_the_noise_that_runs_share() -> None:
    result = example()
    paired = result.difference("policy 1", "policy 0")
    apart = math.hypot(result.standard_error("policy 1")[-1], result.standard_error("policy 0")[-1])
    assert paired.high - paired.low < apart / 5
    assert paired.low < 20 < paired.high


def test_difference_is_taken_at_the_last_checkpoint_or_at_the_one_named() -> None:
    result = small()
    assert result.difference("CascadeUCB1", "CascadeKLUCB") == Difference(6, 6, 6, 2)
    assert result.difference("CascadeUCB1", "CascadeKLUCB", at=10) == Difference(1, 1, 1, 2)
    assert result.difference("CascadeKLUCB", "CascadeUCB1", at=1000) == Difference(-6, -6, -6, 0.5)


def test_one_run_has_no_standard_error() -> None:
    result = example(runs=1)
    assert np.isnan(result.standard_error("policy 0")).all()
    mean, low, high, _ = result.difference("policy 1", "policy 0")
    assert (low, high) == (-math.inf, math.inf)
    assert mean == result.regret["policy 1"][0, -1] - result.regret["policy 0"][0, -1]


@pytest.mark.parametrize(("a", "b", "expected"), [(1, 0, math.inf), (-1, 0, -math.inf), (0, 0, math.nan), (0, 2, 0)])
def test_ratio_to_zero_is_infinite_or_nan(a: float, b: float, expected: float) -> None:
    curves = {"a": [[a], [a]], "b": [[b], [b]]}
    assert Result(np.array([1]), cast(Any, curves), cast(Any, curves)).difference("a", "b").ratio == pytest.approx(
        expected, nan_ok=True
    )


def test_unknown_policy_is_refused_with_the_nearest() -> None:
    for call in (
        lambda: small().mean("cascadeklucb"),
        lambda: small().standard_error("CascadeKL-UCB"),
        lambda: small().difference("CascadeUCB1", "CascadeKLUCBB"),
    ):
        with pytest.raises(InvalidInput) as refused:
            call()
        assert "must be one of 'CascadeUCB1', 'CascadeKLUCB'; perhaps you mean 'CascadeKLUCB'." in str(refused.value)
    with pytest.raises(InvalidInput, match=r"policy is 'xyz'.*; choose one of them\.$"):
        small().mean("xyz")
    with pytest.raises(InvalidInput, match=r"policy is \['CascadeUCB1'\]"):
        small().mean(cast(Any, ["CascadeUCB1"]))


@pytest.mark.parametrize("at", [11, 999, 10**30])
def test_a_step_that_is_no_checkpoint_is_refused_with_the_nearest(at: int) -> None:
    nearest = 10 if at == 11 else 1000
    with pytest.raises(InvalidInput, match=f"2 checkpoints from 10 to 1,000; the nearest is {nearest}"):
        small().difference("CascadeUCB1", "CascadeKLUCB", at=at)


@pytest.mark.parametrize("at", [0, -1, 10.0, True, "10"])
def test_at_is_a_whole_number(at: Any) -> None:
    with pytest.raises(InvalidInput, match=r"at is .* whole number"):
        small().difference("CascadeUCB1", "CascadeKLUCB", at=at)


def test_what_is_regret_or_clicks() -> None:
    for call in (lambda what: small().mean("CascadeUCB1", what), lambda what: small().plot(what=what)):
        with pytest.raises(InvalidInput, match="what is 'views', but must be 'regret' or 'clicks'"):
            call("views")


# Validation and copies.


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"checkpoints": [10, 10]}, "checkpoints is .* ascending"),
        ({"checkpoints": [1000, 10]}, "checkpoints is .* ascending"),
        ({"checkpoints": [0, 10]}, "checkpoints is .* at least 1"),
        ({"checkpoints": [1.0, 10.0]}, "checkpoints is .* whole"),
        ({"checkpoints": [[1, 10], [2]]}, "checkpoints is"),
        ({"checkpoints": []}, "checkpoints is"),
        ({"checkpoints": np.empty(0, dtype=np.int64)}, "checkpoints is"),
        ({"checkpoints": 10}, "checkpoints is"),
        ({"checkpoints": np.array([1, 2**63 + 1], dtype=np.uint64)}, "checkpoints is"),
        ({"checkpoints": [10]}, r"shape of regret\['CascadeUCB1'\] is \(2, 2\), but must be \(runs, 1\)"),
        ({"regret": {}}, "regret is .* at least one policy"),
        ({"regret": [[1, 2]]}, "regret is .* a dict"),
        ({"regret": {3: [[1, 2]]}}, "regret is .* a dict"),
        ({"regret": {"CascadeUCB1": [[1, 2]]}}, "clicks is .* policies of regret"),
        ({"regret": {"CascadeUCB1": [[1, 2]], "CascadeKLUCB": [[1, 2]]}}, r"number of runs is \[1, 2\]"),
        ({"regret": {"a": [[1, 2], [3]]}}, r"regret\['a'\] is .* shape \(runs, 2\)"),
        ({"regret": {"a": [1, 2]}}, r"shape of regret\['a'\] is \(2,\)"),
        ({"regret": {"a": np.empty((0, 2))}}, r"shape of regret\['a'\] is \(0, 2\)"),
        ({"clicks": {"a": [[1, math.nan]]}}, r"clicks\['a'\] is .* finite"),
        ({"settings": {"world": object()}}, "settings is .* JSON"),
        ({"settings": {"gap": math.inf}}, "settings is .* JSON"),
        ({"settings": ["seed"]}, "settings is .* JSON"),
    ],
)
def test_inconsistent_arguments_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        small(**changes)


def test_a_result_cannot_be_changed_from_inside_or_outside() -> None:
    curves = {name: np.ones((2, 2)) for name in ("CascadeUCB1", "CascadeKLUCB")}
    settings = {"seeds": [1, 2]}
    result = small(regret=curves, settings=settings)
    curves["CascadeUCB1"][:] = 9
    settings["seeds"].append(3)
    del curves["CascadeKLUCB"]
    assert result.mean("CascadeUCB1").tolist() == [1, 1]
    assert result.settings == {"seeds": [1, 2]}
    assert result.policies == ("CascadeUCB1", "CascadeKLUCB")
    for array in (result.checkpoints, result.regret["CascadeUCB1"], result.clicks["CascadeUCB1"]):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.settings = {}  # type: ignore[misc]


def test_types_do_not_depend_on_the_arguments() -> None:
    result = small(settings={"seed": np.int64(3), "gaps": np.array([0.5]), "pair": (1, 2)})
    assert result.checkpoints.dtype == np.int64
    assert {array.dtype for array in (*result.regret.values(), *result.clicks.values())} == {np.dtype(np.float64)}
    assert result.settings == {"seed": 3, "gaps": [0.5], "pair": [1, 2]}
    assert (result.steps, result.runs) == (1000, 2)


def test_the_order_of_policies_is_that_of_regret() -> None:
    clicks = {"CascadeKLUCB": [[7, 800], [8, 900]], "CascadeUCB1": [[5, 500], [6, 700]]}
    assert list(small(clicks=clicks).clicks) == ["CascadeUCB1", "CascadeKLUCB"]
    assert small(clicks=clicks) == small()


def test_equal_results_are_equal() -> None:
    assert small() == small()
    assert small() != small(settings={"seed": 1})
    assert small() != small(checkpoints=[10, 1001])
    assert small() != small(clicks={name: np.zeros((2, 2)) for name in ("CascadeUCB1", "CascadeKLUCB")})
    assert small() != "a table"
    with pytest.raises(TypeError, match="unhashable"):
        hash(small())


# The table.


def test_table_by_hand() -> None:
    result = small(settings={"seed": 7})
    assert str(result) == result.table()
    assert result.table().splitlines() == [
        "1,000 steps, 2 runs, seed 7",
        "policy            regret  clicks/step  difference [95% paired]  ratio",
        "CascadeKLUCB   6.0 ± 2.0       0.8500                        -   1.00",
        "CascadeUCB1   12.0 ± 2.0       0.6000        +6.0 [+6.0, +6.0]   2.00",
    ]


def test_table_of_one_run_has_no_intervals() -> None:
    lines = example(policies=2, runs=1).table().splitlines()
    assert lines[0] == "100,000 steps, 1 run"
    assert "± n/a" in lines[2]
    assert "[-inf, +inf]" in lines[3]


def test_table_fits_a_terminal() -> None:
    names = ["CascadeKLUCB", "RankedExp3", "CascadeLSB(alpha=1)", "BatchRank"]
    rng = np.random.default_rng(1)
    curves = {name: rng.uniform(1e6, 2e6, (20, 1)) for name in names}
    table = Result(np.array([10**7]), curves, curves, {"seed": 2**64 - 1}).table()
    assert max(map(len, table.splitlines())) <= 110
    assert [line.split()[0] for line in table.splitlines()[2:]] == sorted(names, key=lambda name: curves[name].mean())


@settings(deadline=None)
@given(results())
def test_table_is_a_rectangle_sorted_by_regret(result: Result) -> None:
    heading, *lines = result.table().split("\n")
    assert heading.startswith(f"{result.steps:,} step")
    order = sorted(result.policies, key=lambda name: result.mean(name)[-1])
    assert len(lines) == 1 + len(order)
    assert all(line.startswith(" ".join(name.split())) for line, name in zip(lines[1:], order, strict=True))
    assert len({len(line) for line in lines}) == 1


def test_repr_is_short() -> None:
    assert repr(small()) == "<Result of CascadeUCB1, CascadeKLUCB: 1,000 steps, 2 runs>"


# Rows and files.


def test_rows_are_long_and_tidy() -> None:
    rows = small().rows()
    assert len(rows) == 2 * 2 * 2
    assert rows[0] == {"policy": "CascadeUCB1", "run": 1, "step": 10, "regret": 1.0, "clicks": 5.0}
    assert rows[-1] == {"policy": "CascadeKLUCB", "run": 2, "step": 1000, "regret": 8.0, "clicks": 900.0}
    assert [type(value) for value in rows[0].values()] == [str, int, int, float, float]


@settings(deadline=None)
@given(results())
def test_json_reads_back_bit_by_bit(result: Result) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "result.json"
        result.to_json(path)
        again = Result.from_json(path)
        assert os.listdir(folder) == ["result.json"]
    assert again == result
    assert list(again.regret) == list(again.clicks) == list(result.regret)
    assert again.checkpoints.tobytes() == result.checkpoints.tobytes()
    for name in result.policies:  # also the sign of a zero
        assert again.regret[name].tobytes() == result.regret[name].tobytes()
        assert again.clicks[name].tobytes() == result.clicks[name].tobytes()


@settings(deadline=None)
@given(results())
@example_of(Result(np.array([1]), {"\r": np.zeros((1, 1))}, {"\r": np.zeros((1, 1))}))
def test_csv_reads_back_bit_by_bit(result: Result) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "result.csv")
        result.to_csv(path)
        with open(path, encoding="utf-8", newline="") as file:
            texts = list(csv.DictReader(file))
    kinds = {"policy": str, "run": int, "step": int, "regret": float, "clicks": float}
    rows = [{column: kind(text[column]) for column, kind in kinds.items()} for text in texts]
    assert repr(rows) == repr(result.rows())


def test_json_is_plain_json(tmp_path: Path) -> None:
    small(settings={"seed": 3}).to_json(tmp_path / "result.json")
    everything = json.loads((tmp_path / "result.json").read_text())
    assert everything["settings"] == {"seed": 3}
    assert everything["checkpoints"] == [10, 1000]
    assert everything["regret"]["CascadeUCB1"] == [[1, 10], [3, 14]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "No such file"),
        ("regret,clicks", "cannot be read"),
        ("[1, 2]", "it begins with None"),
        ('{"format": "other", "format_version": 1}', "it begins with .*other"),
        ('{"format": "toplist.Result", "format_version": 2}', "it begins with .*2"),
        (
            '{"format": "toplist.Result", "format_version": 1, "settings": {}, "regret": {}}',
            "lacks checkpoints, clicks",
        ),
    ],
)
def test_other_files_are_not_read_as_results(tmp_path: Path, text: str | None, message: str) -> None:
    path = tmp_path / "f"
    if text is not None:
        path.write_text(text)
    with pytest.raises(
        InvalidInput, match=f"The json file is .* must be a file that Result.to_json wrote; .*{message}"
    ):
        Result.from_json(path)


def test_frame_holds_the_rows() -> None:
    frame = small().to_frame()
    assert list(frame.columns) == ["policy", "run", "step", "regret", "clicks"]
    assert frame.to_dict("records") == small().rows()
    assert frame["step"].dtype == np.int64
    assert frame["regret"].dtype == np.float64


def test_missing_extras_say_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r'needs pandas.*pip install "toplist\[frames\]"'):
        small().to_frame()
    with pytest.raises(ImportError, match=r'needs matplotlib.*pip install "toplist\[plots\]"'):
        small().plot()


def test_results_import_neither_matplotlib_nor_pandas() -> None:
    script = "import sys, toplist.engine.result; print({'matplotlib', 'pandas', 'scipy'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


# The plot.


@pytest.mark.parametrize(
    ("name", "start"), [("a.png", b"\x89PNG"), ("a.svg", b"<?xml"), ("a.pdf", b"%PDF"), ("b.PNG", b"\x89PNG")]
)
def test_plot_is_saved_as_its_suffix_says(tmp_path: Path, name: str, start: bytes) -> None:
    example().plot(tmp_path / name)
    assert (tmp_path / name).read_bytes().startswith(start)
    assert os.listdir(tmp_path) == [name]


def test_plot_leaves_no_global_state() -> None:
    script = (
        "import sys; from toplist.engine.result import Result; Result([1, 2], {'a': [[0, 1]]}, {'a': [[0, 1]]}).plot();"
        "print('matplotlib.pyplot' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize("what", ["regret", "clicks"])
def test_plot_shows_mean_curves_and_bands(what: Any) -> None:
    result = example(world="Fixed, L = 16, K = 4", users="DCM", steps=100_000)
    figure = result.plot(what=what)
    (axes,) = figure.axes
    for line, band, name in zip(axes.lines, axes.collections, result.policies, strict=True):
        mean, error = result.mean(name, what), result.standard_error(name, what)
        assert np.asarray(line.get_xdata()).tolist() == result.checkpoints.tolist()
        assert np.asarray(line.get_ydata()).tolist() == mean.tolist()
        corners = np.asarray(band.get_paths()[0].vertices)[:, 1]
        assert corners.min() == pytest.approx((mean - error).min())
        assert corners.max() == pytest.approx((mean + error).max())
    assert axes.get_xlabel() == "steps (lists shown)"
    unit = {"regret": "regret (reward lost)", "clicks": "clicks"}[what]
    assert axes.get_ylabel() == f"cumulative {unit}, mean of 12 runs"
    assert axes.get_title(loc="left") == "Fixed, L = 16, K = 4; DCM"
    figure.canvas.draw()
    assert "100,000" in [label.get_text() for label in axes.get_xticklabels()]


def test_legend_is_ordered_as_the_curves_end_and_shows_names_as_they_are() -> None:
    curves = {"_low": [[1.0, 2.0]], "$high": [[0.0, 9.0]], "middle": [[5.0, 5.0]]}
    figure = Result(np.array([1, 2]), cast(Any, curves), cast(Any, curves)).plot()
    figure.canvas.draw()
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["$high", "middle", "_low"]
    colours = {tuple(np.asarray(line.get_ydata())): line.get_color() for line in figure.axes[0].lines}
    assert [handle.get_color() for handle in legend.get_lines()] == [colours[0, 9], colours[5, 5], colours[1, 2]]


def test_many_policies_have_distinct_styles_and_fit_the_figure() -> None:
    figure = example(policies=40, title="t").plot()
    (axes,), (legend,) = figure.axes, figure.legends
    for line in axes.lines:
        line.set_gid("curve")
    drawing = io.StringIO()
    figure.savefig(drawing, format="svg")
    styles = re.findall(r'<g id="curve">\s*<path [^>]*style="([^"]*)"', drawing.getvalue())
    assert len(styles) == len(set(styles)) == 40
    figure.canvas.draw()
    assert all(line.get_linestyle() == "-" for line in axes.lines[:7])
    assert axes.get_title(loc="left") == "t"
    box, whole = legend.get_window_extent(), figure.bbox
    assert whole.x0 <= box.x0 < box.x1 <= whole.x1
    assert whole.y0 <= box.y0 < box.y1 <= whole.y1
    assert axes.get_window_extent().x1 <= box.x0


@pytest.mark.parametrize("policies", [1, 5, 30])
def test_long_titles_and_labels_are_whole_and_inside_the_figure(policies: int) -> None:
    shares = ", ".join(f"0.{number}" for number in range(10, 99))
    title = f"fixed(attraction=[{shares}], positions=12), mixture(first='cascade', second='pbm') users, {'x' * 90}"
    labels = {
        f"policy {number} of many, with a label of one's own that is long": [[1.0, 2.0 + number]]
        for number in range(policies)
    }
    result = Result(np.array([1, 2]), cast(Any, labels), cast(Any, labels), {"title": title})
    figure = result.plot()
    figure.canvas.draw()
    (axes,), (legend,) = figure.axes, figure.legends
    words = "".join(axes.get_title(loc="left").split())
    assert words.startswith("fixed(attraction=[0.10,0.11,0.12,...89values],positions=12),mixture(first='cascade'")
    assert words.endswith("x" * 90)
    assert {" ".join(text.get_text().split()) for text in legend.get_texts()} == set(labels)
    (drawn,) = [text for text in axes.get_children() if getattr(text, "get_text", str)() == axes.get_title(loc="left")]
    whole = figure.bbox
    for box in (drawn.get_window_extent(), legend.get_window_extent(), axes.yaxis.label.get_window_extent()):
        assert whole.x0 <= box.x0 < box.x1 <= whole.x1
        assert whole.y0 <= box.y0 < box.y1 <= whole.y1
    assert drawn.get_window_extent().x1 <= legend.get_window_extent().x0


def test_one_run_and_one_checkpoint_can_be_plotted() -> None:
    (axes,) = example(policies=2, runs=1, checkpoints=1).plot().axes
    assert [line.get_marker() for line in axes.lines] == ["o", "o"]
    assert not axes.collections


# Paths.


def test_a_check_changes_nothing(tmp_path: Path) -> None:
    there = tmp_path / "there.csv"
    there.write_text("old")
    assert check_writable(there, "The file") == there
    assert check_writable(str(tmp_path / "new.csv"), "The file", suffixes=(".csv",)) == tmp_path / "new.csv"
    assert there.read_text() == "old"
    assert os.listdir(tmp_path) == ["there.csv"]


def test_a_file_may_be_named_without_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    small().to_csv("here.csv")
    assert os.listdir(tmp_path) == ["here.csv"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("missing/a.png", "in a folder that exists; create the folder '.*missing' first"),
        ("file/a.png", "in a folder; choose another place, since '.*file' is a file"),
        ("folder", "a file, not a folder; add the name of a file"),
        ("new/", "a file, not a folder"),
        ("folder.png", "a file, not a folder"),
        ("pipe.png", "an ordinary file; write to an ordinary one"),
        ("circle.png", "a path that can be written to"),
        ("nul\0.png", "a path that can be written to"),
        ("x" * 300 + ".png", "a path that can be written to"),
        ("a.txt", "ends in .png, .svg or .pdf; change the ending"),
        ("a", "ends in .png, .svg or .pdf"),
    ],
)
def test_unwritable_paths_are_refused(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "file").write_text("kept")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder.png").mkdir()
    (tmp_path / "circle.png").symlink_to("circle.png")
    os.mkfifo(tmp_path / "pipe.png")
    before = sorted(os.listdir(tmp_path))
    path = f"{tmp_path}/{name}"
    with pytest.raises(InvalidInput, match=f"The plot is .*, but must be .*{message}"):
        check_writable(path, "The plot", suffixes=PLOT_SUFFIXES)
    with pytest.raises(InvalidInput, match=message):
        small().plot(path)
    assert sorted(os.listdir(tmp_path)) == before


@pytest.mark.parametrize("path", [None, 3, b"a.csv", ["a.csv"], ""])
def test_a_path_is_a_path(path: Any) -> None:
    with pytest.raises(InvalidInput, match=r"The csv file is .*, but must be a (path|file)"):
        small().to_csv(path)


def test_permissions_are_checked_before_the_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Root may write everywhere, so the system's answer is replaced."""
    there = tmp_path / "a.csv"
    there.write_text("old")
    monkeypatch.setattr(os, "access", lambda path, _: Path(path) != tmp_path)
    with pytest.raises(InvalidInput, match="a folder you may write to"):
        check_writable(there, "The file")
    monkeypatch.setattr(os, "access", lambda path, _: Path(path) != there)
    with pytest.raises(InvalidInput, match="a file you may write to"):
        check_writable(there, "The file")
    assert there.read_text() == "old"


@pytest.mark.parametrize("writer", ["to_csv", "to_json", "plot"])
def test_all_writers_check_the_folder(tmp_path: Path, writer: str) -> None:
    with pytest.raises(InvalidInput, match="in a folder that exists"):
        getattr(small(), writer)(tmp_path / "missing" / "a.png")
    assert os.listdir(tmp_path) == []


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    link = tmp_path / "link.json"
    link.symlink_to("real/result.json")
    small().to_json(link)
    assert link.is_symlink()
    assert Result.from_json(tmp_path / "real" / "result.json") == small()


@pytest.mark.parametrize("writer", ["to_csv", "to_json", "plot"])
def test_a_reader_of_the_old_file_never_sees_the_new_one(tmp_path: Path, writer: str) -> None:
    target = tmp_path / "a.png"
    target.write_text("old")
    with target.open() as reader:
        getattr(small(), writer)(target)
        assert reader.read() == "old"
    assert target.read_bytes() != b"old"
    assert os.listdir(tmp_path) == ["a.png"]


def test_new_files_have_the_usual_permissions(tmp_path: Path) -> None:
    (tmp_path / "usual").touch()
    small().to_csv(tmp_path / "a.csv")
    assert (tmp_path / "a.csv").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_a_full_disk_leaves_the_old_file_or_none(tmp_path: Path) -> None:
    """A limit on the size of files stops every writer half way, as a full disk would."""
    writers = ("to_csv", "to_json", "plot")
    for writer in writers:
        (tmp_path / writer / "none").mkdir(parents=True)
        (tmp_path / writer / "old").mkdir()
        (tmp_path / writer / "old" / "a.png").write_text("old")
    script = f"""
import resource
from pathlib import Path
import numpy as np
from toplist.engine.result import Result
curves = {{"a": np.random.default_rng(1).uniform(size=(100, 50))}}
result = Result(np.arange(1, 51), curves, curves)
result.plot()  # fonts are looked up before the limit
resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
for writer in {writers}:
    for folder in ("none", "old"):
        try:
            getattr(result, writer)(Path({str(tmp_path)!r}) / writer / folder / "a.png")
        except OSError as problem:
            print(problem.strerror)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["File too large"] * 6
    for writer in writers:
        assert os.listdir(tmp_path / writer / "none") == []
        assert os.listdir(tmp_path / writer / "old") == ["a.png"]
        assert (tmp_path / writer / "old" / "a.png").read_text() == "old"
