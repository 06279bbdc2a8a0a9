"""Settings for all tests, and fixtures of tiny experiments and of services without a network."""

from __future__ import annotations

import gc
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

# Before numba is imported: level 1 compiles a fifth faster, and its code is as fast. `tests/core/test_numba_backend.py`
# compares both levels.
os.environ.setdefault("NUMBA_OPT", "1")

import numpy as np
import pytest
from hypothesis import settings

from toplist.clicks import Cascade
from toplist.experiments import library
from toplist.experiments import required_data as needed
from toplist.experiments.experiment import Claim, DataSet, Experiment, Findings, Measure, Play, Size
from toplist.worlds import b_top_k

if TYPE_CHECKING:
    from asking import LocalService, Make

# Compiling a part for the first time takes seconds, so single examples have no deadline; runs repeat exactly.
settings.register_profile("toplist", deadline=None, derandomize=True)
settings.load_profile("toplist")
# Compiling also creates many long-lived objects: garbage collection took a twelfth of such tests' time.
gc.set_threshold(50_000, 20, 50)


@pytest.fixture
def made_up(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Fake experiments: one whose claims are met, one whose are not, one that measures and one without data."""

    def plays(*policies: str) -> Callable[[Size, DataSet | None], Sequence[Play | Measure]]:
        def jobs(size: Size, _: DataSet | None) -> Sequence[Play | Measure]:
            world = b_top_k(4, 2, 0.6, 0.4)
            return [
                Play(name, {name: name}, world, Cascade(), size.steps, size.runs, size.seed, checkpoints=10)
                for name in policies
            ]

        return jobs

    def measures(_: Size, __: DataSet | None) -> Sequence[Play | Measure]:
        return [Measure("ratio", lambda: {"ratio": np.array([1.0, 0.5])}, "made up")]

    def judge(holds: bool, remark: str = "") -> Callable[[Findings], Sequence[Claim]]:
        return lambda found: [
            Claim("regret <grows> | as *printed*", found.outcome(holds), "1.5 ± 0.5 (print: 2)", remark),
            Claim("it has `steps`", found.outcome(True), f"{found.size.steps}"),
        ]

    def draw(found: Findings, figure: Any) -> None:
        axes = figure.subplots()
        axes.set_axis_off()  # the text at the axes would take most of the time
        for result in found.results.values():
            for name in result.policies:
                axes.plot(result.checkpoints, result.mean(name), label=name)

    def experiment(title: str, **more: Any) -> Experiment:
        given: dict[str, Any] = {
            "title": title, "setting": "Four items & two places.", "full": Size(300, 3), "quick": Size(50, 2),
            "jobs": plays("random"), "judge": judge(True), "draw": draw, "inches": (4.0, 3.0), "seconds": 2.0,
        }  # fmt: skip
        return Experiment(**(given | more))

    found = {
        "li2019/figure1": experiment("Figure 1: a <b>bold</b> claim", judge=judge(False, "theirs is 1 < 2")),
        "kveton2015/table1": experiment(
            "Table 1: two policies", jobs=plays("random", "cascade-ucb1"), deviations=["`start` is ours, for > 1 item"]
        ),
        "kveton2015/ratio": experiment("A ratio", jobs=measures),
        "kveton2015/songs": experiment("Figure 2: songs", data="tunes"),
    }
    found = dict(sorted(found.items()))
    monkeypatch.setattr(library, "library", lambda: found)
    source = needed.DataSource(("tunes.txt",), lambda place: (place / "tunes.txt").read_text(), "whistling for tunes")
    monkeypatch.setitem(needed.KINDS, "tunes", needed.DataKind((source,), "the tunes of <everybody>"))
    return found


@pytest.fixture(scope="session")
def played_results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for `results`; the first test that needs them plays into it."""
    return tmp_path_factory.mktemp("played") / "results"


@pytest.fixture
def results(made_up: dict[str, Any], tmp_path: Path, played_results: Path) -> Path:
    """A folder of results of all experiments of `made_up` except those that need data; played once, then copied."""
    from toplist.cli import Exit, main  # noqa: PLC0415 - most tests need no command line

    assert made_up
    if not played_results.exists():
        assert main(["reproduce", "--all", "--quiet", "--jobs", "1", "--results", str(played_results)]) == Exit.FINE
    return Path(shutil.copytree(played_results, tmp_path / "results"))


@pytest.fixture
def tunes(tmp_path: Path) -> Path:
    """A folder with the data of one of them."""
    folder = tmp_path / "data" / "tunes"
    folder.mkdir(parents=True)
    (folder / "tunes.txt").write_text("3 tunes")
    return folder.parent


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run tests of the live service on both stores, and those that are about a file on a file."""
    if metafunc.definition.path.parent.parts[-2:] == ("service", "live"):
        is_about_file = metafunc.definition.get_closest_marker("file")
        metafunc.parametrize("store_kind", ["sqlite"] if is_about_file else ["sqlite", "postgres"], indirect=True)


# For all tests: pytest sets up a fixture that a test does not name only if it is for all of them.
@pytest.fixture(autouse=True)
def store_kind(request: pytest.FixtureRequest) -> Iterator[str | None]:
    """Which store `running.at_work` opens, in tests of the live service."""
    kind: str | None = getattr(request, "param", None)
    if kind is None:
        yield None
        return
    from postgres_server import reused_databases  # noqa: PLC0415 - of the tests of the service
    from running import STORES, open_store  # noqa: PLC0415

    token = open_store.set(STORES[kind])
    with reused_databases():
        yield kind
    open_store.reset(token)


def pytest_collection_finish() -> None:
    """Keep the objects of all tests out of later collections of garbage: some tests ask for one, and they live on."""
    gc.freeze()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the figures that tests have found."""
    reports = [report for found in ("passed", "failed") for report in terminalreporter.getreports(found)]
    figures = [value for report in reports for name, value in report.user_properties if name == "figure"]
    if figures:
        terminalreporter.section("figures")
    for figure in figures:
        terminalreporter.write_line(str(figure))


@pytest.fixture
def make_service() -> Iterator[Make]:
    """A function that makes services with any settings."""
    from asking import services  # noqa: PLC0415 - most tests need no service

    with services() as make:
        yield make


@pytest.fixture
def service(make_service: Make) -> LocalService:
    """A service without API keys, with a ranking of three items."""
    return make_service(stocked=True)


@pytest.fixture
def keyed(make_service: Make) -> LocalService:
    """A service with an API key of each scope."""
    return make_service(keyed=True)
