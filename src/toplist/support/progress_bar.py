"""A line on a terminal that tells how far a simulation is, how fast it goes and how long it will take."""

from __future__ import annotations

import os
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Self, TextIO

if TYPE_CHECKING:
    from toplist.engine.scheduler import Progress

NARROWEST = 10  # a bar of fewer places tells nothing
WIDEST = 40
USUAL = 36  # places for what stands beside the bar, so that its length does not change all the time


class ProgressBar:
    """Draws itself where somebody is watching, and leaves an empty line behind.

    Use it as a context, and as the `progress` of `toplist.simulate`:

        with ProgressBar(sys.stderr) as bar:
            toplist.simulate(..., progress=bar)
    """

    def __init__(self, stream: TextIO, shown: bool = True) -> None:
        self._stream = stream
        self._shown = shown and stream.isatty()
        self._drawn = 0  # how many columns are written on
        self._first: Progress | None = None  # the first report of steps, which comes after compiling

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._write("")

    def __call__(self, progress: Progress) -> None:
        """Draw how far it is."""
        if self._shown:
            if self._first is None or progress.done < self._first.done or self._first.done == self._first.earlier:
                self._first = progress
            self._write(progress_line(progress, steps_per_second(self._first, progress), self._columns() - 1))

    def _write(self, text: str) -> None:
        """Replace what is on the line; blanks rather than a code, which not every terminal knows."""
        if self._drawn or text:
            with suppress(OSError, ValueError):  # a terminal that is gone is no reason to stop
                self._stream.write("\r" + text.ljust(self._drawn) + ("" if text else "\r"))
                self._stream.flush()
            self._drawn = len(text)

    def _columns(self) -> int:
        try:
            return os.get_terminal_size(self._stream.fileno()).columns or 80
        except (OSError, ValueError):
            return 80


class TwoProgressBars(ProgressBar):
    """Two bars on one line: one for everything, and one for what is at work just now."""

    def clear(self) -> None:
        """Leave the line to somebody else."""
        self._write("")

    def draw(self, name: str, share: float, everything: float, per_second: float, left: float) -> None:
        """Draw how far both are, as shares, and how many seconds everything will take."""
        if self._shown:
            self._write(two_bar_line(name, share, everything, per_second, left, self._columns() - 1))


def two_bar_line(name: str, share: float, everything: float, per_second: float, left: float, columns: int) -> str:
    """The line, in at most so many columns; the seconds left are not shown where they are not known.

    >>> two_bar_line("kveton2015/table1", 0.5, 0.25, 2_500_000.0, 75.0, 100)
    ' 25% [##......] kveton2015/table1  50% [####....] 2.5 million steps/s, 1:15 left'
    >>> two_bar_line("kveton2015/table1", 0.5, 0.25, 2_500_000.0, 75.0, 70)
    ' 25% [##......] kveton2015/table1  50% [####....] 1:15 left'
    """
    speed = [f"{rate_text(per_second)} steps/s"] if per_second > 0 else []
    time = [f"{duration_text(left)} left"] if left < 1e9 else []
    # Where there is little room, how long it takes matters more than how fast it goes, and both more than the bars.
    text = ""
    for bars, facts in ((True, speed + time), (True, time), (False, time), (False, [])):
        text = " ".join(
            [percent_and_bar(everything, bars), name, percent_and_bar(share, bars), ", ".join(facts)]
        ).rstrip()
        if len(text) <= columns:
            break
    return text[: max(columns, 0)].rstrip()


def percent_and_bar(share: float, bar: bool) -> str:
    """A share as a percentage, which is rounded down, for 100% is the end; and as a short bar."""
    filled = int(8 * share)
    return f"{int(100 * share):>3}%" + (f" [{'#' * filled}{'.' * (8 - filled)}]" if bar else "")


def steps_per_second(first: Progress, now: Progress) -> float:
    """Steps per second since the first report of steps, for before that there was compiling; 0 as long as unknown."""
    seconds = now.seconds - first.seconds
    return (now.done - first.done) / seconds if seconds > 0 else 0.0


def progress_line(progress: Progress, per_second: float, columns: int) -> str:
    """The line, in at most so many columns.

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
    percent = f"{int(100 * share):>3}%"  # rounded down: 100% is the end
    room = min(columns - len(f"{percent} [] ") - max(len(facts), USUAL), WIDEST)
    if room < NARROWEST:
        return f"{percent} {facts}"[: max(columns, 0)].rstrip()
    filled = int(share * room)
    return f"{percent} [{'#' * filled}{'.' * (room - filled)}] {facts}".rstrip()


def rate_text(number: float) -> str:
    """A number in two or three figures and a word.

    >>> rate_text(950), rate_text(12_345), rate_text(3_210_000)
    ('950', '12.3 thousand', '3.21 million')
    """
    for size, word in ((1e6, " million"), (1e3, " thousand")):
        if number >= size:
            return f"{number / size:.3g}{word}"
    return f"{number:.3g}"


def duration_text(seconds: float) -> str:
    """Minutes and seconds, and hours and days where there are any.

    >>> duration_text(6), duration_text(3723), duration_text(2e5)
    ('0:06', '1:02:03', '2 days')
    """
    if seconds >= 2 * 86400:
        return f"{seconds // 86400:,.0f} days" if seconds < 1e9 else "very long"
    whole = round(seconds)
    hours, minutes, rest = whole // 3600, whole // 60 % 60, whole % 60
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
