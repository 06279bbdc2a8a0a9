"""A progress bar for terminals: share done, steps per second and time left, on one line that is redrawn."""

from __future__ import annotations

import os
from contextlib import suppress
from types import TracebackType
from typing import Self, TextIO

from toplist.support.progress import Progress

NARROWEST = 10  # characters of a bar; a shorter one is left out
WIDEST = 40
USUAL = 36  # characters reserved beside the bar, so that its length does not change all the time


class ProgressBar:
    """A progress bar that is drawn on terminals only, and leaves an empty line behind.

    Use it as a context manager, and as the `progress` of `toplist.simulate`:

        with ProgressBar(sys.stderr) as bar:
            toplist.simulate(..., progress=bar)
    """

    def __init__(self, stream: TextIO, shown: bool = True) -> None:
        self._stream = stream
        self._shown = shown and stream.isatty()
        self._width = 0  # characters on the line now
        self._first: Progress | None = None  # the first report of steps, after compiling

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._write("")

    def __call__(self, progress: Progress) -> None:
        """Draw the bar."""
        if self._shown:
            if self._first is None or progress.done < self._first.done or self._first.done == self._first.earlier:
                self._first = progress
            self._write(progress_line(progress, steps_per_second(self._first, progress), self._columns() - 1))

    def _write(self, text: str) -> None:
        """Replace the line; with blanks, not an escape code, which some terminals do not support."""
        if self._width or text:
            with suppress(OSError, ValueError):  # a closed terminal must not stop the work
                self._stream.write("\r" + text.ljust(self._width) + ("" if text else "\r"))
                self._stream.flush()
            self._width = len(text)

    def _columns(self) -> int:
        try:
            return os.get_terminal_size(self._stream.fileno()).columns or 80
        except (OSError, ValueError):
            return 80


class ShareBar(ProgressBar):
    """A bar without a rate, for work whose steps mean nothing to the reader."""

    def __call__(self, progress: Progress) -> None:
        """Draw the bar."""
        if self._shown and progress.total:
            left = f" {duration_text(progress.remaining)} left" if progress.remaining < 1e9 else ""
            self._write(percent_and_bar(progress.done / progress.total, True) + left)


class TwoProgressBars(ProgressBar):
    """Two bars on one line: one for the whole job, and one for its current part."""

    def clear(self) -> None:
        """Empty the line, for other output."""
        self._write("")

    def draw(self, name: str, share: float, everything: float, per_second: float, left: float) -> None:
        """Draw the shares done of the part and of everything, and the seconds left of everything."""
        if self._shown:
            self._write(two_bar_line(name, share, everything, per_second, left, self._columns() - 1))


class FitProgressBar(ShareBar):
    """A bar for reading, then one over several fits: the current one with its iteration and log-likelihood per list."""

    def draw(self, name: str, done: int, total: int, iteration: int, per_list: float) -> None:
        """Draw the share of fits done, and where the current one is."""
        if self._shown:
            self._write(fit_line(name, done, total, iteration, per_list, self._columns() - 1))


def fit_line(name: str, done: int, total: int, iteration: int, per_list: float, columns: int) -> str:
    """A line of at most `columns` characters.

    >>> fit_line("dbn", 2, 8, 14, -2.98766, 70)
    ' 25% [##......] dbn (3 of 8), iteration 14, log-likelihood -2.9877'
    >>> fit_line("cascade", 0, 8, 0, float("nan"), 70)
    '  0% [........] cascade (1 of 8)'
    """
    text = f"{percent_and_bar(done / max(total, 1), True)} {name} ({done + 1} of {total})"
    if iteration:
        text += f", iteration {iteration}, log-likelihood {per_list:.4f}"
    return text[: max(columns, 0)].rstrip()


def two_bar_line(name: str, share: float, everything: float, per_second: float, left: float, columns: int) -> str:
    """A line of at most `columns` characters; an infinite number of seconds left is not shown.

    >>> two_bar_line("kveton2015/table1", 0.5, 0.25, 2_500_000.0, 75.0, 100)
    ' 25% [##......] kveton2015/table1  50% [####....] 2.5 million steps/s, 1:15 left'
    >>> two_bar_line("kveton2015/table1", 0.5, 0.25, 2_500_000.0, 75.0, 70)
    ' 25% [##......] kveton2015/table1  50% [####....] 1:15 left'
    """
    speed = [f"{rate_text(per_second)} steps/s"] if per_second > 0 else []
    time = [f"{duration_text(left)} left"] if left < 1e9 else []
    # With little room, the time left matters more than the rate, and both more than the bars.
    text = ""
    for bars, facts in ((True, speed + time), (True, time), (False, time), (False, [])):
        text = " ".join(
            [percent_and_bar(everything, bars), name, percent_and_bar(share, bars), ", ".join(facts)]
        ).rstrip()
        if len(text) <= columns:
            break
    return text[: max(columns, 0)].rstrip()


def percent_and_bar(share: float, with_bar: bool) -> str:
    """A share as a percentage, rounded down so that only the end is 100%, and as a short bar."""
    filled = int(8 * share)
    return f"{int(100 * share):>3}%" + (f" [{'#' * filled}{'.' * (8 - filled)}]" if with_bar else "")


def steps_per_second(first: Progress, now: Progress) -> float:
    """Steps per second since the first report of steps, which excludes compiling; 0 while unknown."""
    seconds = now.seconds - first.seconds
    return (now.done - first.done) / seconds if seconds > 0 else 0.0


def progress_line(progress: Progress, per_second: float, columns: int) -> str:
    """A line of at most `columns` characters.

    >>> from toplist import Progress
    >>> progress_line(Progress(done=300_000, total=1_200_000, seconds=2.0), 150_000.0, 60)
    ' 25% [####............] 150 thousand steps/s, 0:06 left'
    """
    share = progress.done / progress.total
    if progress.done == progress.earlier and progress.done < progress.total:
        facts = "getting ready (half a minute, the first time)"
    elif per_second > 0:
        facts = f"{rate_text(per_second)} steps/s, {duration_text((progress.total - progress.done) / per_second)} left"
    else:
        facts = ""
    percent = f"{int(100 * share):>3}%"  # rounded down: only the end is 100%
    room = min(columns - len(f"{percent} [] ") - max(len(facts), USUAL), WIDEST)
    if room < NARROWEST:
        return f"{percent} {facts}"[: max(columns, 0)].rstrip()
    filled = int(share * room)
    return f"{percent} [{'#' * filled}{'.' * (room - filled)}] {facts}".rstrip()


def rate_text(number: float) -> str:
    """A number with three significant digits, in thousands or millions.

    >>> rate_text(950), rate_text(12_345), rate_text(3_210_000)
    ('950', '12.3 thousand', '3.21 million')
    """
    for size, word in ((1e6, " million"), (1e3, " thousand")):
        if number >= size:
            return f"{number / size:.3g}{word}"
    return f"{number:.3g}"


def duration_text(seconds: float) -> str:
    """A duration as minutes and seconds, with hours if needed, or as days.

    >>> duration_text(6), duration_text(3723), duration_text(2e5)
    ('0:06', '1:02:03', '2 days')
    """
    if seconds >= 2 * 86400:
        return f"{seconds // 86400:,.0f} days" if seconds < 1e9 else "very long"
    whole = round(seconds)
    hours, minutes, rest = whole // 3600, whole // 60 % 60, whole % 60
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
