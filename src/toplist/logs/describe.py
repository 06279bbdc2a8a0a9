"""Describes a log: its size, click-through by position, queries, days, and what looks wrong."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from toplist.core.slate import Ints
from toplist.logs.click_log import ClickLog
from toplist.logs.id_table import Id, IdTable
from toplist.logs.read import LogScan
from toplist.logs.report import ReadReport
from toplist.logs.tallies import DAY, LogTallies
from toplist.support.files import AnyPath, import_optional
from toplist.support.intervals import wilson_interval
from toplist.support.plots import PALETTE, draw_and_save
from toplist.support.tables import aligned_lines, count_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HEAD = 10  # queries shown
BAR = 30  # characters of the longest bar
MANY_LISTS, TIMES_USUAL = 100, 20  # a visitor with more lists than both is conspicuous
FEW_LISTS, ALMOST_ALL = 20, 0.9  # a visitor of this many lists who clicks this share of all items looks like a bot, too
EARLIEST = 631_152_000.0  # 1990: a smaller time is no date
MOST_DAYS = 14  # printed


@dataclass(frozen=True)
class PositionClicks:
    """Click-through of a position.

    Parameters
    ----------
    position : int
        The position, from 1.
    shown, clicks : float
        Number of lists that have it, and of clicks there, weighted.
    rate : float
        Clicks per list.
    low, high : float
        Wilson's interval of the rate, at 95%.
    """

    position: int
    shown: float
    clicks: float
    rate: float
    low: float
    high: float


@dataclass(frozen=True)
class QueryCount:
    """A frequent query.

    Parameters
    ----------
    query : str or int
        The query.
    lists : int
        Number of its lists.
    clicks_per_list : float
        Mean number of clicks on them.
    """

    query: Id
    lists: int
    clicks_per_list: float


@dataclass(frozen=True)
class DayCount:
    """A day of the log.

    Parameters
    ----------
    day : str
        The date, or the number of days since the beginning.
    lists : int
        Number of lists of that day.
    clicks_per_list : float
        Mean number of clicks on them.
    """

    day: str
    lists: int
    clicks_per_list: float


@dataclass(frozen=True)
class LogDescription:
    """What a log says at first sight; prints as text.

    Parameters
    ----------
    layout : str
        Layout of the source; empty for a log made in Python.
    lists, queries, items, clicks : int
        Their numbers; items and queries in the lists that were read.
    lists_without_clicks : int
        Number of lists without clicks.
    lengths : dict of int to int
        Number of lists by length.
    clicks_per_list : dict of int to int
        Number of lists by number of clicks.
    positions : list of PositionClicks
        Click-through by position.
    head : list of QueryCount
        The most frequent queries.
    head_share : float
        Share of lists that the most frequent tenth of queries has.
    rare_queries : int
        Number of queries with a single list.
    days : list of DayCount
        Lists by day, if the log has times.
    visitors : int or None
        Number of visitors; None if unknown.
    most_lists_of_a_visitor : int or None
        Largest number of lists of a visitor.
    conspicuous : list of str
        What looks wrong.
    report : ReadReport or None
        What was read and skipped; None for a log made in Python.
    """

    layout: str
    lists: int
    queries: int
    items: int
    clicks: int
    lists_without_clicks: int
    lengths: dict[int, int]
    clicks_per_list: dict[int, int]
    positions: list[PositionClicks]
    head: list[QueryCount]
    head_share: float
    rare_queries: int
    days: list[DayCount]
    visitors: int | None
    most_lists_of_a_visitor: int | None
    conspicuous: list[str]
    report: ReadReport | None

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, for JSON."""
        plain = asdict(self)
        plain["report"] = None if self.report is None else {"lists": self.report.lists, "skipped": self.report.rows()}
        return plain

    def plot(self, path: AnyPath | None = None) -> Figure:
        """Draw the click-through by position with its intervals (needs the extra `plots`).

        Parameters
        ----------
        path : str or path-like, optional
            Save the figure to this .png, .svg or .pdf file.

        Returns
        -------
        Figure
            The figure.
        """
        return draw_and_save(self._draw, path)

    def _draw(self) -> Figure:
        figures = import_optional("matplotlib.figure", "plots")
        figure: Figure = figures.Figure(figsize=(6.4, 3.6), dpi=150, layout="constrained")
        import_optional("matplotlib.backends.backend_agg", "plots").FigureCanvasAgg(figure)
        axes = figure.add_subplot()
        places = [each.position for each in self.positions]
        rates = np.array([each.rate for each in self.positions])
        errors = np.array([[each.rate - each.low, each.high - each.rate] for each in self.positions]).T
        axes.bar(places, 100.0 * rates, color=PALETTE[0], width=0.7)
        if places:
            errors = np.maximum(errors, 0.0)
            axes.errorbar(places, 100.0 * rates, 100.0 * errors, fmt="none", ecolor="0.2", capsize=3, linewidth=1.0)
            axes.set_xticks(places if len(places) <= 20 else places[:: -(-len(places) // 20)])
        axes.set_xlabel("position")
        axes.set_ylabel("click-through rate, %")
        axes.set_ylim(bottom=0)
        axes.set_title(
            f"{count_text(self.lists, 'list')}, {count_text(self.clicks, 'click')}, with 95% intervals",
            fontsize="medium", loc="left",
        )  # fmt: skip
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="y", color="0.9")
        axes.set_axisbelow(True)
        return figure

    def __str__(self) -> str:
        return "\n\n".join(filter(None, [
            self._size(), self._chart(), self._queries(), self._by_day(),
            _titled("What looks wrong", self.conspicuous or ["nothing"]), str(self.report or ""),
        ]))  # fmt: skip

    def _size(self) -> str:
        longest = max(self.lengths, default=0)
        every = "" if len(self.lengths) < 2 else f"{min(self.lengths)} to "
        several = sum(count for clicks, count in self.clicks_per_list.items() if clicks > 1)
        share = f" ({self.lists_without_clicks / self.lists:.1%})" if self.lists else ""
        lines = [
            f"{count_text(self.lists, 'list')} of {every}{count_text(longest, 'item')}, "
            f"{_queries_text(self.queries)}, {count_text(self.items, 'item')}",
            f"{count_text(self.clicks, 'click')}; {count_text(self.lists_without_clicks, 'list')} without clicks{share}"
            f", {count_text(several, 'list')} with several",
        ]
        if self.visitors is not None:
            lines.append(f"{count_text(self.visitors, 'visitor')}, at most {self.most_lists_of_a_visitor:,} lists each")
        return "\n".join(lines)

    def _chart(self) -> str:
        if not self.positions:
            return ""
        most = max(each.rate for each in self.positions) or 1.0
        columns = [
            ["position", *(str(each.position) for each in self.positions)],
            ["shown", *(f"{each.shown:,.0f}" for each in self.positions)],
            ["clicks", *(f"{each.clicks:,.0f}" for each in self.positions)],
            ["click-through [95%]", *(f"{each.rate:.2%} [{each.low:.2%}, {each.high:.2%}]" for each in self.positions)],
            ["", *("#" * round(BAR * each.rate / most) for each in self.positions)],
        ]  # fmt: skip
        return "\n".join(aligned_lines(columns, left=(4,)))

    def _queries(self) -> str:
        if not self.head:
            return ""
        columns = [
            ["query", *(str(each.query)[:40] for each in self.head)],
            ["lists", *(f"{each.lists:,}" for each in self.head)],
            ["clicks/list", *(f"{each.clicks_per_list:.3f}" for each in self.head)],
        ]
        tail = (
            f"The most frequent tenth of queries has {self.head_share:.1%} of all lists; "
            f"{_queries_text(self.rare_queries)} with a single list."
        )
        return "\n".join([*aligned_lines(columns), tail])

    def _by_day(self) -> str:
        if not self.days:
            return ""
        shown = self.days[:MOST_DAYS]
        columns = [
            ["day", *(each.day for each in shown)],
            ["lists", *(f"{each.lists:,}" for each in shown)],
            ["clicks/list", *(f"{each.clicks_per_list:.3f}" for each in shown)],
        ]
        more = [f"... and {count_text(len(self.days) - MOST_DAYS, 'day')} more"] if len(self.days) > MOST_DAYS else []
        return "\n".join([*aligned_lines(columns), *more])


def describe(log: ClickLog | LogScan) -> LogDescription:
    """Describe a log; a scan is read part by part.

    Parameters
    ----------
    log : ClickLog or LogScan
        The log, or what `scan_log` returned.

    Returns
    -------
    LogDescription
        Sizes, click-through by position, head and tail of the queries, days, and what looks wrong.

    Examples
    --------
    >>> log = ClickLog.from_lists(["q", "q", "r"], [["a", "b"]] * 3, clicked=[[1], [], [1]])
    >>> found = describe(log)
    >>> found.positions[0].rate, found.lists_without_clicks, found.conspicuous
    (0.6666666666666666, 1, ['position 2 is never clicked'])
    """
    parts: Iterable[ClickLog] = [log] if isinstance(log, ClickLog) else log
    tallies, visitors = LogTallies(), None
    for part in parts:
        tallies.add(part)
        visitors = part.visitors
    shown = np.maximum(tallies.shown, 1.0)
    rate = tallies.clicked / shown
    low, high = wilson_interval(tallies.shown, rate)
    positions = [
        PositionClicks(place + 1, *(float(each[place]) for each in (tallies.shown, tallies.clicked, rate, low, high)))
        for place in range(len(rate))
    ]
    lists_of_query = tallies.lists_of_query.values
    ordered = np.sort(lists_of_query[lists_of_query > 0])[::-1]
    per_visitor = tallies.lists_of_visitor.values
    report = log.report
    return LogDescription(
        layout="" if report is None else report.layout,
        lists=tallies.lists,
        queries=len(ordered),
        items=int((tallies.lists_of_item.values > 0).sum()),
        clicks=int((tallies.clicks.values * np.arange(len(tallies.clicks.values))).sum()),
        lists_without_clicks=tallies.without_clicks,
        lengths=_histogram(tallies.lengths.values),
        clicks_per_list=_histogram(tallies.clicks.values),
        positions=positions,
        head=_head(tallies, log.queries),
        head_share=float(ordered[: -(-len(ordered) // 10)].sum() / max(tallies.lists, 1)),
        rare_queries=int((ordered == 1).sum()),
        days=_days(tallies),
        visitors=int((per_visitor > 0).sum()) if visitors is not None else None,
        most_lists_of_a_visitor=int(per_visitor.max(initial=0)) if visitors is not None else None,
        conspicuous=_conspicuous(tallies, visitors, report),
        report=report,
    )


def _histogram(counts: Ints) -> dict[int, int]:
    return {int(value): int(counts[value]) for value in np.flatnonzero(counts)}


def _head(tallies: LogTallies, queries: IdTable) -> list[QueryCount]:
    """The most frequent queries; among equals, the one that appeared first."""
    lists, clicks = tallies.lists_of_query.values, tallies.clicks_of_query.values
    clicks = np.pad(clicks, (0, len(lists) - len(clicks)))
    order = np.argsort(-lists, kind="stable")[:HEAD]
    return [
        QueryCount(queries[code], int(lists[code]), float(clicks[code] / lists[code])) for code in order if lists[code]
    ]


def _days(tallies: LogTallies) -> list[DayCount]:
    is_date = tallies.first_time >= EARLIEST

    def name(day: int) -> str:
        return datetime.fromtimestamp(day * DAY, UTC).strftime("%Y-%m-%d") if is_date else f"day {day}"

    return [DayCount(name(day), lists, clicks / lists) for day, (lists, clicks) in sorted(tallies.days.items())]


def _conspicuous(tallies: LogTallies, visitors: IdTable | None, report: ReadReport | None) -> list[str]:
    """What looks wrong."""
    found = []
    if not tallies.lists:
        found.append("there is no list that can be used")
    elif report is not None:
        for reason, each in report.skipped.items():
            if each.is_wrong:
                found.append(f"{each.count:,} skipped: {reason}")
    never = [str(place + 1) for place in np.flatnonzero((tallies.clicked == 0) & (tallies.shown > 0))]
    if never and tallies.lists:
        several = len(never) > 1
        found.append(f"position{'s' * several} {', '.join(never)} {'are' if several else 'is'} never clicked")
    if visitors is not None and len(tallies.lists_of_visitor.values):
        found += _conspicuous_visitors(tallies, visitors)
    return found


def _conspicuous_visitors(tallies: LogTallies, visitors: IdTable) -> list[str]:
    """Visitors who may be programs: with very many lists, or who click almost everything."""
    lists = tallies.lists_of_visitor.values
    clicks, shown = (
        np.pad(each.values, (0, len(lists) - len(each.values)))
        for each in (tallies.clicks_of_visitor, tallies.shown_to_visitor)
    )
    usual = float(np.quantile(lists[lists > 0], 0.99))
    many = (lists > MANY_LISTS) & (lists > TIMES_USUAL * usual)
    greedy = ~many & (lists >= FEW_LISTS) & (clicks >= ALMOST_ALL * shown)
    found = []
    for chosen, what in (
        (many, f"with more than {TIMES_USUAL} times the lists of 99% of visitors"),
        (greedy, "who clicked almost everything"),
    ):
        codes = np.flatnonzero(chosen)
        if len(codes):
            first = codes[np.argsort(-lists[codes], kind="stable")[:3]]
            examples = ", ".join(f"{visitors[code]!r} with {lists[code]:,} lists" for code in first)
            found.append(f"{count_text(len(codes), 'visitor')} {what}, perhaps programs: {examples}")
    return found


def _queries_text(count: int) -> str:
    return f"{count:,} {'query' if count == 1 else 'queries'}"


def _titled(title: str, lines: list[str]) -> str:
    return "\n".join([title, *(f"  {line}" for line in lines)])
