"""All rankings at one moment: their numbers, click-through over time, and uplift."""

from __future__ import annotations

from collections.abc import Collection

from toplist.service.clock import as_time
from toplist.service.errors import NotFound
from toplist.service.http.history import Curve, CurvePoint, Histories
from toplist.service.live.service import Service
from toplist.service.wire import Overview, OverviewQuery, RankingSummary, SharePoint

CURVE_POINTS = 30  # of a ranking, at most


class Overviews:
    """The overview, of the rankings that a key is for."""

    def __init__(self, service: Service, histories: Histories) -> None:
        self._service, self._histories = service, histories

    async def state(self, query: OverviewQuery, allowed: Collection[str] | None, by: str = "") -> Overview:
        """A part of all rankings, or of the `allowed` ones, in an order."""
        complete = await self._histories.read_on(by)
        queries = self._service.queries
        names = [name for name in queries.ranking_names if allowed is None or name in allowed]
        wanted = query.search.casefold()
        fitting = [name for name in names if wanted in name.casefold()]
        if query.sort != "name":
            fitting.sort(key=lambda name: _rank(self._curve(name), query.sort))
        chosen = fitting[query.offset : query.offset + query.limit]
        uplifts = await self._service.uplift.click_through(chosen, by)
        rows: list[RankingSummary] = []
        for name in chosen:
            try:
                ranking = await queries.ranking(name)
            except NotFound:  # it was deleted meanwhile
                continue
            curve = self._curve(name)
            points = curve.all_points()
            rows.append(RankingSummary(
                name=name, policy=ranking.policy, mode=ranking.mode, holdout=ranking.holdout, stopped=ranking.stopped,
                items=ranking.items, reference=ranking.reference, lists=curve.lists, reports=curve.reports,
                clicked=curve.clicked, clicks=curve.clicks, latest=as_time(points[-1].until) if points else None,
                curve=_small_curve(points), uplift=uplifts.get(name),
            ))  # fmt: skip
        return Overview(total=len(names), found=len(fitting), complete=complete, rankings=rows)

    def _curve(self, name: str) -> Curve:
        return self._histories.curve(self._service.queries.ranking_id(name))


def merge_overviews(parts: list[Overview], query: OverviewQuery) -> Overview:
    """The overview of several partitions, given the first rankings of each in the order that is asked for."""
    rows = sorted((row for part in parts for row in part.rankings), key=lambda row: row.name)
    if query.sort == "lists":
        rows.sort(key=lambda row: -row.lists)
    elif query.sort != "name":
        rows.sort(key=lambda row: -row.clicked / max(1, row.lists))
    return Overview(
        total=sum(part.total for part in parts), found=sum(part.found for part in parts),
        complete=all(part.complete for part in parts), rankings=rows[query.offset : query.offset + query.limit],
    )  # fmt: skip


def _rank(curve: Curve, sort: str) -> float:
    """The place of a ranking in an order: the largest number first."""
    return -curve.lists if sort == "lists" else -curve.clicked / max(1, curve.lists)


def _small_curve(points: list[CurvePoint]) -> list[SharePoint]:
    """A curve of few points.

    >>> _small_curve([CurvePoint(10, 2, 3, 0), CurvePoint(5, 1, 1, 0)])
    [SharePoint(lists=10, clicked=2), SharePoint(lists=5, clicked=1)]
    """
    size = -(-len(points) // CURVE_POINTS) or 1
    parts = (points[begin : begin + size] for begin in range(0, len(points), size))
    return [SharePoint(sum(one.lists for one in part), sum(one.clicked for one in part)) for part in parts]
