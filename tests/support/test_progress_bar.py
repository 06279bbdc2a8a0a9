"""The progress bar, on a fake terminal and with given times."""

import io

import pytest

from toplist import Progress
from toplist.support.progress_bar import (
    ProgressBar,
    ShareBar,
    TwoProgressBars,
    duration_text,
    progress_line,
    rate_text,
    two_bar_line,
)


class Screen(io.StringIO):
    """A terminal that does not report its size, taken as 80 columns."""

    def isatty(self) -> bool:
        return True

    def seen(self) -> str:
        """Text on the line now."""
        seen = ""
        for text in self.getvalue().split("\r"):
            seen = text + seen[len(text) :]
        return seen.rstrip()


def report(done: int, seconds: float, earlier: int = 0, total: int = 1000) -> Progress:
    return Progress(done, total, seconds, earlier)


def test_a_bar_of_shares_has_no_rate() -> None:
    screen = Screen()
    with ShareBar(screen) as bar:
        bar(report(0, 1.0))
        assert screen.seen() == "  0% [........]"
        bar(report(250, 10.0))
        assert screen.seen() == " 25% [##......] 0:30 left"
    assert screen.seen() == ""


def test_the_bar_has_share_rate_and_time_left() -> None:
    screen = Screen()
    with ProgressBar(screen) as bar:
        bar(report(0, 0.0))
        assert screen.seen() == f"  0% [{'.' * 26}] getting ready (half a minute, the first time)"
        bar(report(100, 20.0))  # compiling took twenty seconds, which the rate excludes
        assert screen.seen() == f" 10% [{'#' * 3}{'.' * 32}]"
        bar(report(200, 21.0))
        assert screen.seen() == f" 20% [{'#' * 7}{'.' * 28}] 100 steps/s, 0:08 left"
        bar(report(999, 28.0))
        assert screen.seen() == f" 99% [{'#' * 34}.] 112 steps/s, 0:00 left"  # only the end is 100%
        bar(report(1000, 28.1))
        assert screen.seen().startswith(f"100% [{'#' * 35}]")
    assert screen.seen() == ""
    assert screen.getvalue().endswith("\r")
    assert "\n" not in screen.getvalue()


def test_the_rate_excludes_steps_of_an_earlier_call() -> None:
    screen = Screen()
    bar = ProgressBar(screen)
    bar(report(500, 0.0, earlier=500))
    assert "50%" in screen.seen()
    assert "getting ready" in screen.seen()
    bar(report(510, 1.0, earlier=500))
    bar(report(520, 2.0, earlier=500))
    assert screen.seen().endswith("10 steps/s, 0:48 left")


def test_the_rate_is_reset_for_a_second_simulation() -> None:
    screen = Screen()
    bar = ProgressBar(screen)
    for done, seconds in ((100, 1.0), (1000, 10.0), (0, 0.0), (50, 1.0), (100, 2.0)):
        bar(report(done, seconds))
    assert screen.seen().endswith("50 steps/s, 0:18 left")


def test_an_error_leaves_a_clean_line_too() -> None:
    screen = Screen()

    def interrupted() -> None:
        with ProgressBar(screen) as bar:
            bar(report(100, 1.0))
            assert screen.seen()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert screen.seen() == ""


@pytest.mark.parametrize("shown", [True, False])
def test_the_bar_is_not_drawn_off_a_terminal(shown: bool) -> None:
    stream = io.StringIO() if shown else Screen()
    with ProgressBar(stream, shown=shown) as bar:
        bar(report(100, 1.0))
    assert stream.getvalue() == ""


def test_a_closed_terminal_does_not_stop_the_simulation() -> None:
    screen = Screen()
    with ProgressBar(screen) as bar:
        bar(report(100, 1.0))
        screen.close()
        screen.isatty = lambda: True  # type: ignore[method-assign]
        bar(report(200, 2.0))


@pytest.mark.parametrize("columns", [0, 1, 10, 30, 47, 55, 79, 200])
def test_it_never_breaks_the_line(columns: int) -> None:
    for done in (0, 1, 500, 1000):
        for rate in (0.0, 1.0, 3.21e6):
            assert len(progress_line(report(done, 1.0), rate, columns)) <= columns
    assert ("[" in progress_line(report(500, 1.0), 1.0, columns)) == (columns >= 55)


def test_two_bars_on_one_line() -> None:
    screen = Screen()
    with TwoProgressBars(screen) as bars:
        bars.draw("li2019/figure1", 0.0, 0.25, 0.0, float("inf"))
        assert screen.seen() == " 25% [##......] li2019/figure1   0% [........]"
        bars.draw("li2019/figure1", 0.999, 0.5, 2.5e6, 75.0)
        assert screen.seen() == " 50% [####....] li2019/figure1  99% [#######.] 2.5 million steps/s, 1:15 left"
        bars.draw("li2019/figure1", 1.0, 0.5, 0.0, 0.0)
        assert screen.seen() == " 50% [####....] li2019/figure1 100% [########] 0:00 left"  # the longer line is erased
        bars.clear()
        assert screen.seen() == ""
        bars.draw("li2019/figure2", 0.0, 1.0, 0.0, float("inf"))
    assert screen.seen() == ""
    assert "\n" not in screen.getvalue()


@pytest.mark.parametrize("shown", [True, False])
def test_two_bars_are_not_drawn_off_a_terminal(shown: bool) -> None:
    stream = io.StringIO() if shown else Screen()
    with TwoProgressBars(stream, shown=shown) as bars:
        bars.draw("li2019/figure1", 0.5, 0.25, 1.0, 1.0)
        bars.clear()
    assert stream.getvalue() == ""


def test_the_time_left_stays_when_there_is_little_room() -> None:
    lines = {
        columns: two_bar_line("hiranandani2019/figure6a", 0.5, 0.25, 2.5e6, 4000.0, columns)
        for columns in (120, 79, 60, 40, 38, 10, 0)
    }
    assert all(len(text) <= columns for columns, text in lines.items())
    assert lines[120].endswith("2.5 million steps/s, 1:06:40 left")
    assert lines[79] == " 25% [##......] hiranandani2019/figure6a  50% [####....] 1:06:40 left"
    assert lines[60] == " 25% hiranandani2019/figure6a  50% 1:06:40 left"
    assert lines[40] == " 25% hiranandani2019/figure6a  50%"


def test_rates_and_durations_as_text() -> None:
    assert [rate_text(number) for number in (0.5, 7, 999, 1000, 2.5e6, 1e9)] == [
        "0.5", "7", "999", "1 thousand", "2.5 million", "1e+03 million",
    ]  # fmt: skip
    assert [duration_text(seconds) for seconds in (0, 59.6, 61, 3600, 86400, 3e5, 1e12)] == [
        "0:00", "1:00", "1:01", "1:00:00", "24:00:00", "3 days", "very long",
    ]  # fmt: skip
