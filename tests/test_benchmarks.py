"""The benchmark suite works, and what it compares does the same work; how long anything takes is not tested."""

import gc
import json
import math
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from forking import ForkedProcess

import toplist
from toplist.core.slate import Floats
from toplist.parts.index.kl_solver import exploration_budget, kl_upper

# The suite is not installed; it is run from the root of the repository.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import fused, numpy_loops, numpy_toprank, several_servers, solve_and_sort
from benchmarks.__main__ import main, write_markdown
from benchmarks.contenders import (
    GL_CDCM,
    GL_CDCM_SGD,
    KL_UCB,
    LIN_UCB,
    LSB,
    LSB_GREEDY,
    UCB1,
    Algorithm,
    Contender,
    ContextAlgorithm,
    Contexts,
    FeatureAlgorithm,
    Size,
    Topics,
    by_hand,
    engine,
    features_in_numpy,
    in_numpy,
    needs_features,
    topics_of,
)
from benchmarks.measure import QUICK, exponent, ratio, steps_for
from benchmarks.report import Table, Target, mark, nanoseconds, per_second, render, summary, verdict_cells
from benchmarks.sections import SECTIONS, baselines, features, service, since2019
from benchmarks.server import ROOT

SMALL = Size(16, 4)


def regrets(contender: Contender, steps: int, runs: int) -> Floats:
    return np.array([contender(steps, run)().regret for run in range(runs)])


MEASURED = ("FILE", "ALONE", "FILE_IDS", "ALONE_IDS", "ONE", "OWNED", "AT_RANDOM", "FORWARDED", "BESIDE")


@pytest.mark.parametrize(
    ("what", "slower", "is_met"),
    [
        ("", 1.0, True),
        ("FORWARDED", 3.0, True),  # has no target
        ("ALONE", 1.8, False),
        ("ALONE_IDS", 1.8, False),
        ("OWNED", 1.2, False),
        ("AT_RANDOM", 1.5, True),
        ("AT_RANDOM", 1.7, False),
    ],
)
def test_the_targets_of_several_servers_stand_beside_their_ratios(
    what: str, slower: float, is_met: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    names = [getattr(several_servers, name) for name in MEASURED]
    costs = {name: several_servers.Cost(100.0, 0.0, 40.0, 1.0, 900.0, 30.0) for name in names}
    if what:
        name = getattr(several_servers, what)
        costs[name] = costs[name]._replace(servers=100.0 * slower, seconds=slower)
    assert several_servers.report({name: [cost] * 3 for name, cost in costs.items()}) == is_met
    printed = capsys.readouterr().out
    assert [printed.count(target) for target in ("target >= 0.6: ", "target <= 1.15: ", "target <= 1.6: ")] == [2, 1, 1]
    assert ("MISSED" in printed) == (not is_met)
    forwarded = slower if what == "FORWARDED" else 1.0 / (slower if what == "OWNED" else 1.0)
    assert f"A forwarded request takes {forwarded:.2f} times the CPU" in printed
    beside = slower if what == "OWNED" else 1.0
    assert f"takes {beside:.2f} times that of two clusters" in printed


# What is compared.


def test_toprank_in_numpy_has_the_regret_of_the_engine() -> None:
    """Within four standard errors, which are about 7%; 20 runs of 3000 steps."""
    ours = regrets(engine("top-rank", SMALL), steps=3000, runs=20)
    theirs = regrets(in_numpy(numpy_toprank.top_rank, SMALL), steps=3000, runs=20)
    error = math.sqrt((ours.var(ddof=1) + theirs.var(ddof=1)) / 20)
    assert abs(ours.mean() - theirs.mean()) < 4 * error
    assert error < 0.08 * ours.mean()


@pytest.mark.slow
@pytest.mark.parametrize("policy", [*since2019.LOOPS, *since2019.OVER_FEATURES])
def test_numpy_loops_of_newer_algorithms_have_the_regret_of_the_engine_up_to_chance(policy: str) -> None:
    """Within four standard errors; the loop of PMED has a simpler plan, and that of GRAB other leaders of equals."""
    if policy in since2019.LOOPS:
        loop = in_numpy(since2019.LOOPS[policy], since2019.SIZE)
    else:
        loop = features_in_numpy(since2019.OVER_FEATURES[policy], Topics(*since2019.SIZE), every=False)
    ours = regrets(engine(policy, since2019.SIZE), steps=1000, runs=60)
    theirs = regrets(loop, steps=1000, runs=20)
    error = math.hypot(ours.std(ddof=1) / math.sqrt(60), theirs.std(ddof=1) / math.sqrt(20))
    slack = 0.1 * ours.mean() if policy in ("pmed", "grab") else 0.0
    assert abs(ours.mean() - theirs.mean()) <= 4 * error + slack


@pytest.mark.parametrize("size", [SMALL, Size(32, 8), Size(300, 10)], ids=str)
@pytest.mark.parametrize("loop", [UCB1.expert, UCB1.sharper], ids=["two divisions", "one division"])
def test_fused_ucb1_has_the_regret_of_the_engine(loop: Callable[..., float], size: Size) -> None:
    expected = regrets(engine(UCB1.policy, size), steps=5000, runs=3)
    assert regrets(by_hand(loop, size), steps=5000, runs=3) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("loop", [UCB1.expert, UCB1.sharper], ids=["two divisions", "one division"])
def test_fused_ucb1_has_the_regret_of_the_engine_at_the_largest_size(loop: Callable[..., float]) -> None:
    steps = baselines.LARGEST_STEPS
    expected = regrets(engine(UCB1.policy, baselines.LARGEST), steps, runs=1)
    assert regrets(by_hand(loop, baselines.LARGEST), steps, runs=1) == pytest.approx(expected, rel=1e-9)


def test_fused_thompson_sampling_has_the_regret_of_the_engine_up_to_chance() -> None:
    """It draws for every item, from other random numbers; within four standard errors over 100 runs."""
    ours = regrets(engine("cascade-ts", SMALL), steps=2000, runs=100)
    theirs = regrets(by_hand(fused.thompson, SMALL), steps=2000, runs=100)
    error = math.sqrt((ours.var(ddof=1) + theirs.var(ddof=1)) / 100)
    assert abs(ours.mean() - theirs.mean()) < 4 * error
    assert error < 0.05 * ours.mean()


@pytest.mark.parametrize("size", [SMALL, Size(32, 8)], ids=str)
@pytest.mark.parametrize("loop", [KL_UCB.expert, KL_UCB.sharper], ids=["last step", "no last step"])
def test_fused_kl_ucb_has_nearly_the_regret_of_the_engine(loop: Callable[..., float], size: Size) -> None:
    # The same visitors in all runs, but its warm start breaks ties by rounding.
    expected = regrets(engine(KL_UCB.policy, size), steps=20_000, runs=20).mean()
    assert regrets(by_hand(loop, size), steps=20_000, runs=20).mean() == pytest.approx(expected, rel=0.04)


@pytest.mark.parametrize("algorithm", [UCB1, KL_UCB], ids=lambda algorithm: algorithm.policy)
def test_numpy_loops_have_the_regret_of_the_engine_up_to_chance(algorithm: Algorithm) -> None:
    ours = regrets(engine(algorithm.policy, SMALL), steps=1000, runs=100)
    theirs = regrets(in_numpy(algorithm.vectorised, SMALL), steps=1000, runs=20)
    error = math.hypot(ours.std(ddof=1) / math.sqrt(len(ours)), theirs.std(ddof=1) / math.sqrt(len(theirs)))
    assert abs(ours.mean() - theirs.mean()) <= 4 * error


@pytest.mark.parametrize("size", [features.SPARSE, features.DENSE, Topics(70, 3, 7), Topics(70, 3, 7, 0)], ids=str)
@pytest.mark.parametrize("algorithm", [LSB, LSB_GREEDY, LIN_UCB], ids=lambda algorithm: algorithm.policy)
def test_fused_loops_over_features_have_the_regret_of_the_engine(algorithm: FeatureAlgorithm, size: Topics) -> None:
    # They round differently, so two items within that of each other would change places; here no two are.
    expected = regrets(engine(algorithm.policy, size), steps=1000, runs=3)
    assert regrets(algorithm.expert(size), steps=1000, runs=3) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("size", [Topics(40, 4, 6), Topics(40, 4, 6, 0)], ids=str)
@pytest.mark.parametrize("algorithm", [LSB, LSB_GREEDY, LIN_UCB], ids=lambda algorithm: algorithm.policy)
def test_numpy_loops_over_features_have_the_regret_of_the_engine_up_to_chance(
    algorithm: FeatureAlgorithm, size: Topics
) -> None:
    ours = regrets(engine(algorithm.policy, size), steps=500, runs=100)
    theirs = regrets(algorithm.numpy(size), steps=500, runs=10)
    error = math.hypot(ours.std(ddof=1) / math.sqrt(len(ours)), theirs.std(ddof=1) / math.sqrt(len(theirs)))
    assert abs(ours.mean() - theirs.mean()) <= 4 * error


@pytest.mark.parametrize(
    ("algorithm", "size", "steps"),
    [
        (GL_CDCM_SGD, Contexts(100, 10, 200), 100),
        (GL_CDCM, Contexts(100, 10, 20), 1000),
        (GL_CDCM, Contexts(100, 10, 200, fresh=False), 300),
        (GL_CDCM_SGD, Contexts(30, 8, 7, fresh=False), 500),
    ],
    ids=lambda value: getattr(value, "policy", str(value)),
)
def test_the_fused_loop_over_contexts_has_the_regret_of_the_engine(
    algorithm: ContextAlgorithm, size: Contexts, steps: int
) -> None:
    # A thousand lists of ten are more than what GL-CDCM keeps, so that old rows are folded.
    expected = regrets(engine(algorithm.policy, size), steps, runs=2)
    assert regrets(algorithm.expert(size), steps, runs=2) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("size", [Contexts(30, 4, 5), Contexts(30, 4, 40, fresh=False)], ids=str)
@pytest.mark.parametrize("algorithm", [GL_CDCM, GL_CDCM_SGD], ids=lambda algorithm: algorithm.policy)
def test_numpy_loops_over_contexts_have_the_regret_of_the_engine_up_to_chance(
    algorithm: ContextAlgorithm, size: Contexts
) -> None:
    ours = regrets(engine(algorithm.policy, size), steps=300, runs=100)
    theirs = regrets(algorithm.numpy(size), steps=300, runs=10)
    error = math.hypot(ours.std(ddof=1) / math.sqrt(len(ours)), theirs.std(ddof=1) / math.sqrt(len(theirs)))
    assert abs(ours.mean() - theirs.mean()) <= 4 * error


def test_topics_are_two_of_eighteen_or_all() -> None:
    sparse, dense = (np.asarray(topics_of(size).topics) for size in (features.SPARSE, features.DENSE))
    assert sparse.shape == dense.shape == (1000, 18)
    assert ((sparse > 0).sum(axis=1) == 2).all()
    assert (dense > 0).all()


@pytest.mark.parametrize("early", [False, True])
def test_fused_kl_ucb_scores_to_the_accuracy_it_claims(early: bool) -> None:
    steps = 3000
    state = fused.begin(np.where(np.arange(16) < 4, 0.2, 0.05), 4, key=1)
    fused.kl_ucb(state, 1, steps, early)
    budget = exploration_budget(steps + 1.0, 3.0)
    fused.score_kl_ucb(state, budget, early)
    exact = [
        kl_upper(examined, clicked, budget) for examined, clicked in zip(state.examined, state.clicked, strict=True)
    ]
    assert state.score == pytest.approx(np.array(exact), rel=0, abs=1e-9)


def test_numpy_loops_draw_no_more_at_once_for_more_items(monkeypatch: pytest.MonkeyPatch) -> None:
    # Blocks of one step rather than many: other random numbers, but the regret of the same algorithm.
    many = regrets(in_numpy(UCB1.vectorised, SMALL), steps=1000, runs=20)
    monkeypatch.setattr(numpy_loops, "MOST_NUMBERS", SMALL.items)
    one = regrets(in_numpy(UCB1.vectorised, SMALL), steps=1000, runs=20)
    assert not np.array_equal(one, many)
    error = math.hypot(one.std(ddof=1), many.std(ddof=1)) / math.sqrt(20)
    assert abs(one.mean() - many.mean()) <= 4 * error


def test_numpy_kl_ucb_scores_to_the_same_accuracy() -> None:
    examined = np.array([1.0, 3.0, 10.0, 200.0, 5000.0, 7.0])
    clicked = np.array([0.0, 1.0, 9.0, 30.0, 1000.0, 0.0])
    exact = [kl_upper(tries, hits, 9.0) for tries, hits in zip(examined, clicked, strict=True)]
    for start in (0.0, 0.21, 0.9, 1.0):
        upper = numpy_loops.kl_upper(clicked / examined, 9.0 / examined, np.full(6, start))
        assert upper == pytest.approx(np.array(exact), rel=0, abs=1e-9)


def test_bisection_finds_the_index() -> None:
    for tries, hits in ((1.0, 0.0), (3.0, 1.0), (10.0, 9.0), (200.0, 30.0), (7.0, 7.0)):
        upper = solve_and_sort.upper_by_bisection(hits / tries, 9.0 / tries)
        assert upper == pytest.approx(kl_upper(tries, hits, 9.0), abs=solve_and_sort.WIDTH)


# The suite itself.

# One group, so that tests in several processes do not each make a quick run of their own.
QUICK_RUN = pytest.mark.xdist_group("benchmarks")


def start_soon(command: list[str], **how: Any) -> Any:
    """Start a server of this source, which need not import everything first; one of former source is a real process."""
    is_ours = how["env"]["PYTHONPATH"].split(os.pathsep)[0] == str(ROOT)
    return (ForkedProcess if is_ours else subprocess.Popen)(command, **how)


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    file = tmp_path_factory.mktemp("benchmarks") / "quick.json"
    gc.freeze()  # it collects garbage before it measures: sixty times, among all that earlier tests have compiled
    try:
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr("benchmarks.server.Server.popen", staticmethod(start_soon))
            main(["--quick", "--json", str(file)])
    finally:
        gc.unfreeze()
    written: dict[str, Any] = json.loads(file.read_text())
    return written


@QUICK_RUN
def test_quick_run_has_every_section_and_the_machine(quick: dict[str, Any]) -> None:
    assert list(quick["sections"]) == list(SECTIONS)
    assert quick["machine"]["toplist"] == toplist.__version__
    assert quick["machine"]["cores"] >= 1


@QUICK_RUN
def test_quick_run_has_a_row_for_every_fifth_policy(quick: dict[str, Any]) -> None:
    (table,) = quick["sections"]["policies"]
    rows = {row["policy"]: row for row in table["rows"]}
    assert list(rows) == list(toplist.catalogue())[::5]
    assert 0 < sum(map(needs_features, rows)) < len(rows)
    for row in rows.values():
        assert finite_and_positive(row[str(SMALL)])


@QUICK_RUN
def test_quick_run_compares_with_every_baseline(quick: dict[str, Any]) -> None:
    against_fused, against_numpy = quick["sections"]["baselines"]
    assert [(row["algorithm"], row["baseline"]) for row in against_fused["rows"]] == [
        ("CascadeUCB1", "fused"),
        ("CascadeUCB1", f"fused, {UCB1.trick}"),
        ("CascadeKL-UCB", "fused"),
        ("CascadeKL-UCB", f"fused, {KL_UCB.trick}"),
    ]
    assert [row["algorithm"] for row in against_numpy["rows"]] == ["CascadeUCB1", "CascadeKL-UCB"]
    (threads,) = quick["sections"]["threads"]
    for row in [*against_fused["rows"], *against_numpy["rows"], *threads["rows"]]:
        assert finite_and_positive(row["ratio"])


@QUICK_RUN
def test_quick_run_fits_exponents_and_counts_solves(quick: dict[str, Any]) -> None:
    for table in quick["sections"]["growth"]:
        *sizes, last = table["rows"]
        assert all(finite_and_positive(row["KL-UCB solves per step"]) for row in sizes)
        assert all(math.isfinite(value) for value in last.values() if isinstance(value, float))


@QUICK_RUN
def test_quick_run_measures_policies_over_features(quick: dict[str, Any]) -> None:
    against_fused, against_numpy, by_items, by_positions, many = quick["sections"]["features"]
    each_twice = [title for title in ("CascadeLSB", "LSBGreedy", "CascadeLinUCB") for _ in range(2)]
    for table in (against_fused, against_numpy):
        assert [row["algorithm"] for row in table["rows"]] == each_twice
        assert all(finite_and_positive(row["ratio"]) for row in table["rows"])
    assert [row["target"] for row in against_fused["rows"]] == [">= 0.8"] * 6
    assert [row["target"] for row in against_numpy["rows"]] == [">= 20", ">= 3", None, None, ">= 10", ">= 3"]
    for table in (by_items, by_positions):
        assert math.isfinite(table["rows"][-1]["CascadeLSB (sparse) per step"])
        assert table["rows"][-1]["target"] == "<= 1.1"
    assert [row["target"] for row in many["rows"]] == ["<= 10 ms", "<= 20 ms"]


@QUICK_RUN
def test_quick_run_measures_policies_over_contexts(quick: dict[str, Any]) -> None:
    against_fused, against_numpy, over_time = quick["sections"]["logistic"]
    for table in (against_fused, against_numpy, over_time):
        assert [row["algorithm"] for row in table["rows"]] == ["GL-CDCM (SGD)", "GL-CDCM", "GL-CDCM"]
    assert [row["target"] for row in against_fused["rows"]] == [">= 0.8"] * 3
    assert all(finite_and_positive(row["ratio"]) for row in [*against_fused["rows"], *against_numpy["rows"]])
    assert over_time["rows"][0]["target"] == "<= 1.1"
    assert all(finite_and_positive(row["last tenth"]) for row in over_time["rows"])


@QUICK_RUN
def test_quick_run_measures_the_service(quick: dict[str, Any]) -> None:
    against_nothing, others, former = quick["sections"]["service"]
    whats = {"CPU of a request", "CPU of the empty route", "throughput, of the former empty route's"}
    assert {row["what"] for row in former["rows"]} in (whats, set())  # none where the history is cut off
    assert all(row["ratio"] > 0.0 for row in former["rows"])
    rate, latency = against_nothing["rows"]
    for name in ("nothing", "lists and reports", "ratio", "cpu of nothing", "cpu of a request"):
        assert finite_and_positive(rate[name])
    for name in ("ratio", "p50 of nothing", "p50 of a list", "p99 of nothing", "p99 of a list", "p99 of a report"):
        assert finite_and_positive(latency[name])
    assert [row.get("target") for row in others["rows"]] == [
        "<= 2048 MB", None, None, "<= 20 ms", None, "<= 20 ms", None, "<= 20 ms", None, "<= 2 s", None,
    ]  # fmt: skip


def test_service_is_judged_at_the_sizes_that_are_measured() -> None:
    assert service.SHARES.keys() == service.P99.keys() == set(service.FULL_SCALE.sizes)
    assert [target.number for target in service.SHARES.values()] == [0.5, 0.25]


@QUICK_RUN
def test_quick_run_measures_the_start(quick: dict[str, Any]) -> None:
    (table,) = quick["sections"]["startup"]
    assert [row["target"] for row in table["rows"]] == [
        "<= 0.5 s",
        "<= 2 s",
        "<= 20 s",
        "<= 2 s",
        "<= 300 MB",
        "<= 120 s",
    ]
    assert table["rows"][-1]["what"] == "36 numbers of kveton2015's tables"
    for row in table["rows"]:
        assert all(finite_and_positive(row[name]) for name in ("wall", "cpu", "memory"))


@pytest.mark.parametrize(("algorithm", "target"), [(UCB1, ">= 0.8"), (KL_UCB, None)], ids=["UCB1", "KL-UCB"])
def test_largest_size_is_compared_over_few_steps(algorithm: Algorithm, target: str | None) -> None:
    assert baselines.SIZES[-1] == baselines.LARGEST == Size(100_000, 10)
    others = {"fused": by_hand(algorithm.expert, baselines.LARGEST)}
    (row,) = baselines.compare(algorithm, baselines.LARGEST, others, baselines.FUSED_TARGETS, QUICK)
    assert (row["size"], row["n"], row["target"]) == ("L=100000 K=10", baselines.LARGEST_STEPS, target)
    assert finite_and_positive(row["ratio"])


def test_every_target_belongs_to_a_size_that_is_measured() -> None:
    measured = {size.items for size in baselines.SIZES}
    assert {items for _, items in [*baselines.FUSED_TARGETS, *baselines.NUMPY_TARGETS]} == measured


def finite_and_positive(value: float) -> bool:
    return math.isfinite(value) and value > 0


def test_one_section_alone(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--quick", "--only", "threads"])
    printed = capsys.readouterr().out
    assert "Two threads compared with one" in printed
    assert "Speed of every policy" not in printed


# The arithmetic.


def test_exponent_of_a_power_is_its_power() -> None:
    assert exponent([1, 4, 16, 64], [3.0 * size**0.75 for size in (1, 4, 16, 64)]) == pytest.approx(0.75)


@pytest.mark.parametrize(
    ("each", "expected"), [(1.0, 2), (0.3, 2), (0.11, 5), (0.1, 10), (1e-3, 1000), (6e-5, 10_000), (1e-9, 100_000)]
)
def test_steps_are_round_numbers(each: float, expected: int) -> None:
    assert steps_for(each, seconds=1.0) == expected


def test_ratio_is_the_median_of_the_rounds_and_not_the_ratio_of_medians() -> None:
    assert ratio([2.0, 30.0, 8.0], [1.0, 10.0, 2.0]).middle == 3.0


def test_targets_are_judged_and_summed_up() -> None:
    rows = [
        {"what": "speed", **verdict_cells(1.2, Target(1.3))},
        {"what": "start", **verdict_cells(0.4, Target(0.5, at_most=True), " s")},
        {"what": "other", **verdict_cells(7.0, None)},
    ]
    table = Table("Some", {"what": str, "target": str, "verdict": str}, rows, ["Noted."])
    assert summary([table]) == "1 of 2 targets reached.\n  MISSED speed: wanted >= 1.3"
    assert render(table).splitlines() == [
        "Some",
        "",
        "  what     target  verdict",
        "  -----  --------  -------",
        "  speed    >= 1.3   MISSED",
        "  start  <= 0.5 s  reached",
        "  other         -        -",
        "  Noted.",
    ]


def test_tables_take_the_place_of_older_ones_in_a_document(tmp_path: Path) -> None:
    """A document with marks keeps its text; one without them is all tables."""
    one, other = (Table(title, {"what": str}, [{"what": "new"}], ["A note."]) for title in ("One", "Other"))
    marked, plain_file = tmp_path / "marked.md", tmp_path / "plain.md"
    marked.write_text(
        "# Text\n\n<!-- One -->\n| old |\n<!-- end -->\n\nMore.\n<!-- Third -->\n| kept |\n<!-- end -->\n"
    )
    kept = "<!-- end -->\n\nMore.\n<!-- Third -->\n| kept |\n<!-- end -->\n"
    marked.write_text(f"# Text\n\n<!-- One -->\n| old |\n{kept}")
    for _ in range(2):
        write_markdown(marked, [one, other])
        write_markdown(plain_file, [one, other])
    table = "| what |\n| --- |\n| new |\n\nA note.\n"
    assert marked.read_text() == f"# Text\n\n<!-- One -->\n{table}{kept}"
    assert plain_file.read_text() == f"### One\n\n{table}\n### Other\n\n{table}"


def test_the_document_has_a_place_for_every_table_of_the_edges() -> None:
    root = Path(__file__).parents[1]
    sources = [path.read_text() for path in (root / "benchmarks" / "sections").glob("edges_*.py")]
    titles = [title for source in sources for title in re.findall(r'Table\("([^"]+)"', source)]
    document = (root / "docs" / "speed.md").read_text()
    assert len(titles) == 9
    assert [title for title in titles if mark(Table(title, {}, [])) not in document] == []


def test_numbers_have_units() -> None:
    assert [per_second(value) for value in (12.3, 4560.0, 7.89e6)] == ["12.3 /s", "4.56 k/s", "7.89 M/s"]
    assert [nanoseconds(value) for value in (1.5e-8, 2.5e-6, 3.5e-3, 4.5)] == ["15 ns", "2.5 us", "3.5 ms", "4.5 s"]
