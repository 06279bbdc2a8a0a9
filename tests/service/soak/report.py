"""The figures of a soak, and which promises it broke."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from .attacker import HELD_ON, By, Slice
from .attacks import ATTACKS
from .findings import by_attack, quantile, spans_by, total, unattacked
from .plan import ADDRESSES, ENDS
from .soak import MEMORY, REQUEST_MEMORY, Outcome

MOST_TIMES = 3.0  # the p99 of honest lists beside attackers, at most so many times that of an unattacked service
MEGABYTE = 1 << 20
STRANGER_RATE, STRANGER_BURST = 20.0, 100  # defaults of the service, per address
# Whoever has a key of the scope admin can delete everything: the times beside such an attacker are shown apart, and
# only those of the others are judged.
JUDGED: tuple[By, ...] = ("stranger", "serve")
CLASSES: tuple[tuple[By, ...], ...] = (JUDGED, ("admin",))
UNEXPECTED = ("500", "501", "502", "504", "ADMITTED", HELD_ON)


def memory_bound(outcome: Outcome) -> float:
    """The documented bound of the service's memory, in bytes."""
    return outcome.base + (1.25 * MEMORY + REQUEST_MEMORY) * MEGABYTE


def p99(outcome: Outcome, kind: str, by: tuple[By, ...] = ()) -> float:
    """Milliseconds within which 99% of honest requests are answered, beside some attackers or beside none."""
    spans = spans_by(outcome.slices, *by) if by else unattacked(outcome.plan, outcome.slices)
    return quantile(outcome.latencies.within(kind, spans), 0.99)


def broken_promises(outcome: Outcome, with_times: bool = True) -> list[str]:
    """What was promised and is not kept; `with_times`: also that lists are answered soon."""
    broken = list(outcome.broken)
    if outcome.failed:
        broken.append(f"{outcome.failed} honest requests failed, first: " + " | ".join(outcome.failures[:5]))
    peak = max(sample.memory for sample in outcome.watch.samples)
    if peak > memory_bound(outcome):
        broken.append(
            f"{peak / MEGABYTE:.0f} MB are resident, but {memory_bound(outcome) / MEGABYTE:.0f} MB are the most"
        )
    timed = {attack.name for attack in ATTACKS if attack.is_timed}
    for name, slices in by_attack(outcome.slices).items():
        got = total(slices)
        broken += [f"{name}: {got[what]} times {what}" for what in UNEXPECTED if got[what]]
        if not any(one.requests or one.got for one in slices):
            broken.append(f"{name}: no request was made")
        if name in timed and any(one.ended - one.begun > ENDS for one in slices) and not got["ended"]:
            broken.append(f"{name}: no held connection was ended")
    guessed = by_attack(outcome.slices).get("guessed keys", [])
    most = sum((one.ended - one.begun) * STRANGER_RATE + STRANGER_BURST for one in guessed) * len(ADDRESSES)
    if total(guessed)["401"] > most:
        broken.append(f"{total(guessed)['401']} keys could be guessed, but {most:.0f} are the most")
    if with_times:
        quiet, beside = p99(outcome, "list"), p99(outcome, "list", JUDGED)
        if spans_by(outcome.slices, *JUDGED) and not beside <= MOST_TIMES * quiet:
            what = f"lists beside {' and '.join(JUDGED)} attacks"
            broken.append(f"{what}: p99 {beside:.1f} ms, more than {MOST_TIMES:g} x {quiet:.1f} ms")
    return broken


def lines(outcome: Outcome) -> Iterator[str]:
    """The figures as text."""
    plan, slices, latencies, watch = outcome.plan, outcome.slices, outcome.latencies, outcome.watch
    loads = [sample.load for sample in watch.samples]
    yield (
        f"{plan.seconds:.0f} s at {plan.lists_per_second:.0f} honest lists/s with their reports on {plan.connections} "
        f"connections; the attacker has nice +10 and the rates below; load of the machine {min(loads):.1f} to "
        f"{max(loads):.1f}"
    )
    yield ""
    yield f"{'attack':<24}{'by':<10}{'steps/s':>8}{'p50':>8}{'p99':>9}{'max':>8}  requests and what they got"
    rates = {attack.name: f"{attack.rate * plan.scale:g}" for attack in ATTACKS}
    quiet = unattacked(plan, slices)
    rows: list[tuple[str, str, list[tuple[float, float]], list[Slice]]] = [("none", "", quiet, [])]
    rows += [
        (name, some[0].by, [(one.begun, one.ended) for one in some], some) for name, some in by_attack(slices).items()
    ]
    for name, by, spans, some in rows:
        times = latencies.within("list", spans)
        told = f"{sum(one.requests for one in some):,}: {_counts(total(some))}" if some else ""
        worst = times.max() if len(times) else float("nan")
        figures = f"{quantile(times, 0.5):>8.1f}{quantile(times, 0.99):>9.1f}{worst:>8.0f}"
        yield f"{name:<24}{by:<10}{rates.get(name, ''):>8}{figures}  {told}"
    yield ""
    for kind in ("list", "report", "change", "read", "health"):
        parts = []
        base = latencies.within(kind, quiet)
        for classes in CLASSES:
            times = latencies.within(kind, spans_by(slices, *classes))
            ratio = quantile(times, 0.99) / quantile(base, 0.99)
            figures = f"{quantile(times, 0.5):.1f} / {quantile(times, 0.99):.1f} ms, {ratio:.2f} x"
            parts.append(f"beside {' and '.join(classes)} {figures}")
        yield (
            f"{kind:<8}{outcome.counts.get(kind, 0):>9,} answered; p50 / p99 unattacked {quantile(base, 0.5):.1f} / "
            f"{quantile(base, 0.99):.1f} ms; " + "; ".join(parts)
        )
    again = outcome.counts.get("sent again", 0)
    yield f"honest requests that failed: {outcome.failed}; sent again, where a long idle connection had ended: {again}"
    yield ""
    for name in ("service", "honest", "attacker"):
        attacked = watch.cpu_share(name, spans_by(slices, "stranger", "serve", "admin"))
        yield f"processor of {name}: {watch.cpu_share(name, quiet):.0%} of a core unattacked, {attacked:.0%} attacked"
    sizes = [sample.memory / MEGABYTE for sample in watch.samples]
    tenth = [f"{sizes[min(len(sizes) - 1, n * len(sizes) // 10)]:.0f}" for n in range(11)]
    yield (
        f"resident memory in MB over time: {' '.join(tenth)}; most {max(sizes):.0f}, at most "
        f"{outcome.base / MEGABYTE:.0f} + 1.25 x {MEMORY} + {REQUEST_MEMORY} = {memory_bound(outcome) / MEGABYTE:.0f}"
    )
    syncs = [np.array(outcome.disk.within(spans)) for spans in (quiet, spans_by(slices, "stranger", "serve", "admin"))]
    quiet_sync, attacked_sync = (f"{quantile(one, 0.5):.1f} / {quantile(one, 0.99):.1f} ms" for one in syncs)
    yield f"sync of a file beside the store, p50 / p99: unattacked {quiet_sync}, attacked {attacked_sync}"
    yield f"store: {outcome.store}"


def _counts(got: Counter[str]) -> str:
    return ", ".join(f"{count:,} x {what}" for what, count in sorted(got.items()))
