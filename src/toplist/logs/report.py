"""The report of a reader: how many lists were read, and which lines were skipped and why."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from toplist.core.problem import InvalidInput
from toplist.core.slate import Ints
from toplist.support.tables import count_text

FIRST = 5  # places kept per reason

CUT_OFF = "the file is cut off here"


class Place(NamedTuple):
    """A line of a text file, or a row of a table; prints as text.

    Parameters
    ----------
    file : str
        The file, or the kind of frame.
    unit : str
        "line" or "row".
    number : int
        Its number, from 1.
    """

    file: str
    unit: str
    number: int

    def __str__(self) -> str:
        return f"{self.unit} {self.number:,} of {self.file}"


class Rejected(NamedTuple):
    """Lines that a reader cannot use, for one reason; `is_wrong` is False if they are left out on purpose."""

    numbers: Ints
    reason: str
    is_wrong: bool = True


@dataclass
class Skipped:
    """Lines skipped for one reason.

    Parameters
    ----------
    count : int
        Number of lines, or of lists for reasons that concern a list.
    first : list of Place
        The first of them, at most 5.
    is_wrong : bool
        Whether `strict` stops at them; False for lines that are left out on purpose.
    """

    count: int = 0
    first: list[Place] = field(default_factory=list)
    is_wrong: bool = True


@dataclass
class ReadReport:
    """What was read and what was skipped; prints as a few lines.

    Parameters
    ----------
    layout : str
        Name of the layout.
    files : int
        Number of files read.
    lists : int
        Number of lists read.
    skipped : dict of str to Skipped
        Skipped lines by reason.
    strict : bool
        Whether to stop at the first wrong line.

    Examples
    --------
    >>> from toplist.logs import read_log
    >>> import pyarrow
    >>> log = read_log(pyarrow.table({"query": ["q", "q"], "items": [["a", "b"], []], "clicked": [[2], []]}))
    >>> print(log.report)
    1 list read
    1 skipped: the list is empty (row 2 of Table)
    """

    layout: str = ""
    files: int = 0
    lists: int = 0
    skipped: dict[str, Skipped] = field(default_factory=dict)
    strict: bool = False

    def add(self, rejected: Iterable[Rejected], file: str, unit: str) -> None:
        """Count skipped lines of one part of a file.

        Parameters
        ----------
        rejected : iterable of Rejected
            Lines with a reason.
        file : str
            The file.
        unit : str
            "line" or "row".

        Raises
        ------
        InvalidInput
            If the report is strict and a line is wrong; the error names the first of the part.
        """
        several = [each for each in rejected if len(each.numbers)]
        wrong = [(int(each.numbers.min()), each.reason) for each in several if each.is_wrong]
        if self.strict and wrong:
            number, reason = min(wrong)
            raise InvalidInput(
                f"{_sentence(Place(file, unit, number))}: "
                f"{reason}; correct it, or read the log without strict, which skips such lines and counts them."
            )
        for reason in dict.fromkeys(each.reason for each in several):
            same = [each for each in several if each.reason == reason]
            numbers = np.sort(np.concatenate([each.numbers for each in same]))
            kept = self.skipped.setdefault(reason, Skipped(is_wrong=same[0].is_wrong))
            kept.count += len(numbers)
            kept.first += [Place(file, unit, int(number)) for number in numbers[: FIRST - len(kept.first)]]

    @property
    def wrong(self) -> int:
        """Number of lines skipped because they are wrong."""
        return sum(each.count for each in self.skipped.values() if each.is_wrong)

    def rows(self) -> list[dict[str, Any]]:
        """One dict per reason."""
        return [
            {"reason": reason, "count": each.count, "wrong": each.is_wrong, "first": list(map(str, each.first))}
            for reason, each in self.skipped.items()
        ]

    def reasons(self) -> list[str]:
        """A line of text per reason: how many lines were skipped for it, and the first of them."""
        lines = []
        for reason, each in self.skipped.items():
            more = ", ..." if each.count > len(each.first) else ""
            word = "skipped" if each.is_wrong else "left out"
            lines.append(f"{each.count:,} {word}: {reason} ({'; '.join(map(str, each.first[:3]))}{more})")
        return lines

    def __str__(self) -> str:
        files = f" from {count_text(self.files, 'file')}" if self.files > 1 else ""
        return "\n".join([f"{count_text(self.lists, 'list')} read{files}", *self.reasons()])


def no_lists(needs: str, report: ReadReport | None, what: str = "lists") -> InvalidInput:
    """Make the error for a log without lists, which says which lines were skipped and why.

    Parameters
    ----------
    needs : str
        Who needs lists, as "an evaluation needs some".
    report : ReadReport or None
        The report of the reader; None for a log made in Python.
    what : str, default "lists"
        Which lists are missing, as "lists with items".

    Returns
    -------
    InvalidInput
        The error, to be raised by the caller.
    """
    if report is None or not report.skipped:
        return InvalidInput(f"The log has no {what}, but {needs}; read a log that has.")
    skipped = ", and ".join(report.reasons())
    return InvalidInput(
        f"The log has no {what} that can be used, but {needs}: {skipped}; correct these lines, or read another log."
    )


def _sentence(place: Place) -> str:
    text = str(place)
    return text[0].upper() + text[1:]
