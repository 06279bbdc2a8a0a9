"""The demo of `make run`: visitors follow the click model, and the service learns from them."""

import io
import re
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from toplist.clicks import DCM
from toplist.core.problem import Problem
from toplist.service import demo
from toplist.service.wire import Estimate, Estimates


def test_visitors_follow_the_click_model() -> None:
    audience, items = demo.Audience(seed=3), list(demo.ARTICLES)[3:7]
    count = 20_000
    clicked = np.zeros((count, demo.POSITIONS))
    for visitor in range(count):
        clicked[visitor, np.array(audience.clicks(visitor, items), dtype=int) - 1] = 1
    looks = 1.0  # probability that a visitor examines a position
    for place, item in enumerate(items):
        expected = looks * demo.ARTICLES[item]
        # Four standard errors of the mean.
        assert abs(clicked[:, place].mean() - expected) < 4 * np.sqrt(expected * (1 - expected) / count)
        looks *= 1.0 - demo.ARTICLES[item] * demo.TERMINATION
    assert audience.clicks(17, items) == demo.Audience(seed=3).clicks(17, items)


def test_the_best_list_is_that_of_the_click_model() -> None:
    attraction = np.array(list(demo.ARTICLES.values()))
    users = DCM(demo.TERMINATION).prepare(Problem(len(attraction), demo.POSITIONS, 0, None))
    best = np.zeros(demo.POSITIONS, dtype=np.int64)
    users.best(None, attraction, best)
    assert demo.best_click_through() == pytest.approx(1 - np.prod(1 - attraction[best]))


def standing(visitors: int) -> demo.Standing:
    items = [
        Estimate(item=name, examined=10.0 * place, mean=None if place == 0 else 0.5, low=None, high=None, index=None)
        for place, name in enumerate(demo.ARTICLES)
    ]
    estimates = Estimates(ranking=demo.RANKING, segment=None, policy="dcm-ts", learned=1234, items=items)
    return demo.Standing(visitors, visitors - 8, 0.5, estimates)


def test_status_lines() -> None:
    lines = demo.status_lines(standing(70))
    assert lines[0] == "1,234 lists learned, 70 visitors since this start"
    assert lines[1] == "click-through of the last 62: 50.0%; the best list has 63.4%"
    held = demo.status_lines(standing(70)._replace(holdout=0.21))
    assert held[1] == "click-through of the last 62: 50.0%; the best list has 63.4%, the holdout 21.0%"
    assert lines[2].count("#") == round(40 * 0.5 / demo.best_click_through())
    assert len(lines) == 5 + demo.LINES + 1
    assert lines[-1] == "    and 28 more articles"
    assert re.fullmatch(r" 1\. A bridge reopens after nine years +- +0\.03 +0", lines[5])
    assert lines[9].startswith("    Ten recipes for late pears")  # not on the page


def test_without_a_terminal_some_lines_are_printed() -> None:
    stream = io.StringIO()
    terminal = demo.Terminal(stream, every=3)
    for visitors in range(1, 8):
        terminal.show(standing(visitors))
    assert re.findall(r"(\d+) visitors", stream.getvalue()) == ["1", "4", "7"]
    assert stream.getvalue().count("\n") == 3


def test_a_terminal_is_overwritten() -> None:
    class Screen(io.StringIO):
        def isatty(self) -> bool:
            return True

    stream = Screen()
    terminal = demo.Terminal(stream)
    terminal.show(standing(1))
    assert "\x1b[18A" not in stream.getvalue()
    terminal.show(standing(2))
    assert stream.getvalue().count(f"\x1b[{5 + demo.LINES + 1}A") == 1


LINE = re.compile(r"([\d,]+) lists learned, .* click-through of the last [\d,]+: ([\d.]+)%; the best list has 63.4%")


def run_demo(command: list[str], where: Path, wanted: int | None = None, printed: list[str] | None = None) -> list[int]:
    """Run until `wanted` lists are learned and press Ctrl-C, or until it ends; the number of lists in each line."""
    learned: list[int] = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=where) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if printed is not None:
                printed.append(line)
            if found := LINE.match(line):
                learned.append(int(found[1].replace(",", "")))
                if wanted is not None and learned[-1] >= wanted:
                    process.send_signal(signal.SIGINT)
                    break
        try:
            _, errors = process.communicate(timeout=30)
        except subprocess.TimeoutExpired:  # seen twice on a busy machine: the first Ctrl-C got lost
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (0, "")
    return learned


def logged(folder: Path) -> list[tuple[object, ...]]:
    """All events in the store of a demo."""
    (store,) = folder.glob("*.db")
    with closing(sqlite3.connect(store)) as opened:
        return opened.execute("SELECT * FROM events ORDER BY seq").fetchall()


def test_it_learns_stops_cleanly_and_continues(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On Ctrl-C, and after a number of seconds; even where another service has its settings, which the demo ignores."""
    (tmp_path / "toplist.toml").write_text(f"[[keys]]\nname = 'a'\nscope = 'serve'\nsha256 = '{'0' * 64}'\n")
    monkeypatch.setenv("TOPLIST_KEYS", f"b:admin:{'1' * 64}")
    command = [sys.executable, "-u", "-m", "toplist", "demo", "--folder", "demo", "--port", "0", "--rate", "50"]
    first = run_demo(command, tmp_path, wanted=10)
    events = logged(tmp_path / "demo")
    with demo.first_free(20_000) as busy:
        port = busy.getsockname()[1]
        command[command.index("0")] = str(port)
        runs = 1
        for seconds in (4, 16, 64):  # on a busy machine a few seconds may be too short for a list
            printed: list[str] = []
            second = run_demo([*command, "--seconds", str(seconds)], tmp_path, printed=printed)
            runs += 1
            if len(logged(tmp_path / "demo")) > len(events):
                break
    assert re.fullmatch(rf"Port {port} is busy; the service takes \d+\.\n", printed[0])
    assert re.fullmatch(r"Read and click as a visitor: http://127\.0\.0\.1:\d+/\n", printed[2])
    assert all(lists >= first[-1] >= 10 for lists in second)  # it continues
    assert logged(tmp_path / "demo")[: len(events)] == events != logged(tmp_path / "demo")
    log = (tmp_path / "demo" / "service.log").read_text()
    assert log.count('"ended"') == runs


def test_a_service_that_does_not_stop_is_killed() -> None:
    class Stuck:
        """A process that ends only when it is killed."""

        returncode: int | None = None

        def poll(self) -> int | None:
            return self.returncode

        def send_signal(self, _: int) -> None:
            pass

        def kill(self) -> None:
            self.returncode = -signal.SIGKILL

        def wait(self, timeout: float | None = None) -> int:
            if self.returncode is None:
                raise subprocess.TimeoutExpired("toplist", timeout or 0.0)
            return self.returncode

    stuck = Stuck()
    demo.stop_service(stuck)  # type: ignore[arg-type]
    assert stuck.returncode == -signal.SIGKILL


def test_the_next_free_port_is_taken() -> None:
    with demo.first_free(0) as busy:
        number = busy.getsockname()[1]
        with demo.first_free(number) as other:
            assert number < other.getsockname()[1] < number + demo.PORTS_TRIED
    with demo.first_free(number) as again:
        assert again.getsockname()[1] == number
