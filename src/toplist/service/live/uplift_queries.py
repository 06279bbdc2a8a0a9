"""Answers how much more the policy of a ranking earns than its baseline, from the sums that closed lists keep."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from typing import Any

from toplist.service.clock import as_time
from toplist.service.errors import Conflict
from toplist.service.live.divided import Sources, sources_of
from toplist.service.live.read_lane import ReadLane
from toplist.service.live.transaction import Transactions
from toplist.service.live.uplift_sums import tally_of
from toplist.service.log.division_sums import SumSlice, day_slices, segment_slices, whole_sums
from toplist.service.log.events import decode_stopped
from toplist.service.store.protocol import LogReader
from toplist.service.store.row_kinds import EventRow, TallyRow
from toplist.service.wire import (
    Bounds,
    ComparedGroups,
    GroupCounts,
    GuardrailStop,
    MetricUplift,
    SampleRatio,
    Uplift,
    UpliftSlice,
)
from toplist.uplift import METRICS, GroupComparison, GroupSums, Tally, UpliftInterval
from toplist.uplift.sample_ratio import ALARM_LEVEL

_SLICES = {"day": day_slices, "segment": segment_slices}
_Found = tuple[list[TallyRow], EventRow | None, EventRow | None, list[SumSlice]]


class UpliftQueries:
    """Answers questions about the uplift; none of them reads the log."""

    def __init__(self, transactions: Transactions, lane: ReadLane) -> None:
        self._transactions, self._lane = transactions, lane

    async def uplift(
        self, name: str, by: str = "none", after: str | None = None, limit: int = 100, caller: str = ""
    ) -> Uplift:
        """The uplift of a ranking since its holdout, baseline or mode were last changed.

        With `by`, also that of days or segments, behind the one that `after` names.
        """
        while True:
            state = await self._transactions.state()
            ranking = state.ranking(name)
            ranking.check_home()
            settings = ranking.settings
            if not settings.measured:
                raise Conflict(
                    f"The ranking {name!r} has no holdout, so that its uplift is not measured; give it one: "
                    f"PATCH it with a holdout, such as 0.1."
                )
            await self._transactions.settle()  # what is shown is committed

            measured, halted = settings.measured, settings.stopped
            sources = sources_of(ranking, state.store)

            def read(
                reader: LogReader, sources: Sources = sources, measured: int = measured, halted: int = halted
            ) -> _Found:
                with reader.snapshot_reads():
                    whole = whole_sums(sources(reader))
                    begun, stopped = reader.event(measured), reader.event(halted) if halted else None
                    slices = _SLICES[by](sources(reader), after or "", limit + 1) if by in _SLICES else []
                    return whole, begun, stopped, slices

            whole, begun, stopped, slices = await state.store.read(read)
            if self._transactions.is_current(state) and ranking.settings is settings:
                break
        tally = tally_of(whole, settings.share)
        page = slices[:limit]
        if page:  # many intervals, which take long
            async with self._lane.turn(caller):
                parts = await asyncio.to_thread(_slices, page, settings.share)
        else:
            parts = []
        visitors = tally.holdout.visitors + tally.policy.visitors
        p_value = math.exp(-tally.evidence)
        return Uplift(
            ranking=name, mode=settings.spec.mode, since="" if begun is None else as_time(begun.at), **_part(tally),
            sample_ratio=SampleRatio(
                assigned=settings.share, observed=tally.holdout.visitors / visitors if visitors else None,
                p_value=p_value, level=ALARM_LEVEL, alarm=p_value <= ALARM_LEVEL,
            ),
            stopped=None if stopped is None else _stop(stopped),
            slices=parts,
            next=page[-1].place if len(slices) > limit else None,
        )  # fmt: skip

    async def click_through(self, names: Sequence[str], caller: str = "") -> dict[str, MetricUplift]:
        """The uplift of the click-through of some rankings; those without a holdout are left out."""
        state = await self._transactions.state()
        found = [state.rankings[name] for name in names if name in state.rankings]
        measured = {one.name: sources_of(one, state.store) for one in found if one.settings.measured}
        shares = {one.name: one.settings.share for one in found}
        if not measured:
            return {}
        await self._transactions.settle()

        def read(reader: LogReader) -> dict[str, list[TallyRow]]:
            return {name: whole_sums(sources(reader)) for name, sources in measured.items()}

        rows = await state.store.read(read)
        async with self._lane.turn(caller):
            return await asyncio.to_thread(
                lambda: {name: _metric(tally_of(row, shares[name]), 0) for name, row in rows.items() if row}
            )


def _stop(event: EventRow) -> GuardrailStop:
    why = decode_stopped(event.body)
    return GuardrailStop(
        at=as_time(event.at), metric=why.metric, worse_by=why.worse_by, level=why.level, ratio=why.ratio, high=why.high
    )


def _slices(page: list[SumSlice], share: float) -> list[UpliftSlice]:
    """The uplift of each slice that has a name."""
    return [UpliftSlice(name=one.name, **_part(tally_of(one.rows, share))) for one in page if one.name is not None]


def _part(tally: Tally) -> dict[str, Any]:
    """Both groups and all metrics of a tally."""
    return {
        "policy": _counts(tally.policy),
        "holdout": _counts(tally.holdout),
        "metrics": [_metric(tally, n) for n in range(len(METRICS))],
    }


def _metric(tally: Tally, number: int) -> MetricUplift:
    """A metric of both groups, compared."""
    metric = METRICS[number]
    return MetricUplift(
        metric=metric, policy=_mean(tally.policy, number), holdout=_mean(tally.holdout, number),
        difference=_compared(tally.difference(metric)), ratio=_compared(tally.ratio(metric)),
    )  # fmt: skip


def _counts(sums: GroupSums) -> GroupCounts:
    return GroupCounts(
        visitors=sums.visitors, lists=sums.lists, clicked=sums.clicked, clicks=sums.clicks, clicks_at_1=sums.first
    )


def _mean(sums: GroupSums, metric: int) -> float | None:
    return sums.total(metric) / sums.lists if sums.lists else None


def _compared(found: GroupComparison | None) -> ComparedGroups | None:
    if found is None:
        return None
    return ComparedGroups(
        estimate=found.estimate, sequence=_bounds(found.sequence), fixed_horizon=_bounds(found.fixed_horizon)
    )


def _bounds(interval: UpliftInterval | None) -> Bounds | None:
    return None if interval is None else Bounds(low=interval.low, high=interval.high)
